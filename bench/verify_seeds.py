"""Whether the status of every step is the same for all seeds.

    python bench/verify_seeds.py FOLDER… --seeds 10 --problem cs224n-a4

Judges the documents of the folders with each seed and lists the steps that come out differently; without a problem,
one is guessed from each document's headings, as `regard verify` does.
"""

import argparse
import sys
from pathlib import Path

from regard.derivations.reading.files import KINDS
from regard.derivations.verify import verify


def main() -> int:
    """Prints a row per step that depends on the seed, and how many steps there are; 1 if there is such a step."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--problem")
    chosen = parser.parse_args()
    num_steps, num_different = 0, 0
    for path in sorted(path for folder in chosen.folders for path in folder.iterdir() if path.suffix in KINDS):
        reports = [verify(path, chosen.problem, seed=seed) for seed in range(chosen.seeds)]
        for verdicts in zip(*(report.verdicts for report in reports), strict=True):
            num_steps += 1
            statuses = [verdict.status for verdict in verdicts]
            if len(set(statuses)) > 1:
                num_different += 1
                print(f"{path.name}:{verdicts[0].where} {verdicts[0].statement}: {' '.join(statuses)}")
    print(f"{num_steps} steps, {num_different} with a status that depends on the seed")
    return int(num_different > 0)


if __name__ == "__main__":
    sys.exit(main())
