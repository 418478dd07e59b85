"""A correct recurrence in plain numpy, the gated delta rule in all its forms; a broken example replaces one of them."""

import itertools
from dataclasses import replace
from typing import Any

import numpy as np

from regard.attention.recurrences import RECURRENCES
from regard.conformance.adapters.recurrences import RecurrenceLayer
from regard.conformance.recurrence import Recurrence
from regard.conformance.subject import Subject

Arrays = np.ndarray
_CHUNK = 4


def recurrent(*inputs: Arrays, state: Arrays | None = None, mask: Arrays | None = None) -> tuple[Arrays, Arrays]:
    """Token by token; a padded token neither decays the state nor is written to it."""
    q, k, v, g, beta = inputs
    if mask is not None:
        g, beta = g * mask[..., None], beta * mask[..., None]
    y, state = RECURRENCES["gated_delta"](q, k, v, g, beta).recurrent(state)
    return y.astype(q.dtype), state


def chunked(*inputs: Arrays, state: Arrays | None = None) -> tuple[Arrays, Arrays]:
    """In chunks."""
    y, state = RECURRENCES["gated_delta"](*inputs).chunked(_CHUNK, state)
    return y.astype(inputs[0].dtype), state


def packed(*inputs: Arrays, state: Arrays | None = None) -> tuple[Arrays, Arrays]:
    """Each document by itself."""
    *per_token, borders = inputs
    outputs, states = [], []
    for document, (start, end) in enumerate(itertools.pairwise(borders)):
        row = None if state is None else state[document : document + 1]
        y, after = chunked(*(each[:, start:end] for each in per_token), state=row)
        outputs.append(y)
        states.append(after)
    return np.concatenate(outputs, axis=1), np.concatenate(states)


REFERENCE = Recurrence(
    function=recurrent,
    kind="gated_delta",
    chunked=chunked,
    chunk_size=_CHUNK,
    packed=packed,
    reset=np.zeros_like,
    name="reference recurrence",
)


def broken_recurrence(name: str, **changes: Any) -> Subject:
    """The reference with these parts replaced."""
    return RecurrenceLayer(replace(REFERENCE, name=name, **changes))
