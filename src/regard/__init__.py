"""Regard decides what is true about attention, and shows the evidence.

>>> import regard
>>> [verdict] = regard.decide_claims("unscaled-sum-averages")
>>> verdict.status
'refuted'
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from regard.claims import Claim, ClaimVerdict, NearMiss, Parameter, Trial, all_claims
    from regard.claims.deciding import decide_claims
    from regard.conformance.adapters import hf
    from regard.conformance.adapters.cached_decoders import CachedDecoder
    from regard.conformance.adapters.kernels import (
        LatentKernel,
        MergeKernel,
        PagedKernel,
        ParallelKernel,
        QuantizedKernel,
        TreeKernel,
        VarlenKernel,
    )
    from regard.conformance.check import check
    from regard.conformance.parametrize import parametrize_with_laws
    from regard.conformance.recurrence import Recurrence
    from regard.conformance.subject import Spec, Subject
    from regard.conformance.verdict import CheckReport, LawsBroken, LawVerdict
    from regard.core.errors import DomainError, InputError, NotCertifiable, RegardError
    from regard.core.estimate import Estimate
    from regard.core.verdict import Evidence, Place, Verdict
    from regard.derivations.results import DocumentReport, QuestionRow, StepVerdict
    from regard.derivations.verify import verify
    from regard.designs import Demand, Sampling, Scenario
    from regard.designs.report import DesignReport
    from regard.explorer import ExplorerPage, explore

__all__ = [
    "CachedDecoder",
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
    "LatentKernel",
    "LawVerdict",
    "LawsBroken",
    "MergeKernel",
    "NearMiss",
    "NotCertifiable",
    "PagedKernel",
    "ParallelKernel",
    "Parameter",
    "Place",
    "QuantizedKernel",
    "QuestionRow",
    "Recurrence",
    "RegardError",
    "Sampling",
    "Scenario",
    "Spec",
    "StepVerdict",
    "Subject",
    "TreeKernel",
    "Trial",
    "VarlenKernel",
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
    "regard.conformance.adapters": ("hf",),
    "regard.conformance.adapters.kernels": (
        "LatentKernel",
        "MergeKernel",
        "PagedKernel",
        "ParallelKernel",
        "QuantizedKernel",
        "TreeKernel",
        "VarlenKernel",
    ),
    "regard.claims": ("Claim", "ClaimVerdict", "NearMiss", "Parameter", "Trial", "all_claims"),
    "regard.derivations.results": ("DocumentReport", "QuestionRow", "StepVerdict"),
    "regard.designs": ("Demand", "Sampling", "Scenario"),
    "regard.core.estimate": ("Estimate",),
    "regard.explorer": ("ExplorerPage", "explore"),
    "regard.conformance.verdict": ("CheckReport", "LawVerdict", "LawsBroken"),
    "regard.designs.report": ("DesignReport",),
    "regard.conformance.adapters.cached_decoders": ("CachedDecoder",),
    "regard.conformance.recurrence": ("Recurrence",),
    "regard.conformance.subject": ("Spec", "Subject"),
    "regard.core.errors": ("DomainError", "InputError", "NotCertifiable", "RegardError"),
    "regard.conformance.check": ("check",),
    "regard.claims.deciding": ("decide_claims",),
    "regard.conformance.parametrize": ("parametrize_with_laws",),
    "regard.derivations.verify": ("verify",),
    "regard.core.verdict": ("Evidence", "Place", "Verdict"),
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(importlib.import_module(home), name)
    raise AttributeError(f"module 'regard' has no attribute '{name}'")


def load_ipython_extension(ipython: Any) -> None:
    """Adds the cell magic `%%regard`; IPython calls it for `%load_ext regard`."""
    importlib.import_module("regard.notebook").register(ipython)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
