"""Documents packed into one row do not see each other."""

import numpy as np

from regard.conformance.law import Comparison, Comparisons, Law, LawTrial, NotTried, Spec, distance
from regard.conformance.probing import RELATIVE, token_gaps, worst_token
from regard.conformance.reference_layer import ReferenceLayer

_DOCUMENTS = 3


def _compare(trial: LawTrial) -> Comparisons:
    """Each document is changed: the others may not change, and its own last token must. Then each is taken alone."""
    if trial.subject.has_state and not trial.spec.packing:
        raise NotTried("the layer carries a state, and does not declare that it starts anew (--spec causal,packing)")
    x = trial.inputs()
    batch, length, _ = x.shape
    num_documents = min(_DOCUMENTS, length // 2)
    if num_documents < 2:
        return
    documents = np.tile(np.arange(length) * num_documents // length, (batch, 1))
    y = trial.call(x, documents=documents)

    def compared(what: str, gaps: np.ndarray, control: float | None, **place: int) -> Comparison:
        worst = worst_token(gaps)
        return Comparison(
            what=what,
            error=float(gaps.max()),
            tolerance=trial.tolerance(y),
            control=control,
            place={**place, "document": int(documents[0, worst["output"]]), **worst},
        )

    found = []
    for document in range(num_documents):
        inside = documents == document
        moved = trial.call(trial.bumped(x, np.flatnonzero(inside[0]).tolist()), documents=documents)
        *others, last = np.flatnonzero(inside[0]).tolist()
        control = distance(trial.call(trial.bumped(x, others, by=2.0), documents=documents)[:, last], y[:, last])
        what, gaps = "a document changes with another one in its row", token_gaps(moved, y, ~inside)
        found.append(compared(what, gaps, control, **{"changed document": document}))
    yield from found
    if trial.spec.positions in RELATIVE and not any(each.is_broken for each in found):
        alone = [trial.call(x[:, documents[0] == document]) for document in range(num_documents)]
        gaps = token_gaps(np.concatenate(alone, axis=1), y)
        yield compared("a document changes when it is packed", gaps, found[0].control)


class _OnlyPositionsReset(ReferenceLayer):
    def same_document(self, documents: np.ndarray) -> np.ndarray:
        return np.ones((*documents.shape, documents.shape[1]), dtype=bool)


LAW = Law(
    id="PACK",
    statement="a document packed into a row with others does not depend on them",
    family="mask",
    rank=270,
    needs=("documents",),
    compare=_compare,
    grows_in=("length",),
    broken_example=lambda: _OnlyPositionsReset(Spec(causal=True, positions="rotary"), name="only positions are reset"),
    suspects=("only the positions are reset at a new document", "the borders of documents are off by one"),
)
