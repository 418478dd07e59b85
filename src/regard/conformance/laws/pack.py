"""Documents packed into one row do not see each other."""

from collections.abc import Iterator

import numpy as np

from regard.conformance.law import Comparison, Law, LawTrial, distance
from regard.conformance.masking import gaps_by_place, place_of_worst
from regard.conformance.probes import bumped
from regard.conformance.reference_layer import ReferenceLayer
from regard.conformance.subject import Spec, Subject

_DOCUMENTS = 3
# Where only distances matter, a document is the same in a pack and alone, however its positions are counted.
_RELATIVE = ("none", "rotary", "alibi", "relative")


def _compare(trial: LawTrial) -> Iterator[Comparison]:
    """Every document is bumped: the others may not move, and its own last token must. Then each is taken alone."""
    x = trial.inputs()
    batch, length, _ = x.shape
    num_documents = min(_DOCUMENTS, length // 2)
    if num_documents < 2:
        return
    documents = np.tile(np.arange(length) * num_documents // length, (batch, 1))
    y = trial.subject.call(x, documents=documents)
    found = []
    for document in range(num_documents):
        inside = documents == document
        moved = trial.subject.call(bumped(trial, x, np.flatnonzero(inside[0]).tolist()), documents=documents)
        control = _liveness(trial, x, y, documents, document)
        signature = {"documents": documents[0].tolist(), "bumped": document}
        found.append(_finding(trial, y, gaps_by_place(moved, y, ~inside), control, signature))
    yield from found
    if trial.spec.positions in _RELATIVE and not any(finding.is_broken for finding in found):
        alone = [trial.subject.call(x[:, documents[0] == document]) for document in range(num_documents)]
        gaps = gaps_by_place(np.concatenate(alone, axis=1), y)
        yield _finding(trial, y, gaps, found[0].control, {"documents": documents[0].tolist(), "bumped": None})


def _finding(trial: LawTrial, y: np.ndarray, gaps: np.ndarray, control: float | None, signature: dict) -> Comparison:
    worst, documents, bumped = place_of_worst(gaps), signature["documents"], signature["bumped"]
    moved = sorted({documents[place] for place in np.flatnonzero(~(gaps.max(axis=0) <= trial.tolerance(y)))})
    place = {} if bumped is None else {"bumped document": bumped}
    return Comparison(
        what="a document changes when it is packed" if bumped is None else "a document moves with another in its row",
        error=float(gaps.max()),
        tolerance=trial.tolerance(y),
        control=control,
        place={**place, "document": documents[worst["output"]], **worst},
        signature={**signature, "moved": moved, "gaps": gaps.max(axis=0).tolist()},
    )


def _liveness(trial: LawTrial, x: np.ndarray, y: np.ndarray, documents: np.ndarray, document: int) -> float:
    """How far the last token of a document moves with those before it."""
    *others, last = np.flatnonzero(documents[0] == document).tolist()
    moved = trial.subject.call(bumped(trial, x, others, by=2.0), documents=documents)
    return distance(moved[:, last], y[:, last])


class _OnlyPositions(ReferenceLayer):
    """Begins to count again at every document, and lets all of them see each other."""

    def same_document(self, documents: np.ndarray) -> np.ndarray:
        return np.ones((*documents.shape, documents.shape[1]), dtype=bool)


def _broken_example() -> Subject:
    return _OnlyPositions(Spec(causal=True, positions="rotary"), name="packed by positions alone")


LAW = Law(
    id="PACK",
    statement="a document packed into a row with others does not depend on them",
    needs=("documents",),
    compare=_compare,
    broken_example=_broken_example,
    suspects=("only the positions are reset at a new document", "the borders of documents are off by one"),
)
