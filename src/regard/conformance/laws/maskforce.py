"""Masks work however large the logits are."""

from dataclasses import replace
from typing import Any, Literal

import numpy as np

from regard.conformance.law import Comparison, Comparisons, Diagnoses, Diagnosis, Law, LawTrial, NotTried, Spec, Subject
from regard.conformance.laws.causal import LAW as CAUSAL
from regard.conformance.laws.junk import hidden_content
from regard.conformance.reference_layer import ReferenceLayer

# Logits grow with the square. In float16 they must stay below 65504.
_FACTOR = 100.0
_FACTOR_FLOAT16 = 30.0
# Only beside visible logits below −10⁴ does a key masked by a constant of that size get weight.
_LARGER_FACTOR = 300.0
_PART = 0.1

MaskKind = Literal["mask", "padding"]


class _Amplified(Subject):
    """A layer whose inputs are scaled up before it sees them."""

    def __init__(self, inner: Subject, factor: float) -> None:
        self.name, self.spec, self.is_routed = inner.name, inner.spec, inner.is_routed
        self.capabilities = inner.capabilities & {"mask", "positions"}
        self.inner, self.factor = inner, factor

    def call(self, x: np.ndarray, **options: Any) -> np.ndarray:
        return self.inner.call(x * x.dtype.type(self.factor), **options)


def _compare(trial: LawTrial) -> Comparisons:
    """CAUSAL and JUNK again, with inputs a hundred times as large."""
    if not trial.spec.causal and not trial.subject.has("mask"):
        raise NotTried("the layer takes no mask and does not declare to be causal")
    factor = _FACTOR_FLOAT16 if trial.spec.dtype == "float16" else _FACTOR
    if trial.spec.causal:
        found = list(CAUSAL.compare(replace(trial, subject=_Amplified(trial.subject, factor))))
        # Weights this sharp may leave one output alone; some must move.
        control = max((each.control or 0.0 for each in found), default=0.0)
        for each in found:
            yield _amplified(replace(each, control=control), factor, "mask")
    if trial.subject.has("mask"):
        for each in hidden_content(trial, factor=factor):
            yield _amplified(each, factor, "padding")
    yield from _number_of_hidden(trial, _LARGER_FACTOR if factor == _FACTOR else factor)


def _number_of_hidden(trial: LawTrial, factor: float) -> Comparisons:
    """Tokens that nobody sees may as well be absent: weight that goes to them is missing elsewhere.

    The tolerance is a visible part of the output: rounding of logits this large is as large as ordinary logits.
    """
    x = (trial.inputs() * factor).astype(trial.inputs().dtype)
    kept = 1
    if x.shape[1] == kept:
        return
    alone = trial.call(x[:, :kept]).astype(np.float64)
    masks: dict[MaskKind, np.ndarray | None] = {"mask": None} if trial.spec.causal else {}
    if trial.subject.has("mask"):
        masks["padding"] = np.broadcast_to(np.arange(x.shape[1]) < kept, x.shape[:2]).copy()
    for kind, mask in masks.items():
        among = trial.call(x, **({} if mask is None else {"mask": mask}))[:, :kept].astype(np.float64)
        largest = float(np.abs(alone).max())
        gaps = np.abs(among - alone).max(axis=(0, 2))
        comparison = Comparison(
            what="the number of hidden tokens changes this output",
            error=float(gaps.max()),
            tolerance=_PART * largest,
            control=None if largest > 0 else 0.0,
            place={"output": int(np.argmax(gaps)), "kept": kept},
        )
        yield _amplified(comparison, factor, kind)


def _amplified(comparison: Comparison, factor: float, kind: MaskKind) -> Comparison:
    what = f"with inputs {factor:g} times as large, {comparison.what}"
    return replace(comparison, what=what, signature={"family": kind})


def _signs(_trial: LawTrial, broken: list[Comparison]) -> Diagnoses:
    is_causal = any(each.signature["family"] == "mask" for each in broken)
    yield Diagnosis("mask" if is_causal else "padding", "the mask constant is finite and too small")


class _FiniteMask(ReferenceLayer):
    def softmax(self, z: np.ndarray, visible: np.ndarray) -> np.ndarray:
        return super().softmax(z + np.where(visible, 0, -1e4).astype(z.dtype), np.ones_like(visible))


LAW = Law(
    id="MASKFORCE",
    statement="no output depends on later or masked tokens, however large the logits are",
    family="mask",
    rank=250,
    follows=("CAUSAL", "OVERFLOW", "JUNK", "PAD"),
    compare=_compare,
    signs=_signs,
    diagnosed_by="signs",
    broken_example=lambda: _FiniteMask(Spec(causal=True, positions="none"), name="mask of −10⁴"),
    suspects=("the mask constant is finite and too small", "the logits are multiplied by the mask"),
)
