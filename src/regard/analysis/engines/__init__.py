"""Engines answer questions about attention under random keys: certified, monte_carlo, direct."""

from typing import TYPE_CHECKING, Any

from regard.analysis.engines.quantities import Quantity, coefficient, total_coefficient, total_weight, weight
from regard.analysis.engines.questions import (
    Chance,
    Correlation,
    Covariance,
    Mean,
    Probability,
    Quantile,
    Question,
    RawMoment,
    SquaredError,
    TotalVariance,
    Variance,
    Within,
)
from regard.analysis.engines.root import certified_root
from regard.analysis.engines.whole_domain import unproved_parts
from regard.core.estimate import Estimate

if TYPE_CHECKING:
    from regard.core.random_streams import stream

__all__ = [
    "Chance",
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
    "stream",
    "total_coefficient",
    "total_weight",
    "unproved_parts",
    "weight",
]


def __getattr__(name: str) -> Any:
    # Randomness needs numpy, which takes longer to import than a certified answer takes to find.
    if name != "stream":
        raise AttributeError(f"module 'regard.analysis.engines' has no attribute '{name}'")
    from regard.core.random_streams import stream

    return stream
