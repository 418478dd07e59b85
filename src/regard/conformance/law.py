"""What a law is, and how one is tried on a layer."""

import math
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from typing import Any, Literal

import numpy as np

from regard.conformance.subject import Spec, Subject
from regard.conformance.verdict import BugFamily, Diagnosis
from regard.core.errors import InputError, RegardError

Grade = Literal["black-box", "spec"]

_HALF_PRECISIONS = ("bfloat16", "float16")
# Rounding allowed, in units in the last place: a naive layer in half precision is off by one or two units.
_ULPS = 64
_HALF_ULPS = 8
_FLOAT64_TOLERANCE = 1e-9
# What a logit may be off by, in units in the last place: two projections, two rotations and one product.
_LOGIT_ULPS = 8
# So small that its square is negligible in float64, but large enough to change numbers rounded to float32.
_SMALL_STEP = 1e-6
# A comparison counts only if its positive control moves the output by this many tolerances. In half precision a
# tolerance is a visible part of the output, which cannot move by a thousand of them.
_LIVELY = 1e3
_HALF_LIVELY = 8.0
_LOSSY_LIVELY = 2.0
# The longest input that is made to look past a window, and the shortest that `max_positions` can ask for.
LONGEST_INPUT = 256
_SHORTEST_INPUT = 12


class NotTried(RegardError):
    """Raised by a law's comparisons where it cannot be tried on this layer; the message says what is missing."""


class BlindSpot(StrEnum):
    """A kind of bug that black-box laws miss: other weights, or another lawful layer, would give the same outputs."""

    SCALE = "a wrong scale of the logits"
    ROTARY_LAYOUT = "a rotary layout swapped consistently"
    HEAD_ORDER = "key-value heads tiled instead of repeated, or heads in another order"
    KEYS_AND_VALUES = "keys and values swapped"
    ROTARY_RATES = "a wrong rotary base, exponent or width"
    ALIBI_SLOPES = "wrong ALiBi slopes"


@dataclass(frozen=True, kw_only=True)
class InputSize:
    """Batch size and length of a trial's inputs; a failure is shown again at the smallest size that fails.

    Large inputs have a `block`, and laws look at the borders of blocks.
    """

    batch: int = 2
    length: int = 12
    block: int | None = None

    def borders(self) -> list[int]:
        """The block times powers of two within the length.

        >>> InputSize(length=131, block=16).borders()
        [16, 32, 64, 128]
        """
        found = [] if self.block is None else [self.block]
        while found and found[-1] < self.length:
            found.append(2 * found[-1])
        return found[:-1]


@dataclass(frozen=True, kw_only=True)
class CheckSizes:
    """Sizes beyond the usual ones at which laws are tried again: tiles, pages, tables and ring buffers end there.

    By default, one length is a multiple of blocks, and the other is beyond 128 by a few tokens. `traces` is the number
    of random sequences of operations on a cache.
    """

    lengths: tuple[int, ...] = (64, 131)
    batch: int = 8
    block: int = 16
    traces: int = 10

    def __post_init__(self) -> None:
        if min(self.batch, self.traces, *self.lengths) < 1 or self.block < 2:
            raise InputError("Lengths, the batch and the number of traces are at least 1, and a block is at least 2.")

    def non_defaults(self) -> dict[str, Any]:
        """The values that have to be written down to get these sizes again."""
        return {each.name: found for each in fields(self) if (found := getattr(self, each.name)) != each.default}


# For laws that make their own inputs, so that the size of a trial says nothing to a reader.
NO_INPUTS = InputSize(batch=1, length=1)


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """How far apart two things are that must agree, and the positive control: how far an allowed change moves them.

    Without a control the comparison is its own (an identity between two outputs that are not constant).
    `place` says where, for the reader. `suggests` are the bugs that a failure of this comparison points to.
    `signature` is for the law's own `signs` and is never shown.
    `is_yes_no` says that the error has no size worth showing.
    """

    what: str
    error: float
    tolerance: float
    control: float | None = None
    place: Mapping[str, Any] = field(default_factory=dict)
    suggests: tuple[Diagnosis, ...] = ()
    signature: Mapping[str, Any] = field(default_factory=dict)
    is_yes_no: bool = False

    @property
    def is_broken(self) -> bool:
        """True if the error exceeds the tolerance; NaN does."""
        return not self.error <= self.tolerance

    def is_lively(self, tolerances: float) -> bool:
        """True if the positive control moves the output by more than this many tolerances."""
        return self.control is None or self.control > tolerances * self.tolerance


# What laws are written with: the comparisons that a law makes, and the bugs that it reads from the broken ones.
Comparisons = Iterator[Comparison]
Diagnoses = Iterator[Diagnosis]


@dataclass(frozen=True, kw_only=True)
class LawTrial:
    """One layer under one law, with inputs of one size, or this many random traces of operations on its cache."""

    subject: Subject
    size: InputSize = InputSize()
    seed: int = 0
    num_traces: int = CheckSizes.traces

    @property
    def spec(self) -> Spec:
        """What the layer declares."""
        return self.subject.spec

    @property
    def dtype(self) -> np.dtype:
        """The layer's dtype."""
        return dtype_of(self.spec.dtype)

    @property
    def is_half_precision(self) -> bool:
        """True in bfloat16 and float16."""
        return is_half_precision(self.spec.dtype)

    def rng(self, name: str) -> np.random.Generator:
        """A random stream of its own per name, so that a new law never changes another's draws."""
        return np.random.default_rng([self.seed, zlib.crc32(name.encode())])

    def inputs(self, name: str = "inputs", *, batch: int | None = None, length: int | None = None) -> np.ndarray:
        """Standard normal embeddings [batch, position, width] in the layer's dtype."""
        shape = (batch or self.size.batch, length or self.size.length, self.spec.width)
        return self.rng(name).standard_normal(shape).astype(self.dtype)

    def call(self, x: np.ndarray, **options: Any) -> np.ndarray:
        """The layer's output."""
        return self.subject.call(x, **options)

    def bumped(
        self, x: np.ndarray, place: int | slice | list[int], *, name: str = "bump", by: float = 1.0
    ) -> np.ndarray:
        """The input with normal noise added at one place of every row."""
        moved = x.copy()
        noise = self.rng(f"{name} {place}").standard_normal(moved[:, place].shape)
        moved[:, place] = (moved[:, place].astype(np.float64) + by * noise).astype(x.dtype)
        return moved

    def liveness(self, x: np.ndarray, y: np.ndarray) -> float:
        """The usual positive control: how far the output moves if the whole input changes."""
        return distance(self.call(self.bumped(x, slice(None), name="live", by=2.0)), y)

    def random_heads(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Standard normal queries, keys and values [batch, head, position, width]."""
        spec, rng = self.spec, self.rng("heads")
        shape = (self.size.batch, spec.num_heads, self.size.length, spec.head_width)
        shared = (shape[0], spec.num_kv_heads or 1, *shape[2:])
        q, k, v = (rng.standard_normal(each).astype(self.dtype) for each in (shape, shared, shared))
        return q, k, v

    def compared(
        self, what: str, found: np.ndarray, wanted: np.ndarray, tolerance: float | None = None, **more: Any
    ) -> Comparison:
        """Two outputs that must agree, up to the usual tolerance unless another one is given."""
        tolerance = self.tolerance(wanted) if tolerance is None else tolerance
        return Comparison(what=what, error=distance(found, wanted), tolerance=tolerance, **more)

    def tolerance(self, *outputs: np.ndarray, ulps: float = _ULPS) -> float:
        """Rounding allowed between outputs of this size, relative to the largest number in them.

        float64: 1e-9. float32: ulps·eps·√length. Half precision: 8·eps·√depth, since sums are formed in float32.
        """
        largest = _largest(*outputs)
        if self.spec.dtype == "float64":
            return _FLOAT64_TOLERANCE * largest
        if self.is_half_precision:
            return _HALF_ULPS * epsilon_of(self.spec.dtype) * math.sqrt(self.spec.depth) * largest
        return ulps * epsilon_of(self.spec.dtype) * math.sqrt(self.size.length) * largest

    def cache_tolerance(self, outputs: np.ndarray) -> float:
        """The tolerance for outputs after a cache, which may lose precision on purpose."""
        return self.tolerance(outputs) + self.subject.cache_limits.error * _largest(outputs)

    def work_tolerance(self, outputs: np.ndarray, largest_logit: float = 0.0) -> float:
        """The tolerance, never below float32's, and larger with the logits.

        Much public code forms its softmax, angles and slopes in float32 whatever the dtype of the layer, which is
        lawful. An error of eps·|z| in a logit z is one of the same size in the weights.
        """
        largest, single = _largest(outputs), epsilon_of("float32")
        floor = _ULPS * single * math.sqrt(self.size.length) * largest
        of_logits = _LOGIT_ULPS * max(single, epsilon_of(self.spec.dtype)) * largest_logit * largest
        return max(self.tolerance(outputs), floor) + of_logits

    def exact_tolerance(self, *outputs: np.ndarray) -> float:
        """Zero, except with routed experts: which tokens share a product then depends on all of them."""
        return self.tolerance(*outputs) if self.subject.is_routed else 0.0

    @property
    def lively(self) -> float:
        """By how many tolerances a positive control must move the output."""
        return _HALF_LIVELY if self.is_half_precision else _LIVELY

    def lively_for(self, law: "Law") -> float:
        """The same for one law: after a cache that loses precision, tolerances are large on purpose."""
        return _LOSSY_LIVELY if "cache" in law.needs and self.subject.cache_limits.error else self.lively

    def in_float32(self) -> "LawTrial":
        """The trial on the layer in float32 if it is in half precision and can be converted, else the trial itself."""
        if not (self.is_half_precision and self.subject.has("float64")):
            return self
        return replace(self, subject=self.subject.converted("float32"))

    def in_float64(self) -> "LawTrial":
        """The trial on the layer in float64; in float32 if the layer is in it and cannot be converted."""
        if self.spec.dtype == "float64":
            return self
        if self.subject.has("float64"):
            return replace(self, subject=self.subject.converted("float64"))
        if self.spec.dtype != "float32":
            raise NotTried(f"{self.spec.dtype} is too coarse for it, and the layer cannot be converted to float64")
        return self

    def inner_rounding(self, x: np.ndarray) -> float:
        """How far a float64 layer's outputs are from smooth, which shows what it rounds to float32 inside.

        max |f(x + h) − 2 f(x) + f(x − h)|
        """
        step = _SMALL_STEP * self.rng("rounding").standard_normal(x.shape)
        up, middle, down = (self.subject.call(x + sign * step).astype(np.float64) for sign in (1, 0, -1))
        return float(np.abs(up - 2 * middle + down).max())


def _largest(*outputs: np.ndarray) -> float:
    """The largest finite number, at least a thousandth."""
    return max([1e-3, *(float(np.max(np.abs(out[np.isfinite(out)]), initial=0.0)) for out in outputs)])


def dtype_of(name: str) -> np.dtype:
    """numpy's dtype of that name, including those of ml_dtypes."""
    if name in ("bfloat16", "float8_e4m3fn", "float8_e5m2"):
        import ml_dtypes

        return np.dtype(getattr(ml_dtypes, name))
    return np.dtype(name)


def epsilon_of(name: str) -> float:
    """Distance from one to the next number of that dtype."""
    return {"bfloat16": 2.0**-7, "float16": 2.0**-10, "float32": 2.0**-23, "float64": 2.0**-52}.get(name, 2.0**-23)


def is_half_precision(dtype: str) -> bool:
    """True for bfloat16 and float16."""
    return dtype in _HALF_PRECISIONS


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


def only_if(**wanted: Any) -> Applies:
    """The law applies to layers whose spec has these values, or one of them where a tuple is given."""

    def applies(spec: Spec) -> str | None:
        for name, values in wanted.items():
            found = getattr(spec, name)
            allowed = values if isinstance(values, tuple) else (values,)
            if found not in allowed:
                return f"only for {name} = {' or '.join(map(str, allowed))}; {declared_words(found)}"
        return None

    return applies


def declared_words(value: Any) -> str:
    """What the spec says about something, for the reason of a skipped law."""
    return "nothing is declared" if value is None else f"the layer declares {value}"


@dataclass(frozen=True, kw_only=True)
class Law:
    """A statement about layers: everything that Regard knows about it.

    `compare` makes the comparisons. It yields none if the inputs are too small to try the law, and raises NotTried if
    the layer lacks something that `needs` and `applies` cannot express.
    `broken_example` builds a deliberately broken layer that the law must catch.
    `suspects` are the bugs that usually break it, the likeliest first; a plain string belongs to the law's `family`.
    `signs` reads from all broken comparisons together, at full size, which bug it is.
    `diagnosed_by` is what explains a failure best: "probing" the layer, the "signs", or nothing but the "suspects",
    where all else that probing would find follows from this failure.
    `means` is what a failure says by itself, asked when nothing else explains why a layer differs from the oracle.
    `rank` sorts the failures of a report: one bug breaks many laws, and the most telling have the lowest rank.
    `follows` are laws of lower rank: where one of them fails, this one fails too.
    `reveals` are the bugs that only a comparison with the oracle sees otherwise.
    A law that `looks_past_window` is tried on inputs longer than what the layer declares to see, and one that
    `looks_past_chunk` on inputs of more than two chunks.
    `grows_in` says in which way inputs become larger once the law holds at its usual size.
    A law that `shrinks_itself` looks for the smallest counterexample by itself, and its comparison says what it is.
    """

    id: str
    statement: str
    compare: Callable[[LawTrial], Iterable[Comparison]]
    broken_example: Callable[[], Subject]
    suspects: tuple[str | Diagnosis, ...]
    family: BugFamily | None = None
    rank: int = 300
    needs: tuple[str, ...] = ()
    applies: Applies = lambda _spec: None
    signs: Callable[[LawTrial, list[Comparison]], Iterable[Diagnosis]] | None = None
    diagnosed_by: Literal["probing", "signs", "suspects"] = "probing"
    means: Diagnosis | None = None
    follows: tuple[str, ...] = ()
    reveals: tuple[BlindSpot, ...] = ()
    grade: Grade = "black-box"
    size: InputSize = InputSize()
    looks_past_window: bool = False
    looks_past_chunk: bool = False
    grows_in: tuple[Literal["length", "batch"], ...] = ()
    shrinks_itself: bool = False

    @property
    def usual_bugs(self) -> tuple[Diagnosis, ...]:
        """The suspects, each with its family."""
        return tuple(each if isinstance(each, Diagnosis) else Diagnosis(self.family, each) for each in self.suspects)

    def size_for(self, spec: Spec) -> InputSize:
        """The size of the first trial: past the declared window by three, within reason and within `max_positions`."""
        wanted = self.size.length
        if self.looks_past_window and spec.window is not None:
            wanted = max(wanted, min(reach(spec) + 3, LONGEST_INPUT))
        if self.looks_past_chunk and spec.chunk_size is not None:
            wanted = max(wanted, min(2 * spec.chunk_size + 3, LONGEST_INPUT))
        return InputSize(batch=self.size.batch, length=min(wanted, max(spec.max_positions or wanted, _SHORTEST_INPUT)))

    def larger_sizes(self, spec: Spec, sizes: CheckSizes) -> Iterator[InputSize]:
        """The sizes at which the law is tried again, the smallest first; only the last has the large batch."""
        usual = self.size_for(spec)
        lengths = sorted({min(length, spec.max_positions or length) for length in sizes.lengths})
        lengths = [length for length in lengths if length > usual.length and "length" in self.grows_in]
        batch = max(sizes.batch, usual.batch) if "batch" in self.grows_in else usual.batch
        for length in lengths or ([usual.length] if batch > usual.batch else []):
            rows = batch if length == max(lengths, default=length) else usual.batch
            yield InputSize(batch=rows, length=length, block=sizes.block)


def reach(spec: Spec) -> int:
    """How many tokens back, itself included, an output can see through a stack of windowed layers."""
    assert spec.window is not None
    return spec.depth * (spec.window - 1) + 1
