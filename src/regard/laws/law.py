"""What a law is, and what trying one finds."""

import math
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from regard.subject import Spec, Subject

__all__ = ["Finding", "Law", "Size", "Trial", "always", "distance", "only_if"]

Grade = Literal["black-box", "spec"]

# Rounding that a float32 or float16 layer may show, in units of its last place.
_ULPS = 64
_FLOAT64 = 1e-9
# A law is tried only where something that is allowed moves the output this many tolerances.
LIVELY = 1e3


@dataclass(frozen=True, kw_only=True)
class Size:
    """How large the inputs of a trial are; a failure is shown again at the smallest that fails."""

    batch: int = 2
    length: int = 12


@dataclass(frozen=True, kw_only=True)
class Finding:
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
        return self.control is None or self.control > LIVELY * self.tolerance


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One layer under one law at one size."""

    subject: Subject
    size: Size = Size()
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
        """Rounding allowed between outputs of this size: float64 1e-9 relative, else ulps·eps·√length."""
        largest = max((float(np.max(np.abs(out[np.isfinite(out)]), initial=0.0)) for out in outputs), default=0.0)
        if self.spec.dtype == "float64":
            return _FLOAT64 * max(largest, 1e-3)
        return ulps * epsilon_of(self.spec.dtype) * math.sqrt(self.size.length) * max(largest, 1e-3)


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

    `findings` makes the comparisons; it yields none where the size is too small to try the law.
    `suspects` are the bugs that usually break it, the likeliest first.
    """

    id: str
    statement: str
    findings: Callable[[Trial], Iterable[Finding]]
    outlaw: Callable[[], Subject]
    suspects: tuple[str, ...]
    needs: tuple[str, ...] = ()
    applies: Applies = always
    grade: Grade = "black-box"
    size: Size = Size()
