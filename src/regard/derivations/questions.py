"""Which question a piece of a document answers: by its enumerators, by its title, or by the symbols it uses."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from regard.derivations.judging.scope import Scope
from regard.derivations.notation.syntax import Expression, Symbol, children
from regard.derivations.problems.model import Problem, Question, Setting

_ROMAN = ("i", "ii", "iii", "iv", "v")
_MAY_BE_A_SCALE = 0.5
_KNOWN_BY_ANOTHER_NAME = 0.6


def questions_of(
    path: tuple[str, ...], titles: Iterable[str], problem: Problem, chapters: Iterable[str] = ()
) -> tuple[Question, ...]:
    """The question that a section with this path and these titles (its own, then its parents') opens.

    Where the section does not say which part of a question it answers, all parts come, the first one first. The title
    of a chapter ("2. Position embeddings") names either all of it or one of its questions: the letter below it counts
    first, then the title.
    """
    by_path = [q for q in problem.questions if len(path) > 1 and q.path[:2] == path[:2] and is_numbered(q)]
    by_title, by_chapter = _by_title(titles, problem), _by_title(chapters, problem)
    roman = path[2] if len(path) > 2 else None
    if not by_title and by_path and by_chapter and by_path[0].path[0] == by_chapter[0].path[0]:
        first = _parts(by_path, roman)
        return (*first, *(question for question in _parts(by_chapter, roman) if question not in first))
    by_number = [q for q in problem.questions if len(path) == 1 and q.path == path]
    return _parts(by_title or by_chapter or by_path or by_number, roman)


def _parts(candidates: list[Question], roman: str | None) -> tuple[Question, ...]:
    """The part with this numeral; all of them if there is none."""
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
                if question.path[:2] == best.path[:2] and is_numbered(question)
            ]
    return []


def is_numbered(question: Question) -> bool:
    """True unless the question is a variant that only its title opens."""
    return len(question.path) < 3 or question.path[2] in _ROMAN


def _contains(title: str, name: str) -> bool:
    return _pattern(name).search(title) is not None


@lru_cache(maxsize=1024)
def _pattern(name: str) -> re.Pattern[str]:
    plain = re.sub(r"[^\w\s]", " ", name)
    return re.compile(rf"(?<!\w){re.escape(plain)}(?!\w)")


@dataclass(frozen=True, kw_only=True)
class Stay:
    """Where a document without headings is: the question it was answering, and the symbols it has defined there."""

    question: Question | None = None
    own: frozenset[Symbol] = frozenset()


def fit(expressions: Iterable[Expression], problem: Problem, stay: Stay | None = None) -> list[tuple[float, Question]]:
    """How well each question's symbols explain those of a passage: the share known as written, best first."""
    used = {symbol for expression in expressions for symbol in _outer_symbols(expression)}
    scores = []
    for place, question in enumerate(problem.questions):
        own = stay.own if stay is not None and question is stay.question else frozenset()
        known = sum(1.0 if symbol in own else _certainty(symbol, question.setting) for symbol in used)
        scores.append(((known / len(used) if used else 1.0) - 1e-6 * place, question))
    return sorted(scores, key=lambda score: -score[0])


def _outer_symbols(node: Expression) -> Iterator[Symbol]:
    """The symbols of a formula, without those that only stand in subscripts."""
    if isinstance(node, Symbol):
        yield node
        return
    for child in children(node):
        yield from _outer_symbols(child)


@lru_cache(maxsize=4096)
def _certainty(symbol: Symbol, setting: Setting) -> float:
    """How surely the setting explains the symbol as it is written, from 0 to 1."""
    scope = Scope(setting=setting)
    indices = {*setting.sizes, *setting.fixed, *setting.free}
    if not symbol.subscripts and symbol.name in indices | {"e", "pi"}:
        return 1.0
    function = setting.functions.get(symbol.name)
    if function is not None and function.is_subscripted and symbol.subscripts:
        return 1.0
    if not scope.knows(symbol):
        return 0.0 if symbol.subscripts else _MAY_BE_A_SCALE
    found = scope.find(symbol)
    if isinstance(found.member, Symbol) and found.member.name not in indices:
        return 0.0
    return 1.0 if found.note is None else _KNOWN_BY_ANOTHER_NAME
