"""Plants many slips and prints how many the judge finds, by family: `python -m derivations.planting 1000 --seed 0`.

Run it with `PYTHONPATH=src:tests`. It leaves with 1 if a step other than the planted one was refuted, a true document
was touched, a sign got no verdict, or fewer than 95 % of the slips were found.
"""

import json
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass

import click
import numpy as np

from derivations.planting.generator import FAMILIES, Slip, plant
from derivations.planting.measure import Outcome, examine, measure
from derivations.planting.writing import Hand, write

LEAST = 0.95


@dataclass(frozen=True, kw_only=True)
class Row:
    """What became of one planting, and of the same document without the slip."""

    family: str
    where: str
    is_caught: bool
    is_alone: bool
    is_original_clean: bool
    notes: tuple[str, ...]

    @property
    def is_exact(self) -> bool:
        return self.is_caught and self.is_alone


def row(seed: int, place: int) -> Row:
    planting = plant(np.random.default_rng([seed, place]))
    slip = planting.slip
    outcome, original = measure(planting), examine(planting.original, is_strict=slip.is_strict)
    notes = [f"true, yet refuted: {verdict.where} {verdict.source!r}: {verdict.reason}" for verdict in original.refuted]
    notes += [f"no verdict on the sign at {line}:{column}" for line, column in original.lost]
    notes += [] if outcome.is_caught and not outcome.others else _failure(slip, outcome)
    return Row(
        family=slip.family + " (strict)" * slip.is_strict,
        where=slip.where,
        is_caught=outcome.is_caught,
        is_alone=not outcome.others,
        is_original_clean=not original.refuted and not original.lost,
        notes=tuple(notes),
    )


def _failure(slip: Slip, outcome: Outcome) -> list[str]:
    verdict = outcome.verdict
    said = "no verdict" if verdict is None else f"{verdict.kind} {verdict.status}: {verdict.source!r}: {verdict.reason}"
    others = [f"also refuted: {other.where} {other.source!r}: {other.reason}" for other in outcome.others]
    return [f"{slip.family}, {slip.derivation.name}: {_written(slip)}", said, *others]


def _written(slip: Slip) -> str:
    chain = slip.derivation.chains[slip.chain]
    sides = (*chain.sides[: slip.side], slip.new, *chain.sides[slip.side + 1 :])
    return f" {chain.signs[slip.step]} ".join(write(side, Hand()) for side in sides[slip.step : slip.step + 2])


def table(rows: Sequence[Row]) -> str:
    """The rates, one line a family, then one a place."""
    names = [name for family in FAMILIES for name in (family, f"{family} (strict)")]
    lines = [f"{'slip':<46} planted  refuted  exactly    other"]
    for name in [*names, *sorted({row.where for row in rows}), "all"]:
        own = [row for row in rows if name in ("all", row.family, row.where)]
        if own:
            caught, exact = sum(row.is_caught for row in own), sum(row.is_exact for row in own)
            others = sum(not row.is_alone for row in own)
            lines.append(f"{name:<46} {len(own):>7} {caught:>8} {exact / len(own):>8.1%} {others:>8}")
    return "\n".join(lines)


@click.command()
@click.argument("count", type=int, default=1000)
@click.option("--seed", default=0, show_default=True)
@click.option("--jobs", default=2, show_default=True)
@click.option("--json", "is_json", is_flag=True, help="What became of each planting, as JSON.")
def main(count: int, seed: int, jobs: int, is_json: bool) -> None:
    """Plants COUNT slips and prints the rates by family, with every failure."""
    with ProcessPoolExecutor(jobs) as pool:
        rows = list(pool.map(row, [seed] * count, range(count), chunksize=10))
    if is_json:
        click.echo(json.dumps([asdict(found) for found in rows]))
        return
    for place, found in enumerate(rows):
        if found.notes:
            click.echo(f"[{place}] " + "\n      ".join(found.notes))
    click.echo(table(rows))
    click.echo(f"true documents left alone: {sum(found.is_original_clean for found in rows)} of {count}")
    is_clean = all(found.is_alone and found.is_original_clean for found in rows)
    sys.exit(0 if is_clean and sum(found.is_exact for found in rows) >= LEAST * count else 1)


if __name__ == "__main__":
    main()
