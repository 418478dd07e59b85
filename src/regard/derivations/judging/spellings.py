"""Other names under which a symbol may be known: aliases of the problem, the other case, slips of text recognition."""

from collections.abc import Mapping
from fractions import Fraction

from regard.derivations.judging.findings import Note, NoteKind
from regard.derivations.notation.syntax import Expression, Label, Number, Symbol, describe

_SLIPS = {"g": "q", "ω": "w"}


def other_spellings(symbol: Symbol, aliases: Mapping[str, tuple[str, ...]]) -> list[tuple[Symbol, Note]]:
    """The symbol under its other names, likeliest first, each with a note that says how it is read."""
    spelt = describe(symbol)
    renamed = [
        other
        for canonical, names in aliases.items()
        for other in (_renamed(symbol, name, canonical) for name in names)
        if other is not None
    ]
    found = [(other, NoteKind.ALIAS.note(spelt, describe(other))) for other in renamed if other != symbol]
    for each in (symbol, *renamed):
        if len(each.name) == 1 and each.subscripts:
            other = Symbol(each.name.swapcase(), each.subscripts)
            found.append((other, NoteKind.OTHER_CASE.note(spelt, describe(other))))
    slip = _SLIPS.get(symbol.name)
    if slip is not None:
        found.append((Symbol(slip, symbol.subscripts), NoteKind.RECOGNITION_SLIP.note(spelt, slip)))
    return found


def _renamed(symbol: Symbol, other: str, canonical: str) -> Symbol | None:
    """The symbol with the alias `other` replaced by `canonical`; an alias that begins with _, ^ or ' is a suffix."""
    if other[0] in "_^'":
        return _resuffixed(symbol, other, canonical)
    if "_" in other or "_" in canonical:
        if describe(symbol) != other:
            return None
        base, _, script = canonical.partition("_")
        return Symbol(base, (_script(script),) if script else ())
    return Symbol(canonical, symbol.subscripts) if symbol.name == other else None


def _resuffixed(symbol: Symbol, other: str, canonical: str) -> Symbol | None:
    label = Label(canonical.removeprefix("_"))
    if other[0] == "_":
        wanted = other[1:].strip("{}")
        is_match = len(symbol.subscripts) == 1 and describe(symbol.subscripts[0]) == wanted
        return Symbol(symbol.name, (label,)) if is_match else None
    if symbol.name.endswith(other) and len(symbol.name) > len(other):
        return Symbol(symbol.name.removesuffix(other), (*symbol.subscripts, label))
    return None


def _script(text: str) -> Expression:
    return Number(Fraction(text)) if text.isdigit() else Label(text)
