"""`regard claims`: the verdicts on the claims that a pattern selects."""

import difflib
import fnmatch
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from regard.claims import Claim, all_claims
from regard.claims.explanation import Explanation, RivalOutcome
from regard.claims.parameters import settings
from regard.core.errors import DomainError, InputError
from regard.core.interrupts import interrupts_held_back, spawning_pool
from regard.core.verdict import ClaimVerdict
from regard.render.terminal import CatalogEntry

Overrides = Mapping[str, float]
Hearing = tuple[Claim, Overrides]
Report = Callable[[int, int], None]
Finding = TypeVar("Finding", ClaimVerdict, Explanation)


def decide_claims(
    pattern: str | None = None,
    overrides: Overrides | None = None,
    *,
    seed: int = 0,
    jobs: int = 1,
    report: Report | None = None,
) -> tuple[ClaimVerdict, ...]:
    """The verdict on every claim that the pattern selects, in the catalogue's order, whatever the number of jobs.

    `report(done, total)` is called as verdicts come in.
    """
    return _heard(_decide, _hearings(_select(pattern), overrides or {}, seed), seed, jobs, report)


def explain_claims(
    pattern: str | None = None,
    overrides: Overrides | None = None,
    *,
    seed: int = 0,
    jobs: int = 1,
    report: Report | None = None,
) -> tuple[Explanation, ...]:
    """Every claim that the pattern selects laid open, with its rivals decided and its figure."""
    return _heard(_explain, _hearings(_select(pattern), overrides or {}, seed), seed, jobs, report)


def explain_claim(name: str, overrides: Overrides | None = None, *, seed: int = 0) -> Explanation:
    """One claim decided, and each of its rivals tried in its place."""
    claim = all_claims().get(name)
    if claim is None:
        raise _nothing_matches(name)
    [(_, chosen)] = _hearings([claim], overrides or {}, seed)
    return _explain(claim, chosen, seed)


def list_claims(pattern: str | None = None) -> dict[str, list[CatalogEntry]]:
    """The selected claims under their sections, undecided."""
    groups: dict[str, list[CatalogEntry]] = {}
    for claim in _select(pattern):
        numbers = ", ".join(f"{p.name} = {p.default:g}" for p in claim.parameters)
        text = f"{numbers}   ({claim.domain})" if numbers else claim.domain
        entry = CatalogEntry(id=claim.id, statement=claim.statement, settings=text, tag="myth" if claim.is_myth else "")
        groups.setdefault(claim.section, []).append(entry)
    return groups


def by_section(verdicts: Iterable[ClaimVerdict]) -> dict[str, list[ClaimVerdict]]:
    """The verdicts under the catalogue's sections."""
    claims, groups = all_claims(), {}
    for verdict in verdicts:
        groups.setdefault(claims[verdict.id].section, []).append(verdict)
    return groups


def _select(pattern: str | None) -> list[Claim]:
    """The claims whose id is the pattern; else those that it matches as a glob or contain it; "myth" selects myths."""
    claims = all_claims()
    if pattern is None or pattern in claims:
        return list(claims.values()) if pattern is None else [claims[pattern]]
    if pattern in ("myth", "myths"):
        return [claim for claim in claims.values() if claim.is_myth]
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
    hint = f"Near it: {', '.join(near)}. " if near else ""
    return InputError(f"No claim matches '{pattern}'. {hint}`regard claims --list` shows every claim.")


def _hearings(claims: Sequence[Claim], overrides: Overrides, seed: int) -> list[Hearing]:
    """Each claim with the overrides that concern it, all of them checked before anything is decided."""
    if seed < 0:
        raise InputError(f"Seed {seed} is negative. Choose a seed of 0 or more.")
    known = {parameter.name for claim in claims for parameter in claim.parameters}
    for name in overrides:
        if name not in known:
            takes = ", ".join(sorted(known)) or "none"
            raise InputError(f"No selected claim has a parameter '{name}'. Their parameters are: {takes}.")
    hearings = []
    for claim in claims:
        chosen = {p.name: overrides[p.name] for p in claim.parameters if p.name in overrides}
        try:
            settings(claim.parameters, chosen)
        except DomainError as error:
            raise DomainError(f"{claim.id} is refused: {error}") from error
        hearings.append((claim, chosen))
    return hearings


def _decide(claim: Claim, chosen: Overrides, seed: int) -> ClaimVerdict:
    return claim.decide(chosen, seed=seed)


def _explain(claim: Claim, chosen: Overrides, seed: int) -> Explanation:
    rivals = [(rival, claim.decide(chosen, seed=seed, form=rival.form)) for rival in claim.rivals]
    at = settings(claim.parameters, chosen)
    return Explanation(
        verdict=claim.decide(chosen, seed=seed),
        latex=claim.latex,
        settings=vars(at),
        derivation=claim.derivation,
        rivals=tuple(RivalOutcome(statement=r.statement, becomes=r.becomes, verdict=found) for r, found in rivals),
        source=claim.source,
        section=claim.section,
        figure=None if claim.figure is None else claim.figure(at),
    )


def _heard(
    work: Callable[[Claim, Overrides, int], Finding],
    hearings: Sequence[Hearing],
    seed: int,
    jobs: int,
    report: Report | None,
) -> tuple[Finding, ...]:
    """What the work finds in each hearing, one after the other or several at a time."""
    if jobs < 1:
        raise InputError(f"{jobs} jobs can do no work. Ask for at least one.")
    report = report or (lambda _, __: None)
    if jobs == 1 or len(hearings) == 1:
        return tuple(_in_turn(work, hearings, seed, report))
    return tuple(_side_by_side(work, hearings, seed, min(jobs, len(hearings)), report))


def _in_turn(
    work: Callable[[Claim, Overrides, int], Finding], hearings: Sequence[Hearing], seed: int, report: Report
) -> Iterable[Finding]:
    for done, (claim, chosen) in enumerate(hearings):
        report(done, len(hearings))
        yield work(claim, chosen, seed)


def _side_by_side(
    work: Callable[[Claim, Overrides, int], Finding], hearings: Sequence[Hearing], seed: int, jobs: int, report: Report
) -> Iterable[Finding]:
    tasks = [[work, claim.id, dict(chosen), seed] for claim, chosen in hearings]
    with spawning_pool(jobs) as pool:
        with interrupts_held_back():
            futures = [pool.schedule(_by_name, args=task) for task in tasks]
        try:
            for done, future in enumerate(futures):
                report(done, len(futures))
                yield future.result()
        except BaseException:
            pool.stop()
            raise


def _by_name(work: Callable[[Claim, Overrides, int], Finding], name: str, chosen: Overrides, seed: int) -> Finding:
    return work(all_claims()[name], chosen, seed)
