"""Decoding with a cache gives what one pass gives."""

from collections.abc import Iterator

import numpy as np

from regard.conformance.law import Comparison, Law, LawTrial, distance, only_if
from regard.conformance.masking import gaps_by_place, place_of_worst
from regard.conformance.probes import bumped
from regard.conformance.reference_layer import ReferenceLayer
from regard.conformance.stepping import chunkings, first_broken, stepped, told
from regard.conformance.subject import Spec, Subject


def _compare(trial: LawTrial) -> Iterator[Comparison]:
    """The sequence in chunks of several sizes, against the full pass; the past must move the last output."""
    x = trial.inputs()
    if x.shape[1] < 2:
        return
    y = trial.subject.call(x)
    control = distance(trial.subject.call(bumped(trial, x, slice(0, -1), by=2.0))[:, -1], y[:, -1])
    tolerance = trial.tolerance(y)
    found = {chunks: gaps_by_place(stepped(trial.subject, x, chunks), y) for chunks in chunkings(x.shape[1])}
    broken = {chunks: not gaps.max() <= tolerance for chunks, gaps in found.items()}
    for chunks, gaps in found.items():
        signature = first_broken(gaps, tolerance, chunks)
        token = {} if signature["first"] is None else {"token": signature["first"]}
        yield Comparison(
            what="decoding with a cache leaves the full pass",
            error=float(gaps.max()),
            tolerance=tolerance,
            control=control,
            place={"chunks": told(chunks), **(token or place_of_worst(gaps))},
            signature={**signature, "broken": broken},
        )


class _Restarted(ReferenceLayer):
    """Counts the positions of every chunk from zero."""

    def default_positions(self, mask: np.ndarray, length: int) -> np.ndarray:
        return super().default_positions(mask[:, -length:], length)


def _broken_example() -> Subject:
    return _Restarted(Spec(causal=True, positions="rotary"), name="positions restart at every chunk")


LAW = Law(
    id="CACHE",
    statement="token by token, all but one and then one, and uneven chunks all give what the full pass gives",
    needs=("cache",),
    applies=only_if(causal=True),
    looks_past_window=True,
    compare=_compare,
    broken_example=_broken_example,
    suspects=(
        "the offset of positions behind a cache is wrong",
        "the causal mask of a chunk is aligned to the wrong key",
        "cached keys are rotated again",
        "the window is counted wrongly behind a cache",
    ),
)
