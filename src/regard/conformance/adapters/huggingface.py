"""Hugging Face models on embeddings, and their attention alone, as subjects."""

import copy
import functools
import inspect
import itertools
import logging
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal

import numpy as np

from regard.conformance.adapters.huggingface_specs import (
    SMALL,
    TINY,
    VARIANTS,
    attention_spec,
    counts_from_each_call,
    has_kinds_of_layers,
    is_recurrent,
    is_rotary_known,
    is_routed,
    model_spec,
)
from regard.conformance.adapters.layers import first_output, returned_or_error
from regard.conformance.adapters.projections import find_projections, fused_name
from regard.conformance.adapters.torch_layers import TorchLayer
from regard.conformance.law import LONGEST_INPUT
from regard.conformance.subject import CacheLimits, LayerFinding, Projections, Spec
from regard.conformance.verdict import error_line
from regard.core.errors import InputError

# "recording" is a dynamic cache that keeps what a window or a convolution would drop, until tokens are rejected.
HuggingFaceCache = Literal["dynamic", "static", "quantized", "recording"]
# Eight bits with a scale that is frozen at the first tokens: how far outputs may be off, relative to the largest.
_QUANTIZED_ERROR = 0.1
_OFFSETS = (0, 1, 2)
_TOKEN_IDS = ("_token_id", "_token_index")
_QUERIES = ("q_proj", "query", "q", "to_q", "q_a_proj", "Wqkv", "q_lin")
# The name under which transformers knows our attention function that records its calls.
_RECORDING = "regard_recording"


def build_model(class_name: str, **config: Any) -> Any:
    """A transformers model with a tiny configuration, changed by what is given, and the same weights every time."""
    import torch
    import transformers

    if not hasattr(transformers, class_name):
        version = transformers.__version__
        raise InputError(f"transformers {version} has no {class_name}. Give a class such as LlamaForCausalLM.")
    kind = getattr(transformers, class_name)
    known = kind.config_class
    implementation = config.pop("attn_implementation", None)
    problems: list[Exception] = []
    fallback: Any = None
    for small, variant in itertools.product((SMALL, {}), VARIANTS):
        if fallback is not None and not small:
            break
        with quiet_transformers(), torch.random.fork_rng(devices=()):
            torch.manual_seed(0)
            try:
                model = kind._from_config(
                    known(**{**_tiny(known, {**small, **variant}), **_decoding(kind, known), **config})
                )
                _run_once(model)
            except Exception as error:  # noqa: BLE001 - classes raise anything for a config that does not suit them
                problems.append(error)
                continue
            if implementation is not None:
                model.set_attn_implementation(implementation)
        if not is_recurrent(model) or (has_kinds_of_layers(model) and _first_attention(model) is not None):
            return model
        # In so few layers, a hybrid may have none that attends; a class that never does is what it is.
        fallback = model if fallback is None else fallback
    if fallback is not None:
        return fallback
    raise InputError(
        f"{class_name} neither builds nor runs on embeddings with a tiny config: {error_line(problems[0])}. "
        "Give --arg NAME=VALUE for its config."
    )


def _tiny(known: Any, variant: Mapping[str, Any]) -> dict[str, Any]:
    """The tiny values that a config class knows, and tiny configs for its parts."""
    names = {*inspect.signature(known.__init__).parameters, *(known.attribute_map or {})}
    values = {name: value for name, value in {**_token_ids(known, names), **TINY, **variant}.items() if name in names}
    parts = {name: _kind_of_part(known, name, kind) for name, kind in (known.sub_configs or {}).items()}
    tiny = {name: {**_tiny(kind, variant), **_model_type(kind)} for name, kind in parts.items() if kind is not None}
    return {**values, **tiny}


def _token_ids(known: Any, names: Iterable[str]) -> dict[str, int]:
    """Numbers of special tokens, such as that of an image, which may lie beyond a small vocabulary."""
    parameters = inspect.signature(known.__init__).parameters
    defaults = {name: getattr(parameters.get(name), "default", None) for name in sorted(names)}
    beyond = [
        name
        for name, usual in defaults.items()
        if name.endswith(_TOKEN_IDS) and isinstance(usual, int) and usual >= TINY["vocab_size"]
    ]
    return {name: TINY["vocab_size"] - 1 - number for number, name in enumerate(beyond)}


def _kind_of_part(known: Any, name: str, kind: Any) -> Any:
    """The class of a part's config: its own, or that of the default where it may be any; None if there is none."""
    if hasattr(kind, "sub_configs"):
        return kind
    default = returned_or_error(known)[0]
    found = type(getattr(default, name, None))
    return found if hasattr(found, "sub_configs") else None


def _model_type(known: Any) -> dict[str, str]:
    return {"model_type": known.model_type} if known.model_type else {}


def _decoding(kind: type, known: Any) -> dict[str, Any]:
    """An encoder's class for text generation is causal only if its config says that it decodes."""
    is_asked = kind.__name__.endswith(("ForCausalLM", "LMHeadModel")) and hasattr(known, "is_decoder")
    return {"is_decoder": True} if is_asked else {}


def _run_once(model: Any) -> None:
    """Raises what the model raises on a few embeddings."""
    import torch

    width = model.config.get_text_config(decoder=True).hidden_size
    options = {"use_cache": False} if _takes_use_cache(type(model)) else {}
    with torch.no_grad():
        found = first_output(model.eval()(inputs_embeds=torch.randn(1, 3, width), **options))
    if tuple(found.shape[:2]) != (1, 3):
        raise ValueError(f"one row of 3 tokens gives outputs of shape {tuple(found.shape)}")


class HuggingFaceModel(TorchLayer):
    """A whole model from embeddings to logits or last states; masks, positions and caches are transformers' own."""

    cache: HuggingFaceCache = "dynamic"

    def __init__(self, model: Any, spec: Spec | None = None, *, name: str | None = None, redraw: bool = True) -> None:
        self.offset, self.is_routed, self.has_state = 0, is_routed(model), is_recurrent(model)
        with quiet_transformers():
            super().__init__(model, spec or model_spec(model), name=name or type(model).__name__, redraw=redraw)
            self.offset = self._first_position()

    def forward(self, x: Any, **options: Any) -> Any:
        """Logits, or the last hidden states where there are none."""
        return first_output(self._run(x, options))

    def own_capabilities(self) -> set[str]:
        """What the model's signature names; a cache only for decoders, since encoders ignore the argument."""
        names = _forward_names(type(self.module))
        asked = {"mask": "attention_mask", "positions": "position_ids", "cache": "past_key_values"}
        named = {ours for ours, theirs in asked.items() if theirs in names}
        if self.spec.causal and "positions" in named:
            named.add("documents")
        if self.spec.positions == "alibi":
            # Slopes follow the mask; the argument is accepted and ignored.
            named.discard("positions")
        if self.has_state:
            # How a state passes over padding differs from class to class, and from prefill to decoding.
            named.discard("mask")
            self.findings += (LayerFinding(name="mask", how="not used: some layers carry a state", kind="not found"),)
        if not (self.spec.causal and self._has_cache()):
            return named - {"cache"}
        can_crop = self.cache == "dynamic" and not self.has_state and not _has_windows(self.module)
        can_reject = can_crop or self.cache == "recording"
        return (
            named
            | {"fork", "reorder", "reset"}
            | {name for name, can in (("crop", can_crop), ("reject", can_reject)) if can}
        )

    def with_cache(self, kind: HuggingFaceCache) -> "HuggingFaceModel":
        """The model with caches of another class."""
        other = copy.copy(self)
        other.cache, other.findings = kind, ()
        if kind == "quantized":
            other.cache_limits = CacheLimits(error=_QUANTIZED_ERROR)
        with quiet_transformers():
            other.set_capabilities(other.own_capabilities())
        if not other.has("cache"):
            raise InputError(f"{self.name} has no {kind} cache. {'. '.join(map(str, other.findings))}.")
        return other

    def _has_cache(self) -> bool:
        """True if a step with an empty cache works: layers without attention need caches of their own."""
        x = np.random.default_rng(0).standard_normal((1, 3, self.spec.width))
        error = returned_or_error(lambda: self.step(x, self.empty_cache(1)))[1]
        if error is not None:
            self.findings += (LayerFinding(name="cache", how=f"a step raises {error_line(error)}", kind="not found"),)
        return error is None

    def empty_cache(self, batch: int) -> Any:
        """One of the class that was chosen."""
        del batch
        from transformers import DynamicCache, QuantizedCache, StaticCache

        config = self.module.config
        if self.cache == "static":
            return StaticCache(config=config, max_cache_len=LONGEST_INPUT)
        cache = QuantizedCache("fp8", config=config) if self.cache == "quantized" else DynamicCache(config=config)
        if self.cache == "recording":
            cache.activate_past_recording()
        return cache

    def step(self, x: np.ndarray, cache: Any, **options: Any) -> tuple[np.ndarray, Any]:
        """New tokens on a copy of the cache."""
        longer = copy.deepcopy(cache)
        if self.cache == "recording" and longer.get_seq_length() and longer.is_croppable:
            # Nothing was rejected since the last step, and what was kept for that is dropped.
            longer.crop(0)
        if counts_from_each_call(self.module) and "positions" not in options:
            start = longer.get_seq_length()
            options["positions"] = np.tile(np.arange(start, start + x.shape[1]), (x.shape[0], 1))
        given = {**self._native_options(options), "past_key_values": longer, "use_cache": True}
        with self.arrays.quietly():
            y = self.forward(self.native(x), **given)
        return self.numpy(y), longer

    def fork_cache(self, cache: Any) -> Any:
        """A copy of the cache."""
        return copy.deepcopy(cache)

    def crop_cache(self, cache: Any, length: int) -> Any:
        """A copy of the cache with only the first tokens."""
        return self.reject_cache(cache, cache.get_seq_length() - length)

    def reject_cache(self, cache: Any, count: int) -> Any:
        """A copy of the cache without the last tokens."""
        other = copy.deepcopy(cache)
        if not other.is_croppable:
            raise NotImplementedError
        other.crop(-count)
        return other

    def reset_cache(self, cache: Any) -> Any:
        """A copy of the cache that was reset."""
        other = copy.deepcopy(cache)
        other.reset()
        return other

    def reorder_cache(self, cache: Any, order: np.ndarray) -> Any:
        """A copy of the cache with its rows in this order."""
        import torch

        other = copy.deepcopy(cache)
        other.reorder_cache(torch.as_tensor(order, device=self.spec.device))
        return other

    def paths(self) -> Mapping[str, Callable[..., np.ndarray]]:
        """The other implementations of attention that the class supports."""
        supported = {"eager": True, "sdpa": getattr(self.module, "_supports_sdpa", False)}
        supported[self.module.config._attn_implementation] = False
        others = {name: self._implemented(name) for name, is_other in supported.items() if is_other}
        return {**super().paths(), **{name: other.call for name, other in others.items() if other is not None}}

    def in_dtype(self, dtype: str) -> TorchLayer:
        """A copy in another dtype; rotary frequencies keep theirs, as when such a model is loaded."""
        other = super().in_dtype(dtype)
        ours, theirs = dict(self.module.named_buffers()), dict(other.module.named_modules())
        for name, buffer in ours.items():
            owner, _, label = name.rpartition(".")
            if "inv_freq" in label:
                setattr(theirs[owner], label, buffer.clone())
        return other

    def _run(self, x: Any, options: Mapping[str, Any]) -> Any:
        given = dict(options)
        if "mask" in given:
            given["attention_mask"] = given.pop("mask").long()
        if "documents" in given:
            documents = given.pop("documents")
            given["positions"] = (documents[:, :, None] == documents[:, None, :]).tril().sum(-1) - 1
        if "positions" in given:
            positions = given["position_ids"] = given.pop("positions") + self.offset
            steps = positions.diff(dim=-1)
            if "attention_mask" not in given and (steps > 0).all() and (steps > 1).any():
                # Without a mask, transformers takes every gap for the border between two documents.
                given["attention_mask"] = positions.new_ones(x.shape[:2])
        if _takes_use_cache(type(self.module)):
            given.setdefault("use_cache", False)
        with quiet_transformers():
            return self.module(inputs_embeds=x, **given)

    def _first_position(self) -> int:
        """The first position that the model counts from by itself: RoBERTa starts at two."""
        if not self.has("positions") or self.spec.positions != "learned":
            return 0
        x = np.random.default_rng(0).standard_normal((1, 5, self.spec.width))
        alone, gaps = self.call(x), {}
        for self.offset in _OFFSETS:
            gaps[self.offset] = float(np.abs(self.call(x, positions=np.arange(5)[None]) - alone).max())
        return min(gaps, key=lambda offset: gaps[offset])

    def _implemented(self, implementation: str) -> "HuggingFaceModel | None":
        other = copy.copy(self)
        other.module = copy.deepcopy(self.module)
        with quiet_transformers():
            other.module.set_attn_implementation(implementation)
        return other if other.module.config._attn_implementation == implementation else None


class AttentionPart(HuggingFaceModel):
    """The first attention module of a model by itself, with the masks, positions and caches that the model gives it."""

    def __init__(self, model: Any, spec: Spec | None = None, *, name: str | None = None, redraw: bool = True) -> None:
        found = _first_attention(model)
        if found is None:
            raise InputError(
                f"{type(model).__name__} has no attention module with projections of a known name. "
                "Check the whole model instead."
            )
        spec = spec or attention_spec(model, found)
        super().__init__(model, spec, name=name or f"{type(model).__name__} attention", redraw=redraw)

    def forward(self, x: Any, **options: Any) -> Any:
        """What the attention module returns for x, which replaces the states that the model would give it."""
        return _attention_output(self.attention_module(), x, lambda: self._run(x, options))

    def attention_module(self) -> Any:
        """The first attention module."""
        return _first_attention(self.module)

    def own_capabilities(self) -> set[str]:
        """Also the projections and the attention function, where they are found."""
        capabilities = super().own_capabilities()
        if self.spec.positions in ("none", "alibi", "relative"):
            capabilities.discard("positions")
        has_projections = find_projections(self.attention_module(), self.spec) is not None
        if has_projections and is_rotary_known(self.module):
            capabilities.add("weights")
        with quiet_transformers():
            self._attention_function = _attention_function(self.module, self.spec.width)
        return capabilities | ({"core"} if self._attention_function is not None else set())

    def projections(self) -> Projections:
        """The matrices of the attention module."""
        found = find_projections(self.attention_module(), self.spec)
        assert found is not None, "weights are among the capabilities only if they were found"
        return found

    def core(
        self, q: np.ndarray, k: np.ndarray, v: np.ndarray, *, mask: np.ndarray | None = None, causal: bool = False
    ) -> np.ndarray:
        """The attention function that the module calls, with the scale and the other options that it gives."""
        visible = _visible((q.shape[0], q.shape[2], k.shape[2]), mask, causal=causal)
        assert self._attention_function is not None, "core is among the capabilities only if it was found"
        with self.arrays.quietly():
            bias = self.native(np.where(visible, 0.0, np.finfo(np.float32).min)[:, None])
            return self.numpy(self._attention_function(self.native(q), self.native(k), self.native(v), bias))


def _has_windows(model: Any) -> bool:
    """A cache that keeps only a window cannot be cropped."""
    config = model.config.get_text_config(decoder=True)
    return bool(getattr(config, "sliding_window", None) or getattr(config, "attention_chunk_size", None))


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """Silences transformers' remarks on tiny configurations."""
    # By handlers and not by level: setting a level clears the caches of all loggers, which slows every call down.
    logger = logging.getLogger("transformers")
    before = logger.handlers, logger.propagate
    logger.handlers, logger.propagate = [logging.NullHandler()], False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.handlers, logger.propagate = before


@functools.cache
def _forward_names(kind: type) -> tuple[str, ...]:
    """What the parameters of a module's `forward` are called."""
    return tuple(inspect.signature(kind.forward).parameters)[1:]


@functools.cache
def _takes_use_cache(kind: type) -> bool:
    """True if `use_cache` is named, or passed on to the model inside; with a cache, no documents are kept apart."""
    parameters = inspect.signature(kind.forward).parameters.values()
    return any(each.name == "use_cache" or each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters)


class _AttentionDone(Exception):
    """Raised to leave the model once its attention has returned."""


def _attention_output(attention: Any, x: Any, run: Callable[[], Any]) -> Any:
    """What the attention module inside a model returns for x; the rest of the model is not run."""
    names = _forward_names(type(attention))
    outputs: list[Any] = []

    def replace_input(_: Any, args: tuple[Any, ...], options: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        given = {**dict(zip(names, args, strict=False)), **options, names[0]: x}
        if given.get("residual") is not None:
            given["residual"] = x * 0
        return (), given

    def keep_output(_: Any, __: Any, found: Any) -> None:
        outputs.append(first_output(found))
        raise _AttentionDone

    hooks = [
        attention.register_forward_pre_hook(replace_input, with_kwargs=True),
        attention.register_forward_hook(keep_output),
    ]
    try:
        run()
    except _AttentionDone:
        pass
    finally:
        for hook in hooks:
            hook.remove()
    return outputs[0]


def _first_attention(model: Any) -> Any:
    """The first module that has projections of its own, None if none has."""
    for _, module in model.named_modules():
        children = dict(module.named_children())
        if "attention" in type(module).__name__.lower() and (
            fused_name(module) or any(q in children for q in _QUERIES)
        ):
            return module
    return None


def _attention_function(model: Any, width: int) -> Callable[[Any, Any, Any, Any], Any] | None:
    """attend(q, k, v, bias) as the model's first attention calls it, None where it does not use the interface."""
    import torch
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

    copied = copy.deepcopy(model)
    module = _first_attention(copied)
    if module is None:
        return None
    implementation = model.config._attn_implementation
    if implementation in (None, "eager"):
        function = getattr(sys.modules[type(module).__module__], "eager_attention_forward", None)
    else:
        function = ALL_ATTENTION_FUNCTIONS.get(implementation)
    if function is None:
        return None
    _register_recording()
    calls: list[dict[str, Any]] = []
    module.regard_calls = calls
    try:
        copied.set_attn_implementation(_RECORDING)
        x = torch.zeros(1, 3, width, dtype=next(copied.parameters()).dtype)
        _attention_output(module, x, lambda: copied(inputs_embeds=x))
    except (AttributeError, ImportError, IndexError, KeyError, RuntimeError, TypeError, ValueError):
        return None
    if not calls:
        return None
    options = {name: value for name, value in calls[0].items() if name not in ("position_ids", "is_causal")}
    return lambda q, k, v, bias: function(module, q, k, v, bias, **options)[0].transpose(1, 2)


def _register_recording() -> None:
    """Registers an attention function that records its options and passes the call on."""
    from transformers import AttentionInterface
    from transformers.integrations.sdpa_attention import sdpa_attention_forward
    from transformers.masking_utils import AttentionMaskInterface, sdpa_mask

    def recording(module: Any, q: Any, k: Any, v: Any, mask: Any, **options: Any) -> Any:
        if hasattr(module, "regard_calls"):
            module.regard_calls.append(options)
        return sdpa_attention_forward(module, q, k, v, mask, **options)

    AttentionInterface.register(_RECORDING, recording)
    AttentionMaskInterface.register(_RECORDING, sdpa_mask)


def _visible(shape: tuple[int, int, int], mask: np.ndarray | None, *, causal: bool) -> np.ndarray:
    """[batch, query, key]: the mask and, if causal, no key ahead of a query when the last of both are aligned."""
    visible = np.ones(shape, dtype=bool) if mask is None else np.broadcast_to(mask, shape).copy()
    if causal:
        _, queries, keys = shape
        visible &= np.arange(keys)[None, :] <= (np.arange(queries) + keys - queries)[:, None]
    return visible
