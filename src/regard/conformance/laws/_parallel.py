"""A sequence shared by ranks, for the laws of context parallelism."""

from collections.abc import Iterator

import numpy as np

from regard.conformance.kernel_cases import TokenSequence, compare_sequences, draw_sequence
from regard.conformance.law import Comparison, LawTrial


def places_of_ranks(trial: LawTrial, world: int) -> Iterator[tuple[str, list[np.ndarray]]]:
    """The places of each rank's tokens in the sequence, by the kind of split."""
    traits, local = trial.subject.traits, trial.size.length
    if traits.split == "zigzag":
        pieces = np.split(np.arange(2 * world * local), 2 * world)
        yield "zigzag pieces", [np.concatenate([pieces[rank], pieces[-1 - rank]]) for rank in range(world)]
        return
    yield "equal pieces", np.split(np.arange(world * local), world)
    if traits.uneven and world > 1:
        ends = np.cumsum([local + rank % 3 for rank in range(world)])
        yield "uneven pieces", np.split(np.arange(ends[-1]), ends[:-1])


def compare_ranks(trial: LawTrial, way: str, world: int, kind: str, places: list[np.ndarray]) -> Comparison:
    """What all ranks give, against one pass over the whole sequence."""
    total = sum(map(len, places))
    whole = draw_sequence(trial, f"{kind} {world}", total, total)
    parts = [[getattr(whole, name)[own] for own in places] for name in "qkv"]
    found = list(trial.subject.run_kernel(way, *parts))
    sequences = [TokenSequence(q=whole.q[own], k=whole.k, v=whole.v, places=own) for own in places]
    place = {"ranks": world, "tokens": [len(own) for own in places]}
    what = f"the ranks differ from one pass over the whole sequence ({kind})"
    return compare_sequences(trial, what, found, sequences, place=place, signature={"world": world, "kind": kind})
