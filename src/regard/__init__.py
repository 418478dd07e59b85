"""Regard decides what is true about attention, and shows the evidence.

    >>> import regard
    >>> [verdict] = regard.decide_claims("unscaled-sum-averages")
    >>> verdict.status
    'refuted'
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from regard.claims import Claim, Parameter, Rival, Trial, all_claims
    from regard.derivations.reports import DocumentReport
    from regard.derivations.sheet import QuestionRow
    from regard.designs import Demand, Sampling, Scenario
    from regard.errors import DomainError, InputError, NotCertifiable, RegardError
    from regard.estimate import Estimate
    from regard.report.designed import DesignReport
    from regard.verbs.claims import decide_claims
    from regard.verbs.verify import verify
    from regard.verdict import ClaimVerdict, Evidence, Place, StepVerdict, Verdict

__all__ = [
    "Claim",
    "ClaimVerdict",
    "Demand",
    "DesignReport",
    "DocumentReport",
    "DomainError",
    "Estimate",
    "Evidence",
    "InputError",
    "NotCertifiable",
    "Parameter",
    "Place",
    "QuestionRow",
    "RegardError",
    "Rival",
    "Sampling",
    "Scenario",
    "StepVerdict",
    "Trial",
    "Verdict",
    "__version__",
    "all_claims",
    "decide_claims",
    "verify",
]

__version__ = "0.1.0"

# A module is imported when one of its names is first used.
_HOMES = {
    "regard.claims": ("Claim", "Parameter", "Rival", "Trial", "all_claims"),
    "regard.derivations.reports": ("DocumentReport",),
    "regard.derivations.sheet": ("QuestionRow",),
    "regard.designs": ("Demand", "Sampling", "Scenario"),
    "regard.estimate": ("Estimate",),
    "regard.report.designed": ("DesignReport",),
    "regard.errors": ("DomainError", "InputError", "NotCertifiable", "RegardError"),
    "regard.verbs.claims": ("decide_claims",),
    "regard.verbs.verify": ("verify",),
    "regard.verdict": ("ClaimVerdict", "Evidence", "Place", "StepVerdict", "Verdict"),
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(importlib.import_module(home), name)
    raise AttributeError(f"module 'regard' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
