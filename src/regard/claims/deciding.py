"""Deciding the claims that a pattern selects, one after the other or in parallel."""

import difflib
import fnmatch
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from regard.claims import Claim, ClaimVerdict, all_claims
from regard.claims.claim import settings
from regard.core.errors import DomainError, InputError, RegardError
from regard.core.processes import Ended
from regard.core.worker_pool import PoolLimits, run_tasks
from regard.render.figures import Figure
from regard.render.terminal import CatalogEntry, quantity


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """Everything there is to say about a claim, with its verdict at these settings.

    `near_misses` are the verdicts on near misses tried in the claim's place, each beside the one it should get.
    """

    verdict: ClaimVerdict
    settings: Mapping[str, float]
    figure: Figure
    near_misses: tuple[ClaimVerdict, ...] = ()

    @property
    def claim(self) -> Claim:
        """The claim itself, looked up by its id, since claims cannot be sent between processes."""
        return all_claims()[self.verdict.id]

    def _repr_html_(self) -> str:
        from regard.claims.page import render_claims
        from regard.render.page import notebook_frame

        return notebook_frame(render_claims([self]), title=self.verdict.id)

    @property
    def facts(self) -> dict[str, str]:
        """Where the claim holds, the values at which it was decided, and the result; empty where there is nothing."""
        return {
            "domain": self.verdict.domain or "",
            "decided at": ", ".join(f"{name} = {value:g}" for name, value in self.settings.items()),
            "assumes": "; ".join(self.verdict.assumes or ()),
            "value": quantity(self.verdict.value, self.verdict.bound, digits=12),
        }


class ClaimVerdicts(tuple[ClaimVerdict, ...]):
    """Verdicts on claims, which a notebook shows as a table."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        from regard.claims.page import verdicts_frame

        return verdicts_frame(self)


Overrides = Mapping[str, float]
Report = Callable[[int, int], None]
Decision = TypeVar("Decision", ClaimVerdict, Explanation)


def decide_claims(
    pattern: str | None = None,
    overrides: Overrides | None = None,
    *,
    seed: int = 0,
    jobs: int = 1,
    report: Report | None = None,
) -> ClaimVerdicts:
    """The verdicts on the claims that the pattern selects, in the catalog's order whatever the number of jobs.

    Args:
        pattern: an id, a part of one, a glob, or "misconception" ("myth" works too); None selects every claim.
        overrides: values of parameters, for those claims that have them.
        seed: the seed of every random draw.
        jobs: the number of claims to decide in parallel.
        report: called as `report(done, total)` as verdicts come in.

    >>> [verdict] = decide_claims("average-of-two", {"n": 1000})
    >>> verdict.status
    'proved'
    """
    return ClaimVerdicts(_run(_decide, _with_overrides(_select(pattern), overrides or {}, seed), seed, jobs, report))


def explain_claims(
    pattern: str | None = None,
    overrides: Overrides | None = None,
    *,
    seed: int = 0,
    jobs: int = 1,
    report: Report | None = None,
) -> tuple[Explanation, ...]:
    """Explanations of the claims that the pattern selects, with their near misses decided and their figures drawn."""
    return _run(_explain, _with_overrides(_select(pattern), overrides or {}, seed), seed, jobs, report)


def explain_claim(name: str, overrides: Overrides | None = None, *, seed: int = 0) -> Explanation:
    """The claim with this id decided, and each of its near misses decided in its place."""
    claim = all_claims().get(name)
    if claim is None:
        raise _nothing_matches(name)
    [(_, chosen)] = _with_overrides([claim], overrides or {}, seed)
    return _explain(claim, chosen, seed)


def list_claims(pattern: str | None = None) -> dict[str, list[CatalogEntry]]:
    """The selected claims by section, undecided."""
    groups: dict[str, list[CatalogEntry]] = {}
    for claim in _select(pattern):
        numbers = ", ".join(f"{p.name} = {p.default:g}" for p in claim.parameters)
        text = f"{numbers}   ({claim.domain})" if numbers else claim.domain
        tag = "misconception" if claim.is_misconception else ""
        entry = CatalogEntry(id=claim.id, statement=claim.statement, settings=text, tag=tag)
        groups.setdefault(claim.section, []).append(entry)
    return groups


def by_section(verdicts: Iterable[ClaimVerdict]) -> dict[str, list[ClaimVerdict]]:
    """The verdicts by the catalog's sections."""
    claims, groups = all_claims(), {}
    for verdict in verdicts:
        groups.setdefault(claims[verdict.id].section, []).append(verdict)
    return groups


def explanation_of(
    claim: Claim, verdict: ClaimVerdict, overrides: Overrides, near_misses: tuple[ClaimVerdict, ...] = ()
) -> Explanation:
    """The claim explained, with a verdict that was reached at these overrides."""
    at = settings(claim.parameters, overrides)
    return Explanation(verdict=verdict, settings=vars(at), figure=claim.figure(at), near_misses=near_misses)


def _select(pattern: str | None) -> list[Claim]:
    claims = all_claims()
    if pattern is None or pattern in claims:
        return list(claims.values()) if pattern is None else [claims[pattern]]
    if pattern in ("misconception", "misconceptions", "myth", "myths"):
        return [claim for claim in claims.values() if claim.is_misconception]
    is_glob = any(sign in pattern for sign in "*?[")
    glob = pattern if is_glob else f"*{pattern}*"
    found = [claim for name, claim in claims.items() if pattern and fnmatch.fnmatchcase(name, glob.lower())]
    if not found:
        raise _nothing_matches(pattern)
    return found


def _nothing_matches(pattern: str) -> InputError:
    names = list(all_claims())
    near = difflib.get_close_matches(pattern.lower(), names, n=3, cutoff=0.5)
    words = set(pattern.lower().split("-"))
    near += [name for name in names if name not in near and words & set(name.split("-"))][: 3 - len(near)]
    hint = f"Similar ids: {', '.join(near)}. " if near else ""
    return InputError(f"No claim matches '{pattern}'. {hint}`regard claims --list` shows every claim.")


def _with_overrides(claims: Sequence[Claim], overrides: Overrides, seed: int) -> list[tuple[Claim, Overrides]]:
    """Each claim with the overrides that apply to it, all of them checked before anything is decided."""
    if seed < 0:
        raise InputError(f"Seed {seed} is negative. Choose a seed of 0 or more.")
    known = {parameter.name for claim in claims for parameter in claim.parameters}
    for name in overrides:
        if name not in known:
            names = ", ".join(sorted(known)) or "none"
            raise InputError(f"No selected claim has a parameter '{name}'. Their parameters are: {names}.")
    selected = []
    for claim in claims:
        chosen = {p.name: overrides[p.name] for p in claim.parameters if p.name in overrides}
        try:
            settings(claim.parameters, chosen)
        except DomainError as error:
            raise DomainError(f"{claim.id}: {error}") from error
        selected.append((claim, chosen))
    return selected


def _decide(claim: Claim, chosen: Overrides, seed: int) -> ClaimVerdict:
    return claim.decide(chosen, seed=seed)


def _explain(claim: Claim, chosen: Overrides, seed: int) -> Explanation:
    near_misses = tuple(
        replace(claim.decide(chosen, seed=seed, form=each.form), statement=each.statement, expected=each.becomes)
        for each in claim.near_misses
    )
    return explanation_of(claim, claim.decide(chosen, seed=seed), chosen, near_misses)


def _run(
    work: Callable[[Claim, Overrides, int], Decision],
    selected: Sequence[tuple[Claim, Overrides]],
    seed: int,
    jobs: int,
    report: Report | None,
) -> tuple[Decision, ...]:
    if jobs < 1:
        raise InputError(f"Cannot decide claims with {jobs} jobs. Use at least one job.")
    report = report or (lambda _, __: None)
    if jobs > 1 and len(selected) > 1:
        tasks = [[work, claim.id, dict(chosen), seed] for claim, chosen in selected]
        return tuple(_in_parallel(tasks, min(jobs, len(tasks)), report))
    decisions = []
    for done, (claim, chosen) in enumerate(selected):
        report(done, len(selected))
        decisions.append(work(claim, chosen, seed))
    return tuple(decisions)


def _in_parallel(tasks: Sequence[list], jobs: int, report: Report) -> Iterable[Any]:
    """The decisions in the order of the tasks, whichever finishes first."""
    found: dict[int, Any] = {}
    for (number, task), result in run_tasks(enumerate(tasks), _by_name, PoolLimits(jobs=jobs, seconds=math.inf)):
        if isinstance(result, Ended):
            raise RegardError(f"Deciding {task[1]} failed: {result.reason}.")
        report(len(found), len(tasks))
        found[number] = result
    return [found[number] for number in range(len(tasks))]


def _by_name(task: tuple[int, list]) -> Any:
    _, (work, name, chosen, seed) = task
    return work(all_claims()[name], chosen, seed)
