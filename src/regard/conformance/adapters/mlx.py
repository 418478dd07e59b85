"""The caches of mlx-lm with a tiny random model of one of its architectures."""

import copy
import importlib
import tempfile
from pathlib import Path
from typing import Any

from regard.conformance.subject import Spec
from regard.core.errors import InputError

_TINY: dict[str, Any] = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 64,
    "vocab_size": 99,
    "rms_norm_eps": 1e-5,
    "max_position_embeddings": 512,
    "rope_theta": 10_000.0,
    "head_dim": 8,
    "tie_word_embeddings": True,
}
# Rows of keys are quantised in groups of at least this many numbers.
_GROUP = 32
# 8 bits are steps of 1/255 of a group's range, at most twice its largest number, in each of two layers.
_QUANTIZED_ERROR = 2 * 2 / 255


class MlxCaches:
    """A model of mlx-lm and its caches as an engine: those that the model makes, or "quantized" ones (8 bits).

    The whole model is deterministic and keeps nothing, so that copies share it.
    """

    def __init__(self, architecture: str, *, cache: str = "own", **config: Any) -> None:
        if cache not in ("own", "quantized"):
            raise InputError(f"An mlx target has no cache '{cache}'. Give own or quantized.")
        try:
            import mlx.core as mx
            from mlx_lm.models import cache as caches

            module = importlib.import_module(f"mlx_lm.models.{architecture}")
        except ImportError as error:
            raise InputError(f"mlx:{architecture} needs mlx-lm with that architecture: {error}.") from error
        self.cache, self.caches = cache, caches
        if cache == "quantized":
            config = {"head_dim": _GROUP, **config}
            self.cache_error = _QUANTIZED_ERROR
        mx.random.seed(0)
        self.model = module.Model(module.ModelArgs.from_dict({**_TINY, "model_type": architecture, **config}))
        width, depth = self.model.args.hidden_size, self.model.args.num_hidden_layers
        self.spec = Spec(width=width, depth=depth, causal=True)

    def __deepcopy__(self, memo: dict[int, Any]) -> "MlxCaches":
        return self

    def full(self, x: Any) -> Any:
        """One pass without a cache."""
        return self.model(None, input_embeddings=x)

    def start(self, batch: int) -> list[Any]:
        """One cache per layer."""
        del batch
        if self.cache == "quantized":
            return [self.caches.QuantizedKVCache(group_size=_GROUP, bits=8) for _ in self.model.layers]
        return self.caches.make_prompt_cache(self.model)

    def append(self, seq: list[Any], x: Any) -> Any:
        """The logits."""
        return self.model(None, cache=seq, input_embeddings=x)

    def fork(self, seq: list[Any]) -> list[Any]:
        """A copy, as mlx-lm's server makes it."""
        return copy.deepcopy(seq)

    def reject(self, seq: list[Any], count: int) -> None:
        """By trimming, where all layers can be trimmed."""
        if not self.caches.can_trim_prompt_cache(seq):
            raise NotImplementedError
        self.caches.trim_prompt_cache(seq, count)

    def swap_out(self, seq: list[Any]) -> Path:
        """The file of a saved prompt cache."""
        if any(each.empty() for each in seq):
            raise NotImplementedError
        path = Path(tempfile.mkdtemp()) / "cache.safetensors"
        self.caches.save_prompt_cache(str(path), seq)
        return path

    def swap_in(self, saved: Path) -> list[Any]:
        """What the file holds; the file goes."""
        seq = self.caches.load_prompt_cache(str(saved))
        saved.unlink()
        saved.parent.rmdir()
        return seq
