"""What was found out about a design, as verdicts."""

from regard.core.estimate import Estimate
from regard.core.verdict import Status, Verdict
from regard.designs.designed import Output


def verdicts_on(output: Output, target: str, require: float | None) -> tuple[Verdict, ...]:
    """The error and the chance of being near the target; where a chance is required, whether it is met."""
    facts = [
        _fact("squared-error", f"E‖c − {target}‖² = {output.squared_error.value:.12g}", output.squared_error),
        _reliability(output, target, require),
    ]
    if output.variance_ratio is not None:
        ratio = output.variance_ratio
        statement = f"one head β(μ_a+μ_b) gives v_a's coefficient {ratio.value:.12g} times the variance"
        facts.append(_fact("variance-ratio", statement, ratio))
    return tuple(facts)


def _fact(name: str, statement: str, found: Estimate, *, status: Status | None = None, reason: str = "") -> Verdict:
    """A number with its enclosure is proved, one with a confidence interval holds."""
    sampled = f"{found.draws} draws, {found.confidence:.4%} sure" if found.confidence is not None else ""
    sure = sampled or "an enclosure in ball arithmetic"
    return Verdict(
        id=name,
        statement=statement,
        status=status or ("proved" if found.is_certain else "holds"),
        method=found.method,
        reason=reason or f"{found.enclosure}, {sure}",
        value=found.value,
        bound=max(found.upper - found.value, found.value - found.lower),
        seed=found.seed,
    )


def _reliability(output: Output, target: str, require: float | None) -> Verdict:
    found, event = output.within, f"P(‖c − {target}‖ ≤ {output.epsilon:g})"
    if require is None:
        return _fact("within", f"{event} = {found.value:.12g}", found)
    statement = f"{event} ≥ {require:g}"
    if found.lower >= require:
        return _fact("within", statement, found)
    if found.upper < require:
        return _fact("within", statement, found, status="refuted", reason=f"it is {found.value:.6g}: {found.enclosure}")
    return _fact(
        "within",
        statement,
        found,
        status="undecided",
        reason=f"{require:g} lies in {found.enclosure}: too close to tell",
    )
