"""Regard decides what is true about attention, and shows the evidence.

    >>> import regard
    >>> [verdict] = regard.decide_claims("unscaled-sum-averages")
    >>> verdict.status
    'refuted'
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from regard.adapters import hf
    from regard.claims import Claim, Parameter, Rival, Trial, all_claims
    from regard.derivations.reports import DocumentReport
    from regard.derivations.sheet import QuestionRow
    from regard.designs import Demand, Sampling, Scenario
    from regard.errors import DomainError, InputError, NotCertifiable, RegardError
    from regard.estimate import Estimate
    from regard.explorer import ExplorerPage
    from regard.report.checked import CheckReport, LawsBroken
    from regard.report.designed import DesignReport
    from regard.subject import Spec, Subject
    from regard.verbs.check import check
    from regard.verbs.claims import decide_claims
    from regard.verbs.explore import explore
    from regard.verbs.parametrize import parametrize_with_laws
    from regard.verbs.verify import verify
    from regard.verdict import ClaimVerdict, Evidence, LawVerdict, Place, StepVerdict, Verdict

__all__ = [
    "CheckReport",
    "Claim",
    "ClaimVerdict",
    "Demand",
    "DesignReport",
    "DocumentReport",
    "DomainError",
    "Estimate",
    "Evidence",
    "ExplorerPage",
    "InputError",
    "LawVerdict",
    "LawsBroken",
    "NotCertifiable",
    "Parameter",
    "Place",
    "QuestionRow",
    "RegardError",
    "Rival",
    "Sampling",
    "Scenario",
    "Spec",
    "StepVerdict",
    "Subject",
    "Trial",
    "Verdict",
    "__version__",
    "all_claims",
    "check",
    "decide_claims",
    "explore",
    "hf",
    "parametrize_with_laws",
    "verify",
]

__version__ = "0.1.0"

# A module is imported when one of its names is first used.
_HOMES = {
    "regard.adapters": ("hf",),
    "regard.claims": ("Claim", "Parameter", "Rival", "Trial", "all_claims"),
    "regard.derivations.reports": ("DocumentReport",),
    "regard.derivations.sheet": ("QuestionRow",),
    "regard.designs": ("Demand", "Sampling", "Scenario"),
    "regard.estimate": ("Estimate",),
    "regard.explorer": ("ExplorerPage",),
    "regard.report.checked": ("CheckReport", "LawsBroken"),
    "regard.report.designed": ("DesignReport",),
    "regard.subject": ("Spec", "Subject"),
    "regard.errors": ("DomainError", "InputError", "NotCertifiable", "RegardError"),
    "regard.verbs.check": ("check",),
    "regard.verbs.claims": ("decide_claims",),
    "regard.verbs.explore": ("explore",),
    "regard.verbs.parametrize": ("parametrize_with_laws",),
    "regard.verbs.verify": ("verify",),
    "regard.verdict": ("ClaimVerdict", "Evidence", "LawVerdict", "Place", "StepVerdict", "Verdict"),
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(importlib.import_module(home), name)
    raise AttributeError(f"module 'regard' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
