"""Random keys and query designs: what is asked, and the law of the logits that follows."""

from regard.scenarios.course import (
    GAMMA_POSITIVE,
    CourseKeys,
    QueryDesign,
    course_keys,
    identical_heads,
    one_head,
    read_noise,
    two_heads,
)
from regard.scenarios.deviation import Deviation
from regard.scenarios.gaussian_keys import GaussianKeys, Lookup
from regard.scenarios.logit_law import LogitLaw

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
