"""Hugging Face models on embeddings, and their attention alone, as subjects."""

import copy
import inspect
import logging
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from regard.conformance.adapters.hf_capture import Attention, captured, first_attention, forward_names, masked
from regard.conformance.adapters.hf_specs import TINY, attention_spec, is_known_to_the_oracle, is_routed, model_spec
from regard.conformance.adapters.projecting import find_projections
from regard.conformance.adapters.torch_layers import TorchLayer
from regard.conformance.subject import Projections, Spec
from regard.core.errors import InputError

_OFFSETS = (0, 1, 2)


def build_model(class_name: str, **config: Any) -> Any:
    """A transformers model with a tiny random configuration, changed by what is given."""
    import transformers

    if not hasattr(transformers, class_name):
        version = transformers.__version__
        raise InputError(f"transformers {version} has no {class_name}. Give a class such as LlamaForCausalLM.")
    kind = getattr(transformers, class_name)
    known = kind.config_class
    implementation = config.pop("attn_implementation", None)
    tiny = {**TINY, "num_key_value_heads": 2}
    usual = {name: value for name, value in tiny.items() if _knows(known, name)}
    with quiet_transformers():
        model = kind._from_config(known(**{**usual, **config}))
        if implementation is not None:
            model.set_attn_implementation(implementation)
    return model


class HuggingFaceModel(TorchLayer):
    """A whole model from embeddings to logits or last states; masks, positions and caches are transformers' own."""

    def __init__(self, model: Any, spec: Spec | None = None, *, name: str | None = None, redraw: bool = True) -> None:
        self.offset, self.is_routed = 0, is_routed(model)
        if not _has_windows(model):
            self.crop_cache = _cropped
        with quiet_transformers():
            super().__init__(model, spec or model_spec(model), name=name or type(model).__name__, redraw=redraw)
            self.offset = self._first_position()

    def forward(self, x: Any, **options: Any) -> Any:
        """Logits, or the last hidden states where there are none."""
        return _output(self._run(x, options))

    def shown(self) -> set[str]:
        """What the model's signature names; a cache only for decoders, since encoders keep the argument for later."""
        names = forward_names(type(self.module))
        asked = {"mask": "attention_mask", "positions": "position_ids", "cache": "past_key_values"}
        shown = {ours for ours, theirs in asked.items() if theirs in names}
        if self.spec.causal and "positions" in shown:
            shown.add("documents")
        if self.spec.positions == "alibi":
            # Slopes go by the mask; the argument is taken and not looked at.
            shown.discard("positions")
        return shown if self.spec.causal else shown - {"cache"}

    def empty_cache(self, batch: int) -> Any:
        """A DynamicCache; it is given to the model as a copy."""
        del batch
        from transformers import DynamicCache

        return DynamicCache(config=self.module.config)

    def step(self, x: np.ndarray, cache: Any, **options: Any) -> tuple[np.ndarray, Any]:
        """New tokens on a copy of the cache."""
        longer = copy.deepcopy(cache)
        given = {**self._given(options), "past_key_values": longer, "use_cache": True}
        with self.arrays.quietly():
            y = _output(self._run(self.native(x), given))
        return self.numpy(y), longer

    def reorder_cache(self, cache: Any, order: np.ndarray) -> Any:
        """A copy of the cache with its rows in this order."""
        import torch

        other = copy.deepcopy(cache)
        other.reorder_cache(torch.as_tensor(order, device=self.spec.device))
        return other

    def paths(self) -> Mapping[str, Callable[..., np.ndarray]]:
        """The other implementations of attention that the class supports."""
        others = {name: self._implemented(name) for name in ("eager", "sdpa") if self._supports(name)}
        return {**super().paths(), **{name: other.call for name, other in others.items() if other is not None}}

    def in_dtype(self, dtype: str) -> TorchLayer:
        """A copy in another dtype; the frequencies of rotary codes stay as they are, as when such a model is loaded."""
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
            given["positions"] = _within(given.pop("documents"))
        if "positions" in given:
            given["position_ids"] = given.pop("positions") + self.offset
            if "attention_mask" not in given and _leaves_gaps(given["position_ids"]):
                # Without a mask transformers takes every gap for the border between two documents.
                given["attention_mask"] = given["position_ids"].new_ones(x.shape[:2])
        if "use_cache" in forward_names(type(self.module)):
            given.setdefault("use_cache", False)
        with quiet_transformers():
            return self.module(inputs_embeds=x, **given)

    def _first_position(self) -> int:
        """Where the model counts from if nobody gives positions: RoBERTa begins at two."""
        if not self.has("positions") or self.spec.positions != "learned":
            return 0
        x = np.random.default_rng(0).standard_normal((1, 5, self.spec.width))
        alone, gaps = self.call(x), {}
        for self.offset in _OFFSETS:
            gaps[self.offset] = float(np.abs(self.call(x, positions=np.arange(5)[None]) - alone).max())
        return min(gaps, key=lambda offset: gaps[offset])

    def _supports(self, implementation: str) -> bool:
        is_other = self.module.config._attn_implementation != implementation
        return is_other and (implementation != "sdpa" or bool(getattr(self.module, "_supports_sdpa", False)))

    def _implemented(self, implementation: str) -> "HuggingFaceModel | None":
        other = copy.copy(self)
        other.module = copy.deepcopy(self.module)
        with quiet_transformers():
            other.module.set_attn_implementation(implementation)
        return other if other.module.config._attn_implementation == implementation else None


class AttentionPart(HuggingFaceModel):
    """The first attention module of a model by itself, with the masks, positions and caches that the model gives it."""

    def __init__(self, model: Any, spec: Spec | None = None, *, name: str | None = None, redraw: bool = True) -> None:
        found = first_attention(model)
        if found is None:
            raise InputError(
                f"{type(model).__name__} has no attention module with projections of a known name. "
                "Check the whole model instead."
            )
        spec = spec or attention_spec(model, found)
        super().__init__(model, spec, name=name or f"{type(model).__name__} attention", redraw=redraw)

    def forward(self, x: Any, **options: Any) -> Any:
        """What the attention module gives for x, which takes the place of the states that it would get."""
        return Attention(first_attention(self.module)).output(lambda: self._run(x, options), x)

    def step(self, x: np.ndarray, cache: Any, **options: Any) -> tuple[np.ndarray, Any]:
        """New tokens on a copy of the cache, of which only the first layer is filled."""
        longer = copy.deepcopy(cache)
        given = {**self._given(options), "past_key_values": longer, "use_cache": True}
        with self.arrays.quietly():
            y = self.forward(self.native(x), **given)
        return self.numpy(y), longer

    def shown(self) -> set[str]:
        """Projections and the core, where they are found."""
        shown = super().shown()
        if self.spec.positions in ("none", "alibi", "relative"):
            shown.discard("positions")
        is_known = is_known_to_the_oracle(self.module)
        if is_known and find_projections(first_attention(self.module), self.spec) is not None:
            shown.add("weights")
        with quiet_transformers():
            self.call_of_core = captured(self.module, self.spec.width)
        return shown | ({"core"} if self.call_of_core is not None else set())

    def projections(self) -> Projections:
        """The matrices of the attention module."""
        found = find_projections(first_attention(self.module), self.spec)
        assert found is not None, "weights are among the capabilities only if they were found"
        return found

    def core(
        self, q: np.ndarray, k: np.ndarray, v: np.ndarray, *, mask: np.ndarray | None = None, causal: bool = False
    ) -> np.ndarray:
        """The attention function that the module calls, with the scale and the other options that it gives."""
        seen = masked((q.shape[0], q.shape[2], k.shape[2]), mask, causal=causal)
        assert self.call_of_core is not None, "core is among the capabilities only if it was captured"
        with self.arrays.quietly():
            bias = self.native(np.where(seen, 0.0, np.finfo(np.float32).min)[:, None])
            return self.numpy(self.call_of_core(self.native(q), self.native(k), self.native(v), bias))


def _within(documents: Any) -> Any:
    """Positions that begin anew with every document."""
    places = (documents[:, :, None] == documents[:, None, :]).tril().sum(-1)
    return places - 1


def _leaves_gaps(positions: Any) -> bool:
    steps = positions.diff(dim=-1)
    return bool((steps > 0).all()) and bool((steps > 1).any())


def _has_windows(model: Any) -> bool:
    """A cache that keeps only a window cannot be cropped."""
    config = model.config.get_text_config(decoder=True)
    return bool(getattr(config, "sliding_window", None) or getattr(config, "attention_chunk_size", None))


def _cropped(cache: Any, length: int) -> Any:
    """A copy of the cache that knows only the first tokens."""
    other = copy.deepcopy(cache)
    other.crop(length - other.get_seq_length())
    return other


def _output(found: Any) -> Any:
    logits = getattr(found, "logits", None)
    return found.last_hidden_state if logits is None else logits


def _knows(config: Any, name: str) -> bool:
    return name in inspect.signature(config.__init__).parameters or name in (config.attribute_map or {})


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """transformers without its remarks on tiny configurations."""
    # Handlers and not levels: to change a level empties the caches of all loggers, which every call would pay for.
    logger = logging.getLogger("transformers")
    before = logger.handlers, logger.propagate
    logger.handlers, logger.propagate = [logging.NullHandler()], False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.handlers, logger.propagate = before
