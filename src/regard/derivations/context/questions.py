"""Which problem and which question a text answers: by enumerators, by titles, or by the symbols it uses."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from regard.derivations.context.formulas import expressions_in, plain
from regard.derivations.judging.scope import CONSTANTS, Scope
from regard.derivations.judging.setting import Setting, Size, SymbolMeaning
from regard.derivations.notation.statements import Chain, read_chains
from regard.derivations.notation.syntax import Expression, SetOf, Symbol, children, describe, symbols
from regard.derivations.notation.tokens import NotUnderstood
from regard.derivations.problems.problem import Problem, Question, load_problem, shipped_problems
from regard.derivations.reading.document import Document
from regard.derivations.reading.files import read_text
from regard.derivations.reading.outline import outline

_ROMAN = ("i", "ii", "iii", "iv", "v")
_MAY_BE_A_SCALE = 0.5
_KNOWN_BY_ANOTHER_NAME = 0.6
_ENOUGH = 0.55
_ENOUGH_SYMBOLS = 3
_INDEX_LETTERS = frozenset("ijkl")


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


def opened_by(line: str, problem: Problem) -> Question | None:
    """The question that the reader takes a heading to open."""
    sections = outline(read_text(f"{line}\n\n$x = 1$")).sections
    found = questions_of(sections[-1].path, [sections[-1].title], problem) if sections else ()
    return found[0] if found else None


def _parts(candidates: list[Question], roman: str | None) -> tuple[Question, ...]:
    """The part with this numeral; all of them if there is none."""
    exact = [question for question in candidates if len(question.path) > 2 and question.path[2] == roman]
    return tuple(exact[:1] or candidates)


def _by_title(titles: Iterable[str], problem: Problem) -> list[Question]:
    """The questions of the group whose title is written, longest title first."""
    for title in titles:
        words = re.sub(r"[^\w\s]", " ", title.lower())
        matches = [
            (len(name), question)
            for question in problem.questions
            for name in question.titles
            if _title_pattern(name).search(words)
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


@lru_cache(maxsize=1024)
def _title_pattern(name: str) -> re.Pattern[str]:
    words = re.sub(r"[^\w\s]", " ", name)
    return re.compile(rf"(?<!\w){re.escape(words)}(?!\w)")


@dataclass(frozen=True, kw_only=True)
class CurrentQuestion:
    """The question that a document without headings was answering, and the symbols it has defined there."""

    question: Question | None = None
    own: frozenset[Symbol] = frozenset()


def fit(
    expressions: Iterable[Expression], problem: Problem, current: CurrentQuestion | None = None
) -> list[tuple[float, Question]]:
    """How well each question's symbols explain those of a passage: the share known as written, best first."""
    used = {symbol for expression in expressions for symbol in _outer_symbols(expression)}
    scores = []
    for place, question in enumerate(problem.questions):
        own = current.own if current is not None and question is current.question else frozenset()
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
    if not symbol.subscripts and symbol.name in {*indices, *CONSTANTS}:
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


# -- which problem -----------------------------------------------------------------------------------------------------
def guess_problem(document: Document) -> Problem:
    """The shipped problem whose headings and symbols the document uses, or one inferred from the document itself."""
    scored = [(_score(document, load_problem(name)), name) for name in shipped_problems()]
    best, name = max(scored)
    return load_problem(name) if best >= _ENOUGH else infer_problem(document)


def _score(document: Document, problem: Problem) -> float:
    """The share of formulas that some question explains, and a little for every heading that the problem knows."""
    sections = outline(document).sections
    titled = sum(bool(questions_of((), [section.title], problem)) for section in sections if section.title)
    formulas = [expressions_in(chains) for chains in _all_chains(document) if chains]
    if not titled and _num_telling(formulas, problem) < _ENOUGH_SYMBOLS:
        return 0.0
    shares = [fit(formula, problem)[0][0] for formula in formulas]
    return (sum(shares) / len(shares) if shares else 0.0) * 0.8 + min(titled, 3) * 0.15


def _num_telling(formulas: Iterable[Iterable[Expression]], problem: Problem) -> int:
    """How many telling symbols of the document one question knows at most.

    Every course has an a and a b; a document that only shares those with a problem must not be judged by it.
    """
    used = {symbol for formula in formulas for side in formula for symbol in symbols(side) if _is_telling(symbol)}
    return round(fit(used, problem)[0][0] * len(used)) if used else 0


def _is_telling(symbol: Symbol) -> bool:
    """True for a symbol with a subscript, an accent or a name of several letters."""
    return bool(symbol.subscripts) or len(symbol.name) > 1


def _all_chains(document: Document) -> Iterator[tuple[Chain, ...]]:
    """The chains of every formula that can be cut into chains."""
    for span in document.spans:
        try:
            yield tuple(read_chains(span.source))
        except NotUnderstood:
            continue


def infer_problem(document: Document) -> Problem:
    """A problem of one question whose symbols are the document's own: declared by x ∈ ℝ^d, else plain numbers."""
    declared: dict[str, SymbolMeaning] = {}
    used: dict[str, Symbol] = {}
    defined: set[str] = set()
    for chain in (chain for chains in _all_chains(document) for chain in chains):
        sides = [plain(side) for side in chain.sides]
        for left, sign, right in zip(sides, chain.signs, sides[1:], strict=False):
            if isinstance(left, Symbol) and sign.text == "∈" and isinstance(right, SetOf) and right.domain == "R":
                declared[describe(left)] = SymbolMeaning(name=describe(left), shape=_shape(right))
            elif isinstance(left, Symbol) and sign.text == "=" and describe(left) not in used:
                defined.add(describe(left))
        used.update({describe(symbol): symbol for side in sides if side is not None for symbol in symbols(side)})
    return _problem(document, declared, {key: symbol for key, symbol in used.items() if key not in defined})


def _shape(domain: SetOf) -> tuple[str, str]:
    """Rows and columns of ℝ^{m×n}; ℝ^d is a column."""
    names = [describe(dimension) for dimension in domain.dimensions] or ["1"]
    return (names[0], names[1]) if len(names) > 1 else (names[0], "1")


def _problem(document: Document, declared: Mapping[str, SymbolMeaning], used: Mapping[str, Symbol]) -> Problem:
    question = Question(id="document", title="The document", setting=_setting(declared, used), path=())
    return Problem(name="inferred", title=f"symbols inferred from {document.path}", questions=(question,))


def _setting(declared: Mapping[str, SymbolMeaning], used: Mapping[str, Symbol]) -> Setting:
    """A setting in which every used symbol that nothing declares is a number, or a family of numbers."""
    sizes = {name: Size() for meaning in declared.values() for name in meaning.shape if not name.isdigit()}
    families = {symbol.name for symbol in used.values() if _is_family(symbol)}
    numbers = {
        key: SymbolMeaning(name=key)
        for key, symbol in used.items()
        if key not in declared and key not in sizes and _is_number(symbol, families)
    }
    members = {f"{name}_i": SymbolMeaning(name=name, index="i", over="n") for name in families}
    symbols = {**declared, **numbers, **members}
    return Setting(
        name="inferred",
        sizes={**sizes, **({"n": Size(minimum=3)} if families else {})},
        fixed={},
        free=dict.fromkeys(_INDEX_LETTERS, "n") if families else {},
        symbols=symbols,
        undeclared=frozenset(symbols) - frozenset(declared),
    )


def _is_number(symbol: Symbol, families: set[str]) -> bool:
    """True for a symbol of its own: no constant, no member of a family, and no index where there are families."""
    if symbol.name in CONSTANTS:
        return False
    if symbol.subscripts:
        return symbol.name not in families
    return not (families and symbol.name in _INDEX_LETTERS)


def _is_family(symbol: Symbol) -> bool:
    """True if the only subscript is an index letter: x_i."""
    return (
        len(symbol.subscripts) == 1
        and isinstance(symbol.subscripts[0], Symbol)
        and symbol.subscripts[0].name in _INDEX_LETTERS
    )
