"""A student's dataset of corrupted documents in numpy's terms."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from regard.conformance.adapters.layouts.importing import StudentCode
from regard.conformance.adapters.layouts.rotary import as_array
from regard.core.errors import RegardError


@dataclass(frozen=True, kw_only=True, eq=False)
class StudentCorpus:
    """What a dataset shows of itself; `item(index)` gives its two rows."""

    size: int
    stoi: dict[str, int]
    itos: dict[int, str]
    mask_char: Any
    pad_char: Any
    vocab_size: int | None
    item: Callable[[int], tuple[np.ndarray, np.ndarray]]


def corpus_function(code: StudentCode, kind: Any) -> Callable[[str, int, int], StudentCorpus]:
    """(data, block_size, seed) → the dataset."""

    def corpus(data: str, block_size: int, seed: int) -> StudentCorpus:
        _seed_everything(seed)
        made = code.call(kind, data, block_size)
        return StudentCorpus(
            size=code.call(made.__len__),
            stoi=dict(getattr(made, "stoi", {})),
            itos=dict(getattr(made, "itos", {})),
            mask_char=getattr(made, "MASK_CHAR", None),
            pad_char=getattr(made, "PAD_CHAR", None),
            vocab_size=getattr(made, "vocab_size", None),
            item=lambda index: _rows(code.call(made.__getitem__, index)),
        )

    return corpus


def _rows(found: Any) -> tuple[np.ndarray, np.ndarray]:
    if not isinstance(found, tuple | list) or len(found) != 2:
        raise RegardError(f"__getitem__ gives {type(found).__name__}, and a pair (x, y) is asked for")
    return as_array(found[0]), as_array(found[1])


def _seed_everything(seed: int) -> None:
    """Students draw from whichever source they like."""
    import torch

    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002 - the student's stream, not ours
    torch.manual_seed(seed)
