"""What can go wrong, drawn once.

RegardError            anything Regard raises on purpose
├── InputError         the caller gave something that cannot work (exit code 2)
│   └── DomainError    a parameter lies outside the domain of a claim or scenario
└── NotCertifiable     the certified engine does not apply; another engine may
"""

__all__ = ["DomainError", "InputError", "NotCertifiable", "RegardError"]


class RegardError(Exception):
    """Anything that Regard raises on purpose."""


class InputError(RegardError, ValueError):
    """The caller's input cannot work; the message says what was given, why not, and what to do."""


class DomainError(InputError):
    """A parameter lies outside the domain in which the question makes sense."""


class NotCertifiable(RegardError):
    """The certified engine does not apply here; the message says why and which engine does."""
