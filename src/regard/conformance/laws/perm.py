"""Without positions, the order of tokens does not matter."""

from collections.abc import Iterator, Sequence

import numpy as np

from regard.conformance.law import Comparison, Law, LawTrial, distance, only_if
from regard.conformance.probing import liveness, random_heads
from regard.conformance.reference_layer import ReferenceLayer
from regard.conformance.subject import Spec
from regard.conformance.verdict import Diagnosis


def _compare(trial: LawTrial) -> Iterator[Comparison]:
    """f(Px) against Pf(x), for a reversal, a rotation and a shuffle; then (key, value) pairs in another order."""
    x = trial.inputs()
    length = x.shape[1]
    if length < 2:
        return
    y = trial.subject.call(x)
    control = liveness(trial, x, y)
    orders = _orders(trial, length)
    for name, order in orders.items():
        found, wanted = trial.subject.call(x[:, order]), y[:, order]
        gaps = [distance(found[:, i], wanted[:, i]) for i in range(length)]
        yield Comparison(
            what=f"outputs do not follow the inputs in {name}",
            error=max(gaps),
            tolerance=trial.tolerance(wanted),
            control=control,
            place={"output": int(np.argmax(gaps))},
        )
    if trial.subject.has("core"):
        yield _pairs(trial, orders["another order"])


def _orders(trial: LawTrial, length: int) -> dict[str, np.ndarray]:
    places = np.arange(length)
    return {
        "reverse": places[::-1].copy(),
        "rotation": np.roll(places, 1),
        "another order": trial.rng("order").permutation(length),
    }


def _pairs(trial: LawTrial, order: np.ndarray) -> Comparison:
    """The core with keys and values permuted together."""
    q, k, v = random_heads(trial)
    y = trial.subject.core(q, k, v)
    found = trial.subject.core(q, np.ascontiguousarray(k[:, :, order]), np.ascontiguousarray(v[:, :, order]))
    what, control = "the order of (key, value) pairs changes the output", distance(trial.subject.core(q, k, -v), y)
    return trial.compared(what, found, y, control=control, place={"level": "core"})


def _signs(trial: LawTrial, _broken: Sequence[Comparison]) -> Iterator[Diagnosis]:
    x = trial.inputs()
    later = x.copy()
    later[:, -1] += 1
    if distance(trial.subject.call(later)[:, 0], trial.subject.call(x)[:, 0]) == 0:
        yield Diagnosis("mask", "a causal mask is left on")
    else:
        yield Diagnosis("heads", "heads are reshaped without a transpose")
        yield Diagnosis("positions", "a position code is left on")


class _Untransposed(ReferenceLayer):
    """Splits heads by a reshape alone, so that a head holds whole tokens."""

    def _heads(self, x: np.ndarray, part: str, num_heads: int) -> np.ndarray:
        batch, length, _ = x.shape
        return self.product(x, self.matrices[part]).reshape(batch, num_heads, length, -1)


LAW = Law(
    id="PERM",
    statement="f(Px) = P f(x), and (key, value) pairs may come in any order",
    family="heads",
    rank=170,
    applies=only_if(positions="none", causal=False, window=None),
    compare=_compare,
    signs=_signs,
    broken_example=lambda: _Untransposed(Spec(causal=False, positions="none"), name="heads split without a transpose"),
    suspects=(
        "heads are reshaped without a transpose",
        Diagnosis("positions", "positions are added somewhere"),
        Diagnosis("mask", "a causal mask is left on"),
    ),
)
