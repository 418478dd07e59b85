"""What a refutation adds for the reader: how each symbol was read, and what would have been right."""

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from regard.derivations.judging.evaluator import Evaluator
from regard.derivations.judging.findings import Note, NoteKind
from regard.derivations.judging.relations import Instances, spell
from regard.derivations.judging.scope import Scope, UnknownSymbol
from regard.derivations.judging.values import FLOATS, IllShaped
from regard.derivations.notation.syntax import Expression, Symbol, describe, symbols
from regard.derivations.notation.tokens import NotUnderstood

_PLURALS = {"number": "numbers", "vector": "vectors", "matrix": "matrices"}
_CLOSE = 1e-9
_FEWEST = 4  # values that must agree on a factor or constant
_LARGEST_PART = 24
_OPEN = (NotUnderstood, UnknownSymbol, IllShaped, np.linalg.LinAlgError)


def explanations(instances: Instances) -> Iterator[Note]:
    """Remarks on a relation that fails."""
    read_as = _read_as(instances)
    if read_as:
        yield NoteKind.READ_AS.note(read_as)
    if instances.relation.sign == "=":
        try:
            yield from _corrections(instances)
        except _OPEN:
            return


# -- how symbols were read ---------------------------------------------------------------------------------------------
def _read_as(instances: Instances) -> str:
    """β as a number; k_a, q as vectors."""
    kinds: dict[str, list[str]] = {}
    for symbol in dict.fromkeys(symbol for side in instances.sides for symbol in _read(side, instances.scope)):
        kind = _kind(symbol, instances)
        if kind is not None:
            kinds.setdefault(kind, []).append(spell(describe(symbol)))
    return "; ".join(
        f"{', '.join(names)} as {_PLURALS[kind]}" if len(names) > 1 else f"{names[0]} as a {kind}"
        for kind, names in kinds.items()
    )


def _read(side: Expression, scope: Scope) -> list[Symbol]:
    """The symbols of a side that have a meaning, without those that only pick members."""
    found = list(symbols(side))
    indices = {script for symbol in found for script in symbol.subscripts}
    return [symbol for symbol in found if symbol not in indices and scope.knows(symbol)]


def _kind(symbol: Symbol, instances: Instances) -> str | None:
    try:
        instance = instances.base(seed=1)
        indices = {script.name: 0 for script in symbol.subscripts if isinstance(script, Symbol)}
        free = {name: place for name, place in indices.items() if name in instances.scope.setting.free}
        value = Evaluator(scope=instances.scope, instance=instance, arithmetic=FLOATS, indices=free)(symbol)
    except _OPEN:
        return None
    if value.is_scalar:
        return "number"
    return "vector" if 1 in value.shape else "matrix"


# -- what would have been right ----------------------------------------------------------------------------------------
def _corrections(instances: Instances) -> Iterator[Note]:
    """A transpose that is missing, or a factor or constant by which the right side is off on all inputs."""
    sides = [
        (pair.left.array, pair.right.array)
        for larger in (0, 1)
        for pair in instances.pairs(instances.base(larger=larger, seed=1), FLOATS)
    ]
    if all(max(left.shape[1:]) > 1 and _agree(left, np.swapaxes(right, 1, 2)) for left, right in sides):
        yield NoteKind.TRANSPOSED.note()
    elif all(left.shape[1:] == right.shape[1:] for left, right in sides):
        even = [np.broadcast_arrays(left, right) for left, right in sides]
        yield from _off_by(*(np.concatenate([pair[side].ravel() for pair in even]) for side in (0, 1)))


def _agree(left: np.ndarray, right: np.ndarray) -> bool:
    return left.shape[1:] == right.shape[1:] and np.allclose(left, right, rtol=_CLOSE, atol=_CLOSE)


def _off_by(left: np.ndarray, right: np.ndarray) -> Iterator[Note]:
    if np.iscomplexobj(left) or np.iscomplexobj(right) or len(left) < _FEWEST:
        return
    factor = _constant(right[left != 0] / left[left != 0]) if np.all(right[left == 0] == 0) else None
    offset = _constant(right - left)
    if factor == -1:
        yield NoteKind.WRONG_SIGN.note()
    elif factor:
        yield NoteKind.WRONG_FACTOR.note(str(factor))
    elif offset:
        yield NoteKind.WRONG_CONSTANT.note(str(abs(offset)), "large" if offset > 0 else "small")


def _constant(values: np.ndarray) -> Fraction | None:
    """The simple fraction that all values are equal to."""
    if len(values) == 0 or not np.isfinite(values).all():
        return None
    fraction = Fraction(float(values[0])).limit_denominator(_LARGEST_PART)
    is_constant = np.allclose(values, float(fraction), rtol=_CLOSE, atol=_CLOSE)
    return fraction if is_constant and abs(fraction.numerator) <= _LARGEST_PART else None
