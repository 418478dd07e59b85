"""Parts of a claim's card that every page shows alike."""

from regard.claims.explanation import Explanation
from regard.core.verdict import ClaimVerdict
from regard.render.formulas import scripted
from regard.render.terminal import quantity


def claim_counterexample(verdict: ClaimVerdict) -> str:
    """What stands against a claim; nothing where it holds."""
    if not verdict.counterexample:
        return ""
    return f'<p class="against"><b>Counterexample</b> {scripted(verdict.counterexample)}</p>'


def claim_facts(explanation: Explanation) -> str:
    """Where a claim holds, at which numbers it was decided, and what came out."""
    verdict = explanation.verdict
    facts = {
        "Domain": verdict.domain,
        "Decided at": ", ".join(f"{name} = {value:g}" for name, value in explanation.settings.items()),
        "Value": quantity(verdict.value, verdict.bound, digits=12),
        "Assumes": "; ".join(verdict.assumes or ()),
        "Source": explanation.source,
    }
    rows = "".join(f"<div><dt>{name}</dt><dd>{scripted(fact)}</dd></div>" for name, fact in facts.items() if fact)
    return f'<dl class="facts">{rows}</dl>'
