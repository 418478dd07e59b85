"""Which problem a document answers, when nobody says; and what its symbols are, when no problem fits."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from regard.derivations.notation.parser import parse
from regard.derivations.notation.statements import Chain, read_chains
from regard.derivations.notation.syntax import Expression, SetOf, Symbol, describe, symbols
from regard.derivations.notation.tokens import NotUnderstood, Token
from regard.derivations.problems.loading import load_problem, shipped_problems
from regard.derivations.problems.model import Problem, Question, Setting, Size, SymbolMeaning
from regard.derivations.questions import fit, questions_of
from regard.derivations.reading.document import Document
from regard.derivations.reading.outline import outline

_ENOUGH = 0.55
_ENOUGH_SYMBOLS = 3
_INDEX_LETTERS = frozenset("ijkl")


def guess_problem(document: Document) -> Problem:
    """The shipped problem whose headings and symbols the document uses, or one inferred from the document itself."""
    scored = [(_score(document, load_problem(name)), name) for name in shipped_problems()]
    best, name = max(scored)
    return load_problem(name) if best >= _ENOUGH else infer_problem(document)


def _score(document: Document, problem: Problem) -> float:
    """The share of formulas that some question explains, and a little for every heading that the problem knows."""
    sections = outline(document)
    titled = sum(bool(questions_of((), [section.title], problem)) for section in sections if section.title)
    formulas = [_expressions(chains) for chains in _all_chains(document) if chains]
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


def _expressions(chains: Iterable[Chain]) -> list[Expression]:
    """The sides that can be read."""
    sides = (_expression(side) for chain in chains for side in chain.sides)
    return [side for side in sides if side is not None]


def infer_problem(document: Document) -> Problem:
    """A problem of one question whose symbols are the document's own: declared by x ∈ ℝ^d, else plain numbers."""
    declared: dict[str, SymbolMeaning] = {}
    used: dict[str, Symbol] = {}
    defined: set[str] = set()
    for chain in (chain for chains in _all_chains(document) for chain in chains):
        sides = [_expression(side) for side in chain.sides]
        for left, sign, right in zip(sides, chain.signs, sides[1:], strict=False):
            if isinstance(left, Symbol) and sign.text == "∈" and isinstance(right, SetOf) and right.domain == "R":
                declared[describe(left)] = SymbolMeaning(name=describe(left), shape=_shape(right))
            elif isinstance(left, Symbol) and sign.text == "=" and describe(left) not in used:
                defined.add(describe(left))
        used.update({describe(symbol): symbol for side in sides if side is not None for symbol in symbols(side)})
    return _problem(document, declared, {key: symbol for key, symbol in used.items() if key not in defined})


def _expression(side: Sequence[Token]) -> Expression | None:
    try:
        return parse(side)
    except NotUnderstood:
        return None


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
    if symbol.name in ("e", "pi"):
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
