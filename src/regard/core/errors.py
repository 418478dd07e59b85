"""The exceptions that Regard raises.

RegardError            anything Regard raises on purpose
├── InputError         the caller gave something that cannot work (exit code 2)
│   └── DomainError    a parameter lies outside the domain of a claim or scenario
└── NotCertifiable     the certified engine does not apply; another engine may
"""

from collections.abc import Iterable


class RegardError(Exception):
    """Anything that Regard raises on purpose."""


class InputError(RegardError, ValueError):
    """The input cannot work; the message says what was given, why it cannot work, and what to do."""


class DomainError(InputError):
    """A parameter lies outside the domain in which the question makes sense."""


class NotCertifiable(RegardError):
    """The certified engine does not apply here; the message says why and which engine does."""


def did_you_mean(given: str, known: Iterable[str]) -> str:
    """A question that names the nearest of some known words; empty if none is near.

    >>> did_you_mean("jbos", ["jobs", "seed"])
    "Did you mean 'jobs'?"
    """
    import difflib

    near = difflib.get_close_matches(given, list(known), n=1)
    return f"Did you mean '{near[0]}'?" if near else ""


def as_input_error(error: OSError) -> InputError:
    """What the operating system refused (a full disk, a missing permission), as an error with a message."""
    place = f" ({error.filename})" if error.filename else ""
    return InputError(f"Cannot continue: {(error.strerror or str(error)).lower()}{place}.")
