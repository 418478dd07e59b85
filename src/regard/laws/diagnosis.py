"""Which bug a failure looks like, from its law, its signature and what else the layer does."""

from regard.laws.law import Finding, Law, Trial

__all__ = ["diagnose"]


def diagnose(law: Law, trial: Trial, finding: Finding) -> tuple[str, ...]:
    """Probable bugs, the likeliest first."""
    del trial, finding
    return law.suspects
