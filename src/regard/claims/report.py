"""Verdicts on claims in a terminal: a table with one line each, or a single claim explained."""

from collections.abc import Mapping, Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from regard.claims.claim import ClaimVerdict
from regard.claims.deciding import Explanation
from regard.core.verdict import Evidence, Status, count_statuses
from regard.render.terminal import ALARM, SIGNS, STYLES, plural, quantity, say, spelled


def show_verdicts(console: Console, groups: Mapping[str, Sequence[ClaimVerdict]]) -> None:
    """Prints each group's title and one line per verdict, then how many there are of each status."""
    verdicts = [verdict for group in groups.values() for verdict in group]
    columns = zip(*(_cells(console, verdict) for verdict in verdicts), strict=True)
    widths = [max(map(cell_len, column)) for column in columns]
    for title, group in groups.items():
        say(console, title, style="bold")
        for verdict in group:
            _show_line(console, verdict, widths)
    console.print()
    counts = " · ".join(f"{number} {status}" for status, number in count_statuses(verdicts).items())
    say(console, f"{plural(len(verdicts), 'claim')}: {counts}")
    unexpected = [verdict.id for verdict in verdicts if not verdict.is_as_expected]
    if unexpected:
        say(console, f"{plural(len(unexpected), 'unexpected verdict')}: {', '.join(unexpected)}", style=ALARM)


def show_explanation(console: Console, explanation: Explanation) -> None:
    """Prints the statement and its verdict, then the reasons in the order in which a reader asks for them."""
    verdict = explanation.verdict
    console.print(_heading(console, verdict))
    say(console, verdict.statement, indent=2)
    console.print()
    _show_facts(console, {**explanation.facts, "against it": verdict.counterexample or ""})
    _show_title(console, "Why")
    say(console, explanation.claim.derivation, indent=2)
    _show_title(console, "Evidence")
    for item in verdict.evidence:
        _show_finding(console, item.status, item.method, _finding(item, already_shown=verdict.counterexample))
    _show_title(console, "Near misses, each tested in the claim's place")
    for near_miss in explanation.near_misses:
        ending = "" if near_miss.is_as_expected else f", but it should be {near_miss.expected}"
        detail = near_miss.counterexample or near_miss.reason or ""
        _show_finding(console, near_miss.status, near_miss.statement + ending, detail)
    console.print()
    _show_facts(console, {"source": explanation.claim.source})
    for name, text in (("LaTeX", explanation.claim.latex), ("reproduce", verdict.reproduce or "")):
        # Never broken into lines, so that it can be copied whole.
        console.print(_label(name) + Text(spelled(text, console.encoding)), soft_wrap=True)


def _cells(console: Console, verdict: ClaimVerdict) -> list[str]:
    cells = (verdict.id, verdict.status, quantity(verdict.value, verdict.bound))
    return [spelled(cell, console.encoding) for cell in cells]


def _show_line(console: Console, verdict: ClaimVerdict, widths: Sequence[int]) -> None:
    style = STYLES[verdict.status] if verdict.is_as_expected else ALARM
    line = Text.assemble("  ", (spelled(SIGNS[verdict.status], console.encoding), style), " ")
    for cell, width, cell_style in zip(_cells(console, verdict), widths, ("", style, ""), strict=True):
        line.append(cell, style=cell_style).append(" " * (width + 2 - cell_len(cell)))
    line.append(_fitted(_deciding_methods(verdict), console.width - line.cell_len, console.encoding), style="dim")
    line.rstrip()
    console.print(line, no_wrap=True, overflow="crop", crop=True)
    if not verdict.is_as_expected:
        say(console, f"the catalog expects {verdict.expected}. {verdict.reason or ''}", style=ALARM, indent=6)
    elif verdict.status == "undecided" and verdict.reason:
        say(console, verdict.reason, style=STYLES["undecided"], indent=6)
    if verdict.counterexample:
        say(console, verdict.counterexample, style="dim", indent=6)


def _deciding_methods(verdict: ClaimVerdict) -> list[str]:
    """The methods by name, those that decided the verdict first."""
    deciding_first = sorted(verdict.evidence, key=lambda item: item.status != verdict.status)
    return list(dict.fromkeys(item.method for item in deciding_first)) or [""]


def _fitted(methods: Sequence[str], width: int, encoding: str) -> str:
    """The methods by name; where that is too long, the first of them and how many more there are."""
    full, ellipsis = spelled(" + ".join(methods), encoding), spelled("…", encoding)
    short = spelled(f"{methods[0]} +{len(methods) - 1}", encoding) if len(methods) > 1 else full
    cut = short[: max(width - len(ellipsis), 0)] + ellipsis
    return next((text for text in (full, short, cut) if cell_len(text) <= width), "")


def _heading(console: Console, verdict: ClaimVerdict) -> Text:
    status = verdict.status
    line = Text.assemble((verdict.id, "bold"), "  ", _sign(console, status), (status, STYLES[status]))
    if not verdict.is_as_expected:
        line.append(f", but the catalog expects {verdict.expected}", style=ALARM)
    elif verdict.expected == "refuted":
        line.append(", as expected of a misconception", style="dim")
    return line


def _show_facts(console: Console, facts: Mapping[str, str]) -> None:
    for name, fact in facts.items():
        if fact:
            say(console, fact, lead=_label(name))


def _label(name: str) -> Text:
    return Text(f"  {name.ljust(12)}", style="dim")


def _show_title(console: Console, title: str) -> None:
    console.print()
    console.print(Text(title, style="bold"))


def _show_finding(console: Console, status: Status, title: str, detail: str) -> None:
    lead = Text.assemble("  ", _sign(console, status), (status.ljust(11), STYLES[status]))
    say(console, title, lead=lead)
    say(console, detail, style="dim", indent=lead.cell_len)


def _sign(console: Console, status: Status) -> Text:
    return Text(f"{spelled(SIGNS[status], console.encoding)} ", style=STYLES[status])


def _finding(item: Evidence, *, already_shown: str | None) -> str:
    number = quantity(item.value, item.bound, digits=12)
    against = item.counterexample if item.counterexample != already_shown else ""
    parts = (item.detail, f"value {number}" if number else "", against)
    return "; ".join(part for part in parts if part)
