"""A tree of tokens is each of its paths alone."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from regard.conformance.kernel_cases import TokenSequence, compare_sequences, oracle_of, signs_of_attention
from regard.conformance.law import BlindSpot, Comparison, Comparisons, Diagnoses, Diagnosis, Law, LawTrial, distance
from regard.conformance.laws._tree import SIZE, TreeBatch, draw_tree, lineage, shapes_of_trees
from regard.conformance.reference_kernels import attend_tokens, tree_kernel

_PREFIXES = (5, 0)
_NEAR = 2e-3


def _compare(trial: LawTrial) -> Comparisons:
    """Chains, stars, trees and forests, after a prefix and without one."""
    for kind, parents in shapes_of_trees(trial):
        for prefix in _PREFIXES:
            batch = draw_tree(trial, f"{kind} {prefix}", parents, prefix)
            found = batch.run(trial)
            outputs = list(found) if found.shape == batch.q.shape else [found] * len(parents)
            yield compare_sequences(
                trial,
                f"a node differs from the last token of its path alone ({kind})",
                outputs,
                batch.sequences(),
                place={"parents": parents.tolist(), "prefix": prefix},
                signature={"batch": batch, "found": found},
            )


def _seen_by_rule(rule: Callable[[np.ndarray], np.ndarray]) -> Callable[[TreeBatch], list[TokenSequence]]:
    """Nodes that see others than their ancestors; the prefix is visible."""

    def sequences(batch: TreeBatch) -> list[TokenSequence]:
        before = np.ones((batch.parents.shape[1], batch.prefix), dtype=bool)
        pairs = zip(batch.sequences(), batch.parents, strict=True)
        return [replace(own, seen=np.hstack([before, rule(parents)])) for own, parents in pairs]

    return sequences


def _parent_only(parents: np.ndarray) -> np.ndarray:
    return (np.eye(len(parents)) + (np.arange(len(parents)) == parents[:, None])).astype(bool)


def _first_row(batch: TreeBatch) -> list[TokenSequence]:
    return replace(batch, parents=np.tile(batch.parents[:1], (len(batch.parents), 1))).sequences()


def _prefix_hidden(batch: TreeBatch) -> list[TokenSequence]:
    hidden = np.arange(batch.k.shape[1]) < batch.prefix
    return [
        replace(each, seen=(np.zeros(0) if each.seen is None else each.seen) & ~hidden) for each in batch.sequences()
    ]


_MISTAKES: Mapping[str, Callable[[TreeBatch], list[TokenSequence]]] = {
    "nodes see all earlier nodes, siblings too": _seen_by_rule(lambda own: np.tri(len(own), dtype=bool)),
    "nodes see all nodes": _seen_by_rule(lambda own: np.ones((len(own), len(own)), dtype=bool)),
    "nodes see their parent, but no further ancestors": _seen_by_rule(_parent_only),
    "nodes do not see themselves": _seen_by_rule(lambda own: lineage(own) & ~np.eye(len(own), dtype=bool)),
    "nodes see their descendants instead of their ancestors": _seen_by_rule(lambda own: lineage(own).T),
    "nodes see only themselves": _seen_by_rule(lambda own: np.eye(len(own), dtype=bool)),
    "the tree of the first row is used for all": _first_row,
    "nodes do not see the prefix": _prefix_hidden,
}


def _signs(trial: LawTrial, broken: list[Comparison]) -> Diagnoses:
    oracle = oracle_of(trial)
    for text, mistake in _MISTAKES.items():
        gaps = []
        for each in broken:
            batch, found = each.signature["batch"], each.signature["found"]
            wanted = np.stack([own.attended(oracle) for own in mistake(batch)])
            real = ~np.isnan(wanted).any(axis=(2, 3))
            gaps.append(distance(found[real], wanted[real]) if found.shape == wanted.shape and real.any() else np.inf)
        if max(gaps) < _NEAR:
            yield Diagnosis("tree", text)
            return
    yield from signs_of_attention(trial, broken)


def _plain_causal(q: np.ndarray, k: np.ndarray, v: np.ndarray, _parents: np.ndarray) -> np.ndarray:
    return np.stack([attend_tokens(*row) for row in zip(q, k, v, strict=True)])


LAW = Law(
    id="TREE",
    statement="every node of a tree gets what it gets as the last token of its path alone",
    family="tree",
    rank=570,
    needs=("tree", "nodes"),
    compare=_compare,
    signs=_signs,
    diagnosed_by="suspects",
    broken_example=lambda: tree_kernel(_plain_causal),
    suspects=("siblings see each other", "ancestors are not all visible", "the tree of another row is used"),
    size=SIZE,
    grade="spec",
    reveals=(*BlindSpot,),
)
