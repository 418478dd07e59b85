"""Packed documents are computed as if each were alone."""

import itertools
from typing import Any

import numpy as np

from regard.conformance.law import Comparison, Comparisons, Diagnosis, Law, LawTrial, distance
from regard.conformance.probing import token_gaps, worst_token
from regard.conformance.reference_recurrence import broken_recurrence, chunked

_LEAKS = Diagnosis("varlen", "a state crosses the border of two documents")
_ALONE = Diagnosis("varlen", "a packed document is computed otherwise than alone")
_EMPTY = Diagnosis("varlen", "an empty document shifts or spoils the others")
_STATES = Diagnosis("varlen", "the states of the documents are wrong, or in another order")


def _compare(trial: LawTrial) -> Comparisons:
    """Documents changed one by one, then each against itself alone, then from the states that the first call gave."""
    x = trial.inputs(batch=1)
    lengths = _lengths(x.shape[1])
    if len(lengths) < 2:
        return
    y, states = _packed(trial, x, lengths)
    control = distance(_packed(trial, trial.bumped(x, slice(None), by=2.0), lengths)[0], y)

    def compared(what: str, gaps: np.ndarray, bug: Diagnosis, **place: Any) -> Comparison:
        shown = {"documents": list(lengths), **place, **worst_token(gaps)}
        tolerance = trial.tolerance(y)
        return Comparison(
            what=what, error=float(gaps.max()), tolerance=tolerance, control=control, place=shown, suggests=(bug,)
        )

    edges = np.cumsum([0, *lengths])
    places = np.arange(x.shape[1])
    inside = [(start <= places) & (places < end) for start, end in itertools.pairwise(edges)]
    for number, own in enumerate(inside):
        moved, _ = _packed(trial, trial.bumped(x, np.flatnonzero(own).tolist()), lengths)
        what = "a document changes with another one"
        yield compared(what, token_gaps(moved, y, ~own[None]), _LEAKS, changed=number)
    alone, ends = zip(*(trial.subject.step(x[:, own], trial.subject.empty_cache(1)) for own in inside), strict=True)
    yield compared("a document changes when it is packed", token_gaps(np.concatenate(alone, axis=1), y), _ALONE)
    later = trial.inputs("later", batch=1)
    found, _ = trial.subject.step(later, states, lengths=lengths)
    wanted = [trial.subject.step(later[:, own], end)[0] for own, end in zip(inside, ends, strict=True)]
    gaps = token_gaps(np.concatenate(wanted, axis=1), found)
    yield compared("a document continued from its packed state differs from one continued alone", gaps, _STATES)
    yield from _with_empty(trial, x, y, lengths, control)
    yield from _kept_by_empty(trial, x, lengths, control)


def _with_empty(trial: LawTrial, x: np.ndarray, y: np.ndarray, lengths: tuple[int, ...], control: float) -> Comparisons:
    """Empty documents first, between and last change nothing; a form that refuses them does not have them."""
    filled = (0, lengths[0], 0, *lengths[1:], 0)
    try:
        found, states = _packed(trial, x, filled)
        later = trial.inputs("after empty", batch=1)[:, : len(filled)]
        after, _ = trial.subject.step(later, states, lengths=(1,) * len(filled))
    except Exception:  # noqa: BLE001 - every framework has an error of its own for it
        return
    what, place = "empty documents change the others", {"documents": list(filled)}
    yield trial.compared(what, found, y, control=control, place=place, suggests=(_EMPTY,))
    if later.shape[1] == len(filled):
        what = "the state of an empty document is not that of a new sequence"
        for number in (each for each, length in enumerate(filled) if not length):
            token = slice(number, number + 1)
            wanted = trial.subject.step(later[:, token], trial.subject.empty_cache(1))[0]
            shown = {**place, "empty": number}
            yield trial.compared(what, after[:, token], wanted, control=control, place=shown, suggests=(_EMPTY,))


def _kept_by_empty(trial: LawTrial, x: np.ndarray, lengths: tuple[int, ...], control: float) -> Comparisons:
    """A document that gets no tokens in a call keeps the state that it was given."""
    later = trial.inputs("after empty", batch=1)
    number, own = 0, slice(0, lengths[0])
    _, state = trial.subject.step(x[:, own], trial.subject.empty_cache(1))
    wanted = trial.subject.step(later[:, own], state)[0]
    try:
        states = _packed(trial, x, lengths)[1]
        _, states = trial.subject.step(later[:, : sum(lengths[1:])], states, lengths=(0, *lengths[1:]))
        found = trial.subject.step(later, states, lengths=lengths)[0][:, own]
    except Exception:  # noqa: BLE001 - a form that refuses empty documents does not have them
        return
    what, place = "a document without new tokens loses its state", {"documents": list(lengths), "empty": number}
    yield trial.compared(what, found, wanted, control=control, place=place, suggests=(_EMPTY,))


def _packed(trial: LawTrial, x: np.ndarray, lengths: tuple[int, ...]) -> tuple[np.ndarray, Any]:
    return trial.subject.step(x, None, lengths=lengths)


def _lengths(length: int) -> tuple[int, ...]:
    """Documents of unequal lengths, one of them a single token.

    >>> _lengths(12), _lengths(2)
    ((5, 1, 6), (1, 1))
    """
    first = (length - 1) // 2
    return tuple(each for each in (first, 1, length - first - 1) if each)


def _one_document(*inputs: np.ndarray, state: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    *per_token, borders = inputs
    y, after = chunked(*per_token, state=None if state is None else state[:1])
    return y, np.repeat(after, len(borders) - 1, axis=0)


LAW = Law(
    id="PACKED",
    statement="packed documents give the outputs and states that each gives alone, and none depends on another",
    family="varlen",
    rank=106,
    needs=("state", "packed"),
    compare=_compare,
    diagnosed_by="suspects",
    looks_past_chunk=True,
    broken_example=lambda: broken_recurrence("borders of documents ignored", packed=_one_document),
    suspects=(_LEAKS, _ALONE, _STATES, _EMPTY),
)
