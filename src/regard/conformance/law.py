"""What a law is, and what trying one finds."""

import math
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from regard.conformance.subject import Spec, Subject
from regard.core.errors import RegardError

Grade = Literal["black-box", "spec"]

# Rounding that a float32 layer may show, in units of its last place.
_ULPS = 64
_FLOAT64 = 1e-9
# In half precision a naive layer is off by one or two units, and PREC allows twice that and two more.
_HALF = {"bfloat16", "float16"}
_HALF_ULPS = 8
# A law is tried only where something that is allowed moves the output this many tolerances.
LIVELY = 1e3
# No output can move a thousand tolerances of half precision, each of which is a visible part of it.
_HALF_LIVELY = 8.0
# The longest input that is made to look past a window.
WIDEST = 256
# Shorter inputs are not made for layers that have positions for fewer tokens.
_SHORTEST = 12


class NotTried(RegardError):
    """Raised by a law's findings where this layer cannot be tried; the message says what is missing."""


@dataclass(frozen=True, kw_only=True)
class InputSize:
    """How large the inputs of a trial are; a failure is shown again at the smallest that fails."""

    batch: int = 2
    length: int = 12


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """One comparison: how far two things that must agree are apart, and how far the layer moves where it may.

    `control` None means that the comparison is its own control (an identity between two outputs that are not constant).
    `place` says where: indices and sizes that a reader needs. `signature` is for the diagnosis, never shown.
    """

    what: str
    error: float
    tolerance: float
    control: float | None = None
    place: Mapping[str, Any] = field(default_factory=dict)
    signature: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_broken(self) -> bool:
        """True if the error is above the tolerance; NaN is."""
        return not self.error <= self.tolerance

    @property
    def is_lively(self) -> bool:
        """True if the layer moves enough elsewhere for the comparison to mean something."""
        return self.moves(LIVELY)

    def moves(self, times: float) -> bool:
        """True if the layer moves more than this many tolerances where it may."""
        return self.control is None or self.control > times * self.tolerance


@dataclass(frozen=True, kw_only=True)
class LawTrial:
    """One layer under one law at one size."""

    subject: Subject
    size: InputSize = InputSize()
    seed: int = 0

    @property
    def spec(self) -> Spec:
        """What the layer declares."""
        return self.subject.spec

    def rng(self, name: str) -> np.random.Generator:
        """A random stream of its own for each name, so that a new law never changes another's draws."""
        return np.random.default_rng([self.seed, zlib.crc32(name.encode())])

    def inputs(self, name: str = "inputs", *, batch: int | None = None, length: int | None = None) -> np.ndarray:
        """Standard normal embeddings [batch, position, width] in the layer's dtype."""
        shape = (batch or self.size.batch, length or self.size.length, self.spec.width)
        return self.rng(name).standard_normal(shape).astype(dtype_of(self.spec.dtype))

    def tolerance(self, *outputs: np.ndarray, ulps: float = _ULPS) -> float:
        """Rounding allowed between outputs of this size, relative to the largest number in them.

        float64: 1e-9. float32: ulps·eps·√length. Half precision: 8·eps·√depth, as sums are formed in float32.
        """
        largest = max((float(np.max(np.abs(out[np.isfinite(out)]), initial=0.0)) for out in outputs), default=0.0)
        if self.spec.dtype == "float64":
            return _FLOAT64 * max(largest, 1e-3)
        if self.spec.dtype in _HALF:
            return _HALF_ULPS * epsilon_of(self.spec.dtype) * math.sqrt(self.spec.depth) * max(largest, 1e-3)
        return ulps * epsilon_of(self.spec.dtype) * math.sqrt(self.size.length) * max(largest, 1e-3)

    def exactly(self, *outputs: np.ndarray) -> float:
        """Zero, but for rounding where experts are routed: which tokens share a product then depends on all of them."""
        return self.tolerance(*outputs) if self.subject.is_routed else 0.0

    @property
    def lively(self) -> float:
        """How many tolerances the output must move by, where it may, for a comparison to mean something."""
        return _HALF_LIVELY if self.spec.dtype in _HALF else LIVELY


def dtype_of(name: str) -> np.dtype:
    """numpy's dtype of that name, those of ml_dtypes too."""
    if name in ("bfloat16", "float8_e4m3fn", "float8_e5m2"):
        import ml_dtypes

        return np.dtype(getattr(ml_dtypes, name))
    return np.dtype(name)


def epsilon_of(name: str) -> float:
    """Distance from one to the next number of that dtype."""
    return {"bfloat16": 2.0**-7, "float16": 2.0**-10, "float32": 2.0**-23, "float64": 2.0**-52}.get(name, 2.0**-23)


def distance(left: np.ndarray, right: np.ndarray) -> float:
    """Largest difference; infinite if the shapes differ or one side alone is not finite somewhere.

    >>> distance(np.array([1.0, np.nan]), np.array([1.0, np.nan])), distance(np.array([1.0]), np.array([np.nan]))
    (0.0, inf)
    """
    left, right = np.asarray(left, dtype=np.float64), np.asarray(right, dtype=np.float64)
    if left.shape != right.shape:
        return math.inf
    same = (left == right) | (np.isnan(left) & np.isnan(right))
    gaps = np.where(same, 0.0, np.abs(np.where(same, 0.0, left) - np.where(same, 0.0, right)))
    return float(np.max(np.where(np.isnan(gaps), math.inf, gaps), initial=0.0))


Applies = Callable[[Spec], str | None]


def always(spec: Spec) -> str | None:
    """Every layer is bound by the law."""
    del spec
    return None


def only_if(**wanted: Any) -> Applies:
    """Layers whose spec has these values, or one of these values, are bound by the law."""

    def applies(spec: Spec) -> str | None:
        for name, values in wanted.items():
            found = getattr(spec, name)
            allowed = values if isinstance(values, tuple) else (values,)
            if found not in allowed:
                said = "nothing is declared" if found is None else f"it is {found}"
                return f"only for {name} = {' or '.join(map(str, allowed))}, and {said}"
        return None

    return applies


@dataclass(frozen=True, kw_only=True)
class Law:
    """A statement about layers, what it needs of them, how it is tried, and a broken layer that it must catch.

    `compare` makes the comparisons; it yields none where the size is too small to try the law, and raises NotTried
    where the layer lacks something that `needs` and `applies` cannot say.
    `suspects` are the bugs that usually break it, the likeliest first.
    A law that `looks_past_window` is tried on inputs that are longer than what the layer declares to see.
    """

    id: str
    statement: str
    compare: Callable[[LawTrial], Iterable[Comparison]]
    broken_example: Callable[[], Subject]
    suspects: tuple[str, ...]
    needs: tuple[str, ...] = ()
    applies: Applies = always
    grade: Grade = "black-box"
    size: InputSize = InputSize()
    looks_past_window: bool = False

    def size_for(self, spec: Spec) -> InputSize:
        """The size of the first trial: past the declared window by three, within reason and within `max_positions`."""
        wanted = self.size.length
        if self.looks_past_window and spec.window is not None:
            wanted = max(wanted, min(reach(spec) + 3, WIDEST))
        return InputSize(batch=self.size.batch, length=min(wanted, max(spec.max_positions or wanted, _SHORTEST)))


def reach(spec: Spec) -> int:
    """How many tokens back, itself included, an output can see through a stack of windowed layers."""
    assert spec.window is not None
    return spec.depth * (spec.window - 1) + 1
