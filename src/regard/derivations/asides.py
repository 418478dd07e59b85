"""Queries that a document tries out and leaves again: if one took q = k_a + k_b, …; check with q = 5 k_j: …"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from regard.derivations.context import Surroundings
from regard.derivations.judging.findings import Finding
from regard.derivations.judging.scope import Scope
from regard.derivations.reading.phrases import any_of

_EXAMPLE = re.compile(rf"[\s*_>(（-]*{any_of('example')}", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class Aside:
    """A query that is tried out to the end of its paragraph, and what was in force before it."""

    paragraph: int
    scope: Scope
    design_findings: Mapping[str, Finding]


def is_example(surroundings: Surroundings) -> bool:
    """True if the sentence opens as an example or a check.

    >>> is_example(Surroundings(before="Check with ")), is_example(Surroundings(before="Without loss "))
    (True, False)
    """
    return _EXAMPLE.match(surroundings.before) is not None
