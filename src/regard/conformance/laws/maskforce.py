"""Masks hold however large the logits are."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from regard.conformance.law import Comparison, Law, LawTrial, NotTried
from regard.conformance.laws.causal import LAW as CAUSAL
from regard.conformance.laws.junk import hidden_content
from regard.conformance.reference_layer import ReferenceLayer
from regard.conformance.subject import Spec, Subject

# Logits grow with the square. In float16 they must stay below 65504.
_FACTOR = 100.0
_FACTOR_FLOAT16 = 30.0
# Visible logits below −10⁴ are needed to see that a constant of that size takes a share.
_LOUDER = 300.0
_PART = 0.1


class _Amplified(Subject):
    """A layer whose inputs are made larger before it sees them."""

    def __init__(self, inner: Subject, factor: float) -> None:
        self.name, self.spec, self.is_routed = inner.name, inner.spec, inner.is_routed
        self.capabilities = inner.capabilities & {"mask", "positions"}
        self.inner, self.factor = inner, factor

    def call(self, x: np.ndarray, **options: Any) -> np.ndarray:
        return self.inner.call(x * x.dtype.type(self.factor), **options)


def _compare(trial: LawTrial) -> Iterator[Comparison]:
    """CAUSAL and JUNK again, with inputs a hundred times as large."""
    if not trial.spec.causal and not trial.subject.has("mask"):
        raise NotTried("the layer has no mask and is not declared to be causal")
    factor = _FACTOR_FLOAT16 if trial.spec.dtype == "float16" else _FACTOR
    if trial.spec.causal:
        found = list(CAUSAL.compare(replace(trial, subject=_Amplified(trial.subject, factor))))
        # Weights this sharp may leave one output alone; some must move.
        lively = max((finding.control or 0.0 for finding in found), default=0.0)
        for finding in found:
            yield _amplified(replace(finding, control=lively), factor, "causal")
    if trial.subject.has("mask"):
        for finding in hidden_content(trial, factor=factor):
            yield _amplified(finding, factor, "padding")
    yield from _hidden_numbers(trial, _LOUDER if factor == _FACTOR else factor)


def _hidden_numbers(trial: LawTrial, factor: float) -> Iterator[Comparison]:
    """Tokens that nobody sees may as well not be there: a share that goes to them is missing elsewhere.

    The tolerance is a visible part of the output: logits this large are rounded by as much as small ones differ.
    """
    x = (trial.inputs() * factor).astype(trial.inputs().dtype)
    kept = 1
    if x.shape[1] == kept:
        return
    alone = trial.subject.call(x[:, :kept]).astype(np.float64)
    masks: dict[str, np.ndarray | None] = {"causal": None} if trial.spec.causal else {}
    if trial.subject.has("mask"):
        masks["padding"] = np.broadcast_to(np.arange(x.shape[1]) < kept, x.shape[:2]).copy()
    for kind, mask in masks.items():
        among = trial.subject.call(x, **({} if mask is None else {"mask": mask}))[:, :kept].astype(np.float64)
        largest = float(np.abs(alone).max())
        gaps = np.abs(among - alone).max(axis=(0, 2))
        yield Comparison(
            what=f"with inputs {factor:g} times as large, outputs change with the number of tokens that are hidden",
            error=float(gaps.max()),
            tolerance=_PART * largest,
            control=None if largest > 0 else 0.0,
            place={"output": int(np.argmax(gaps)), "kept": kept},
            signature={"factor": factor, "mask": kind},
        )


def _amplified(finding: Comparison, factor: float, kind: str) -> Comparison:
    return replace(
        finding,
        what=f"with inputs {factor:g} times as large, {finding.what}",
        signature={**finding.signature, "factor": factor, "mask": kind},
    )


class _Finite(ReferenceLayer):
    """Hides keys by adding −10⁴ to their logits."""

    def softmax(self, z: np.ndarray, visible: np.ndarray) -> np.ndarray:
        return super().softmax(z + np.where(visible, 0, -1e4).astype(z.dtype), np.ones_like(visible))


def _broken_example() -> Subject:
    return _Finite(Spec(causal=True, positions="none"), name="mask of −10⁴")


LAW = Law(
    id="MASKFORCE",
    statement="no output looks ahead or under a mask, however large the logits are",
    compare=_compare,
    broken_example=_broken_example,
    suspects=("the mask constant is finite and too small", "the mask is multiplied with the logits"),
)
