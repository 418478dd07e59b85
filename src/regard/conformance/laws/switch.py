"""Frequencies that switch with the length switch for the whole sequence, and back for the next one."""

import numpy as np

from regard.conformance.law import Comparison, Comparisons, Diagnosis, Law, LawTrial, distance
from regard.conformance.reference_decoder import ReferenceDecoder, decoder_subject

# How far beyond the switch sequences go.
_BEYOND = 4
_STICKY = Diagnosis("rotary", "the frequencies of a long sequence stay for the next ones")
_NEVER = Diagnosis("rotary", "the frequencies do not switch")
_EARLY = Diagnosis("rotary", "the frequencies switch at another length than declared")
_MIXED = Diagnosis("rotary", "cached keys keep the old frequencies when a sequence grows beyond the switch")
_BY_CALL = Diagnosis("rotary", "the frequencies follow the length of a call, not that of the sequence")


def _compare(trial: LawTrial) -> Comparisons:
    """Sequences just below and beyond the switch, before and after each other, and decoded through it."""
    switch = trial.spec.switch_length
    assert switch is not None, "needs say so"
    x = trial.inputs(length=switch + _BEYOND)
    short, middle = trial.call(x[:, :switch]), trial.call(x[:, : switch + 1])
    before = trial.call(x[:, : switch - 1])
    long = trial.call(x)
    control = distance(trial.call(trial.bumped(x, slice(None), by=2.0)), long)

    def compared(what: str, found: np.ndarray, wanted: np.ndarray, bug: Diagnosis, tokens: int) -> Comparison:
        return trial.compared(what, found, wanted, control=control, place={"tokens": tokens}, suggests=(bug,))

    what = "a sequence changes after a longer one"
    yield compared(what, trial.call(x[:, :switch]), short, _STICKY, switch)
    yield compared(what, trial.call(x[:, : switch + 1]), middle, _STICKY, switch + 1)
    is_dead = distance(long[:, :switch], short) <= trial.tolerance(short)
    what = "the outputs do not change when the sequence grows beyond the switch"
    yield Comparison(
        what=what, error=float(is_dead), tolerance=0.0, control=control, is_yes_no=True, suggests=(_NEVER,)
    )
    what = "the frequencies have switched too early"
    yield compared(what, short[:, : switch - 1], before, _EARLY, switch)
    if not trial.spec.is_gradual:
        what = "the frequencies have not switched just beyond the switch"
        yield compared(what, middle, long[:, : switch + 1], _EARLY, switch + 1)
    yield from _decoded(trial, x, (short, long), control)


def _decoded(trial: LawTrial, x: np.ndarray, full: tuple[np.ndarray, np.ndarray], control: float) -> Comparisons:
    """Decoding below the switch, beyond it and, where it is said what happens, across it."""
    switch, (short, long) = trial.spec.switch_length or 0, full
    below = _after(trial, x, switch - 3, switch)
    shown = {"control": control, "place": {"prompt": switch - 3}}
    what = "decoding below the switch differs from a full pass"
    yield trial.compared(what, below, short[:, switch - 3 :], suggests=(_BY_CALL,), **shown)
    if not trial.spec.is_gradual:
        beyond = _after(trial, x, switch + 1, switch + _BEYOND)
        shown = {"control": control, "place": {"prompt": switch + 1}}
        what = "decoding beyond the switch differs from a full pass"
        yield trial.compared(what, beyond, long[:, switch + 1 :], suggests=(_BY_CALL,), **shown)
    if trial.spec.crossing == "recompute":
        across = _after(trial, x, switch - 2, switch + _BEYOND)[:, 2:]
        wanted = [trial.call(x[:, : end + 1])[:, end:] for end in range(switch, switch + _BEYOND)]
        shown = {"control": control, "place": {"prompt": switch - 2}}
        what = "decoding across the switch differs from a full pass"
        yield trial.compared(what, across, np.concatenate(wanted, axis=1), suggests=(_MIXED, _BY_CALL), **shown)


def _after(trial: LawTrial, x: np.ndarray, num_prompt: int, end: int) -> np.ndarray:
    """The outputs of tokens decoded one by one after a prompt."""
    _, cache = trial.subject.step(x[:, :num_prompt], trial.subject.empty_cache(len(x)))
    outputs = []
    for at in range(num_prompt, end):
        y, cache = trial.subject.step(x[:, at : at + 1], cache)
        outputs.append(y)
    return np.concatenate(outputs, axis=1)


class _NeverBack(ReferenceDecoder):
    longest = 0

    def frequencies(self, length: int) -> np.ndarray:
        self.longest = max(self.longest, length)
        return super().frequencies(self.longest)


LAW = Law(
    id="SWITCH",
    statement="frequencies depend on the length of the sequence alone, and decoding uses those of the full pass",
    family="rotary",
    rank=29,
    needs=("cache", "switch"),
    compare=_compare,
    diagnosed_by="suspects",
    broken_example=lambda: decoder_subject(_NeverBack(switch_length=16), "long frequencies stay"),
    suspects=(_STICKY, _MIXED, _BY_CALL, _EARLY, _NEVER),
)
