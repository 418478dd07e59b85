"""Masks hold however large the logits are."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from regard.laws.catalogue.causal import LAW as CAUSAL
from regard.laws.catalogue.junk import hidden_content
from regard.laws.honest import HonestLayer
from regard.laws.law import Finding, Law, NotTried, Trial
from regard.subject import Spec, Subject

# Logits grow with the square. In float16 they must stay below 65504.
_FACTOR = 100.0
_FACTOR_FLOAT16 = 30.0


class _Amplified(Subject):
    """A layer whose inputs are made larger before it sees them."""

    def __init__(self, inner: Subject, factor: float) -> None:
        self.name, self.spec, self.is_routed = inner.name, inner.spec, inner.is_routed
        self.capabilities = inner.capabilities & {"mask", "positions"}
        self.inner, self.factor = inner, factor

    def call(self, x: np.ndarray, **options: Any) -> np.ndarray:
        return self.inner.call(x * x.dtype.type(self.factor), **options)


def _findings(trial: Trial) -> Iterator[Finding]:
    """CAUSAL and JUNK again, with inputs a hundred times as large."""
    if not trial.spec.causal and not trial.subject.has("mask"):
        raise NotTried("the layer has no mask and is not declared to be causal")
    factor = _FACTOR_FLOAT16 if trial.spec.dtype == "float16" else _FACTOR
    if trial.spec.causal:
        found = list(CAUSAL.findings(replace(trial, subject=_Amplified(trial.subject, factor))))
        # Weights this sharp may leave one output alone; some must move.
        lively = max((finding.control or 0.0 for finding in found), default=0.0)
        for finding in found:
            yield _amplified(replace(finding, control=lively), factor, "causal")
    if trial.subject.has("mask"):
        for finding in hidden_content(trial, factor=factor):
            yield _amplified(finding, factor, "padding")


def _amplified(finding: Finding, factor: float, kind: str) -> Finding:
    return replace(
        finding,
        what=f"with inputs {factor:g} times as large, {finding.what}",
        signature={**finding.signature, "factor": factor, "mask": kind},
    )


class _Finite(HonestLayer):
    """Hides keys by adding −10⁴ to their logits."""

    def softmax(self, z: np.ndarray, visible: np.ndarray) -> np.ndarray:
        return super().softmax(z + np.where(visible, 0, -1e4).astype(z.dtype), np.ones_like(visible))


def _outlaw() -> Subject:
    return _Finite(Spec(causal=True, positions="none"), name="mask of −10⁴")


LAW = Law(
    id="MASKFORCE",
    statement="no output looks ahead or under a mask, however large the logits are",
    findings=_findings,
    outlaw=_outlaw,
    suspects=("the mask constant is finite and too small", "the mask is multiplied with the logits"),
)
