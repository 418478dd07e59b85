"""Which bug a failure looks like that shows only in large inputs: what is wrong, and from which size on."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from regard.conformance import all_laws
from regard.conformance.law import CheckSizes, Law, LawTrial, distance
from regard.conformance.mutations.sizes import size_mutations
from regard.conformance.oracle import AttentionInputs, Oracle
from regard.conformance.probing import decode, first_broken_token, token_gaps
from regard.conformance.verdict import Diagnosis

# Laws that give the layer nothing but tokens: if none is broken, padding, a cache or another path is at fault.
_PLAIN = ("PREFIX", "CONST", "PERM", "CAUSAL")
# How many tokens come before a chunk whose length is tried.
_PAST = 8
# A bug explains a layer if it leaves this share of the error.
_EXPLAINED = 1e-2
_FEW = 4
_ROUND = 8


def diagnose_size(law: Law, trial: LawTrial, oracle: Oracle | None) -> Iterator[Diagnosis]:
    """Probable bugs, the likeliest first; the trial is at the smallest size that fails."""
    usual, size = law.size_for(trial.spec), trial.size
    if law.family == "cache" and size.length > usual.length:
        yield from _of_cache(trial)
    elif size.length > usual.length or law.grade == "spec":
        found = [*(_against_laws(trial) if oracle is None else _against_oracle(trial, oracle))]
        yield from found
        if not found and law.family == "padding":
            yield from _of_padding(trial)
        if not found:
            what = {"padding": "padding is handled wrongly", "path": "one code path is wrong"}
            words = what.get(law.family or "", "the layer is wrong")
            yield Diagnosis(law.family, f"{words} from {size.length} tokens on{_of_block(size.length)}")
    else:
        padded = "padded " if law.family == "padding" or law.id == "CACHEPAD" else ""
        yield Diagnosis("batch", f"row {size.batch - 1} and later rows of {padded}batches are wrong")


def is_wrong_when_short(trial: LawTrial, oracle: Oracle) -> bool:
    """True if the layer leaves the oracle in short inputs already, so that no size explains the failure."""
    x = trial.inputs()
    found, wanted = trial.call(x), oracle.output(AttentionInputs.of(x))
    return distance(found, wanted) > trial.work_tolerance(wanted, _largest_logit(oracle, x))


def _of_block(length: int) -> str:
    """The round number near which something goes wrong, if there is one."""
    size = next((near for near in (length - 1, length, length - 2) if near % _ROUND == 0), None)
    return "" if size is None else f": a tile, page, mask or table of {size} seems to end there"


def _longest(trial: LawTrial) -> int:
    longest = max(trial.size.length, *CheckSizes().lengths)
    return min(longest, trial.spec.max_positions or longest)


def _against_laws(trial: LawTrial) -> Iterator[Diagnosis]:
    """Whether laws about tokens alone are broken at this size."""
    alone = replace(trial, size=replace(trial.size, batch=2))
    laws = [law for name in _PLAIN if (law := all_laws()[name]).applies(trial.spec) is None]
    if any(each.is_broken for law in laws for each in law.compare(alone)):
        length = trial.size.length
        yield Diagnosis("block", f"inputs of {length} tokens and more are wrong{_of_block(length)}")


def _against_oracle(trial: LawTrial, oracle: Oracle) -> Iterator[Diagnosis]:
    """What explains the outputs for tokens alone, at the shortest length that fails and at the longest one."""
    longest = _longest(trial)
    x = trial.inputs(length=longest, batch=1)

    def gaps(length: int) -> np.ndarray:
        found, wanted = trial.call(x[:, :length]), oracle.output(AttentionInputs.of(x[:, :length]))
        return token_gaps(found, wanted)[0] > trial.work_tolerance(wanted, _largest_logit(oracle, x[:, :length]))

    broken = gaps(longest)
    if not broken.any():
        return
    shortest = _least(trial.spec.window or 1, longest, lambda length: bool(gaps(length).any()))
    for near in dict.fromkeys((shortest - 1, shortest // _ROUND * _ROUND)):
        yield from _explained(trial, oracle, x, (near, shortest))
    wrong = np.flatnonzero(broken)
    which = f"outputs {', '.join(map(str, wrong))}" if len(wrong) <= _FEW else "outputs"
    yield Diagnosis("block", f"{which} of inputs of {shortest} tokens and more are wrong{_of_block(shortest)}")


def _largest_logit(oracle: Oracle, x: np.ndarray) -> float:
    return float(np.abs(oracle.logits(AttentionInputs.of(x))).max())


def _least(holds: int, fails: int, is_broken: Callable[[int], bool]) -> int:
    """The least number that fails, by bisection."""
    while fails - holds > 1:
        middle = (holds + fails) // 2
        holds, fails = (holds, middle) if is_broken(middle) else (middle, fails)
    return fails


def _explained(trial: LawTrial, oracle: Oracle, x: np.ndarray, sizes: tuple[int, int]) -> Iterator[Diagnosis]:
    """The bugs with this border that explain all outputs, both at the shortest length that fails and at the longest."""
    border, shortest = sizes
    if border < 2:
        return
    inputs = [AttentionInputs.of(x[:, :length]) for length in (shortest, x.shape[1])]
    found = [trial.call(x[:, : each.mask.shape[1]]) for each in inputs]
    errors = [distance(ours, oracle.output(each)) for ours, each in zip(found, inputs, strict=True)]
    for mutation in size_mutations(trial.spec, border):
        outputs = [mutation.output(oracle, each) for each in inputs]
        if all(
            output is not None and distance(ours, output) <= _EXPLAINED * error
            for ours, output, error in zip(found, outputs, errors, strict=True)
        ):
            yield Diagnosis(mutation.family, mutation.description)


def _of_padding(trial: LawTrial) -> Iterator[Diagnosis]:
    """One key is hidden in each row, and overwritten: the first one that other outputs still see."""
    length = _longest(trial)
    x = np.repeat(trial.inputs(length=length, batch=1), length, axis=0)
    is_hidden = np.eye(length, dtype=bool)
    junk = np.where(is_hidden[..., None], -x, x)
    found, wanted = (trial.call(each, mask=~is_hidden) for each in (junk, x))
    seen = np.flatnonzero(token_gaps(found, wanted, ~is_hidden).max(axis=1) > trial.tolerance(wanted))
    if len(seen):
        yield Diagnosis("padding", f"the mask is ignored at keys {seen[0]} to {seen[-1]}")


def _of_cache(trial: LawTrial) -> Iterator[Diagnosis]:
    """Token by token, and one chunk after a short past: which of them fails, and from which number on."""
    x = trial.inputs(length=_longest(trial))
    y = trial.call(x)
    tolerance = trial.tolerance(y)
    first = first_broken_token(token_gaps(decode(trial.subject, x, (1,) * x.shape[1]), y), tolerance)
    if first is not None:
        yield Diagnosis("cache", f"a new token after {first} cached ones is wrong{_of_block(first + 1)}")
        return
    for chunk in range(2, x.shape[1] - _PAST):
        end = _PAST + chunk
        if distance(decode(trial.subject, x[:, :end], (_PAST, chunk)), trial.call(x[:, :end])) > tolerance:
            yield Diagnosis("cache", f"{chunk} or more new tokens at once after a cache are wrong")
            return
    yield Diagnosis("cache", f"chunks of {trial.size.length} tokens in all are wrong, though single tokens are right")
