"""The chunked form equals the recurrent one."""

import numpy as np

from regard.conformance.law import Comparison, Comparisons, Diagnosis, Law, LawTrial, distance
from regard.conformance.probing import first_broken_token, token_gaps, worst_token
from regard.conformance.reference_recurrence import broken_recurrence, chunked

_INSIDE = Diagnosis("chunk", "the first chunk itself is wrong")
_BORDER = Diagnosis("chunk", "what is carried from one chunk to the next is wrong")
_LAST = Diagnosis("chunk", "a last chunk that is not full is wrong")
_FROM_STATE = Diagnosis("chunk", "the chunked form ignores or misreads the state that it starts from")
_FINAL = Diagnosis("chunk", "the state that the chunked form returns is wrong")


def _compare(trial: LawTrial) -> Comparisons:
    """Both forms from no state and from a state, and the recurrent form from the other's state."""
    subject, size = trial.subject, trial.spec.chunk_size or 1
    x, before = trial.inputs(), trial.inputs("before", length=3)
    length = x.shape[1]
    y = trial.call(x)
    none = subject.empty_cache(len(x))
    start = subject.step(before, none)[1]
    from_start = subject.step(x, start)[0]
    control = distance(trial.call(trial.bumped(x, slice(None), name="live", by=2.0)), y)

    def compared(what: str, found: np.ndarray, wanted: np.ndarray, case: str) -> Comparison:
        gaps, tolerance = token_gaps(found, wanted), trial.tolerance(wanted)
        first = first_broken_token(gaps, tolerance)
        place = worst_token(gaps) if first is None else {"token": first}
        signature = {"case": case, "first": first, "length": found.shape[1], "size": size}
        return Comparison(
            what=what, error=float(gaps.max()), tolerance=tolerance, control=control, place=place, signature=signature
        )

    edges = {1, 3, size - 1, size, size + 1, 2 * size, length - 1, length}
    counts = sorted(each for each in edges if 0 < each <= length)
    for count in counts:
        found = subject.call(x[:, :count], form="chunked")
        yield compared("the chunked form differs from the recurrent one", found, y[:, :count], "new")
    continued = subject.step(x, start, form="chunked")[0]
    yield compared("the chunked form differs if it starts from a state", continued, from_start, "started")
    for count in counts:
        part = x[:, :count]
        after = subject.step(before, subject.step(part, none, form="chunked")[1])[0]
        wanted = subject.step(before, subject.step(part, none)[1])[0]
        yield compared("the state after the chunked form gives other outputs", after, wanted, "final")


def _signs(_trial: LawTrial, broken: list[Comparison]) -> list[Diagnosis]:
    cases = {each.signature["case"] for each in broken}
    if "new" not in cases:
        return [_FROM_STATE] if "started" in cases else [_FINAL]
    new = [each.signature for each in broken if each.signature["case"] == "new"]
    firsts = [each["first"] for each in new if each["first"] is not None]
    size = new[0]["size"]
    if all(each["length"] % size for each in new) and min(firsts, default=0) >= size:
        return [_LAST, _BORDER]
    return [_BORDER] if firsts and min(firsts) >= size else [_INSIDE]


def _lost_border(*inputs: np.ndarray, state: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    parts = [chunked(*(each[:, at : at + 4] for each in inputs), state=state) for at in range(0, len(inputs[0][0]), 4)]
    return np.concatenate([y for y, _ in parts], axis=1), parts[-1][1]


LAW = Law(
    id="CHUNKED",
    statement="the chunked form equals the recurrent one for every length and from any state, and so does its state",
    family="chunk",
    rank=105,
    needs=("state", "chunked"),
    compare=_compare,
    signs=_signs,
    diagnosed_by="signs",
    looks_past_chunk=True,
    broken_example=lambda: broken_recurrence("every chunk starts from the first state", chunked=_lost_border),
    suspects=(_INSIDE, _BORDER, _LAST, _FROM_STATE, _FINAL),
)
