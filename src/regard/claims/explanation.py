"""A claim laid open: what it says, why it is so, what each route found, and which near misses fall."""

from collections.abc import Mapping
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from regard.core.verdict import ClaimVerdict, Evidence, Status
from regard.render.figures import Figure
from regard.render.terminal import ALARM, SIGNS, STYLES, quantity, say, spelled


@dataclass(frozen=True, kw_only=True)
class RivalOutcome:
    """What became of a near miss when it stood in the claim's place."""

    statement: str
    becomes: Status
    verdict: ClaimVerdict


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """All that there is to say about a claim, with the verdict just reached."""

    verdict: ClaimVerdict
    latex: str
    settings: Mapping[str, float]
    derivation: str
    rivals: tuple[RivalOutcome, ...]
    source: str
    section: str = ""
    figure: Figure | None = None


def show_explanation(console: Console, explanation: Explanation) -> None:
    """Prints the statement and its verdict, then the reasons in the order in which a reader asks for them."""
    verdict = explanation.verdict
    console.print(_heading(console, verdict))
    say(console, verdict.statement, indent=2)
    console.print()
    _show_facts(console, _facts(explanation))
    _show_title(console, "Why")
    say(console, explanation.derivation, indent=2)
    _show_title(console, "Evidence")
    for item in verdict.evidence:
        _show_finding(console, item.status, item.route, _finding(item, already_told=verdict.counterexample))
    _show_title(console, "Rivals, each tried in the claim's place")
    for rival in explanation.rivals:
        _show_rival(console, rival)
    console.print()
    _show_facts(console, {"source": explanation.source})
    for name, text in (("LaTeX", explanation.latex), ("reproduce", verdict.reproduce or "")):
        # Never broken into lines, so that it can be copied whole.
        console.print(_label(name) + Text(spelled(text, console.encoding)), soft_wrap=True)


def _heading(console: Console, verdict: ClaimVerdict) -> Text:
    status = verdict.status
    line = Text.assemble((verdict.id, "bold"), "  ", _sign(console, status), (status, STYLES[status]))
    if not verdict.is_as_expected:
        line.append(f", but the catalogue expects {verdict.expected}", style=ALARM)
    elif verdict.expected == "refuted":
        line.append(", as a myth should be", style="dim")
    return line


def _facts(explanation: Explanation) -> Mapping[str, str]:
    verdict = explanation.verdict
    return {
        "domain": verdict.domain or "",
        "decided at": ", ".join(f"{name} = {value:g}" for name, value in explanation.settings.items()),
        "assumes": "; ".join(verdict.assumes or ()),
        "value": quantity(verdict.value, verdict.bound, digits=12),
        "against it": verdict.counterexample or "",
    }


def _show_facts(console: Console, facts: Mapping[str, str]) -> None:
    for name, fact in facts.items():
        if fact:
            say(console, fact, lead=_label(name))


def _label(name: str) -> Text:
    return Text(f"  {name.ljust(12)}", style="dim")


def _show_title(console: Console, title: str) -> None:
    console.print()
    console.print(Text(title, style="bold"))


def _show_rival(console: Console, rival: RivalOutcome) -> None:
    found = rival.verdict.status
    ending = "" if found == rival.becomes else f", but it must come out {rival.becomes}"
    _show_finding(console, found, rival.statement + ending, rival.verdict.counterexample or rival.verdict.reason or "")


def _show_finding(console: Console, status: Status, title: str, detail: str) -> None:
    lead = Text.assemble("  ", _sign(console, status), (status.ljust(11), STYLES[status]))
    say(console, title, lead=lead)
    say(console, detail, style="dim", indent=lead.cell_len)


def _sign(console: Console, status: Status) -> Text:
    return Text(f"{spelled(SIGNS[status], console.encoding)} ", style=STYLES[status])


def _finding(item: Evidence, *, already_told: str | None) -> str:
    number = quantity(item.value, item.bound, digits=12)
    against = item.counterexample if item.counterexample != already_told else ""
    parts = (item.detail, f"value {number}" if number else "", against)
    return "; ".join(part for part in parts if part)
