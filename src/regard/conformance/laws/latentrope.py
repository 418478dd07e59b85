"""Rotated parts only shift logits."""

from typing import Any

import numpy as np

from regard.conformance.law import Comparisons, Law, LawTrial, distance
from regard.conformance.laws._latent import SIZE, draw_latents
from regard.conformance.reference_kernels import latent, latent_kernel


def _compare(trial: LawTrial) -> Comparisons:
    """All keys with one rotated part, and queries without one: neither changes anything. Other rotated parts do."""
    for num_queries in sorted({1, min(3, trial.size.length)}):
        batch = draw_latents(trial, f"rope {num_queries}", num_queries)
        full = batch.run(trial)
        plain = batch.changed(q_rope=0 * batch.q_rope).run(trial)
        control = distance(full, plain) if trial.size.length > 1 else None
        same = batch.changed(k_rope=np.broadcast_to(batch.k_rope[:, :1], batch.k_rope.shape))
        place = {"queries": num_queries, "keys": trial.size.length}
        what = "a rotated part that all keys share changes the output"
        yield trial.compared(what, same.run(trial), plain, control=control, place=place)
        other = batch.changed(q_rope=0 * batch.q_rope, k_rope=2 - batch.k_rope)
        what = "rotated parts of keys change the output of queries that have none"
        yield trial.compared(what, other.run(trial), plain, control=control, place=place)


def _rotated_values(
    q_nope: np.ndarray, q_rope: np.ndarray, latents: np.ndarray, k_rope: np.ndarray, *matrices: Any
) -> np.ndarray:
    mixed = latents.copy()
    mixed[..., : k_rope.shape[-1]] += k_rope
    return latent(q_nope, q_rope, mixed, k_rope, *matrices)


LAW = Law(
    id="LATENTROPE",
    statement="a rotated part that all keys share changes nothing, and values do not depend on rotated parts",
    family="latent",
    rank=590,
    needs=("latent",),
    compare=_compare,
    diagnosed_by="suspects",
    broken_example=lambda: latent_kernel(_rotated_values),
    suspects=("values include the rotated part of the cache", "latent and rotated parts are split at the wrong place"),
    size=SIZE,
)
