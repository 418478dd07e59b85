"""Reports on checked layers: in a terminal, as JSON, and as JUnit XML."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from xml.etree import ElementTree

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from regard.conformance.subject import LayerFinding
from regard.conformance.verdict import CheckReport, LawVerdict, Outcome
from regard.render.json import as_json
from regard.render.page import printable
from regard.render.sarif import SarifFinding, SarifRule, SarifSuppression, as_sarif
from regard.render.terminal import ALARM, say, spelled

# The sign and the style of each outcome.
_LOOKS: Mapping[Outcome, tuple[str, str]] = {
    "holds": ("✓", "green"),
    "refuted": ("✗", ALARM),
    "expected failure": ("✗", "magenta"),
    "unexpected pass": ("!", ALARM),
    "skipped": ("·", "dim"),
    "inconclusive": ("?", "yellow"),
    "crashed": ("!", ALARM),
    "timed out": ("!", ALARM),
}
_MOST_DIAGNOSES = 3


def show_check(console: Console, report: CheckReport) -> None:
    """Prints what was found, a line per law, failures by cause, skipped laws, counts, and what cannot be detected."""
    lead = Text(f"{spelled(report.layer, console.encoding)}  ", style="bold")
    say(console, spec_line(report), style="dim", lead=lead)
    _show_findings(console, report.findings)
    causes = [(group[0], tuple(verdict.law for verdict in group[1:])) for group in report.causes]
    rest = [each for each in report.verdicts if each.is_as_expected and each.outcome != "skipped"]
    _show_lines(console, [*(verdict for verdict, _ in causes), *rest])
    for verdict, others in causes:
        _show_failure(console, verdict, others)
    if report.skipped:
        console.print()
        say(console, "skipped", style="bold")
    for reason, laws in sorted(report.skipped.items(), key=lambda item: -len(item[1])):
        say(console, reason, style="dim", lead=Text(f"  {', '.join(laws)}: "), indent=4)
    console.print()
    number = len(report.verdicts)
    counts = f"{number} law{'' if number == 1 else 's'}: {counts_line(report)}"
    say(console, counts, style="bold" if report.ok else ALARM)
    if report.grade == "spec":
        say(console, "Spec check: the outputs were compared with a float64 oracle built from the spec and the weights.")
    elif report.blind_to:
        say(console, "Black-box check: it cannot detect these bugs:")
    for bug in report.blind_to:
        say(console, bug, lead=Text("  - "))


def _show_findings(console: Console, findings: Sequence[LayerFinding]) -> None:
    """One block: what was found out about the layer and how, what is unusual, and what could not be found."""
    styles = {"found": "cyan", "unusual": "magenta", "not found": "yellow"}
    for kind, style in styles.items():
        for finding in (each for each in findings if each.kind == kind):
            say(console, str(finding), lead=Text(f"  {kind.ljust(9)}  ", style=style), indent=13)


def spec_line(report: CheckReport) -> str:
    """What the layer declares, in one line; empty for what is no attention layer."""
    spec = report.spec
    if not spec:
        return ""
    heads, shared = spec.get("num_heads"), spec.get("num_kv_heads")
    causal = {True: "causal", False: "not causal", None: "causality not declared"}
    if spec.get("recurrence"):
        return " · ".join([f"recurrence {spec['recurrence']}", str(spec.get("dtype")), str(spec.get("device"))])
    parts = [f"width {spec['width']}"] if "width" in spec else []
    if not any(each.name == "num_heads" and each.kind == "not found" for each in report.findings):
        parts += [f"{heads} head{'' if heads == 1 else 's'}" + (f" over {shared}" if shared != heads else "")]
    parts += [f"sees {spec['support']}" if spec.get("support") else causal[spec.get("causal")]]
    parts += [f"window {spec['window']}"] if spec.get("window") else []
    if "positions" in spec:
        parts += [f"positions {spec['positions']}" if spec["positions"] else "positions not declared"]
    return " · ".join([*parts, str(spec.get("dtype")), str(spec.get("device"))])


def error_and_tolerance(verdict: LawVerdict) -> str:
    """How far off, and how far is allowed.

    >>> error_and_tolerance(LawVerdict(
    ...     id="PAD", statement="", status="refuted", outcome="refuted", layer="mine", error=3e-7, tolerance=0
    ... ))
    '3e-07 (should be 0)'
    """
    if verdict.error is None or verdict.tolerance is None:
        return ""
    allowed = "should be 0" if verdict.tolerance == 0 else f"tolerance {verdict.tolerance:.2g}"
    return f"{verdict.error:.3g} ({allowed})"


def counts_line(report: CheckReport) -> str:
    """How many verdicts of each outcome."""
    counts = report.counts
    words = {"holds": "hold"}
    return " · ".join(f"{counts[name]} {words.get(name, name)}" for name in _LOOKS if counts.get(name))


def _show_lines(console: Console, verdicts: Sequence[LawVerdict]) -> None:
    def compared(verdict: LawVerdict) -> str:
        if verdict.error is None or verdict.tolerance is None:
            return ""
        sign = "≤" if verdict.error <= verdict.tolerance else ">"
        return f"{verdict.error:.2g} {sign} {verdict.tolerance:.2g}"

    numbers = [spelled(compared(verdict), console.encoding) for verdict in verdicts]
    name_width = max((cell_len(verdict.law) for verdict in verdicts), default=0)
    number_width = max(map(len, numbers), default=0)
    outcome_width = max((len(verdict.outcome) for verdict in verdicts), default=0)
    for verdict, number in zip(verdicts, numbers, strict=True):
        sign, style = _LOOKS[verdict.outcome]
        lead = Text.assemble(
            "  ", (spelled(sign, console.encoding), style), " ", (verdict.law.ljust(name_width), "bold"), "  "
        )
        lead.append(verdict.outcome.ljust(outcome_width), style=style)
        lead.append(f"  {number.ljust(number_width)}  ")
        text = verdict.statement if verdict.outcome == "holds" else verdict.reason or verdict.statement
        _show_line(console, lead, text)


def _show_line(console: Console, lead: Text, text: str) -> None:
    """One line, cut at the console's width."""
    left = console.width - lead.cell_len
    text = spelled(" ".join(text.split()), console.encoding)
    ellipsis = spelled("…", console.encoding)
    if left < 16:
        text = ""
    elif len(text) > left:
        text = text[: left - len(ellipsis)].rstrip() + ellipsis
    line = lead + Text(text, style="dim")
    line.rstrip()
    console.print(line, soft_wrap=True, no_wrap=True, crop=False)


def _show_failure(console: Console, verdict: LawVerdict, others: Sequence[str]) -> None:
    """One failure in full; `others` are the laws that fail for the same cause."""
    console.print()
    lead = Text(spelled(f"{verdict.outcome}[{verdict.law}]: ", console.encoding), style=_LOOKS[verdict.outcome][1])
    say(console, verdict.statement, style="bold", indent=4, lead=lead)
    console.print(Text(" --> ", style="blue") + Text(spelled(verdict.layer, console.encoding)), soft_wrap=True)
    for label, text in _facts(verdict):
        say(console, text, lead=_label(label))
    if others:
        say(console, ", ".join(others), lead=_label(f"and {len(others)} more, for the same cause"), indent=4)
    if verdict.reproduce:  # commands are copied, so each stays on one line
        commands = {"reproduce": verdict.reproduce}
        if verdict.reproduction:
            commands["write a test"] = f"{verdict.reproduce} --write-test test_{verdict.law.lower()}.py"
        for label, command in commands.items():
            console.print(_label(label) + Text(spelled(command, console.encoding)), soft_wrap=True)


def _label(name: str) -> Text:
    return Text.assemble((" = ", "blue"), (f"{name}: ", "bold"))


def _facts(verdict: LawVerdict) -> Iterator[tuple[str, str]]:
    if verdict.counterexample:
        yield "counterexample", verdict.counterexample
    elif verdict.reason:
        yield "reason", verdict.reason
    if verdict.control is not None:
        yield "sanity check", f"a permitted input change moves the output by {verdict.control:.2g}"
    for place, bug in enumerate(verdict.diagnosis[:_MOST_DIAGNOSES]):
        yield "probably" if place == 0 else "or", str(bug)


def show_matrix(console: Console, reports: Sequence[CheckReport]) -> None:
    """Prints layers × laws, a sign in each cell, then a line per failure."""
    laws = list(dict.fromkeys(verdict.law for report in reports for verdict in report.verdicts))
    name_width = max(cell_len(spelled(report.layer, console.encoding)) for report in reports)
    num_columns = max((console.width - name_width - 2) // 2, 8)
    for start in range(0, len(laws), num_columns):
        _show_block(console, reports, laws[start : start + num_columns], name_width)
    console.print()
    legend = " ".join(f"{sign} {name}" for name, (sign, _) in _LOOKS.items())
    say(console, f"{legend}   (blank: not tried)", style="dim")
    for report in reports:
        for verdict, *others in report.causes:
            laws = ", ".join([verdict.law, *(other.law for other in others)])
            lead = Text(f"{spelled(report.layer, console.encoding)} {laws} {verdict.outcome}: ", style=ALARM)
            say(console, f"{verdict.counterexample or verdict.reason}", lead=lead, indent=4)
    failing = sum(not report.ok for report in reports)
    style = ALARM if failing else "bold"
    say(console, f"{len(reports)} layers, {failing or 'none'} with unexpected failures", style=style)


def _show_block(console: Console, reports: Sequence[CheckReport], laws: Sequence[str], name_width: int) -> None:
    """The names of the laws run downwards, so that a column is two cells wide."""
    console.print()
    for row in range(max(map(len, laws))):
        letters = " ".join(law[row] if row < len(law) else " " for law in laws)
        console.print(Text(" " * (name_width + 2) + letters, style="bold"), soft_wrap=True)
    for report in reports:
        outcomes: dict[str, Outcome] = {verdict.law: verdict.outcome for verdict in report.verdicts}
        line = Text(spelled(report.layer, console.encoding).ljust(name_width + 2))
        for law in laws:
            sign, style = _LOOKS[outcomes[law]] if law in outcomes else (" ", "")
            line.append(f"{spelled(sign, console.encoding)[:1]} ", style=style)
        line.rstrip()
        console.print(line, soft_wrap=True)


def reports_as_json(reports: Sequence[CheckReport], *, is_ascii: bool = False) -> str:
    """The JSON that all commands share: the verdicts on all layers, and `subjects`, a row per layer."""
    verdicts = [verdict for report in reports for verdict in report.verdicts]
    fields = ("layer", "ok", "spec", "grade", "blind_to", "counts")
    subjects = [
        {**{name: getattr(report, name) for name in fields}, "findings": [asdict(each) for each in report.findings]}
        for report in reports
    ]
    return as_json("check", verdicts, {"subjects": subjects}, is_ascii=is_ascii)


def reports_as_sarif(reports: Iterable[CheckReport]) -> str:
    """SARIF with a result per law that failed, crashed or timed out; expected failures are suppressed."""
    from regard.conformance import all_laws

    rules = [SarifRule(id=law.id, description=law.statement, page="docs/check.md") for law in all_laws().values()]
    verdicts = [verdict for report in reports for verdict in report.verdicts]
    known = {rule.id for rule in rules}
    rules += [
        SarifRule(id=verdict.law, description=verdict.statement, page="docs/check.md")
        for verdict in {verdict.law: verdict for verdict in verdicts if verdict.law not in known}.values()
    ]
    return as_sarif("check", rules, map(_sarif_finding, filter(_needs_attention, verdicts)))


def _needs_attention(verdict: LawVerdict) -> bool:
    return not verdict.is_as_expected or verdict.outcome in ("expected failure", "inconclusive")


def _sarif_finding(verdict: LawVerdict) -> SarifFinding:
    is_expected = verdict.outcome == "expected failure"
    file, is_in_file, _ = verdict.layer.rpartition(".py:")
    reasons = [f"{verdict.layer}: {verdict.statement}", verdict.reason, verdict.counterexample]
    reasons += [f"Probable bug: {bug}" for bug in verdict.diagnosis[:1]]
    return SarifFinding(
        rule=verdict.law,
        level="note" if verdict.is_as_expected else "error",
        message=". ".join(dict.fromkeys(filter(None, reasons))),
        statement=f"{verdict.layer} {verdict.outcome}",
        file=f"{file}.py" if is_in_file else None,
        component=verdict.layer,
        suppression=SarifSuppression(kind="external", justification=verdict.reason or "") if is_expected else None,
    )


def reports_as_junit(reports: Iterable[CheckReport]) -> str:
    """JUnit XML for continuous integration: a suite per layer, a case per law.

    Expected failures and laws that were skipped or inconclusive are skipped cases with their reasons.
    """
    root = ElementTree.Element("testsuites", name="regard check")
    for report in reports:
        _add_suite(root, report)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _add_suite(root: ElementTree.Element, report: CheckReport) -> None:
    kinds = [_junit_kind(verdict) for verdict in report.verdicts]
    suite = ElementTree.SubElement(
        root,
        "testsuite",
        name=printable(report.layer),
        tests=str(len(kinds)),
        failures=str(kinds.count("failure")),
        errors=str(kinds.count("error")),
        skipped=str(kinds.count("skipped")),
    )
    properties = ElementTree.SubElement(suite, "properties")
    ElementTree.SubElement(properties, "property", name="grade", value=report.grade)
    for bug in report.blind_to:
        ElementTree.SubElement(properties, "property", name="blind_to", value=bug)
    for verdict, kind in zip(report.verdicts, kinds, strict=True):
        case = ElementTree.SubElement(suite, "testcase", classname=printable(report.layer), name=verdict.law)
        if kind is not None:
            message = printable(f"{verdict.outcome}: {verdict.counterexample or verdict.reason or ''}")
            parts = [verdict.statement, verdict.reason, verdict.counterexample]
            parts += [] if verdict.is_as_expected else [f"probably {name}" for name in verdict.diagnosis]
            text = "\n".join(filter(None, [*parts, verdict.reproduce]))
            ElementTree.SubElement(case, kind, message=message).text = printable(text)


def _junit_kind(verdict: LawVerdict) -> str | None:
    if verdict.outcome in ("crashed", "timed out"):
        return "error"
    if not verdict.is_as_expected:
        return "failure"
    return None if verdict.outcome == "holds" else "skipped"
