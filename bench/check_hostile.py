"""How layers that attack the process that checks them end (`tests/conformance/hostile_layers.py`).

For each, the verdict on CAUSAL, which all of them break, the largest memory of all processes together, the time, the
processes left behind, and whether an honest layer in the same folder is judged as before.
"""

import argparse
import fnmatch
import json
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from observing import Observation, observed

SOURCE = Path(__file__).parents[1] / "tests" / "conformance" / "hostile_layers.py"
sys.path.insert(0, str(SOURCE.parent))
from hostile_layers import KINDS  # noqa: E402 - found in the tests

LAWS = "CAUSAL,DET,PREFIX"
SECONDS, GIBIBYTES = 3.0, 1.0
# Importing, the first calls (four laws, at least ten seconds), three laws, and starting processes on a busy machine.
LONGEST = 5.0 + 12.0 + 3 * SECONDS + 10.0
TOLERATED = 1.1


@dataclass(frozen=True, kw_only=True)
class Attack:
    """How one attack ended."""

    name: str
    outcomes: dict[str, str]
    observation: Observation
    is_honest_layer_unharmed: bool

    @property
    def is_forged(self) -> bool:
        """True if the broken law is reported as anything but broken or lost, or another layer's verdict changed."""
        caught = ("refuted", "crashed", "timed out")
        first = self.outcomes.get("CAUSAL") or self.outcomes.get("BUILD")
        return first not in caught or not self.is_honest_layer_unharmed

    @property
    def is_contained(self) -> bool:
        """True if no limit was exceeded by a tenth, and nothing is left or shown but the report."""
        seen = self.observation
        within = seen.memory <= TOLERATED * GIBIBYTES * 2**30 and seen.seconds <= TOLERATED * LONGEST
        return within and not seen.left_behind and "Traceback" not in seen.errors and seen.exit_code in (0, 1)


def main() -> None:
    """Prints one line per attack and the sums; exits with 1 if an attack succeeds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="*", help="only attacks whose names match this pattern")
    options = parser.parse_args()
    names = [name for name in KINDS if fnmatch.fnmatch(name, options.only)]
    attacks = []
    with tempfile.TemporaryDirectory() as scratch:
        usual = verdicts(Path(scratch) / "usual", "honest").outcomes
        for name in names:
            attacks.append(attack(Path(scratch) / name, name, usual))
            print(in_words(attacks[-1]), flush=True)
    forged = [each.name for each in attacks if each.is_forged]
    escaped = [each.name for each in attacks if not each.is_contained]
    peak = max(each.observation.memory for each in attacks)
    print(f"{len(attacks)} layers: {len(forged)} verdicts forged {forged}, {len(escaped)} not contained {escaped}; ")
    print(f"largest memory of all processes {peak / 2**30:.2f} GiB with a limit of {GIBIBYTES:g}")
    sys.exit(bool(forged or escaped))


@dataclass(frozen=True, kw_only=True)
class Checked:
    """The outcomes of one run of `regard check`, and what was seen of it."""

    outcomes: dict[str, str]
    observation: Observation


def attack(folder: Path, name: str, usual: dict[str, str]) -> Attack:
    """Checks a hostile layer, then an honest one in the same folder."""
    found = verdicts(folder, name)
    after = verdicts(folder, "honest").outcomes
    shutil.rmtree(folder, ignore_errors=True)
    return Attack(
        name=name, outcomes=found.outcomes, observation=found.observation, is_honest_layer_unharmed=after == usual
    )


def verdicts(folder: Path, name: str) -> Checked:
    """The outcome of each law, from the JSON that the command writes."""
    folder.mkdir(exist_ok=True)
    source, results = folder / "layers.py", folder.with_suffix(".json")
    if not source.exists():
        shutil.copy(SOURCE, source)
    results.unlink(missing_ok=True)
    limits = ["--time-limit", str(SECONDS), "--memory-limit", str(GIBIBYTES)]
    spec = ["--spec", "causal,positions=none", "--laws", LAWS]
    command = [sys.executable, "-m", "regard", "check", f"layers.py:{name}", *spec, *limits, "--json", str(results)]
    observation = observed(command, folder=folder, timeout=4 * LONGEST)
    rows = json.loads(results.read_text())["verdicts"] if results.exists() else []
    return Checked(outcomes={row["id"]: row["outcome"] for row in rows}, observation=observation)


def in_words(found: Attack) -> str:
    """One line for a reader."""
    seen = found.observation
    outcomes = ", ".join(f"{law} {outcome}" for law, outcome in found.outcomes.items())
    faults = " FORGED" * found.is_forged + " NOT CONTAINED" * (not found.is_contained)
    left = f", {len(seen.left_behind)} processes left" if seen.left_behind else ""
    return (
        f"{found.name}: {outcomes or 'no verdicts'} ({seen.seconds:.1f} s, {seen.memory / 2**20:.0f} MiB{left}){faults}"
    )


if __name__ == "__main__":
    main()
