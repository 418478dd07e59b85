"""Recurrences to check: what a user gives, and how the columns of a law's inputs become a recurrence's inputs.

Laws draw x [batch, position, width]. Its columns side by side are the inputs of the recurrence, changed so that gates
are gates: a law on layers is then a law on recurrences too.
"""

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from regard.attention.recurrences import RecurrenceKind

HEADS, KEY_WIDTH, CHANNELS, TAPS = 2, 8, 16, 4
# So that a state forgets half of what it holds within a few tokens, and never all of it within one.
_DECAY = 0.5
_LEAST_STEP = 0.1

Change = Literal["none", "unit", "gate", "share", "step"]


@dataclass(frozen=True, kw_only=True)
class Recurrence:
    """A recurrence to check: `regard.check(Recurrence(function=…))`.

    Args:
        function: `function(*inputs, state=None) -> (y, state)`, in numpy, torch or jax; it may also take `mask`.
        kind: which published recurrence it is, so that its outputs are compared with the reference.
        chunked: its chunked form, called in the same way.
        chunk_size: the size of its chunks.
        packed: `packed(*inputs, cu_seqlens, state=None) -> (y, state)`, its form for packed documents.
        reset: `reset(state) -> state`, which makes a state new.
        is_in_place: whether the function may write into the state that it is given.
        scale: what the outputs are multiplied by.
        width: the width of x, where no kind says what the inputs are.
        dtype: the precision in which it runs.
        name: what reports call it, the function's name by default.
    """

    function: Callable[..., Any]
    kind: RecurrenceKind | None = None
    chunked: Callable[..., Any] | None = None
    chunk_size: int = 64
    packed: Callable[..., Any] | None = None
    reset: Callable[..., Any] | None = None
    is_in_place: bool = False
    scale: float = 1.0
    width: int = 32
    dtype: str = "float32"
    name: str | None = None


@dataclass(frozen=True, kw_only=True)
class RecurrentInput:
    """One input: its shape for a token, or its whole shape if it is the same for all, and how numbers become it."""

    shape: tuple[int, ...]
    change: Change = "none"
    is_constant: bool = False

    @property
    def size(self) -> int:
        """How many columns of x it takes."""
        return 0 if self.is_constant else int(np.prod(self.shape))


_HEAD = RecurrentInput(shape=(HEADS, KEY_WIDTH))
_UNIT = RecurrentInput(shape=(HEADS, KEY_WIDTH), change="unit")
_GATE = RecurrentInput(shape=(HEADS,), change="gate")
_GATES = RecurrentInput(shape=(HEADS, KEY_WIDTH), change="gate")
_SHARE = RecurrentInput(shape=(HEADS,), change="share")
_CHANNELS = RecurrentInput(shape=(CHANNELS,))
_STATE = RecurrentInput(shape=(KEY_WIDTH,))
_INPUTS: Mapping[RecurrenceKind, tuple[RecurrentInput, ...]] = {
    "linear": (_HEAD, _HEAD, _HEAD),
    "gated_linear": (_HEAD, _HEAD, _HEAD, _GATES),
    "delta": (_HEAD, _UNIT, _HEAD, _SHARE),
    "gated_delta": (_HEAD, _UNIT, _HEAD, _GATE, _SHARE),
    "mamba": (
        _CHANNELS,
        RecurrentInput(shape=(CHANNELS,), change="step"),
        RecurrentInput(shape=(CHANNELS, KEY_WIDTH), change="gate", is_constant=True),
        _STATE,
        _STATE,
    ),
    "mamba2": (
        _HEAD,
        RecurrentInput(shape=(HEADS,), change="step"),
        RecurrentInput(shape=(HEADS,), change="gate", is_constant=True),
        _STATE,
        _STATE,
    ),
    "rwkv": (_HEAD, _HEAD, _HEAD, _GATES, RecurrentInput(shape=(HEADS, KEY_WIDTH), is_constant=True)),
    "short_conv": (_CHANNELS, RecurrentInput(shape=(CHANNELS, TAPS), is_constant=True)),
}


def input_width(kind: RecurrenceKind) -> int:
    """How many columns the inputs of this kind take.

    >>> input_width("gated_delta")
    52
    """
    return sum(each.size for each in _INPUTS[kind])


def recurrent_inputs(
    kind: RecurrenceKind, x: Any, array: Callable[[np.ndarray], Any] = np.asarray, module: str = "numpy"
) -> list[Any]:
    """The inputs of this kind in the columns of x, an array of the framework whose functions are in `module`.

    `array` makes the framework's array of a numpy array. Inputs that are the same for all tokens are the same always.
    """
    functions, found, start = importlib.import_module(module), [], 0
    rng = np.random.default_rng(0)
    for each in _INPUTS[kind]:
        if each.is_constant:
            taken = array(rng.standard_normal(each.shape))
        else:
            taken = x[..., start : start + each.size].reshape(*x.shape[:-1], *each.shape)
            start += each.size
        found.append(_changed(taken, each.change, functions))
    return found


def _changed(z: Any, change: Change, functions: Any) -> Any:
    """The numbers as what the input is: bounded everywhere, since laws also draw large ones."""
    if change == "none":
        return z
    if change == "unit":
        return z / functions.sqrt((z * z).sum(-1) + 1e-12)[..., None]
    share = 0.5 + 0.5 * functions.tanh(0.5 * z)
    return {"share": share, "gate": -_DECAY * share, "step": _LEAST_STEP + share}[change]
