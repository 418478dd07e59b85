"""A layer in half precision is about as exact as plain code in that precision."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from regard.conformance.law import Comparison, InputSize, Law, LawTrial, NotTried, distance, dtype_of, epsilon_of
from regard.conformance.oracle import Oracle, Part, turn, undeclared
from regard.conformance.reference_layer import ReferenceLayer
from regard.conformance.rounding import is_half
from regard.conformance.subject import Spec, Subject

# Angles blur only far from the start.
_FAR = 1000
# Sums in half precision stall only when there is much to add, and of one size.
_LONG = 400
_UNEVEN = 0.05


def _compare(trial: LawTrial) -> Iterator[Comparison]:
    """|y − oracle| against 2 |naive − oracle| + 2 ulp: as it is, far from the start, and with long even sums."""
    subject, dtype = _in_half(trial.subject)
    parts = subject.projections()
    lack = undeclared(trial.spec, parts)
    if lack is not None:
        raise NotTried(lack)
    oracle = Oracle(spec=trial.spec, parts=parts)
    limit, length = trial.spec.max_positions, trial.size.length
    x = trial.inputs(length=min(length, limit or length))
    yield _compared(subject, oracle, x.astype(dtype_of(dtype)), dtype)
    if subject.has("positions") and trial.spec.positions == "rotary" and (limit is None or limit > _FAR + x.shape[1]):
        yield _compared(subject, oracle, x.astype(dtype_of(dtype)), dtype, start=_FAR)
    longest = min(_LONG, limit or _LONG)
    if length == LAW.size.length and longest > length:
        even = x[:, :1].astype(np.float64) + _UNEVEN * trial.inputs("even", length=longest).astype(np.float64)
        yield _compared(subject, oracle, even.astype(dtype_of(dtype)), dtype)


def _compared(subject: Subject, oracle: Oracle, x: np.ndarray, dtype: str, *, start: int = 0) -> Comparison:
    """The layer and plain code, each against the oracle."""
    places = np.broadcast_to(np.arange(start, start + x.shape[1]), x.shape[:2])
    found = subject.call(x, **({"positions": places} if start else {}))
    exact, naive = oracle(x, positions=places), rough(oracle, dtype)(x, positions=places)
    largest = float(np.abs(exact).max())
    return Comparison(
        what=f"the layer is less exact than plain code in {dtype}",
        error=distance(found, exact),
        tolerance=2 * distance(naive, exact) + 2 * epsilon_of(dtype) * largest,
        control=None if largest > 0 else 0.0,
        place={"dtype": dtype, "first position": start, "tokens": x.shape[1]},
        signature={"start": start, "naive": distance(naive, exact)},
    )


def _in_half(subject: Subject) -> tuple[Subject, str]:
    """The layer in half precision: as it is, or in bfloat16."""
    if is_half(subject.spec.dtype):
        return subject, subject.spec.dtype
    if not subject.has("float64"):
        raise NotTried(f"the layer is in {subject.spec.dtype} and cannot be had in another precision")
    return subject.in_dtype("bfloat16").declared(dtype="bfloat16"), "bfloat16"


def rough(oracle: Oracle, dtype: str) -> Oracle:
    """The oracle with every intermediate result rounded to that dtype, as plain code does; angles are in float32."""
    narrow = dtype_of(dtype)

    def rounded(x: np.ndarray) -> np.ndarray:
        return np.asarray(x).astype(narrow).astype(np.float64)

    return replace(oracle, rounded=rounded, turn=_rough_turn(rounded), score=_rough_score(rounded))


def _rough_turn(rounded: Callable[[np.ndarray], np.ndarray]) -> Callable[..., np.ndarray]:
    """x cos + J(x) sin, where cos, sin, both products and their sum are rounded."""

    def turned(oracle: Oracle, heads: np.ndarray, positions: np.ndarray, part: Part) -> np.ndarray:
        there, back = turn(oracle, heads, positions, part), turn(oracle, heads, -positions, part)
        ones = np.ones_like(heads)
        left, right = turn(oracle, ones, positions, part), turn(oracle, ones, -positions, part)
        cos, sin = (left + right) / 2, (left - right) / 2
        crossed = np.divide((there - back) / 2, sin, out=np.zeros_like(heads), where=sin != 0)
        return rounded(rounded(heads * rounded(cos)) + rounded(crossed * rounded(sin)))

    return turned


def _rough_score(rounded: Callable[[np.ndarray], np.ndarray]) -> Callable[..., np.ndarray]:
    """The product, its scale, its cap and its bias, each rounded."""

    def scored(oracle: Oracle, queries: np.ndarray, keys: np.ndarray, added: np.ndarray | None) -> np.ndarray:
        z = rounded(rounded(queries @ np.swapaxes(keys, -1, -2)) * oracle.scale)
        cap = oracle.spec.softcap
        z = z if cap is None else rounded(cap * rounded(np.tanh(rounded(z / cap))))
        return z if added is None else rounded(z + rounded(added))

    return scored


class _CoarseAngles(ReferenceLayer):
    """Forms angles in the dtype of the layer, where 1001 is 1000."""

    def rotate(self, heads: np.ndarray, positions: np.ndarray) -> np.ndarray:
        return super().rotate(heads, positions.astype(self.dtype).astype(np.float64))


def _broken_example() -> Subject:
    return _CoarseAngles(Spec(causal=True, positions="rotary", dtype="bfloat16"), name="angles in bfloat16")


LAW = Law(
    id="PREC",
    statement="in half precision the error is at most twice that of plain code in that precision, and two ulp",
    needs=("weights",),
    compare=_compare,
    broken_example=_broken_example,
    suspects=("precision: angles are formed in half precision", "precision: the softmax is summed in half precision"),
    grade="spec",
    size=InputSize(batch=1, length=192),
)
