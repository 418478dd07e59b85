"""`regard design`: your own queries among random keys, and the distribution of the output."""

from regard.designs.experiment import Sampling
from regard.designs.scenario import HALF_AND_HALF, Demand, Scenario

__all__ = ["HALF_AND_HALF", "Demand", "Sampling", "Scenario"]
