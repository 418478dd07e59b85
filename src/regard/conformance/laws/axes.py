"""Positions with several axes count on every axis, and decoding continues from the largest of them."""

import numpy as np

from regard.conformance.law import Comparison, Comparisons, Diagnosis, Law, LawTrial, distance
from regard.conformance.probing import grid_positions, token_gaps, worst_token
from regard.conformance.reference_decoder import PlacedTokens, ReferenceDecoder, decoder_subject

# How many tokens are decoded after a prompt, and by how much positions are moved.
_DECODED = 3
_MOVED = 5
_NOT_TEXT = Diagnosis("positions", "positions that are equal on all axes are not taken for those of text")
_IGNORED = Diagnosis("positions", "an axis of the positions is ignored")
_ABSOLUTE = Diagnosis("positions", "more than differences of positions counts")
_FIRST_ROW = Diagnosis("positions", "the first row's offset is used for all rows")
_COUNTED = Diagnosis("positions", "tokens after a prompt are placed by their number: the prompt's offset is lost")
_ELSEWHERE = Diagnosis("positions", "tokens after a prompt are not placed after its largest position")


def _compare(trial: LawTrial) -> Comparisons:
    """A prompt with a grid of tokens in it, placed and moved in several ways, and then continued without positions."""
    x = trial.inputs()
    batch, length, _ = x.shape
    num_prompt = length - _DECODED
    if num_prompt < 3:
        return
    axes, tolerance = trial.spec.position_axes, trial.tolerance(trial.call(x))
    counted = np.broadcast_to(np.arange(length), (axes, batch, length)).copy()
    places = grid_positions(axes, batch, num_prompt)
    y = trial.call(x[:, :num_prompt], positions=places)
    control = distance(trial.call(x[:, :num_prompt]), y)
    shown = {"control": control, "place": {"prompt": num_prompt}}
    yield trial.compared(
        "positions equal on all axes differ from none given",
        trial.call(x, positions=counted),
        trial.call(x),
        signature={"bug": _NOT_TEXT},
        **shown,
    )
    moved = trial.call(x[:, :num_prompt], positions=places + _MOVED + np.arange(axes)[:, None, None])
    what = "moving all positions of each axis by the same amount changes an output"
    yield trial.compared(what, moved, y, 2 * tolerance, signature={"bug": _ABSOLUTE}, **shown)
    for axis in range(axes):
        other = places.copy()
        other[axis, :, 1:] += _MOVED
        is_dead = distance(trial.call(x[:, :num_prompt], positions=other), y) <= tolerance
        yield Comparison(
            what="an output does not change with an axis of the positions",
            error=float(is_dead),
            tolerance=0.0,
            control=control,
            place={"axis": axis},
            is_yes_no=True,
            signature={"bug": _IGNORED},
        )
    for order in (places, places[:, :, ::-1].copy()):
        yield from _continued(trial, x, order, control)


def _continued(trial: LawTrial, x: np.ndarray, places: np.ndarray, control: float) -> Comparisons:
    """Decoding after the prompt, one by one and at once, against a full pass in which all positions are given.

    The largest position need not be that of the last token.
    """
    batch, num_prompt = places.shape[1:]
    later = np.arange(1, x.shape[1] - num_prompt + 1)
    after = np.broadcast_to(places.max(axis=(0, 2))[:, None] + later, (len(places), batch, len(later)))
    wanted = trial.call(x, positions=np.concatenate([places, after], axis=2))[:, num_prompt:]
    counted = np.broadcast_to(num_prompt - 1 + later, after.shape)
    miscounted = trial.call(x, positions=np.concatenate([places, counted], axis=2))[:, num_prompt:]
    for chunks in ((1,) * len(later), (len(later),)):
        _, cache = trial.subject.step(x[:, :num_prompt], trial.subject.empty_cache(batch), positions=places)
        outputs, start = [], num_prompt
        for chunk in chunks:
            y, cache = trial.subject.step(x[:, start : start + chunk], cache)
            outputs.append(y)
            start += chunk
        found = np.concatenate(outputs, axis=1)
        gaps, tolerance = token_gaps(found, wanted), trial.tolerance(wanted)
        is_first_right = batch > 1 and float(gaps[0].max()) <= tolerance
        is_counted = distance(found, miscounted) <= tolerance
        yield Comparison(
            what="tokens decoded after a prompt with positions differ from a full pass",
            error=float(gaps.max()),
            tolerance=tolerance,
            control=control,
            place={"prompt": num_prompt, "chunks": len(chunks), **worst_token(gaps)},
            signature={"bug": _COUNTED if is_counted else _FIRST_ROW if is_first_right else _ELSEWHERE},
        )


def _signs(_trial: LawTrial, broken: list[Comparison]) -> list[Diagnosis]:
    return list(dict.fromkeys(each.signature["bug"] for each in broken))


class _CountsTokens(ReferenceDecoder):
    def next_positions(self, cache: PlacedTokens | None, batch: int, count: int) -> np.ndarray:
        start = 0 if cache is None else cache.x.shape[1]
        return np.broadcast_to(start + np.arange(count), (self.axes, batch, count))


LAW = Law(
    id="AXES",
    statement="every axis of positions counts, and tokens decoded after a prompt continue from its largest position",
    family="positions",
    rank=231,
    needs=("cache", "axes"),
    compare=_compare,
    signs=_signs,
    diagnosed_by="signs",
    broken_example=lambda: decoder_subject(_CountsTokens(axes=3), "the offset of a prompt is lost"),
    suspects=(_COUNTED, _FIRST_ROW, _ELSEWHERE, _IGNORED, _NOT_TEXT, _ABSOLUTE),
)
