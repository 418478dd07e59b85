"""rotary-embedding-torch and x-transformers as subjects."""

from typing import Any

import numpy as np

from regard.conformance.adapters.arrays import TorchArrays
from regard.conformance.adapters.cores import CoreLayer
from regard.conformance.adapters.torch_layers import TorchLayer
from regard.conformance.subject import Spec


class RotaryEmbeddingLayer(CoreLayer):
    """Attention whose queries and keys are turned by rotary_embedding_torch.RotaryEmbedding."""

    def forward(self, x: Any, mask: Any = None) -> Any:
        """Positions are counted by the package itself."""
        from rotary_embedding_torch import RotaryEmbedding

        width = self.spec.rotary_width or self.spec.head_width
        turn = RotaryEmbedding(dim=width, theta=int(self.spec.rotary_base)).to(x.device)
        seen = self._visible(x.shape[1], mask)
        asked = self._asked(seen, self._causal_by_flag())
        return self._projected(
            x, lambda q, k, v: self.attend(turn.rotate_queries_or_keys(q), turn.rotate_queries_or_keys(k), v, **asked)
        )


def rotary_embedding_layer(spec: Spec, *, name: str = "rotary_embedding_torch.RotaryEmbedding") -> CoreLayer:
    """The package's rotation around torch's attention; it has no path but this one."""
    from regard.conformance.adapters.torch_attention import _sdpa

    arrays = TorchArrays(spec.dtype, spec.device)
    layer = RotaryEmbeddingLayer(_sdpa, spec, name=name, arrays=arrays, takes=frozenset({"mask", "causal"}))
    layer.capabilities = layer.capabilities - {"paths", "core"}
    return layer


class XDecoder(TorchLayer):
    """x-transformers' Encoder or Decoder on embeddings; rotary positions can be given."""

    def forward(self, x: Any, mask: Any = None) -> Any:
        """Its mask is True for real tokens too."""
        return self.module(x, mask=mask)

    def shown(self) -> set[str]:
        """A mask; a cache for decoders, which it returns as intermediates."""
        return {"mask", "cache"} if self.spec.causal else {"mask"}

    def empty_cache(self, batch: int) -> Any:
        """None; the module makes it."""
        del batch

    def step(self, x: np.ndarray, cache: Any, mask: np.ndarray | None = None) -> tuple[np.ndarray, Any]:
        """The module wants every token again and computes only the last one."""
        import copy

        import torch

        seen, kept = (None, None) if cache is None else cache
        given = None if mask is None else self.native(mask)
        with self.arrays.quietly():
            rows = []
            for token in range(x.shape[1]):
                new = self.native(x[:, token : token + 1])
                seen = new if seen is None else torch.cat([seen, new], dim=1)
                real = None if given is None else given[:, : seen.shape[1]]
                y, kept = self.module(seen, mask=real, cache=copy.copy(kept), return_hiddens=True)
                rows.append(y[:, -1:])
        return self.numpy(torch.cat(rows, dim=1)), (seen, kept)
