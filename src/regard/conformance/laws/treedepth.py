"""Positions in a tree count ancestors."""

import numpy as np

from regard.conformance.law import Comparison, Comparisons, Diagnoses, Diagnosis, Law, LawTrial, distance
from regard.conformance.laws._tree import SIZE, lineage, shapes_of_trees
from regard.conformance.reference_kernels import tree_kernel

_PREFIXES = (0, 1, 7)


def _compare(trial: LawTrial) -> Comparisons:
    """Chains, stars, trees and forests after prefixes of several lengths, exactly."""
    for kind, parents in shapes_of_trees(trial):
        for prefix in _PREFIXES:
            found = trial.subject.run_kernel("positions", parents.astype(np.int64), prefix)[0]
            wanted = np.stack([lineage(own).sum(axis=1) - 1 for own in parents])
            yield Comparison(
                what=f"positions are not the prefix and the number of ancestors ({kind})",
                error=distance(found, prefix + wanted),
                tolerance=0.0,
                place={"parents": parents.tolist(), "prefix": prefix},
                signature={"found": found, "depths": wanted, "prefix": prefix},
            )


def _signs(_trial: LawTrial, broken: list[Comparison]) -> Diagnoses:
    found = [(each.signature["found"], each.signature["depths"], each.signature["prefix"]) for each in broken]
    order = np.arange(found[0][1].shape[1])
    if all(distance(ours, np.broadcast_to(prefix + order, depths.shape)) == 0 for ours, depths, prefix in found):
        yield Diagnosis("tree", "positions count nodes instead of ancestors")
    elif all(
        ours.shape == depths.shape and len(np.unique(ours - depths - prefix)) == 1 for ours, depths, prefix in found
    ):
        yield Diagnosis("tree", "positions are all off by the same number: the prefix is counted wrongly")


def _by_number(parents: np.ndarray, prefix: int) -> np.ndarray:
    return np.broadcast_to(prefix + np.arange(parents.shape[1]), parents.shape)


LAW = Law(
    id="TREEDEPTH",
    statement="the position of a node is the length of the prefix and the number of its ancestors",
    family="tree",
    rank=560,
    needs=("tree", "depths"),
    compare=_compare,
    signs=_signs,
    diagnosed_by="suspects",
    broken_example=lambda: tree_kernel(positions=_by_number),
    suspects=("positions count nodes instead of ancestors", "the prefix is counted wrongly"),
    size=SIZE,
    grade="spec",
)
