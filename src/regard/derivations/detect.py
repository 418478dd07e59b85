"""Which problem a document answers, when nobody says; and what its symbols are, when no problem fits."""

from collections.abc import Iterable, Iterator

from regard.derivations.notation.parser import parse
from regard.derivations.notation.statements import Chain, read_chains
from regard.derivations.notation.syntax import Expression, SetOf, Symbol, describe, symbols
from regard.derivations.notation.tokens import NotUnderstood
from regard.derivations.problems.loading import load_problem, shipped_problems
from regard.derivations.problems.model import Problem, Question, Setting, Size, SymbolMeaning
from regard.derivations.questions import fit, questions_of
from regard.derivations.reading.document import Document
from regard.derivations.reading.outline import outline

__all__ = ["guess_problem", "infer_problem"]

_ENOUGH = 0.55
_INDEX_LETTERS = frozenset("ijkl")


def guess_problem(document: Document) -> Problem:
    """The shipped problem whose headings and symbols the document uses, or one inferred from the document itself."""
    scored = [(_score(document, load_problem(name)), name) for name in shipped_problems()]
    best, name = max(scored)
    return load_problem(name) if best >= _ENOUGH else infer_problem(document)


def _score(document: Document, problem: Problem) -> float:
    """The share of formulas that some question of the problem explains, and a little for every heading that it knows."""
    sections = outline(document)
    titled = sum(bool(questions_of((), [section.title], problem)) for section in sections if section.title)
    shares = [fit(_expressions(chains), problem)[0][0] for chains in _all_chains(document) if chains]
    return (sum(shares) / len(shares) if shares else 0.0) * 0.8 + min(titled, 3) * 0.15


def _all_chains(document: Document) -> Iterator[tuple[Chain, ...]]:
    for span in document.spans:
        try:
            yield tuple(read_chains(span.source))
        except NotUnderstood:
            continue


def _expressions(chains: Iterable[Chain]) -> list[Expression]:
    found = []
    for chain in chains:
        for side in chain.sides:
            try:
                found.append(parse(side))
            except NotUnderstood:
                continue
    return found


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


def _expression(side: Iterable) -> Expression | None:
    try:
        return parse(tuple(side))
    except NotUnderstood:
        return None


def _shape(domain: SetOf) -> tuple[str, str]:
    names = [describe(dimension) for dimension in domain.dimensions] or ["1"]
    return (names[0], names[1]) if len(names) > 1 else (names[0], "1")


def _problem(document: Document, declared: dict[str, SymbolMeaning], used: dict[str, Symbol]) -> Problem:
    sizes = {name: Size() for meaning in declared.values() for name in meaning.shape if not name.isdigit()}
    meanings = dict(declared)
    families = {symbol.name for symbol in used.values() if _is_family(symbol)}
    for key, symbol in used.items():
        if (
            key in meanings
            or key in sizes
            or symbol.name in ("e", "pi")
            or symbol.name in families
            and symbol.subscripts
        ):
            continue
        if not (symbol.name in _INDEX_LETTERS and families and not symbol.subscripts):
            meanings[key] = SymbolMeaning(name=key)
    free = dict.fromkeys(_INDEX_LETTERS, "n") if families else {}
    meanings.update({f"{name}_i": SymbolMeaning(name=name, index="i", over="n") for name in families})
    setting = Setting(
        name="inferred",
        sizes={**sizes, **({"n": Size(minimum=3)} if families else {})},
        fixed={},
        free=free,
        symbols=meanings,
        undeclared=frozenset(meanings) - frozenset(declared),
    )
    question = Question(id="document", title="The document", setting=setting, path=())
    return Problem(name="inferred", title=f"symbols inferred from {document.path}", questions=(question,))


def _is_family(symbol: Symbol) -> bool:
    return (
        len(symbol.subscripts) == 1
        and isinstance(symbol.subscripts[0], Symbol)
        and symbol.subscripts[0].name in _INDEX_LETTERS
    )
