"""A student's attention layer as a subject."""

from types import SimpleNamespace
from typing import Any

import numpy as np

from regard.conformance.adapters.layouts.importing import StudentCode
from regard.conformance.adapters.layouts.rotary import as_array
from regard.conformance.adapters.projecting import find_projections
from regard.conformance.subject import Projections, Spec, Subject

_WIDTH, _HEADS, _BLOCK = 32, 4, 128
_DROPOUT = 0.1


class StudentAttention(Subject):
    """`CausalSelfAttention(config)` in evaluation, with drawn weights: freshly made ones are too quiet to show bugs."""

    def __init__(self, code: StudentCode, kind: Any, *, rope: bool, seed: int = 0) -> None:
        import torch

        self._code, self.name = code, f"CausalSelfAttention, rope={rope}"
        self.spec = Spec(
            width=_WIDTH,
            num_heads=_HEADS,
            causal=True,
            positions="rotary" if rope else "none",
            rotary_layout="interleaved",
            max_positions=_BLOCK,
        )
        torch.manual_seed(seed)
        self.module = code.call(kind, _config(rope))
        self.module.eval()
        self._draw(torch.Generator().manual_seed(seed))
        self._projections = find_projections(self.module, self.spec)
        has_table = rope and getattr(self.module, "rope_cache", None) is not None
        self.capabilities = frozenset(
            {"attend"} | ({"weights"} if self._projections else set()) | ({"kept table"} if has_table else set())
        )

    def _draw(self, generator: Any) -> None:
        """Matrices of normal numbers that keep the variance, and biases that are not zero."""
        import torch

        with torch.no_grad():
            for parameter in self.module.parameters():
                width = parameter.shape[-1] if parameter.dim() > 1 else 16
                drawn = torch.randn(parameter.shape, generator=generator) * width**-0.5
                parameter.copy_(drawn.to(parameter.dtype))

    def call(self, x: np.ndarray, **options: Any) -> np.ndarray:
        """The output in evaluation, without gradients."""
        import torch

        del options
        with torch.no_grad():
            found = self._code.call(self.module, torch.from_numpy(np.ascontiguousarray(x)))
        return np.array(as_array(found[0] if isinstance(found, tuple) else found))

    def projections(self) -> Projections:
        """The matrices of `key`, `query`, `value` and `proj`."""
        assert self._projections is not None
        return self._projections

    def kept_table(self) -> tuple[np.ndarray, bool]:
        """rope_cache, and whether it is a buffer."""
        return as_array(self.module.rope_cache), "rope_cache" in dict(self.module.named_buffers())


def _config(rope: bool) -> SimpleNamespace:
    """The published fields, with dropout that must be off in evaluation."""
    return SimpleNamespace(
        n_embd=_WIDTH, n_head=_HEADS, block_size=_BLOCK, attn_pdrop=_DROPOUT, resid_pdrop=_DROPOUT,
        embd_pdrop=_DROPOUT, rope=rope, n_layer=1, vocab_size=100,
    )  # fmt: skip
