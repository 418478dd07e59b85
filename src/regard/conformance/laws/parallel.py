"""Ranks that share a sequence give what one pass gives."""

import numpy as np

from regard.conformance.kernel_cases import signs_of_attention
from regard.conformance.law import BlindSpot, Comparison, Comparisons, Diagnoses, Diagnosis, InputSize, Law, LawTrial
from regard.conformance.laws._parallel import compare_ranks, places_of_ranks
from regard.conformance.reference_kernels import attend_tokens, parallel_kernel


def _compare(trial: LawTrial) -> Comparisons:
    """One rank to as many as the trial has rows, with equal, zigzag and uneven pieces."""
    for world in range(1, trial.size.batch + 1):
        try:
            yield from [compare_ranks(trial, "simulated", world, *case) for case in places_of_ranks(trial, world)]
        except Exception:
            # Ranks that share heads need a number of them that divides the heads.
            if (trial.spec.num_kv_heads or 1) % world == 0:
                raise


def _signs(trial: LawTrial, broken: list[Comparison]) -> Diagnoses:
    worlds, kinds = ({each.signature[name] for each in broken} for name in ("world", "kind"))
    if 1 in worlds:
        yield from signs_of_attention(trial, broken)
    elif kinds == {"uneven pieces"}:
        yield Diagnosis("parallel", "pieces of other lengths than this rank's are placed wrongly")
    elif 2 not in worlds:
        yield Diagnosis("parallel", f"from {min(worlds)} ranks on, pieces are missing or in the wrong order")
    else:
        yield Diagnosis("parallel", "pieces of other ranks are missing, masked by local places, or merged wrongly")


def _own_keys_only(q: np.ndarray, k: np.ndarray, v: np.ndarray, _comm: object) -> np.ndarray:
    return attend_tokens(q, k, v)


LAW = Law(
    id="PARALLEL",
    statement="the outputs of all ranks together equal one pass over the whole sequence",
    family="parallel",
    rank=670,
    needs=("parallel", "simulated"),
    compare=_compare,
    signs=_signs,
    diagnosed_by="suspects",
    broken_example=lambda: parallel_kernel(_own_keys_only),
    suspects=(
        "keys of other ranks are missing",
        "causality goes by places inside a piece",
        "partial results are merged wrongly",
    ),
    size=InputSize(batch=4, length=6),
    grade="spec",
    reveals=(*BlindSpot,),
)
