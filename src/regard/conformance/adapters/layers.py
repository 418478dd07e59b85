"""Layers x → y of any framework as subjects: how they are called, and what a few calls show that they can do."""

import copy
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from regard.conformance.adapters.arrays import Arrays
from regard.conformance.subject import LayerFinding, Subject
from regard.conformance.verdict import error_line

_OPTIONS = {
    "mask": tuple(
        "padding_mask pad_mask key_padding_mask src_key_padding_mask key_mask attention_mask mask attn_mask src_mask "
        "input_mask valid_mask".split()
    ),
    "lengths": tuple(
        "lengths valid_lens valid_lengths valid_len lens seq_lens seq_lengths src_lengths input_lengths x_lens "
        "key_lengths sequence_lengths".split()
    ),
    "documents": ("segment_ids", "document_ids", "doc_ids", "seq_ids", "sequence_ids", "segments"),
    "positions": ("positions", "position_ids", "input_pos", "pos_ids"),
    "cache": tuple(
        "cache kv_cache past past_key_value past_key_values layer_past past_kv past_kvs kv incremental_state "
        "layer_cache".split()
    ),
    "causal": ("causal", "is_causal", "use_causal_mask"),
    "window": ("window", "window_size", "sliding_window"),
}
_STEPS = (1e-5, 1e-9)
_AGREEMENT = 0.05


class Layer(Subject):
    """A layer on the framework's own arrays. A subclass overrides `forward`; everything else follows from it.

    `forward` takes `mask` and `positions` as the framework's arrays if they are among the `capabilities`; the mask is
    True for real tokens.
    """

    arrays: Arrays

    def forward(self, x: Any, **options: Any) -> Any:
        """The output for the framework's array."""
        raise NotImplementedError("A layer needs `forward(x)`.")

    def call(self, x: np.ndarray, **options: Any) -> np.ndarray:
        """The output as numpy's array."""
        return self.numpy(self.call_native(self.native(x), **options))

    def call_native(self, x: Any, **options: Any) -> Any:
        """The output as the framework's array."""
        with self.arrays.quietly():
            return self.arrays.run(self.forward, x, self._native_options(options))

    def native(self, x: np.ndarray) -> Any:
        """The framework's array."""
        return self.arrays.array(np.asarray(x))

    def numpy(self, x: Any) -> np.ndarray:
        """numpy's array."""
        return self.arrays.numpy(x)

    def gradient(self, x: np.ndarray, direction: np.ndarray, **options: Any) -> np.ndarray:
        """By the framework's own means."""
        return self.arrays.gradient(self.forward, x, direction, self._native_options(options))

    def paths(self) -> Mapping[str, Callable[..., np.ndarray]]:
        """The layer with gradients recorded: much code takes another path then."""
        return {"with gradients": self._with_gradients} if self.arrays.records else {}

    def in_dtype(self, dtype: str) -> "Layer":
        """The same layer in another dtype."""
        other = copy.copy(self)
        other.arrays = type(self.arrays)(dtype, self.spec.device)
        other.spec = replace(self.spec, dtype=dtype)
        return other

    def set_capabilities(self, more: Iterable[str]) -> None:
        """Sets what the layer can do: `more`, and what follows from its arrays and from a few calls."""
        capabilities = {"native", *more}
        if self.arrays.has_gradient and not (self.is_read_off and self._gradient_error() is not None):
            capabilities.add("gradient")
        if self.paths() and ("gradient" in capabilities or not self.arrays.has_gradient):
            capabilities.add("paths")
        if _is_smooth_in_float64(lambda: self.in_dtype("float64").call, self.spec.width):
            capabilities.add("float64")
        self.capabilities = frozenset(capabilities)

    def _gradient_error(self) -> Exception | None:
        """What a gradient raises, taken twice: a layer that keeps what it computed cannot be differentiated again."""
        x = sample(2, 5, self.spec.width).astype(np.float32)

        def differentiate() -> None:
            direction = np.ones_like(self.call(x))
            for _ in range(2):
                self.gradient(x, direction)

        error = returned_or_error(differentiate)[1]
        if error is not None:
            how = f"they raise {error_line(error)}"
            self.findings += (LayerFinding(name="gradients", how=how, kind="not found"),)
        return error

    def accepts(self, **option: np.ndarray) -> bool:
        """True if a call with this mask or these positions raises nothing."""
        x = sample(2, 5, self.spec.width).astype(np.float32)
        return returned_or_error(lambda: self.call(x, **option))[1] is None

    def accepted_options(self, names: Iterable[str]) -> set[str]:
        """Those of the mask and the positions that are among these names and that the layer accepts."""
        tried = {"mask": np.ones((2, 5), dtype=bool), "positions": np.arange(5)[None].repeat(2, axis=0)}
        return {name for name, value in tried.items() if name in names and self.accepts(**{name: value})}

    def padding_mask(self, mask: Any) -> Any:
        """A mask that is True for real tokens, in the convention that the spec declares."""
        if self.spec.mask in (None, "keep"):
            return mask
        if self.spec.mask == "drop":
            return ~mask
        hidden = np.where(self.numpy(mask), 0.0, -np.inf)
        return self.native(hidden if hidden.ndim > 2 else hidden[:, None, None, :])

    def renamed(self, options: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
        """The options under the layer's own names for them, the mask in the convention that the spec declares."""
        given = {names[option]: value for option, value in options.items()}
        return given if "mask" not in options else {**given, names["mask"]: self.padding_mask(options["mask"])}

    def _with_gradients(self, x: np.ndarray, **options: Any) -> np.ndarray:
        outputs: list[Any] = []

        def recorded(leaf: Any, **given: Any) -> Any:
            outputs.append(self.forward(leaf, **given))
            return outputs[-1]

        self.arrays.gradient(recorded, x, np.zeros_like(self.call(x, **options)), self._native_options(options))
        return self.numpy(outputs[-1])

    def _causal_by_mask(self, x: np.ndarray, mask: np.ndarray | None = None) -> np.ndarray:
        """The output if causality is asked for by a mask instead of by a flag."""
        length = x.shape[1]
        visible = np.tril(np.ones((x.shape[0], 1, length, length), dtype=bool))
        visible &= True if mask is None else mask[:, None, None, :]
        with self.arrays.quietly():
            options = {"visible": self.native(visible)}
            return self.numpy(self.arrays.run(self._forward_with_mask, self.native(x), options))

    def _forward_with_mask(self, x: Any, visible: Any) -> Any:
        """The output if the mask [batch, 1, query, key] says what every query sees; for layers with such a path."""
        raise NotImplementedError

    def _native_options(self, options: Mapping[str, Any]) -> dict[str, Any]:
        given = {name: value for name, value in options.items() if value is not None}
        return {name: self.native(value) if isinstance(value, np.ndarray) else value for name, value in given.items()}


def output_for(found: Any, x: Any) -> Any:
    """The first of the returned arrays that has an output for each token of x, else the first of all."""
    each = list(found.values()) if isinstance(found, Mapping) else found
    several = each if isinstance(each, tuple | list) else [first_output(each)]
    fitting = [
        one for one in several if getattr(one, "ndim", 0) == x.ndim and tuple(one.shape[:2]) == tuple(x.shape[:2])
    ]
    return (fitting or [first_output(found)])[0]


def first_output(found: Any) -> Any:
    """The output itself, where a layer returns its weights or its cache beside it."""
    if isinstance(found, tuple | list):
        return found[0] if found else None
    for name in ("logits", "last_hidden_state"):
        if getattr(found, name, None) is not None:
            return getattr(found, name)
    return found


def parameter_names(function: Callable[..., Any]) -> tuple[str, ...]:
    """The names of the parameters; none for a builtin that hides them."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return ()
    hidden = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return tuple(each.name for each in parameters if each.kind not in hidden)


def is_bare_attention(names: tuple[str, ...]) -> bool:
    """True for f(queries, keys, values, …), whatever the three are called.

    >>> is_bare_attention(("q", "k", "v", "mask")), is_bare_attention(("query", "key", "value"))
    (True, True)
    """
    return [name.lower().lstrip("x_")[:1] for name in names[:3]] == ["q", "k", "v"]


def option_names(names: tuple[str, ...]) -> dict[str, str]:
    """What the callable calls each of the options that it takes.

    >>> option_names(("x", "attention_mask", "position_ids"))
    {'mask': 'attention_mask', 'positions': 'position_ids'}
    """
    found = {option: names_of(option, names) for option in _OPTIONS}
    return {option: chosen[0] for option, chosen in found.items() if chosen}


def names_of(option: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """Those of the names that public code gives to an option, the likeliest first."""
    return tuple(name for name in _OPTIONS[option] if name in names)


def sample(*shape: int, seed: int = 0) -> np.ndarray:
    """Standard normal numbers."""
    return np.random.default_rng(seed).standard_normal(shape)


def returned_or_error(call: Callable[[], Any]) -> tuple[Any, Exception | None]:
    """What a call returns, or what it raises."""
    try:
        return call(), None
    except Exception as error:  # noqa: BLE001 - a layer may raise anything
        return None, error


def _is_smooth_in_float64(make: Callable[[], Callable[[np.ndarray], np.ndarray]], width: int) -> bool:
    """True if a step of 1e-9 gives the slope that a step of 1e-5 gives: nothing inside is rounded to float32.

    Much public code computes norms or softmax in float32 whatever the dtype; such a layer is no float64 layer. `make`
    is called once, since some layers are compiled before they are called.
    """
    x, step = sample(2, 5, width), sample(2, 5, width, seed=1)

    def slopes() -> list[np.ndarray]:
        call = make()
        here = call(x)
        return [(call(x + size * step) - here) / size for size in _STEPS]

    found, error = returned_or_error(slopes)
    if error is not None or found[0].dtype != np.float64:
        return False
    scale = float(np.max(np.abs(found[0]), initial=0.0))
    return bool(np.max(np.abs(found[0] - found[1]), initial=0.0) <= _AGREEMENT * max(scale, 1e-30))
