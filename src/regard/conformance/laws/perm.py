"""Without positions, order means nothing."""

from collections.abc import Iterator

import numpy as np

from regard.conformance.law import Comparison, Law, LawTrial, distance, only_if
from regard.conformance.probes import drawn_heads, liveness
from regard.conformance.reference_layer import ReferenceLayer
from regard.conformance.subject import Spec, Subject


def _compare(trial: LawTrial) -> Iterator[Comparison]:
    """f(Px) beside Pf(x), for a reversal, a rotation and a shuffle; then (key, value) pairs in another order."""
    x = trial.inputs()
    length = x.shape[1]
    if length < 2:
        return
    y = trial.subject.call(x)
    control = liveness(trial, x, y)
    for name, order in _orders(trial, length).items():
        found, wanted = trial.subject.call(x[:, order]), y[:, order]
        gaps = [distance(found[:, i], wanted[:, i]) for i in range(length)]
        yield Comparison(
            what=f"outputs do not follow the inputs in {name}",
            error=max(gaps),
            tolerance=trial.tolerance(wanted),
            control=control,
            place={"output": int(np.argmax(gaps))},
            signature={"level": "layer", "order": order.tolist(), "gaps": gaps},
        )
    if trial.subject.has("core"):
        yield _pairs(trial, _orders(trial, length)["another order"])


def _orders(trial: LawTrial, length: int) -> dict[str, np.ndarray]:
    places = np.arange(length)
    return {
        "reverse": places[::-1].copy(),
        "rotation": np.roll(places, 1),
        "another order": trial.rng("order").permutation(length),
    }


def _pairs(trial: LawTrial, order: np.ndarray) -> Comparison:
    """The core with keys and values permuted together."""
    q, k, v = drawn_heads(trial)
    y = trial.subject.core(q, k, v)
    found = trial.subject.core(q, np.ascontiguousarray(k[:, :, order]), np.ascontiguousarray(v[:, :, order]))
    return Comparison(
        what="the output changes with the order of (key, value) pairs",
        error=distance(found, y),
        tolerance=trial.tolerance(y),
        control=distance(trial.subject.core(q, k, -v), y),
        signature={"level": "core", "order": order.tolist()},
    )


class _Untransposed(ReferenceLayer):
    """Splits heads by a reshape alone, so that a head holds whole tokens."""

    def _heads(self, x: np.ndarray, part: str, num_heads: int) -> np.ndarray:
        batch, length, _ = x.shape
        return self.product(x, self.matrices[part]).reshape(batch, num_heads, length, -1)


def _broken_example() -> Subject:
    return _Untransposed(Spec(causal=False, positions="none"), name="heads split without a transpose")


LAW = Law(
    id="PERM",
    statement="f(Px) = P f(x), and (key, value) pairs may come in any order",
    applies=only_if(positions="none", causal=False, window=None),
    compare=_compare,
    broken_example=_broken_example,
    suspects=("heads are reshaped without a transpose", "positions are added somewhere", "a causal mask is left on"),
)
