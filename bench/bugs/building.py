"""A layer from its text, as it is or after one edit."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from bugs import readings
from bugs.subjects import LayerSubject
from regard.conformance.subject import Projections, Spec

__all__ = ["LAYERS", "Kind", "build", "source"]

FOLDER = Path(__file__).parent / "layers"
ALWAYS = {"weights", "gradient", "parameters", "native", "float64"}


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A correct layer: what it declares, what it can do beyond the call, how its weights are read."""

    spec: Spec
    can: str
    reading: Callable[[nn.Module], Projections]
    paths: tuple[str, ...] = ()


def _causal(**more: Any) -> Spec:
    return Spec(causal=True, align="bottom-right", empty="zero", **more)


LAYERS = {
    "llama": Kind(
        spec=_causal(width=32, num_heads=4, num_kv_heads=2, positions="rotary"),
        can="mask positions cache core returned paths",
        reading=readings.read_llama,
        paths=("chunked",),
    ),
    "gptj": Kind(
        spec=_causal(width=48, num_heads=3, positions="rotary", rotary_width=8, rotary_layout="interleaved"),
        can="mask positions cache returned",
        reading=readings.read_gptj,
    ),
    "bloom": Kind(
        spec=_causal(width=48, num_heads=6, positions="alibi"), can="mask cache returned", reading=readings.read_bloom
    ),
    "mistral": Kind(
        spec=_causal(width=32, num_heads=4, num_kv_heads=2, window=4, positions="rotary", rotary_base=1e6),
        can="mask positions cache",
        reading=readings.read_mistral,
    ),
    "encoder": Kind(
        spec=Spec(width=32, num_heads=4, causal=False, positions="none", empty="uniform", align="bottom-right"),
        can="mask core returned paths",
        reading=readings.read_encoder,
        paths=("sdpa",),
    ),
    "gpt2": Kind(
        spec=_causal(width=32, num_heads=4, positions="learned", max_positions=64),
        can="mask positions cache returned paths",
        reading=readings.read_gpt2,
        paths=("eager",),
    ),
    "cross": Kind(
        spec=Spec(width=32, num_heads=4, causal=False, positions="none", empty="zero", align="bottom-right"),
        can="mask core returned paths",
        reading=readings.read_cross,
        paths=("blocks",),
    ),
    "gemma": Kind(
        spec=_causal(width=32, num_heads=4, num_kv_heads=1, positions="rotary", scale=0.25, softcap=2.0),
        can="mask positions cache returned",
        reading=readings.read_gemma,
    ),
    "gptoss": Kind(
        spec=_causal(width=32, num_heads=4, num_kv_heads=2, positions="rotary", rotary_base=150_000.0, sink=True),
        can="mask positions cache",
        reading=readings.read_gptoss,
    ),
}


def source(layer: str) -> str:
    """The text of a layer."""
    return (FOLDER / f"{layer}.py").read_text(encoding="utf-8")


def build(layer: str, text: str | None = None, *, name: str | None = None) -> LayerSubject:
    """The layer of that text, correct if none is given, with the same weights each time."""
    kind = LAYERS[layer]
    namespace: dict[str, Any] = {"__name__": f"bugs.layers.{layer}"}
    exec(compile(text or source(layer), str(FOLDER / f"{layer}.py"), "exec"), namespace)
    module = namespace["Layer"]()
    _fill(module, np.random.default_rng(0), kind.spec.width)
    subject = LayerSubject(name or layer, module, kind.spec, kind.reading)
    subject.capabilities = frozenset(ALWAYS | set(kind.can.split()))
    subject.path_names = kind.paths
    return subject


def _fill(module: nn.Module, rng: np.random.Generator, width: int) -> None:
    """Weights that give logits of size one; biases, gains, sinks and positions that are clearly not zero."""
    for name, parameter in module.named_parameters():
        spread = width**-0.5 if parameter.ndim == 2 and "wpe" not in name else 0.4
        with torch.no_grad():
            parameter.copy_(torch.from_numpy(rng.normal(scale=spread, size=tuple(parameter.shape))))
