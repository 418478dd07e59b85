"""What calls alone tell about a layer: which inputs move which outputs, and whether order matters."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from regard.conformance.law import distance, dtype_of
from regard.conformance.subject import Subject

_LENGTHS = (24, 160)
_SEED = 7
_FAR = 1_000_000


@dataclass(kw_only=True)
class Notes:
    """What has been found so far, why it is believed, and what could not be found."""

    found: dict[str, Any] = field(default_factory=dict)
    evidence: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)

    def find(self, name: str, value: Any, why: str) -> None:
        """A value of the spec."""
        self.found[name] = value
        self.tell(f"{name} = {value}: {why}")

    def tell(self, line: str) -> None:
        """Something that the spec has no name for."""
        self.evidence.append(line)

    def miss(self, line: str) -> None:
        """Something that could not be found."""
        self.unknown.append(line)


def found_by_calls(subject: Subject) -> Notes:
    """Causality, window, and what can be said of positions."""
    notes, spec = Notes(), subject.spec
    length = min(_LENGTHS[0], spec.max_positions or _LENGTHS[0])
    if not _moved(subject, length, [0])[0].any():
        notes.miss("causality, window and positions: the layer does not move with its inputs")
        return notes
    ahead = _moved(subject, length, [length // 2, length - 1])
    leaks = ahead[0][: length // 2].any() or ahead[1][: length - 1].any()
    reason = "an output moves with a later input" if leaks else f"no output of {length} moves with a later input"
    notes.find("causal", not leaks, reason)
    _tell_window(notes, subject)
    _tell_order(notes, subject, is_causal=not leaks)
    return notes


def _moved(subject: Subject, length: int, places: list[int]) -> list[np.ndarray]:
    """By place, which outputs move when the input there does; the bumps are large, so that small weights count."""
    rng, dtype = np.random.default_rng(_SEED), dtype_of(subject.spec.dtype)
    x = rng.standard_normal((3, length, subject.spec.width)).astype(dtype)
    y = subject.call(x)
    found = []
    for place in places:
        bumped = x.copy()
        bumped[:, place] += (3 * rng.standard_normal(bumped[:, place].shape)).astype(dtype)
        moved = subject.call(bumped)
        found.append(np.array([distance(moved[:, i], y[:, i]) > 0 for i in range(length)]))
    return found


def _tell_window(notes: Notes, subject: Subject) -> None:
    """How far the influence of an input reaches, if it ends before the input does."""
    spec = subject.spec
    for length in dict.fromkeys(min(size, spec.max_positions or size) for size in _LENGTHS):
        places = [0, length // 4, length // 3]
        reaches = [
            int(np.flatnonzero(moved)[-1]) - place + 1
            for place, moved in zip(places, _moved(subject, length, places), strict=True)
        ]
        if max(reaches) < length - max(places):
            if len(set(reaches)) > 1 or (reaches[0] - 1) % spec.depth:
                notes.miss(f"window: inputs reach {reaches} outputs, which no window explains")
                return
            window = (reaches[0] - 1) // spec.depth + 1
            notes.find("window", window, f"inputs move the {reaches[0]} outputs from their own on, and no others")
            return
    notes.miss(f"window: none below {length}, a longer one was not looked for")


def _tell_order(notes: Notes, subject: Subject, *, is_causal: bool) -> None:
    """Whether positions count at all, and whether only distances do."""
    spec, dtype = subject.spec, dtype_of(subject.spec.dtype)
    window = notes.found.get("window", 3)
    if window < 3 or (spec.max_positions or 3) < 3:
        notes.miss("positions: too few tokens are seen to swap two of them")
        return
    x = np.random.default_rng(_SEED).standard_normal((2, 3, spec.width)).astype(dtype)
    y, swapped = subject.call(x)[:, 2], subject.call(x[:, [1, 0, 2]])[:, 2]
    size = float(np.abs(y.astype(np.float64)).max())
    is_still = distance(y, swapped) <= 1e-5 * size
    if is_still and (spec.depth == 1 or not is_causal):
        notes.find("positions", "none", "swapping two earlier tokens changes nothing")
    elif not is_still and spec.depth > 1 and is_causal:
        notes.miss("positions: several causal layers know the order of tokens without a code for it")
    elif not is_still:
        _tell_kind(notes, subject, x, size)


def _tell_kind(notes: Notes, subject: Subject, x: np.ndarray, size: float) -> None:
    """Absolute or relative, and falling with distance or not."""
    if not subject.has("positions"):
        notes.miss("positions: order matters, but the layer takes no positions to tell how")
        return
    places = np.broadcast_to(np.arange(3), x.shape[:2])
    usual, later = subject.call(x, positions=places), subject.call(x, positions=places + 2)
    if distance(usual, later) > 1e-3 * size:
        notes.miss("positions: they are absolute, learned or sinusoidal, which calls do not tell apart")
        return
    if subject.spec.max_positions is not None:
        notes.miss("positions: only distances count, but they cannot be made large enough to tell slopes from turns")
        return
    far = subject.call(x[:, :2], positions=np.broadcast_to(np.array([0, _FAR]), (len(x), 2)))[:, 1]
    alone = subject.call(x[:, 1:2])[:, 0]
    if distance(far, alone) <= 1e-5 * size:
        notes.find("positions", "alibi", "only distances count, and a token far away has no weight")
    else:
        notes.find("positions", "relative", "only distances count, and a token far away keeps its weight")
