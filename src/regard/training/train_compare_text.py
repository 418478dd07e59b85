"""A comparison of trainings in a terminal: each way's share with its intervals, then a verdict for each pair."""

from rich.console import Console

from regard.render.terminal import say
from regard.training.compared import ComparisonReport, VariantResult, points
from regard.training.train_average_text import lead_of, rows


def show_comparison(console: Console, report: ComparisonReport) -> None:
    """Prints the table and the verdicts."""
    say(console, f"{report.data}; {report.num_questions} questions {report.questions}", style="dim")
    console.print()
    heading = ("", "right, mean over seeds", "pooled, Wilson 95 %", "by seed", "steps")
    rows(console, [heading, *(variant_cells(variant) for variant in report.variants)])
    say(console, f"commonest answer: {report.majority}", style="dim", indent=2)
    for pair in report.pairs:
        console.print()
        say(console, pair.verdict.reason or "", lead=lead_of(console, pair.verdict.status))
    console.print()
    say(console, report.assurance, style="dim")


def variant_cells(variant: VariantResult) -> tuple[str, ...]:
    """Name, mean with its interval over seeds, pooled share with Wilson's, the seeds, the steps."""
    mean = variant.mean
    over = "one seed" if mean.count == 1 else f"± {points(mean.half)} over {mean.count} seeds"
    pooled = f"{points(variant.pooled.lower)} to {points(variant.pooled.upper)}"
    return variant.name, f"{points(mean.mean)} % {over}", pooled, by_seed(variant), str(variant.steps)


def by_seed(variant: VariantResult) -> str:
    """The share of every seed."""
    return ", ".join(points(share) for share in variant.shares)
