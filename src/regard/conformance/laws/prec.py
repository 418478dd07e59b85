"""A layer in half precision is about as accurate as plain code in that precision."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from regard.conformance.law import (
    Comparison,
    Comparisons,
    InputSize,
    Law,
    LawTrial,
    NotTried,
    distance,
    dtype_of,
    epsilon_of,
)
from regard.conformance.oracle import Oracle, Part, rotate, undeclared
from regard.conformance.reference_layer import ReferenceLayer
from regard.conformance.subject import Spec, Subject
from regard.conformance.verdict import Diagnosis

_SIZE = InputSize(batch=1, length=192)
# Angles lose precision only far from the start.
_FAR = 1000
# Sums in half precision stop growing only if they have many terms, all of about the same size.
_LONG = 400
_UNEVEN = 0.05
_COARSE_ANGLES = Diagnosis("precision", "angles are formed in half precision")
_COARSE_SUMS = Diagnosis("precision", "the softmax or another sum is formed in half precision")


def _compare(trial: LawTrial) -> Comparisons:
    """|y − oracle| against 2 |naive − oracle| + 2 ulp: ordinary inputs, far from the start, and long even sums."""
    subject, dtype = trial.subject, trial.spec.dtype
    if not trial.is_half_precision:
        if not subject.has("float64"):
            raise NotTried(f"the layer is in {dtype} and cannot be converted to another precision")
        subject, dtype = subject.converted("bfloat16"), "bfloat16"
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
    if length == _SIZE.length and longest > length:
        even = x[:, :1].astype(np.float64) + _UNEVEN * trial.inputs("even", length=longest).astype(np.float64)
        yield _compared(subject, oracle, even.astype(dtype_of(dtype)), dtype)


def _compared(subject: Subject, oracle: Oracle, x: np.ndarray, dtype: str, *, start: int = 0) -> Comparison:
    """The layer and plain code, each against the oracle."""
    places = np.broadcast_to(np.arange(start, start + x.shape[1]), x.shape[:2])
    found = subject.call(x, **({"positions": places} if start else {}))
    exact, naive = oracle(x, positions=places), rounded_oracle(oracle, dtype)(x, positions=places)
    largest = float(np.abs(exact).max())
    return Comparison(
        what=f"the layer is less accurate than plain code in {dtype}",
        error=distance(found, exact),
        tolerance=2 * distance(naive, exact) + 2 * epsilon_of(dtype) * largest,
        control=None if largest > 0 else 0.0,
        place={"dtype": dtype, "first position": start, "tokens": x.shape[1]},
        suggests=(_COARSE_ANGLES if start > 0 else _COARSE_SUMS,),
    )


def rounded_oracle(oracle: Oracle, dtype: str) -> Oracle:
    """The oracle with every intermediate result rounded to that dtype, as plain code does; angles are in float32."""
    narrow = dtype_of(dtype)

    def rounded(x: np.ndarray) -> np.ndarray:
        return np.asarray(x).astype(narrow).astype(np.float64)

    return replace(oracle, rounded=rounded, rotate=_rounded_rotation(rounded), score=_rounded_score(rounded))


def _rounded_rotation(rounded: Callable[[np.ndarray], np.ndarray]) -> Callable[..., np.ndarray]:
    """x cos + J(x) sin, where cos, sin, both products and their sum are rounded."""

    def rotated(oracle: Oracle, heads: np.ndarray, positions: np.ndarray, part: Part) -> np.ndarray:
        there, back = rotate(oracle, heads, positions, part), rotate(oracle, heads, -positions, part)
        ones = np.ones_like(heads)
        left, right = rotate(oracle, ones, positions, part), rotate(oracle, ones, -positions, part)
        cos, sin = (left + right) / 2, (left - right) / 2
        crossed = np.divide((there - back) / 2, sin, out=np.zeros_like(heads), where=sin != 0)
        return rounded(rounded(heads * rounded(cos)) + rounded(crossed * rounded(sin)))

    return rotated


def _rounded_score(rounded: Callable[[np.ndarray], np.ndarray]) -> Callable[..., np.ndarray]:
    """The product, its scale, its cap and its bias, each rounded."""

    def scored(oracle: Oracle, queries: np.ndarray, keys: np.ndarray, added: np.ndarray | None) -> np.ndarray:
        z = rounded(rounded(queries @ np.swapaxes(keys, -1, -2)) * oracle.scale)
        cap = oracle.spec.softcap
        z = z if cap is None else rounded(cap * rounded(np.tanh(rounded(z / cap))))
        return z if added is None else rounded(z + rounded(added))

    return scored


class _CoarseAngles(ReferenceLayer):
    def rotate(self, heads: np.ndarray, positions: np.ndarray) -> np.ndarray:
        return super().rotate(heads, positions.astype(self.dtype).astype(np.float64))


LAW = Law(
    id="PREC",
    statement="in half precision the error is at most twice that of plain code in that precision, plus two ulp",
    family="precision",
    rank=350,
    follows=("SPEC",),
    needs=("weights",),
    compare=_compare,
    broken_example=lambda: _CoarseAngles(
        Spec(causal=True, positions="rotary", dtype="bfloat16"), name="angles in bfloat16"
    ),
    suspects=(_COARSE_ANGLES, _COARSE_SUMS),
    grade="spec",
    size=_SIZE,
)
