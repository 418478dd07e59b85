"""What heads look at and read, in a terminal."""

from rich.console import Console

from regard.render.terminal import say
from regard.training.inspected import InspectionReport
from regard.training.train_average_text import lead_of, rows


def show_inspection(console: Console, report: InspectionReport) -> None:
    """Prints the question that is shown, a table of heads, and the heads that read the name."""
    shown = report.shown
    say(console, f"{shown.question}  {shown.answer}  ({shown.probability:.0%} sure)")
    say(console, f"{report.population}; an even look would give the name {report.even_share:.0%}", style="dim")
    console.print()
    heading = ("", "attention to the name", "drop of log p, nats", "reads the answer from the name")
    rows(console, [heading, *head_cells(report)])
    all_heads = report.all_heads
    say(console, f"all heads at once: {all_heads} nats (95 % interval; those of heads hold together)", indent=2)
    for verdict in report.verdicts:
        if verdict.status == "holds":
            console.print()
            say(console, f"{verdict.statement}: {verdict.reason}", lead=lead_of(console, verdict.status))


def head_cells(report: InspectionReport) -> list[tuple[str, ...]]:
    """Name, share, drop and status of every head."""
    return [
        (each.name, f"{each.share.mean:.1%} ± {each.share.half:.1%}", str(each.drop), each.verdict.status)
        for each in report.heads
    ]
