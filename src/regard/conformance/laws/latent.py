"""Latent attention is attention over expanded keys and values."""

from dataclasses import replace
from typing import Any

import numpy as np

from regard.conformance.kernel_cases import LARGE, compare_sequences, oracle_of, signs_of_attention
from regard.conformance.law import BlindSpot, Comparison, Comparisons, Diagnoses, Diagnosis, Law, LawTrial, distance
from regard.conformance.laws._latent import SIZE, LatentBatch, draw_latents, with_scale
from regard.conformance.reference_kernels import latent, latent_kernel

_NEAR = 2e-3


def _compare(trial: LawTrial) -> Comparisons:
    """One query as in decoding, several, as many as keys, and large logits."""
    trial, length = with_scale(trial), trial.size.length
    cases = {"decoding": 1, "a chunk": min(3, length), "prefill": length, "large logits": min(3, length)}
    for case, num_queries in cases.items():
        batch = draw_latents(trial, case, num_queries, LARGE if case == "large logits" else 1.0)
        found = batch.run(trial)
        outputs = list(found) if found.shape == batch.q_nope.shape else [found] * len(found)
        signature = {"batch": batch, "found": found, "is_large": case == "large logits"}
        what = f"attention over latents differs from attention over expanded keys and values ({case})"
        yield compare_sequences(trial, what, outputs[: len(batch.latents)], batch.sequences(), signature=signature)


def _signs(trial: LawTrial, broken: list[Comparison]) -> Diagnoses:
    trial = with_scale(trial)
    width, rotary = trial.spec.head_width, trial.subject.traits.rotary_width
    mistakes: dict[str, tuple[dict[str, float], float]] = {
        "the rotated part is left out": ({"q_rope": 0.0}, 1.0),
        "the part that is not rotated is left out": ({"q_nope": 0.0}, 1.0),
        "the scale is that of one part of the query": ({}, ((width + rotary) / width) ** 0.5),
        "the scale is that of the latents": ({}, ((width + rotary) / trial.subject.traits.latent_width) ** 0.5),
        "the scale is that of latents and rotated part": (
            {},
            ((width + rotary) / (trial.subject.traits.latent_width + rotary)) ** 0.5,
        ),
    }
    for text, (parts, factor) in mistakes.items():
        if all(_gap(trial, each, parts, factor) < _NEAR for each in broken):
            yield Diagnosis("latent", text)
            return
    yield from signs_of_attention(trial, broken)


def _gap(trial: LawTrial, comparison: Comparison, parts: dict[str, float], factor: float) -> float:
    batch: LatentBatch = comparison.signature["batch"]
    changed = replace(batch, **{name: getattr(batch, name) * size for name, size in parts.items()})
    oracle = oracle_of(trial)
    wanted = np.stack([each.attended(oracle.changed(scale=oracle.scale * factor)) for each in changed.sequences()])
    return distance(comparison.signature["found"], wanted)


def _unscaled_rotary(q_nope: np.ndarray, q_rope: np.ndarray, *rest: Any) -> np.ndarray:
    return latent(q_nope, q_rope * 0, *rest)


LAW = Law(
    id="LATENT",
    statement="attention over latents equals float64 attention over expanded keys and values",
    family="latent",
    rank=600,
    needs=("latent",),
    compare=_compare,
    signs=_signs,
    diagnosed_by="suspects",
    broken_example=lambda: latent_kernel(_unscaled_rotary),
    suspects=(
        "a matrix is absorbed the wrong way round",
        "the rotated part is left out or scaled differently",
        "the scale is that of another width",
    ),
    size=SIZE,
    grade="spec",
    reveals=(*BlindSpot,),
)
