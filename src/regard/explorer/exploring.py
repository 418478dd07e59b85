"""`regard explore`: the page where attention can be touched."""

import tempfile
import webbrowser
from collections.abc import Callable
from pathlib import Path

from regard.claims import all_claims
from regard.claims.deciding import decide_claims
from regard.claims.explanation import Explanation
from regard.claims.parameters import settings
from regard.core.verdict import ClaimVerdict
from regard.derivations.judged import JudgedDocument
from regard.derivations.tasks import Assignment, Task, examine
from regard.derivations.verify import example
from regard.derivations.views import view_of
from regard.explorer import ExplorerPage, build_page

_SHEET = "answers.md"
_PROBLEM = "cs224n-a4"


def explore(
    *, claims: str | None = None, seed: int = 0, jobs: int = 1, report: Callable[[int, int], None] | None = None
) -> ExplorerPage:
    """The page, its claims and its answer sheet judged afresh; a notebook shows it as it is.

    `claims` selects which claims it holds, all of them unless given; `report(done, total)` is called as verdicts come
    in.
    """
    verdicts = decide_claims(claims, seed=seed, jobs=jobs, report=report)
    return build_page([_explained(verdict) for verdict in verdicts], _judged_sheet(seed))


def _explained(verdict: ClaimVerdict) -> Explanation:
    """The verdict with what there is to say about its claim; rivals are left to `regard claims --explain`."""
    claim = all_claims()[verdict.id]
    at = settings(claim.parameters, {})
    return Explanation(
        verdict=verdict,
        latex=claim.latex,
        settings=vars(at),
        derivation=claim.derivation,
        rivals=(),
        source=claim.source,
        section=claim.section,
        figure=None if claim.figure is None else claim.figure(at),
    )


def _judged_sheet(seed: int) -> JudgedDocument:
    """The built-in answer sheet with its slips found."""
    assignment = Assignment.for_problem(_PROBLEM, seed=seed)
    _, sheet = examine(Task(file=_SHEET, content=example().encode("utf-8"), assignment=assignment))
    return view_of(sheet)


def temporary_place() -> Path:
    """A new file for the page in the folder for temporary files; it stays until the system clears that folder."""
    return Path(tempfile.mkdtemp(prefix="regard-")) / "explore.html"


def opened(path: Path) -> bool:
    """Opens the file in the browser; False if there is none."""
    return webbrowser.open(path.resolve().as_uri())
