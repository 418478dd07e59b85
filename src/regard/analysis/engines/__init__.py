"""Engines answer questions about attention under random keys: certified, monte_carlo, direct."""

from regard.analysis.engines.enclosures import certified_root
from regard.analysis.engines.questions import (
    ConditionProbability,
    Mean,
    Probability,
    Quantile,
    Question,
    SquaredError,
    TotalVariance,
    Variance,
    Within,
    coefficient,
    weight,
)
from regard.core.estimate import Estimate

__all__ = [
    "ConditionProbability",
    "Estimate",
    "Mean",
    "Probability",
    "Quantile",
    "Question",
    "SquaredError",
    "TotalVariance",
    "Variance",
    "Within",
    "certified_root",
    "coefficient",
    "weight",
]
