"""The accuracy of the recipes on birthplaces: `python bench/train_accuracy.py DATA --minutes 4 --seeds 3`.

DATA is a folder with wiki.txt, train.tsv and dev.tsv. The number of steps is measured once on this machine (or given
with --steps), and every run takes exactly that many; dev.tsv is never used to select anything. A run trains one model,
or --members models; without --members and --steps, it trains as many as `regard train` would choose here.
"""

import argparse
import json
import statistics
import tempfile
from dataclasses import replace
from pathlib import Path

from regard.training.launching import ProcessLayout
from regard.training.planning import DataSource, RunLength, TrainRequest
from regard.training.train import estimate, evaluate, train

RECIPES: dict[str, tuple[str, tuple[str, ...]]] = {
    "fast": ("fast", ()),
    "fast, nothing salient": ("fast", ("stages.salient_weight=0.0",)),
    "fast, no n-gram table": ("fast", ("model.ngram_rows=0",)),
    "causal, same head": ("fast", ("stages.reading=causal",)),
    "span, same head": ("fast", ("stages.reading=span",)),
    "scratch": ("scratch", ()),
    "classic": ("classic", ()),
    "classic, rotary": ("classic", ("model.positions=rotary",)),
}


def main() -> None:
    """Prints the exact match on dev.tsv for each recipe, seed by seed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, nargs="?")
    parser.add_argument("--minutes", type=float, default=4.0)
    parser.add_argument("--steps", type=int, help="instead of measuring how many steps fit into the time budget")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--recipes", default="fast", help=f"some of: {'; '.join(RECIPES)}")
    parser.add_argument("--members", type=int, help="models trained side by side that answer together")
    parser.add_argument("--processes", type=int, help="processes per model; the result does not depend on it")
    parser.add_argument("--write", type=Path, help="append a line of JSON per run")
    options = parser.parse_args()
    if options.data is None:
        print("skipped: give a folder with wiki.txt, train.tsv and dev.tsv")
        return
    for name in options.recipes.split(";"):
        measure(name.strip(), options)


def measure(name: str, options: argparse.Namespace) -> None:
    """Trains and evaluates the runs of one recipe."""
    recipe, changes = RECIPES[name]
    request = TrainRequest(
        recipe=recipe,
        changes=changes,
        source=DataSource(corpus=options.data / "wiki.txt", questions=options.data / "train.tsv", held_out=0),
        length=RunLength(minutes=None if options.steps else options.minutes, steps=options.steps),
        layout=ProcessLayout(processes=options.processes, threads=1) if options.processes else None,
        members=options.members,
    )
    with tempfile.TemporaryDirectory() as scratch:
        if not options.steps:
            expected = estimate(request, Path(scratch) / "speed", ignore)
            request = replace(request, length=RunLength(steps=expected.plan.steps), members=expected.plan.members)
        found = []
        for seed in range(options.first_seed, options.first_seed + options.seeds):
            out = Path(scratch) / str(seed)
            report = train(replace(request, seed=seed), out, ignore)
            score = evaluate([out], options.data / "dev.tsv")
            found.append(score.exact_match.value)
            row = {"recipe": name, "seed": seed, "members": score.num_models, "steps": report.steps}
            row["seconds"] = report.seconds
            row |= {"exact_match": found[-1], "interval": [score.exact_match.lower, score.exact_match.upper]}
            print(json.dumps(row), flush=True)
            if options.write:
                with options.write.open("a", encoding="utf-8") as file:
                    file.write(json.dumps({**row, "settings": dict(report.settings)}) + "\n")
        summary = f"{name}: mean {statistics.mean(found):.1%} of {len(found)} seeds"
        if len(found) > 1:
            runs = sorted(path for path in Path(scratch).iterdir() if path.name.isdigit())
            together = evaluate(runs, options.data / "dev.tsv").exact_match
            summary += f"; together {together.value:.1%} ({together.lower:.1%} to {together.upper:.1%})"
    print(summary, flush=True)


def ignore(message: dict) -> None:
    """Ignores messages."""
    del message


if __name__ == "__main__":
    main()
