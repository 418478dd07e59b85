"""Whether two estimates can both be right."""

from regard.core.estimate import Estimate


def overlap(first: Estimate, second: Estimate) -> bool:
    return first.lower <= second.upper and second.lower <= first.upper
