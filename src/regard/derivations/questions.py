"""Which question a piece of a document answers: by its enumerators, by its title, or by the symbols it uses."""

import re
from collections.abc import Collection, Iterable

from regard.derivations.judging.scope import Scope
from regard.derivations.notation.syntax import Expression, Symbol, symbols
from regard.derivations.problems.model import Problem, Question

__all__ = ["fit", "questions_of"]

_ROMAN = ("i", "ii", "iii", "iv", "v")
_MAY_BE_A_SCALE = 0.5


def questions_of(path: tuple[str, ...], titles: Iterable[str], problem: Problem) -> tuple[Question, ...]:
    """The question that a section with this path and these titles (its own, then its parents') opens.

    Where the section does not say which part of a question it answers, all parts come, the first one first.
    """
    by_title = _by_title(titles, problem)
    candidates = by_title or [
        question for question in problem.questions if path and question.path[: len(path[:2])] == path[:2]
    ]
    candidates = [question for question in candidates if by_title or len(path) >= min(2, len(question.path))]
    roman = path[2] if len(path) > 2 else None
    exact = [question for question in candidates if len(question.path) > 2 and question.path[2] == roman]
    return tuple(exact[:1] or candidates)


def _by_title(titles: Iterable[str], problem: Problem) -> list[Question]:
    """The questions of the group whose title is written, longest title first."""
    for title in titles:
        plain = re.sub(r"[^\w\s]", " ", title.lower())
        matches = [
            (len(name), question)
            for question in problem.questions
            for name in question.titles
            if _contains(plain, name)
        ]
        if matches:
            best = max(matches, key=lambda match: match[0])[1]
            if best.path[2:] and best.path[2] not in _ROMAN:
                return [best]
            return [
                question
                for question in problem.questions
                if question.path[:2] == best.path[:2] and _is_numbered(question)
            ]
    return []


def _is_numbered(question: Question) -> bool:
    return len(question.path) < 3 or question.path[2] in _ROMAN


def _contains(title: str, name: str) -> bool:
    plain = re.sub(r"[^\w\s]", " ", name)
    return re.search(rf"(?<!\w){re.escape(plain)}(?!\w)", title) is not None


def fit(
    expressions: Iterable[Expression], problem: Problem, own: Collection[Symbol] = ()
) -> list[tuple[float, Question]]:
    """How well each question's symbols explain those of a passage: the share known as written, best first.

    `own` are symbols that the document has defined itself: they fit everywhere.
    """
    used = {symbol for expression in expressions for symbol in symbols(expression)} - set(own)
    scores = []
    for place, question in enumerate(problem.questions):
        scope = Scope(setting=question.setting)
        known = sum(_is_known(symbol, scope) for symbol in used)
        scores.append(((known / len(used) if used else 1.0) - 1e-6 * place, question))
    return sorted(scores, key=lambda score: -score[0])


def _is_known(symbol: Symbol, scope: Scope) -> float:
    setting = scope.setting
    if (
        symbol.name in setting.sizes
        or symbol.name in setting.fixed
        or symbol.name in setting.free
        or symbol.name in ("e", "pi")
    ):
        return 1.0
    function = setting.functions.get(symbol.name)
    if function is not None and function.is_subscripted and symbol.subscripts:
        return 1.0
    if not scope.knows(symbol):
        return 0.0 if symbol.subscripts else _MAY_BE_A_SCALE
    return 1.0 if scope.find(symbol).note is None else 0.6
