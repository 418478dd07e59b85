"""Absorbed and expanded paths of latent attention agree."""

from typing import Any

import numpy as np

from regard.conformance.law import Comparisons, Law, LawTrial, distance
from regard.conformance.laws._latent import SIZE, draw_latents
from regard.conformance.reference_kernels import latent, latent_kernel


def _compare(trial: LawTrial) -> Comparisons:
    """One query, several, and as many as keys; other queries are the positive control."""
    for num_queries in sorted({1, min(3, trial.size.length), trial.size.length}):
        batch = draw_latents(trial, f"paths {num_queries}", num_queries)
        wanted = batch.run(trial, "expanded")
        other = draw_latents(trial, f"other paths {num_queries}", num_queries).run(trial, "expanded")
        place = {"queries": num_queries, "keys": trial.size.length}
        found = batch.run(trial)
        tolerance = trial.work_tolerance(wanted)
        yield trial.compared(
            "the two paths differ", found, wanted, tolerance, control=distance(other, wanted), place=place
        )


def _unscaled(q_nope: np.ndarray, q_rope: np.ndarray, *rest: Any) -> np.ndarray:
    return latent(q_nope * 2, q_rope, *rest)


LAW = Law(
    id="LATENTPATHS",
    statement="the absorbed and the expanded path of latent attention agree",
    family="latent",
    rank=610,
    needs=("latent", "expanded"),
    compare=_compare,
    diagnosed_by="suspects",
    broken_example=lambda: latent_kernel(expanded=_unscaled),
    suspects=("the two paths scale or mask differently", "a matrix is absorbed the wrong way round"),
    size=SIZE,
)
