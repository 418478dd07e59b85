"""Random keys and query designs: what is asked, and the law of the logits that follows."""

from typing import TYPE_CHECKING, Any

from regard.analysis.scenarios.course import (
    GAMMA_POSITIVE,
    CourseKeys,
    QueryDesign,
    course_keys,
    identical_heads,
    one_head,
    read_noise,
    two_heads,
)
from regard.analysis.scenarios.deviation import Deviation
from regard.analysis.scenarios.logit_law import LogitLaw

if TYPE_CHECKING:
    from regard.analysis.scenarios.gaussian_keys import GaussianKeys, Lookup

__all__ = [
    "GAMMA_POSITIVE",
    "CourseKeys",
    "Deviation",
    "GaussianKeys",
    "LogitLaw",
    "Lookup",
    "QueryDesign",
    "course_keys",
    "identical_heads",
    "one_head",
    "read_noise",
    "two_heads",
]


def __getattr__(name: str) -> Any:
    # Keys as arrays need numpy, which takes longer to import than a certified answer takes to find.
    if name not in ("GaussianKeys", "Lookup"):
        raise AttributeError(f"module 'regard.analysis.scenarios' has no attribute '{name}'")
    from regard.analysis.scenarios import gaussian_keys

    return getattr(gaussian_keys, name)
