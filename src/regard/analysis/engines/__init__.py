"""Engines answer questions about attention under random keys: certified, monte_carlo, direct."""

from regard.analysis.engines.enclosures import certified_root
from regard.analysis.engines.questions import (
    ConditionProbability,
    Correlation,
    Covariance,
    Mean,
    Probability,
    Quantile,
    Quantity,
    Question,
    RawMoment,
    SquaredError,
    TotalVariance,
    Variance,
    Within,
    coefficient,
    total_coefficient,
    total_weight,
    weight,
)
from regard.core.estimate import Estimate

__all__ = [
    "ConditionProbability",
    "Correlation",
    "Covariance",
    "Estimate",
    "Mean",
    "Probability",
    "Quantile",
    "Quantity",
    "Question",
    "RawMoment",
    "SquaredError",
    "TotalVariance",
    "Variance",
    "Within",
    "certified_root",
    "coefficient",
    "total_coefficient",
    "total_weight",
    "weight",
]
