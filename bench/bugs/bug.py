"""A bug: one edit of a correct layer, the family it belongs to, and the grade at which it should be caught."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from bugs.building import build, source
from bugs.subjects import LayerSubject

__all__ = ["FAMILIES", "Bug", "edits"]

FAMILIES = frozenset(
    "mask window scale rotary alibi positions cache padding heads kv-heads softmax precision dropout in-place batch "
    "shape gradient path projection sink/softcap block".split()
)


@dataclass(frozen=True, kw_only=True)
class Bug:
    """What was changed where. `seen` is the weakest grade at which its author expects it to be caught.

    `or_family` lists other families that would describe the bug equally well. If the edit changes no output,
    `is_equivalent` says why; if it changes only the last digits, as public layers do on purpose, `is_lawful` does.
    """

    id: str
    layer: str
    family: str
    what: str
    old: str
    new: str
    seen: Literal["black-box", "spec"] = "black-box"
    or_family: tuple[str, ...] = ()
    is_equivalent: str = ""
    is_lawful: str = ""

    def text(self) -> str:
        """The layer's text after the edit."""
        text = source(self.layer)
        assert text.count(self.old) == 1, f"{self.id}: its text occurs {text.count(self.old)} times in {self.layer}."
        return text.replace(self.old, self.new)

    def build(self) -> LayerSubject:
        """The buggy layer; its name does not reveal the bug."""
        return build(self.layer, self.text())

    def is_of(self, family: str | None) -> bool:
        """True if the bug belongs to this family."""
        return family in (self.family, *self.or_family)


def edits(layer: str) -> Callable[..., Bug]:
    """A function that makes bugs of one layer: id, family, what, old and new text, and the rest by name."""

    def bug(name: str, family: str, what: str, change: tuple[str, str], **rest) -> Bug:
        return Bug(id=f"{layer}-{name}", layer=layer, family=family, what=what, old=change[0], new=change[1], **rest)

    return bug
