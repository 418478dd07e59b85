"""Which problem and which question headings name, by their enumerators and titles; a problem for any other text."""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

from regard.derivations.context.formulas import Formula, plain
from regard.derivations.judging.scope import CONSTANTS
from regard.derivations.judging.setting import Setting, Size, SymbolMeaning
from regard.derivations.notation.syntax import SetOf, Symbol, describe, symbols
from regard.derivations.problems.problem import Problem, Question, load_problem, shipped_problems
from regard.derivations.reading.document import Document
from regard.derivations.reading.files import read_text
from regard.derivations.reading.outline import Section, outline
from regard.derivations.results import INFERRED

_ROMAN = ("i", "ii", "iii", "iv", "v")
_ENOUGH_QUESTIONS = 2
_INDEX_LETTERS = frozenset("ijkl")
DOCUMENT = "document"  # the one question of a problem that was inferred


def questions_of(
    path: tuple[str, ...], titles: Iterable[str], problem: Problem, chapters: Iterable[str] = ()
) -> tuple[Question, ...]:
    """The question that a section with this path and these titles (its own, then its parents') opens.

    Where the section does not say which part of a question it answers, all parts come, the first one first. The title
    of a chapter ("2. Position embeddings") names either all of it or one of its questions: the letter below it counts
    first, then the title.
    """
    by_path = [q for q in problem.questions if len(path) > 1 and _is_named(q, path) and is_numbered(q)]
    by_title, by_chapter = _by_title(titles, problem), _by_title(chapters, problem)
    roman = path[2] if len(path) > 2 else None
    if by_chapter and path[:1] == ("",):
        by_path = [question for question in by_path if question.path[0] == by_chapter[0].path[0]]
    if not by_title and by_path and by_chapter and by_path[0].path[0] == by_chapter[0].path[0]:
        first = _parts(by_path, roman)
        return (*first, *(question for question in _parts(by_chapter, roman) if question not in first))
    by_number = [q for q in problem.questions if len(path) == 1 and q.path == path]
    return _parts(by_title or by_chapter or by_path or by_number, roman)


def _is_named(question: Question, path: tuple[str, ...]) -> bool:
    """True if number and letter of a path are the question's; a number that is not written may be any."""
    return path[0] in ("", *question.path[:1]) and question.path[1:2] == path[1:2]


def opened_by(line: str, problem: Problem) -> Question | None:
    """The question that the reader takes a heading to open."""
    sections = outline(read_text(f"{line}\n\n$x = 1$")).sections
    found = questions_of(sections[-1].path, [sections[-1].title], problem) if sections else ()
    return found[0] if found else None


def _parts(candidates: list[Question], roman: str | None) -> tuple[Question, ...]:
    """The part with this numeral of every numbered question; all parts of those that have no such part."""
    found: list[Question] = []
    for number in dict.fromkeys(question.path[:1] for question in candidates):
        own = [question for question in candidates if question.path[:1] == number]
        exact = [question for question in own if len(question.path) > 2 and question.path[2] == roman]
        found += exact[:1] or own
    return tuple(found)


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


# -- which problem -----------------------------------------------------------------------------------------------------
def guess_problem(document: Document) -> Problem | None:
    """The shipped problem whose questions the document's headings name; None if they name none."""
    sections = outline(document).sections
    scored = [(len(_named_by(sections, load_problem(name))), name) for name in shipped_problems()]
    most, name = max(scored)
    return load_problem(name) if most >= _ENOUGH_QUESTIONS else None


def _named_by(sections: Iterable[Section], problem: Problem) -> set[tuple[str, ...]]:
    """The questions that headings name, by their own titles: with their letters, or in several words."""
    named = set()
    for section in sections:
        for question in _by_title([section.title], problem) if section.title else ():
            letter = section.path[1] if len(section.path) > 1 else ""
            words = re.sub(r"[^\w\s]", " ", section.title.lower())
            is_long = any(len(name.split()) > 2 and _title_pattern(name).search(words) for name in question.titles)
            if is_long or (letter,) == question.path[1:2]:
                named.add(question.path[:2])
    return named


def infer_problem(formulas: Iterable[Formula], title: str = "") -> Problem:
    """A problem of one question whose symbols are the document's own: declared by x ∈ ℝ^d, else plain numbers."""
    shapes: dict[str, set[tuple[str, str]]] = {}
    used: dict[str, Symbol] = {}
    defined: set[str] = set()
    for chain in (chain for formula in formulas for chain in formula.chains):
        sides = [plain(side) for side in chain.sides]
        for left, sign, right in zip(sides, chain.signs, sides[1:], strict=False):
            if isinstance(left, Symbol) and sign.text == "∈" and isinstance(right, SetOf) and right.domain == "R":
                shapes.setdefault(describe(left), set()).add(_shape(right))
            elif isinstance(left, Symbol) and sign.text == "=" and describe(left) not in used:
                defined.add(describe(left))
        used.update({describe(symbol): symbol for side in sides if side is not None for symbol in symbols(side)})
    # A symbol that is declared twice, and differently, belongs to more than one argument.
    declared = {key: _declared(used[key], min(found)) for key, found in shapes.items() if len(found) == 1}
    setting = _setting(declared, {key: symbol for key, symbol in used.items() if key not in defined})
    question = Question(id=DOCUMENT, title="The document", setting=setting, path=())
    return Problem(name=INFERRED, title=title, questions=(question,))


def _declared(symbol: Symbol, shape: tuple[str, str]) -> SymbolMeaning:
    """A symbol of that shape; with an index letter below it, a whole family."""
    if not _is_family(symbol):
        return SymbolMeaning(name=describe(symbol), shape=shape)
    return SymbolMeaning(name=symbol.name, index=describe(symbol.subscripts[0]), over="n", shape=shape)


def _shape(domain: SetOf) -> tuple[str, str]:
    """Rows and columns of ℝ^{m×n}; ℝ^d is a column."""
    names = [describe(dimension) for dimension in domain.dimensions] or ["1"]
    return (names[0], names[1]) if len(names) > 1 else (names[0], "1")


def _setting(declared: Mapping[str, SymbolMeaning], used: Mapping[str, Symbol]) -> Setting:
    """A setting in which every used symbol that nothing declares is a number, or a family of numbers."""
    sizes = {name: Size() for meaning in declared.values() for name in meaning.shape if not name.isdigit()}
    declared_families = {meaning.name for meaning in declared.values() if meaning.index is not None}
    families = {symbol.name for symbol in used.values() if _is_family(symbol)}
    numbers = {
        key: SymbolMeaning(name=key)
        for key, symbol in used.items()
        if key not in declared and key not in sizes and _is_number(symbol, families)
    }
    loose = families - declared_families
    members = {f"{name}_i": SymbolMeaning(name=name, index="i", over="n") for name in loose}
    symbols = {**declared, **numbers, **members}
    return Setting(
        name=INFERRED,
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
