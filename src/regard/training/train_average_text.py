"""The averaging task in a terminal: what the theory prescribes, what was learned, the verdicts."""

import math

from rich.console import Console
from rich.text import Text

from regard.render.terminal import SIGNS, STYLES, say, spelled
from regard.training.averaged import AveragingReport

_REACHES = {"scale": "β alone", "plane": "μ_a, μ_b", "free": "any query"}


def show_averaging(console: Console, report: AveragingReport) -> None:
    """Prints one table of theory and training, then a paragraph for each verdict."""
    setting = report.setting
    text = (
        f"Average v_a and v_b of n = {setting['n']} values; k_a = γμ_a, γ ~ N(1, {setting['sigma2']:g}); "
        f"{setting['num_seeds']} seeds of {setting['steps']} steps each"
    )
    say(console, text, style="dim")
    console.print()
    rows(console, [("", "learned freely", "E‖c − target‖²", "variance of v_a's coefficient", "β"), *_rows(report)])
    for verdict in report.verdicts:
        console.print()
        say(console, f"{verdict.statement}: {verdict.reason}", lead=lead_of(console, verdict.status))


def lead_of(console: Console, status: str) -> Text:
    """The sign and the word of a status, for the beginning of a line."""
    sign = next(sign for name, sign in SIGNS.items() if name == status)
    style = next(style for name, style in STYLES.items() if name == status)
    return Text(f"{spelled(sign, console.encoding)} {status}  ", style=style)


def rows(console: Console, cells: list[tuple[str, ...]]) -> None:
    """Prints rows in columns, the first row dim."""
    table = [[spelled(cell, console.encoding) for cell in row] for row in cells]
    widths = [max(len(row[column]) for row in table) for column in range(len(table[0]))]
    for number, row in enumerate(table):
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        console.print(Text(f"  {line}".rstrip(), style="" if number else "dim"), soft_wrap=True)


def _rows(report: AveragingReport) -> list[tuple[str, ...]]:
    lines: list[tuple[str, ...]] = []
    for theory in report.prescriptions:
        best = "→ ∞" if math.isinf(theory.beta) else f"{theory.beta:.4g}"
        lines.append(
            (f"{theory.layout}, {theory.design}", "theory", f"{theory.error:.6g}", f"{theory.variance:.6g}", best)
        )
        lines += [
            ("", _REACHES[each.reach], str(each.error), str(each.variance), str(each.beta or ""))
            for each in report.learned
            if each.layout == theory.layout
        ]
    return lines
