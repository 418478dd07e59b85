"""A kernel leaves its arguments as they are."""

from dataclasses import replace
from typing import Any

import numpy as np

from regard.conformance.kernel_cases import unless_it_raises
from regard.conformance.law import Comparison, Comparisons, InputSize, Law, LawTrial, NotTried, distance
from regard.conformance.reference_kernels import paged, paged_kernel
from regard.conformance.subject import Subject


class _WatchedKernel(Subject):
    """A kernel whose arguments are compared with copies after every call."""

    def __init__(self, kernel: Subject) -> None:
        self.kernel, self.name, self.spec, self.traits = kernel, kernel.name, kernel.spec, kernel.traits
        self.capabilities = kernel.capabilities
        self.changes: dict[int, float] = {}

    def run_kernel(self, operation: str, *arguments: Any) -> tuple[np.ndarray, ...]:
        """The kernel's arrays."""
        before = [each.copy() if isinstance(each, np.ndarray) else None for each in arguments]
        results = self.kernel.run_kernel(operation, *arguments)
        for place, (then, now) in enumerate(zip(before, arguments, strict=True)):
            if then is not None:
                self.changes[place] = max(self.changes.get(place, 0.0), distance(now, then))
        return results


def _compare(trial: LawTrial) -> Comparisons:
    """Every argument of every call that the law with the oracle makes."""
    from regard.conformance import all_laws

    watched = _WatchedKernel(trial.subject)
    for law in all_laws().values():
        if law.reveals and law.needs and trial.subject.has(*law.needs) and "parallel" not in law.needs:
            unless_it_raises(
                lambda law=law: list(law.compare(replace(trial, subject=watched))), f"the calls of {law.id}"
            )
    if not watched.changes:
        raise NotTried("no other law makes a call whose arguments can be compared")
    for place, error in watched.changes.items():
        what = "a call changes its arguments"
        yield Comparison(what=what, error=error, tolerance=0.0, place={"argument": place + 1})


def _scales_in_place(q: np.ndarray, *rest: np.ndarray) -> np.ndarray:
    out = paged(q, *rest)
    q /= 2
    return out


LAW = Law(
    id="ARGUMENTS",
    statement="a kernel leaves its arguments as they are, except pools that it is to write to",
    family="in-place",
    rank=400,
    needs=("kernel",),
    compare=_compare,
    diagnosed_by="suspects",
    broken_example=lambda: paged_kernel(_scales_in_place),
    suspects=("an argument is changed in place",),
    size=InputSize(batch=2, length=6),
)
