"""What laws say about a subject."""

from regard.conformance import all_laws
from regard.conformance.judging import judge
from regard.conformance.subject import Subject


def broken(subject: Subject, *laws: str) -> dict[str, str]:
    """Laws that the subject breaks or crashes under, with the counterexample."""
    chosen = {name: law for name, law in all_laws().items() if not laws or name in laws}
    verdicts = [judge(law, subject) for law in chosen.values()]
    return {v.id: v.counterexample or v.reason for v in verdicts if v.outcome in ("refuted", "crashed")}


def outcomes(subject: Subject, *laws: str) -> dict[str, str]:
    """The outcome of each law."""
    return {name: judge(law, subject).outcome for name, law in all_laws().items() if not laws or name in laws}
