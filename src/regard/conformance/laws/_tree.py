"""Trees of drafted tokens, for the laws of tree kernels."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from regard.conformance.kernel_cases import TokenSequence, draw_heads
from regard.conformance.law import InputSize, LawTrial

SIZE = InputSize(batch=2, length=10)


@dataclass(frozen=True, kw_only=True, eq=False)
class TreeBatch:
    """The arguments of a tree kernel, and the number of tokens before the tree."""

    q: np.ndarray
    k: np.ndarray
    v: np.ndarray
    parents: np.ndarray
    prefix: int

    def run(self, trial: LawTrial) -> np.ndarray:
        """The output, [batch, node, head, width]."""
        return trial.subject.run_kernel("attend", self.q, self.k, self.v, self.parents)[0]

    def sequences(self) -> list[TokenSequence]:
        """Each row with what its nodes see."""
        before = np.ones((self.parents.shape[1], self.prefix), dtype=bool)
        rows = zip(self.q, self.k, self.v, self.parents, strict=True)
        return [TokenSequence(q=q, k=k, v=v, seen=np.hstack([before, lineage(own)])) for q, k, v, own in rows]


def lineage(parents: np.ndarray) -> np.ndarray:
    """[node, node]: True for the ancestors of a node and the node itself."""
    seen = np.eye(len(parents), dtype=bool)
    for node, parent in enumerate(parents):
        seen[node] |= seen[parent] if parent >= 0 else False
    return seen


def shapes_of_trees(trial: LawTrial) -> Iterator[tuple[str, np.ndarray]]:
    """Parents [batch, node] by the kind of tree: a chain, a star, random trees of different rows, a forest."""
    rows, nodes = trial.size.batch, trial.size.length
    order = np.arange(nodes)
    yield "a chain", np.tile(order - 1, (rows, 1))
    yield "nodes that all follow the prefix", np.full((rows, nodes), -1)
    for kind, least in (("a tree", 0), ("several trees", -1)):
        rng = trial.rng(kind)
        yield kind, np.array([[-1, *(int(rng.integers(least, node)) for node in order[1:])] for _ in range(rows)])


def draw_tree(trial: LawTrial, name: str, parents: np.ndarray, prefix: int) -> TreeBatch:
    """Random heads for trees of this shape."""
    rows, nodes = parents.shape

    def heads(part: str, length: int, count: int | None = None) -> np.ndarray:
        flat = draw_heads(trial, f"{name} {part}", rows * length, count)
        return flat.reshape(rows, length, *flat.shape[1:])

    q, k, v = heads("q", nodes, trial.spec.num_heads), heads("k", prefix + nodes), heads("v", prefix + nodes)
    return TreeBatch(q=q, k=k, v=v, parents=parents.astype(np.int64), prefix=prefix)
