"""Somebody's own query: read from what is typed, its output's distribution, and how it compares."""

from regard.designs.asking import Sampling
from regard.designs.scenario import HALF_AND_HALF, Demand, Scenario

__all__ = ["HALF_AND_HALF", "Demand", "Sampling", "Scenario"]
