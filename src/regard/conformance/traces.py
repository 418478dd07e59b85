"""Traces of operations on caches: whatever happened before, outputs equal those of a fresh full pass."""

import contextlib
import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, ClassVar

import numpy as np

from regard.conformance.law import LONGEST_INPUT, Comparison, Diagnosis, LawTrial, distance
from regard.conformance.probing import first_broken_token, token_gaps
from regard.conformance.subject import Spec, Subject
from regard.conformance.verdict import error_line

# Sizes of appends: single tokens, short chunks, and one beyond a page of 16.
_CHUNKS = (1, 2, 3, 5, 8, 17)
_USUAL_LENGTH = 64
_NUM_TOKENS = 512
_MOST_SEQUENCES = 3
# The number of amounts that a move can have.
AMOUNTS = 16


class CacheOperation(StrEnum):
    """What can be done with a cache; the name is that of the capability, if it needs one."""

    APPEND = "append"
    START = "start"
    FORK = "fork"
    CROP = "crop"
    REJECT = "reject"
    EVICT = "evict"
    REORDER = "reorder"
    SWAP = "swap"
    RESET = "reset"
    RELEASE = "release"
    PREFIX = "prefix"


FAULTS = {
    CacheOperation.APPEND: Diagnosis("cache", "tokens appended in several chunks are placed, masked or stored wrongly"),
    CacheOperation.START: Diagnosis("cache", "sequences that take turns share what each must have for itself"),
    CacheOperation.FORK: Diagnosis("cache", "a fork shares memory or counters with its origin, or is incomplete"),
    CacheOperation.CROP: Diagnosis("cache", "tokens that were cropped are still seen, or the length is not set back"),
    CacheOperation.REJECT: Diagnosis("cache", "rejected tokens are still seen, or the length is not set back"),
    CacheOperation.EVICT: Diagnosis("cache", "eviction drops the wrong tokens, or mixes up slots or positions"),
    CacheOperation.REORDER: Diagnosis("cache", "part of the cache is not reordered with the rows"),
    CacheOperation.SWAP: Diagnosis("cache", "what is swapped in is not all of what was swapped out"),
    CacheOperation.RESET: Diagnosis("cache", "something of the old tokens survives a reset"),
    CacheOperation.RELEASE: Diagnosis("cache", "memory is released that is still in use, or keeps old tokens"),
    CacheOperation.PREFIX: Diagnosis("cache", "a prefix is found for other tokens, or with a wrong length"),
}


class PrefixSource(StrEnum):
    """Which tokens are looked up; `cut` is that of the move."""

    FIRST = "first"  # the first tokens of an earlier sequence, and up to two new ones
    LATER = "later"  # the tokens of an earlier sequence after the cut, as if it began there
    SPLICED = "spliced"  # the first tokens of one sequence up to the cut, then those of another after it
    CHANGED = "changed"  # an earlier sequence with new tokens up to the cut


@dataclass(frozen=True, kw_only=True, eq=False)
class TraceRead:
    """Outputs at the last tokens of a sequence, and what had been done until then."""

    sequence: "CachedSequence"
    outputs: np.ndarray
    story: tuple[str, ...]
    performed: frozenset[CacheOperation]
    num_tokens: int


@dataclass(frozen=True, kw_only=True)
class TraceMove:
    """One operation on one of the sequences; the numbers are taken modulo what is there.

    `source` and `cut` are for prefixes only.
    """

    operation: CacheOperation
    which: int = 0
    amount: int = 0
    source: PrefixSource = PrefixSource.FIRST
    cut: int = 0


@dataclass(kw_only=True, eq=False)
class CachedSequence:
    """A cache, and the tokens that are in it.

    `cache` is what was saved while the sequence is swapped out. `num_last` tokens of the last append can be rejected.
    `ends` are the lengths after each append.
    """

    name: str
    cache: Any
    tokens: np.ndarray
    num_evicted: int = 0
    num_last: int = 0
    ends: tuple[int, ...] = ()
    is_saved: bool = False

    @property
    def length(self) -> int:
        """The number of tokens in it."""
        return self.tokens.shape[1]


# In the end, one more token for each sequence.
_LAST_READS = tuple(TraceMove(operation=CacheOperation.APPEND, which=which) for which in range(_MOST_SEQUENCES))


@functools.lru_cache(maxsize=1)  # all laws of a layer are tried before the next layer, on the same tokens
def _known_outputs(_subject: Subject, _seed: int, _batch: int) -> dict[bytes, np.ndarray]:
    """The outputs of full passes by the tokens, position by position, so that the key of a prefix is one of the key."""
    return {}


def _key(tokens: np.ndarray) -> bytes:
    return np.ascontiguousarray(tokens.swapaxes(0, 1)).tobytes()


class FullPasses:
    """The inputs and the truth of all traces of one law: tokens, and full passes over them, each made once."""

    def __init__(self, trial: LawTrial) -> None:
        self.trial = trial
        self.tokens = trial.inputs("trace tokens", length=_NUM_TOKENS)
        self._exact: dict[bytes, np.ndarray] = {}
        self._known = _known_outputs(trial.subject, trial.seed, trial.size.batch)

    def outputs(self, tokens: np.ndarray) -> np.ndarray:
        """What the layer gives for these tokens without a cache, and for no others."""
        key = _key(tokens)
        if key not in self._exact:
            self._exact[key] = self.trial.call(tokens)
        return self._exact[key]

    def prefixes(self, sequences: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The same for a layer that is causal and has independent rows: a sequence as part of a longer one.

        Few passes are needed then, and they are made at once.
        """
        missing: dict[bytes, np.ndarray] = {}
        for tokens in sorted(sequences, key=lambda each: -each.shape[1]):
            key = _key(tokens)
            if not any(each.startswith(key) for each in (*missing, *self._known)):
                missing[key] = tokens
        if missing:
            self._known.update(zip(missing, self._passes(list(missing.values())), strict=True))
        return [self._known_prefix(tokens) for tokens in sequences]

    def _known_prefix(self, tokens: np.ndarray) -> np.ndarray:
        key = _key(tokens)
        return next(y for each, y in self._known.items() if each.startswith(key))[:, : tokens.shape[1]]

    def _passes(self, sequences: Sequence[np.ndarray]) -> list[np.ndarray]:
        """One pass over all of them, filled up to the same length; one by one if the layer refuses that."""
        length = max(each.shape[1] for each in sequences)
        if len(sequences) > 1 and self.trial.subject.cache_limits.max_batch is None:
            filled = [np.concatenate([each, self.tokens[:, : length - each.shape[1]]], axis=1) for each in sequences]
            # A layer may take so many rows or not.
            with contextlib.suppress(Exception):
                y = self.trial.call(np.concatenate(filled))
                if len(y) == len(sequences) * len(sequences[0]):
                    return np.split(y, len(sequences))
        return [self.outputs(each) for each in sequences]

    def control(self) -> float:
        """How far the last output moves with the tokens before it."""
        x = self.tokens[:, : min(self.trial.size.length, longest_sequence(self.trial.spec))]
        moved = self.trial.bumped(x, slice(0, -1), by=2.0)
        return distance(self.trial.call(moved)[:, -1], self.outputs(x)[:, -1])


def longest_sequence(spec: Spec) -> int:
    """The largest number of tokens in a sequence: past a window, but not past the last position."""
    past_window = 0 if spec.window is None else 2 * spec.window + 8
    return min(max(_USUAL_LENGTH, past_window), spec.max_positions or LONGEST_INPUT, LONGEST_INPUT)


class TraceRun:
    """One trace in a session of its own: what was done, and the first output that is not that of a full pass."""

    def __init__(self, passes: FullPasses, moves: Sequence[TraceMove], max_length: int | None = None) -> None:
        trial = passes.trial
        self.passes, self.trial, self.limits = passes, trial, trial.subject.cache_limits
        self.subject: Subject = trial.subject.new_session()
        self.max_length = max_length or longest_sequence(trial.spec)
        self.sequences: list[CachedSequence] = []
        self.gone: list[CachedSequence] = []
        self.num_tokens, self.num_started = 0, 0
        self.story: list[str] = []
        self.performed: set[CacheOperation] = set()
        self.reads: list[Comparison] = []
        self.last_read: CachedSequence | None = None
        self._unread: list[TraceRead] = []
        self._error: Comparison | None = None
        self._raised_on: CachedSequence | None = None
        for move in [*moves, *_LAST_READS]:
            self._do(move)
            if self._error is not None:
                break
        self._compare()

    @property
    def failure(self) -> Comparison | None:
        """The comparison that failed, which ends the trace."""
        return self.reads[-1] if self.reads and self.reads[-1].is_broken else None

    @property
    def size(self) -> tuple[int, int]:
        """By which of two failing traces the smaller one is shown."""
        return len(self.story), self.num_tokens

    def _compare(self) -> None:
        """Compares what was read with full passes, up to the first failure."""
        wanted = self.passes.prefixes([each.sequence.tokens for each in self._unread])
        for read, truth in zip(self._unread, wanted, strict=True):
            found = self._compared(read, truth)
            if found.is_broken:
                found = self._compared(read, self.passes.outputs(read.sequence.tokens))
            self.reads.append(found)
            self.last_read = read.sequence
            if found.is_broken:
                self.story, self.performed = list(read.story), set(read.performed)
                self.num_tokens = read.num_tokens
                return
        if self._error is not None:
            self.reads.append(self._error)
            self.last_read = self._raised_on

    def _do(self, move: TraceMove) -> None:
        own = self._ON_SEQUENCES.get(move.operation)
        if own is None:
            (self._begin if move.operation is CacheOperation.START else self._find_prefix)(move)
            return
        if not self.sequences:
            self._started(self.subject.empty_cache(self.trial.size.batch))
        sequence = self.sequences[move.which % len(self.sequences)]
        if sequence.is_saved and move.operation is not CacheOperation.SWAP:
            self._swap(sequence, move)
        if not sequence.is_saved or move.operation is CacheOperation.SWAP:
            own(self, sequence, move)

    def _started(self, cache: Any, tokens: np.ndarray | None = None) -> CachedSequence:
        name = chr(ord("A") + self.num_started % 26)
        nothing = self.passes.tokens[:, :0]
        self.sequences.append(CachedSequence(name=name, cache=cache, tokens=nothing if tokens is None else tokens))
        self.num_started += 1
        return self.sequences[-1]

    def _performed(self, operation: CacheOperation, line: str, work: Callable[[], Any]) -> tuple[bool, Any]:
        """Whether the operation was done, and what it returned; a cache may decline what it cannot do."""
        try:
            found = work()
        except (NotImplementedError, MemoryError):
            return False, None
        except Exception as error:  # noqa: BLE001 - a cache may raise anything
            self._tell(operation, line)
            self._fail(f"it raises {error_line(error, is_placed=True)}")
            return False, None
        self._tell(operation, line)
        return True, found

    def _tell(self, operation: CacheOperation, line: str) -> None:
        self.story.append(line)
        self.performed.add(operation)

    def _fail(self, what: str) -> None:
        place = {"trace": " · ".join(self.story)}
        self._error = Comparison(what=what, error=np.inf, tolerance=0.0, place=place, is_yes_no=True)

    # -- operations ----------------------------------------------------------------------------------------------------
    def _append(self, sequence: CachedSequence, move: TraceMove) -> None:
        self._append_tokens(sequence, self._new_tokens(self._chunk(sequence, move)), f"to {sequence.name}")

    def _begin(self, move: TraceMove) -> None:
        """Another sequence, with its first tokens."""
        if self._is_full:
            return
        sequence = self._started(self.subject.empty_cache(self.trial.size.batch))
        is_first = self.num_started == 1
        where = f"to {'' if is_first else 'a new sequence '}{sequence.name}"
        operation = CacheOperation.APPEND if is_first else CacheOperation.START
        self._append_tokens(sequence, self._new_tokens(self._chunk(sequence, move)), where, operation)

    def _fork(self, sequence: CachedSequence, _: TraceMove) -> None:
        if self._is_full:
            return
        name = chr(ord("A") + self.num_started % 26)
        line = f"fork {sequence.name} to {name}"
        is_done, cache = self._performed(CacheOperation.FORK, line, lambda: self.subject.fork_cache(sequence.cache))
        if is_done:
            fork = self._started(cache, sequence.tokens)
            fork.num_evicted, fork.ends = sequence.num_evicted, sequence.ends

    def _crop(self, sequence: CachedSequence, move: TraceMove) -> None:
        length = move.amount * (sequence.length + 1) // AMOUNTS
        if sequence.length and not sequence.num_evicted:
            self._change(
                sequence,
                (CacheOperation.CROP, f"crop {sequence.name} to {_counted(length)}"),
                lambda: self.subject.crop_cache(sequence.cache, length),
                lambda tokens: tokens[:, :length],
            )

    def _reject(self, sequence: CachedSequence, move: TraceMove) -> None:
        if sequence.num_last:
            count = 1 + move.amount % sequence.num_last
            self._change(
                sequence,
                (CacheOperation.REJECT, f"reject the last {_counted(count)} of {sequence.name}"),
                lambda: self.subject.reject_cache(sequence.cache, count),
                lambda tokens: tokens[:, : sequence.length - count],
            )

    def _evict(self, sequence: CachedSequence, move: TraceMove) -> None:
        if sequence.length > 1:
            count = 1 + move.amount % (sequence.length - 1)
            is_done = self._change(
                sequence,
                (CacheOperation.EVICT, f"evict the first {_counted(count)} of {sequence.name}"),
                lambda: self.subject.evict_cache(sequence.cache, count),
                lambda tokens: tokens[:, count:],
            )
            sequence.num_evicted += count if is_done else 0

    def _reorder(self, sequence: CachedSequence, move: TraceMove) -> None:
        batch = self.trial.size.batch
        order = np.array([(move.amount >> row) % batch for row in range(batch)])
        self._change(
            sequence,
            (CacheOperation.REORDER, f"reorder the rows of {sequence.name} to {order.tolist()}"),
            lambda: self.subject.reorder_cache(sequence.cache, order.copy()),
            lambda tokens: tokens[order],
        )

    def _swap(self, sequence: CachedSequence, _: TraceMove) -> None:
        swap, side = (self.subject.swap_in, "in") if sequence.is_saved else (self.subject.swap_out, "out")
        told = (CacheOperation.SWAP, f"swap {sequence.name} {side}")
        if self._change(sequence, told, lambda: swap(sequence.cache), lambda tokens: tokens):
            sequence.is_saved = not sequence.is_saved

    def _reset(self, sequence: CachedSequence, _: TraceMove) -> None:
        told = (CacheOperation.RESET, f"reset {sequence.name}")
        if self._change(sequence, told, lambda: self.subject.reset_cache(sequence.cache), lambda tokens: tokens[:, :0]):
            sequence.num_evicted = 0

    def _release(self, sequence: CachedSequence, _: TraceMove) -> None:
        line = f"release {sequence.name}"
        if self._performed(CacheOperation.RELEASE, line, lambda: self.subject.release_cache(sequence.cache))[0]:
            self.sequences.remove(sequence)
            self.gone.append(replace(sequence, cache=None))

    def _find_prefix(self, move: TraceMove) -> None:
        """A new sequence that begins as an earlier one does."""
        known = [each for each in (*self.sequences, *self.gone) if not each.num_evicted and each.length > move.cut]
        if not known or self._is_full:
            return
        x, parts = self._looked_up(known, move)
        if not x.shape[1]:
            return
        name = chr(ord("A") + self.num_started % 26)
        line = f"look up {name}: {parts}"
        # Nothing is tried before something is found.
        is_done, found = self._performed(CacheOperation.APPEND, line, lambda: self.subject.prefix_cache(x.copy()))
        if not is_done:
            self.performed |= set() if self._error is None else {CacheOperation.PREFIX}
            return
        length, cache = found
        self.performed |= {CacheOperation.PREFIX} if length else set()
        self.story[-1] += f", {length} found"
        if not 0 <= length <= x.shape[1]:
            self._fail(f"it claims to hold {length} of {_counted(x.shape[1])}")
            return
        sequence = self._started(cache, x[:, :length])
        sequence.ends = (length,) if length else ()
        self._append_tokens(sequence, x[:, length:], f"to {name}")

    def _looked_up(self, known: Sequence[CachedSequence], move: TraceMove) -> tuple[np.ndarray, str]:
        """The tokens, and what they are."""
        earlier, other = (known[(move.which + place) % len(known)] for place in (0, 1))
        end = move.cut + move.amount * (earlier.length - move.cut + 1) // AMOUNTS
        if move.source is PrefixSource.FIRST:
            num_new = min(move.amount % 3, self.max_length - end)
            x = np.concatenate([earlier.tokens[:, :end], self._new_tokens(num_new)], axis=1)
            return x, f"the first {_counted(end)} of {earlier.name}" + (f" and {num_new} new" if num_new else "")
        later, words = earlier.tokens[:, move.cut : end], f"tokens {move.cut} to {end - 1} of {earlier.name}"
        if move.source is PrefixSource.LATER:
            return later, words
        if move.source is PrefixSource.SPLICED:
            begin, first = other.tokens[:, : move.cut], f"the first {_counted(move.cut)} of {other.name}"
        else:
            begin, first = self._new_tokens(move.cut), f"{_counted(move.cut, 'new ')}"
        return np.concatenate([begin, later], axis=1), f"{first}, then {words}"

    _ON_SEQUENCES: ClassVar = {
        CacheOperation.APPEND: _append,
        CacheOperation.FORK: _fork,
        CacheOperation.CROP: _crop,
        CacheOperation.REJECT: _reject,
        CacheOperation.EVICT: _evict,
        CacheOperation.REORDER: _reorder,
        CacheOperation.SWAP: _swap,
        CacheOperation.RESET: _reset,
        CacheOperation.RELEASE: _release,
    }

    @property
    def _is_full(self) -> bool:
        return len(self.sequences) >= (1 if self.limits.is_single else _MOST_SEQUENCES)

    def _change(
        self,
        sequence: CachedSequence,
        told: tuple[CacheOperation, str],
        work: Callable[[], Any],
        left: Callable[[np.ndarray], np.ndarray],
    ) -> bool:
        """True if the operation was done: then the sequence has another cache, and only some of its tokens are left."""
        is_done, cache = self._performed(*told, work)
        if is_done:
            before = replace(sequence, cache=None, name=f"{sequence.name} before the {told[0]}")
            sequence.cache, sequence.tokens, sequence.num_last = cache, left(sequence.tokens), 0
            self.gone += [before] if sequence.length < before.length else []
            sequence.ends = tuple(sorted({min(end, sequence.length) for end in sequence.ends} - {0}))
        return is_done

    def _new_tokens(self, count: int) -> np.ndarray:
        places = np.arange(self.num_tokens, self.num_tokens + count) % _NUM_TOKENS
        self.num_tokens += count
        return self.passes.tokens[:, places]

    def _chunk(self, sequence: CachedSequence, move: TraceMove) -> int:
        """How many tokens to append: also as many as a window has, and one more or less."""
        window = self.trial.spec.window
        sizes = [*_CHUNKS, *([] if window is None else range(max(window - 1, 1), window + 2))]
        sizes = [size for size in sizes if size <= (self.limits.max_append or size)]
        left = self.max_length - sequence.length - sequence.num_evicted
        return min(sizes[move.amount % len(sizes)], left)

    def _append_tokens(
        self, sequence: CachedSequence, x: np.ndarray, where: str, operation: CacheOperation = CacheOperation.APPEND
    ) -> None:
        step = self.limits.max_append or max(x.shape[1], 1)
        for start in range(0, x.shape[1], step):
            part = x[:, start : start + step]
            line = f"append {_counted(part.shape[1])} {where}"
            is_done, found = self._performed(
                operation, line, lambda part=part: self.subject.step(part.copy(), sequence.cache)
            )
            tokens = np.concatenate([sequence.tokens, part], axis=1)
            ends = (*sequence.ends, tokens.shape[1])
            if not is_done:
                self._raised_on = replace(sequence, cache=None, tokens=tokens, ends=ends)
                return
            y, sequence.cache = found
            sequence.tokens, sequence.num_last, sequence.ends = tokens, part.shape[1], ends
            self._read(sequence, y)

    def _read(self, sequence: CachedSequence, y: np.ndarray) -> None:
        """Keeps the outputs at the last tokens, to be compared at the end of the trace."""
        window = self.trial.spec.window
        if window is not None and sequence.length > window:
            self.performed.add(CacheOperation.EVICT)
        read = TraceRead(
            sequence=replace(sequence, cache=None),
            outputs=y,
            story=tuple(self.story),
            performed=frozenset(self.performed),
            num_tokens=self.num_tokens,
        )
        self._unread.append(read)

    def _compared(self, read: TraceRead, truth: np.ndarray) -> Comparison:
        """The outputs at the last tokens, and those of a full pass."""
        sequence, y = read.sequence, read.outputs
        first = sequence.length - sequence.num_last
        wanted = truth[:, first:]
        gaps = token_gaps(y, wanted)
        tolerance = self.trial.cache_tolerance(wanted)
        broken = first_broken_token(gaps, tolerance)
        token = f"token {first + (broken or 0)} of {sequence.name}"
        what = f"{token} differs from a full pass over its {_counted(sequence.length)}"
        if not np.isfinite(gaps).all():
            what = f"{token} is not finite, unlike in a full pass over its {_counted(sequence.length)}"
        if y.shape != wanted.shape:
            what = f"the outputs have the shape {list(y.shape)}, and those of a full pass {list(wanted.shape)}"
        place = {"trace": " · ".join(read.story)}
        return Comparison(what=what, error=float(gaps.max(initial=0.0)), tolerance=tolerance, place=place)


def _counted(number: int, kind: str = "") -> str:
    return f"{number} {kind}token{'' if number == 1 else 's'}"
