"""What can go wrong, drawn once.

RegardError            anything Regard raises on purpose
├── InputError         the caller gave something that cannot work (exit code 2)
│   └── DomainError    a parameter lies outside the domain of a claim or scenario
└── NotCertifiable     the certified engine does not apply; another engine may
"""


class RegardError(Exception):
    """Anything that Regard raises on purpose."""


class InputError(RegardError, ValueError):
    """The caller's input cannot work; the message says what was given, why not, and what to do."""


class DomainError(InputError):
    """A parameter lies outside the domain in which the question makes sense."""


class NotCertifiable(RegardError):
    """The certified engine does not apply here; the message says why and which engine does."""


def refused_by_system(error: OSError) -> InputError:
    """What the system refused (a full disk, a missing right), in words."""
    place = f" ({error.filename})" if error.filename else ""
    return InputError(f"Cannot go on: {(error.strerror or str(error)).lower()}{place}.")
