"""`regard check` on attention layers of public packages, each with at most one line of declaration.

The manifest `check_public.jsonl` names package, version, target and what is declared. The packages are not part of
this repository: install them into a folder (`pip install --no-deps --target FOLDER PACKAGE==VERSION`), and name it.
So that torch stays as it is, what they import has to be installed in the same way: with the packages alone, 22 of the
first 64 layers can be imported.
"""

import argparse
import importlib.metadata
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from regard.conformance.check import check_all
from regard.conformance.isolation import BUILD, CheckLimits
from regard.conformance.requests import CheckRequest
from regard.conformance.verdict import CheckReport

MANIFEST = Path(__file__).with_suffix(".jsonl")
_ENOUGH = 10


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One layer: where it comes from, and what is declared.

    `confirmed` are refutations that `public_reproductions.py` reproduces; `adapter` takes the layer's place if adapters
    are wanted.
    """

    package: str
    version: str
    target: str
    arguments: dict[str, str] = field(default_factory=dict)
    confirmed: dict[str, str] = field(default_factory=dict)
    adapter: str | None = None

    def request(self, *, with_adapters: bool) -> CheckRequest:
        """The layer itself, or its adapter."""
        if with_adapters and self.adapter is not None:
            return CheckRequest(target=self.adapter, expect=self.confirmed)
        return CheckRequest(target=self.target, arguments=self.arguments, expect=self.confirmed)


def main() -> None:
    """Prints the share of layers with at least ten decided laws, then a line per layer."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", help="where the packages are installed")
    parser.add_argument("--adapters", action="store_true", help="with the adapters of public_adapters.py")
    parser.add_argument("--jobs", type=int, default=2)
    chosen = parser.parse_args()
    if chosen.folder is not None:
        sys.path.append(str(chosen.folder))
    entries = [Entry(**json.loads(line)) for line in MANIFEST.read_text(encoding="utf-8").splitlines()]
    present = [entry for entry in entries if installed_version(entry.package) == entry.version]
    requests = [each.request(with_adapters=chosen.adapters) for each in present]
    print(figures(present, check_all(requests, limits=CheckLimits(seconds=15), jobs=chosen.jobs), len(entries)))


def installed_version(package: str) -> str | None:
    """The version in the folder, None if the package is not there."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def figures(entries: Sequence[Entry], reports: Sequence[CheckReport], num_listed: int) -> str:
    """Shares, then every layer in one line."""
    decided = {report.layer: sum(verdict.status != "undecided" for verdict in report.verdicts) for report in reports}
    enough = sum(number >= _ENOUGH for number in decided.values())
    refuted = sum(verdict.outcome == "refuted" for report in reports for verdict in report.verdicts)
    packages = len({entry.package for entry in entries})
    lines = [
        f"{len(reports)} of {num_listed} layers are installed, of {packages} packages: {enough} "
        f"({enough / max(len(reports), 1):.0%}) decide at least {_ENOUGH} laws; {refuted} unconfirmed refutations",
        "",
        *(f"- {report.layer}: {decided[report.layer]} decided{_failures(report)}" for report in reports),
    ]
    return "\n".join(lines)


def _failures(report: CheckReport) -> str:
    failures = [f"{each.law} {each.outcome}" for each in report.failures if each.law != BUILD]
    built = next((f"; {each.reason}" for each in report.verdicts if each.law == BUILD), "")
    return (f"; {', '.join(failures)}" if failures else "") + built


if __name__ == "__main__":
    main()
