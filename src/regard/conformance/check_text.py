"""A checked layer in a terminal: a line for each law, what is broken laid open, and what could not be seen."""

from collections.abc import Iterator, Mapping, Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from regard.conformance.verdict import CheckReport, LawVerdict
from regard.render.terminal import ALARM, say, spelled

OUTCOME_SIGNS: Mapping[str, str] = {
    "holds": "✓",
    "refuted": "✗",
    "expected failure": "✗",
    "unexpected pass": "!",
    "skipped": "·",
    "inconclusive": "?",
    "crashed": "!",
    "timed out": "!",
}
_STYLES: Mapping[str, str] = {
    "holds": "green",
    "refuted": ALARM,
    "expected failure": "magenta",
    "unexpected pass": ALARM,
    "skipped": "dim",
    "inconclusive": "yellow",
    "crashed": ALARM,
    "timed out": ALARM,
}
_MOST_DIAGNOSES = 3


def show_check(console: Console, report: CheckReport) -> None:
    """Prints the laws in order, then each failure, then what was skipped, the counts, the grade and its blind spots."""
    lead = Text(f"{spelled(report.layer, console.encoding)}  ", style="bold")
    say(console, spec_line(report), style="dim", lead=lead)
    _show_inferred(console, report)
    _show_lines(console, [verdict for verdict in report.verdicts if verdict.outcome != "skipped"])
    for verdict in report.failures:
        _show_failure(console, verdict)
    _show_skipped(console, report)
    console.print()
    number = len(report.verdicts)
    told = f"{number} law{'' if number == 1 else 's'}: {tally_in_words(report)}"
    say(console, told, style="bold" if report.ok else ALARM)
    _show_grade(console, report)


def spec_line(report: CheckReport) -> str:
    """What the layer declares, in one line."""
    spec = report.spec
    heads, shared = spec.get("num_heads"), spec.get("num_kv_heads")
    parts = [f"width {spec.get('width')}", f"{heads} heads" + (f" over {shared}" if shared != heads else "")]
    parts += [{True: "causal", False: "not causal", None: "causal or not: not declared"}[spec.get("causal")]]
    parts += [f"window {spec['window']}"] if spec.get("window") else []
    parts += [f"positions {spec['positions']}" if spec.get("positions") else "positions not declared"]
    parts += [str(spec.get("dtype")), str(spec.get("device"))]
    return " · ".join(parts)


def measured(verdict: LawVerdict) -> str:
    """How far off, and how far is allowed.

    >>> measured(LawVerdict(id="PAD", statement="", status="holds", layer="mine", error=3e-7, tolerance=1e-5))
    '3e-07 of 1e-05'
    """
    if verdict.error is None or verdict.tolerance is None:
        return ""
    if verdict.tolerance == 0:
        return f"{verdict.error:.2g} of exactly 0"
    return f"{verdict.error:.2g} of {verdict.tolerance:.2g}"


def tally_in_words(report: CheckReport) -> str:
    """How many verdicts of each outcome, those that matter first."""
    counts = report.counts
    words = {"holds": "hold"}
    return " · ".join(f"{counts[name]} {words.get(name, name)}" for name in OUTCOME_SIGNS if counts.get(name))


def _show_inferred(console: Console, report: CheckReport) -> None:
    for kind, told in (("evidence", "found"), ("unknown", "not found")):
        for line in (report.inferred or {}).get(kind, ()):
            say(console, line, lead=Text(f"  {told}  ", style="cyan" if kind == "evidence" else "yellow"))


def _show_lines(console: Console, verdicts: Sequence[LawVerdict]) -> None:
    name_width = max((cell_len(verdict.law) for verdict in verdicts), default=0)
    numbers = [measured(verdict) for verdict in verdicts]
    number_width = max(map(len, numbers), default=0)
    outcome_width = max((len(verdict.outcome or "") for verdict in verdicts), default=0)
    for verdict, number in zip(verdicts, numbers, strict=True):
        outcome = verdict.outcome or verdict.status
        style = _STYLES[outcome]
        sign = spelled(OUTCOME_SIGNS[outcome], console.encoding)
        lead = Text.assemble("  ", (sign, style), " ", (verdict.law.ljust(name_width), "bold"), "  ")
        lead.append(outcome.ljust(outcome_width), style=style)
        told = verdict.statement if outcome == "holds" else verdict.reason or verdict.statement
        lead.append(f"  {number.ljust(number_width)}  ")
        _one_line(console, lead, told)


def _one_line(console: Console, lead: Text, told: str) -> None:
    room = console.width - lead.cell_len
    text = spelled(" ".join(told.split()), console.encoding)
    ellipsis = spelled("…", console.encoding)
    if room < 16:
        text = ""
    elif len(text) > room:
        text = text[: room - len(ellipsis)].rstrip() + ellipsis
    line = lead + Text(text, style="dim")
    line.rstrip()
    console.print(line, soft_wrap=True, no_wrap=True, crop=False)


def _show_failure(console: Console, verdict: LawVerdict) -> None:
    console.print()
    outcome = verdict.outcome or verdict.status
    lead = Text(spelled(f"{outcome}[{verdict.law}]: ", console.encoding), style=_STYLES[outcome])
    say(console, verdict.statement, style="bold", indent=4, lead=lead)
    console.print(Text(" --> ", style="blue") + Text(spelled(verdict.layer, console.encoding)), soft_wrap=True)
    for name, text in _facts(verdict):
        label = Text.assemble((" = ", "blue"), (f"{name}: ", "bold"))
        if name in ("reproduce", "write a test"):  # commands are copied, so they stay on one line
            console.print(label + Text(spelled(text, console.encoding)), soft_wrap=True)
        else:
            say(console, text, lead=label)


def _facts(verdict: LawVerdict) -> Iterator[tuple[str, str]]:
    if verdict.counterexample:
        yield "counterexample", verdict.counterexample
    elif verdict.reason:
        yield "reason", verdict.reason
    if verdict.control is not None:
        yield "control", f"where it may move, the layer moves by {verdict.control:.2g}"
    for place, name in enumerate(verdict.diagnosis[:_MOST_DIAGNOSES]):
        yield "probably" if place == 0 else "or", name
    if verdict.reproduce:
        yield "reproduce", verdict.reproduce
        if verdict.reproduction:
            yield "write a test", f"{verdict.reproduce} --write-test test_{verdict.law.lower()}.py"


def _show_skipped(console: Console, report: CheckReport) -> None:
    groups: dict[str, list[str]] = {}
    for verdict in report.verdicts:
        if verdict.outcome == "skipped":
            groups.setdefault(verdict.reason or "no reason", []).append(verdict.law)
    if groups:
        console.print()
        say(console, "skipped", style="bold")
    for reason, laws in sorted(groups.items(), key=lambda item: -len(item[1])):
        say(console, reason, style="dim", lead=Text(f"  {', '.join(laws)}: "), indent=4)


def _show_grade(console: Console, report: CheckReport) -> None:
    if report.grade == "spec":
        say(console, "grade spec: the outputs were compared with a float64 oracle built from the spec and the weights.")
        return
    say(console, f"grade {report.grade}: these bugs cannot be seen by it:")
    for spot in report.blind_to:
        say(console, spot, lead=Text("  - "))


def show_matrix(console: Console, reports: Sequence[CheckReport]) -> None:
    """Prints layers × laws, a sign in each cell, then every failure in one line."""
    laws = list(dict.fromkeys(verdict.law for report in reports for verdict in report.verdicts))
    widest = max(cell_len(spelled(report.layer, console.encoding)) for report in reports)
    room = max((console.width - widest - 2) // 2, 8)
    for start in range(0, len(laws), room):
        _show_block(console, reports, laws[start : start + room], widest)
    console.print()
    legend = " ".join(f"{sign} {name}" for name, sign in OUTCOME_SIGNS.items())
    say(console, f"{legend}   (blank: not asked)", style="dim")
    for report in reports:
        for verdict in report.failures:
            told = f"{verdict.counterexample or verdict.reason}"
            lead = Text(f"{spelled(report.layer, console.encoding)} {verdict.law} {verdict.outcome}: ", style=ALARM)
            say(console, told, lead=lead, indent=4)
    good = sum(report.ok for report in reports)
    say(console, f"{len(reports)} layers, {good} as they should be", style="bold" if good == len(reports) else ALARM)


def _show_block(console: Console, reports: Sequence[CheckReport], laws: Sequence[str], widest: int) -> None:
    """The laws' names are written downwards, so that a column is two cells wide."""
    console.print()
    for row in range(max(map(len, laws))):
        letters = " ".join(law[row] if row < len(law) else " " for law in laws)
        console.print(Text(" " * (widest + 2) + letters, style="bold"), soft_wrap=True)
    for report in reports:
        found = {verdict.law: verdict.outcome or verdict.status for verdict in report.verdicts}
        line = Text(spelled(report.layer, console.encoding).ljust(widest + 2))
        for law in laws:
            outcome = found.get(law)
            sign = " " if outcome is None else spelled(OUTCOME_SIGNS[outcome], console.encoding)[:1]
            line.append(f"{sign} ", style=_STYLES.get(outcome or "", ""))
        line.rstrip()
        console.print(line, soft_wrap=True)
