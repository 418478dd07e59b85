"""Without positions, the order of tokens does not matter."""

import numpy as np

from regard.conformance.law import Comparison, Comparisons, Diagnosis, Law, LawTrial, Spec, distance, only_if
from regard.conformance.reference_layer import ReferenceLayer

_RESHAPED = Diagnosis("heads", "heads are reshaped without a transpose")
_POSITIONS = Diagnosis("positions", "a position code is left on")
_CAUSAL = Diagnosis("mask", "a causal mask is left on")


def _compare(trial: LawTrial) -> Comparisons:
    """f(Px) against Pf(x), for a reversal, a rotation and a shuffle; then the sequence repeated.

    Last, (key, value) pairs in another order.
    """
    x = trial.inputs()
    length = x.shape[1]
    if length < 2:
        return
    y = trial.call(x)
    control = trial.liveness(x, y)
    places, shuffled = np.arange(length), trial.rng("order").permutation(length)
    for name, order in (("reverse", places[::-1]), ("rotation", np.roll(places, 1)), ("another order", shuffled)):
        found, wanted = trial.call(x[:, order]), y[:, order]
        gaps = [distance(found[:, i], wanted[:, i]) for i in range(length)]
        yield Comparison(
            what=f"outputs do not follow the inputs in {name}",
            error=max(gaps),
            tolerance=trial.tolerance(wanted),
            control=control,
            place={"output": int(np.argmax(gaps))},
        )
    if not trial.spec.sink:  # a sink has less weight beside twice as many tokens
        twice, wanted = trial.call(np.concatenate([x, x], axis=1)), np.concatenate([y, y], axis=1)
        yield trial.compared("a sequence repeated does not give its outputs repeated", twice, wanted, control=control)
    if trial.subject.has("core"):
        core, (q, k, v) = trial.subject.core, trial.random_heads()
        found = core(q, *(np.ascontiguousarray(each[:, :, shuffled]) for each in (k, v)))
        y, what = core(q, k, v), "the order of (key, value) pairs changes the output"
        yield trial.compared(what, found, y, control=distance(core(q, k, -v), y), place={"level": "core"})


def _signs(trial: LawTrial, _broken: list[Comparison]) -> list[Diagnosis]:
    x = trial.inputs()
    later = x.copy()
    later[:, -1] += 1
    is_causal = distance(trial.call(later)[:, 0], trial.call(x)[:, 0]) == 0
    return [_CAUSAL] if is_causal else [_RESHAPED, _POSITIONS]


class _Untransposed(ReferenceLayer):
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
    grows_in=("length",),
    signs=_signs,
    broken_example=lambda: _Untransposed(Spec(causal=False, positions="none"), name="heads split without a transpose"),
    suspects=(_RESHAPED, _POSITIONS, _CAUSAL),
)
