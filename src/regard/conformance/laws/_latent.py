"""Queries, latents and matrices, for the laws of latent kernels."""

from dataclasses import dataclass, replace

import numpy as np

from regard.conformance.kernel_cases import TokenSequence
from regard.conformance.law import InputSize, LawTrial

SIZE = InputSize(batch=2, length=20)


@dataclass(frozen=True, kw_only=True, eq=False)
class LatentBatch:
    """The arguments of a latent kernel."""

    q_nope: np.ndarray
    q_rope: np.ndarray
    latents: np.ndarray
    k_rope: np.ndarray
    w_uk: np.ndarray
    w_uv: np.ndarray

    def run(self, trial: LawTrial, path: str = "attend") -> np.ndarray:
        """The output [batch, query, head, width] by one path."""
        return trial.subject.run_kernel(path, *(each.copy() for each in vars(self).values()))[0]

    def sequences(self) -> list[TokenSequence]:
        """Each row with keys and values of every head expanded, rotated parts behind the others."""
        wide = {name: each.astype(np.float64) for name, each in vars(self).items()}
        keys = np.einsum("bkl,hdl->bkhd", wide["latents"], wide["w_uk"])
        values = np.einsum("bkl,hdl->bkhd", wide["latents"], wide["w_uv"])
        rotated = np.broadcast_to(wide["k_rope"][:, :, None], (*keys.shape[:3], self.k_rope.shape[-1]))
        queries = np.concatenate([wide["q_nope"], wide["q_rope"]], axis=-1)
        rows = zip(queries, np.concatenate([keys, rotated], axis=-1), values, strict=True)
        return [TokenSequence(q=q, k=k, v=v) for q, k, v in rows]


def draw_latents(trial: LawTrial, name: str, num_queries: int, factor: float = 1.0) -> LatentBatch:
    """Random arguments; keys and values have about the size of ordinary ones."""
    spec, traits, rng = trial.spec, trial.subject.traits, trial.rng(f"latents {name}")
    rows, keys, heads = trial.size.batch, trial.size.length, spec.num_heads
    shapes = {
        "q_nope": (rows, num_queries, heads, spec.head_width),
        "q_rope": (rows, num_queries, heads, traits.rotary_width),
        "latents": (rows, keys, traits.latent_width),
        "k_rope": (rows, keys, traits.rotary_width),
        "w_uk": (heads, spec.head_width, traits.latent_width),
        "w_uv": (heads, spec.head_width, traits.latent_width),
    }
    sizes = {"w_uk": traits.latent_width**-0.5, "w_uv": traits.latent_width**-0.5, "q_nope": factor, "q_rope": factor}
    return LatentBatch(
        **{
            part: (sizes.get(part, 1.0) * rng.standard_normal(shape)).astype(trial.dtype)
            for part, shape in shapes.items()
        }
    )


def with_scale(trial: LawTrial) -> LawTrial:
    """The trial with the scale of both parts of a query declared, and with one key per head."""
    spec = trial.spec
    scale = (spec.head_width + trial.subject.traits.rotary_width) ** -0.5 if spec.scale is None else spec.scale
    changes = {"scale": scale, "num_kv_heads": spec.num_heads, "causal": True}
    return replace(trial, subject=trial.subject.declared(**changes))
