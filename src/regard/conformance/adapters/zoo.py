"""The zoo: public implementations of attention, each with a builder, a spec and the failures that are known.

Every known failure is real behaviour, shown without Regard in docs/zoo.md.
"""

import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from regard.conformance.subject import Spec, Subject


@dataclass(frozen=True, kw_only=True)
class ZooEntry:
    """One public implementation; nothing is imported before `build` is called.

    `spec` None means that the builder reads it off the implementation's own configuration.
    """

    name: str
    package: str
    build: Callable[[], Subject]
    spec: Spec | None = None
    expect: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_installed(self) -> bool:
        """True if its package can be found."""
        return all(importlib.util.find_spec(name) is not None for name in self.package.split("+"))

    def subject(self) -> Subject:
        """The implementation, built, under its name in the zoo."""
        subject = self.build()
        subject.name = self.name
        return subject


def zoo() -> dict[str, ZooEntry]:
    """Every public implementation that is known here by name, installed or not."""
    from regard.conformance.adapters.zoo_huggingface import hugging_face_entries
    from regard.conformance.adapters.zoo_others import other_entries

    return {entry.name: entry for entry in (*other_entries(), *hugging_face_entries())}
