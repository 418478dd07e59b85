"""Caches as plain objects with the operations that they have: `start`, `append`, and any of fork, crop, reorder …"""

import copy
import operator
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from regard.conformance.adapters.arrays import Arrays, MlxArrays
from regard.conformance.adapters.functions import FRAMEWORKS
from regard.conformance.adapters.layers import parameter_names, returned_or_error, sample
from regard.conformance.subject import CacheLimits, Spec, Subject
from regard.conformance.verdict import error_line
from regard.core.errors import InputError

# The capabilities that methods of an engine give.
_METHODS: Mapping[str, tuple[str, ...]] = {
    **{name: (name,) for name in "fork crop reject evict reorder reset release".split()},
    "swap": ("swap_out", "swap_in"),
    "prefix": ("prefix_hit",),
}


def is_cache_engine(target: Any) -> bool:
    """True for an object with the methods `start` and `append`."""
    return all(callable(getattr(target, name, None)) for name in ("start", "append"))


@dataclass(frozen=True, kw_only=True, eq=False)
class EngineCache:
    """Sequences of an engine: one, or one per row if the engine has no batches. The engine may share memory."""

    engine: Any
    sequences: tuple[Any, ...]


class CacheEngine(Subject):
    """An object with the operations of a cache. Each session works on a copy of it."""

    is_layer = False

    def __init__(self, engine: Any, spec: Spec | None = None, *, name: str) -> None:
        declared: Spec = spec or getattr(engine, "spec", None) or Spec()
        self.spec = replace(declared, causal=True) if declared.causal is None else declared
        self.engine, self.name, self.is_width_known = engine, name, "width" not in declared.undeclared_sizes
        self.session: Any = None
        self.has_rows_apart = not parameter_names(engine.start)
        self.cache_limits = CacheLimits(
            is_in_place=True,
            max_batch=1 if self.has_rows_apart else None,
            is_single=getattr(engine, "max_sequences", None) == 1,
            max_append=getattr(engine, "max_append", None),
            error=float(getattr(engine, "cache_error", 0.0)),
        )
        found = {one for one, names in _METHODS.items() if all(callable(getattr(engine, each, None)) for each in names)}
        self.capabilities = frozenset({"cache", *found} - ({"reorder"} if self.has_rows_apart else set()))
        self.arrays = self._arrays()

    def _arrays(self) -> Arrays:
        """The first framework of those imported whose arrays the engine takes and returns."""
        problems = []
        try:
            copy.deepcopy(self.engine)
        except Exception as error:
            raise InputError(
                f"{self.name} cannot be copied with copy.deepcopy, and every trace starts with a copy of it: "
                f"{error_line(error, is_placed=True)}. Give the class a method __deepcopy__."
            ) from error
        for package, kind in {**FRAMEWORKS, "mlx": MlxArrays}.items():
            if package in sys.modules:
                self.arrays = kind(self.spec.dtype, self.spec.device)
                x = self.arrays.array(sample(1, 3, self.spec.width))
                found, error = returned_or_error(lambda x=x: self._first_append(x))
                y = found[0] if isinstance(found, tuple) else found
                if error is None and isinstance(y, type(x)) and tuple(y.shape[:2]) == (1, 3):
                    self.output_shape = tuple(y.shape[2:])
                    return self.arrays
                shape = f" {tuple(y.shape)}" if hasattr(y, "shape") else ""
                returned = f"append returns {type(y).__name__}{shape} for {tuple(x.shape)}"
                problems.append(f"{package}: {returned if error is None else error_line(error, is_placed=True)}")
        remedy = " Declare the width: spec = regard.Spec(width=…)." if not self.is_width_known else ""
        raise InputError(
            f"{self.name} does not append an array [batch, length, {self.spec.width}] to a new sequence and return "
            f"outputs [batch, length, …]: {'; '.join(problems)}.{remedy}"
        )

    def _first_append(self, x: Any) -> Any:
        engine = copy.deepcopy(self.engine)
        with self.arrays.quietly():
            return engine.append(self._start(engine, 1)[0], x)

    def _start(self, engine: Any, batch: int) -> tuple[Any, ...]:
        if self.has_rows_apart:
            return tuple(engine.start() for _ in range(batch))
        return (engine.start(batch),)

    def new_session(self) -> "CacheEngine":
        """A copy of the engine as it was given."""
        other = copy.copy(self)
        other.session = copy.deepcopy(self.engine)
        return other

    def call(self, x: np.ndarray, **options: Any) -> np.ndarray:
        """The engine's full pass, else one append to a new sequence."""
        assert not options, "a cache takes no options"
        full = getattr(self.engine, "full", None)
        if full is None:
            return self.step(x, self.empty_cache(len(x)))[0]
        with self.arrays.quietly():
            return self.arrays.numpy(full(self.arrays.array(x)))

    def empty_cache(self, batch: int) -> EngineCache:
        """A sequence of the session, or of an engine of its own."""
        engine = copy.deepcopy(self.engine) if self.session is None else self.session
        return EngineCache(engine=engine, sequences=self._start(engine, batch))

    def step(self, x: np.ndarray, cache: EngineCache, **options: Any) -> tuple[np.ndarray, EngineCache]:
        """An append, in place or not."""
        assert not options, "a cache takes no options"
        outputs, sequences, rows = [], [], np.array_split(x, len(cache.sequences))
        with self.arrays.quietly():
            for sequence, part in zip(cache.sequences, rows, strict=True):
                found = cache.engine.append(sequence, self.arrays.array(part))
                y, longer = found if isinstance(found, tuple) else (found, None)
                outputs.append(self._outputs(y, part.shape[:2]))
                sequences.append(sequence if longer is None else longer)
        return np.concatenate(outputs), replace(cache, sequences=tuple(sequences))

    def _outputs(self, y: Any, new: tuple[int, ...]) -> np.ndarray:
        """Outputs at new tokens, always of the same kind."""
        found = self.arrays.numpy(y)
        if found.shape != (*new, *self.output_shape):
            raise ValueError(f"append returns {found.shape} instead of {(*new, *self.output_shape)}")
        return found

    def fork_cache(self, cache: EngineCache) -> EngineCache:
        """Forks of its sequences."""
        return self._changed(cache, cache.engine.fork)

    def crop_cache(self, cache: EngineCache, length: int) -> EngineCache:
        """Its first tokens."""
        return self._changed(cache, lambda each: cache.engine.crop(each, length))

    def reject_cache(self, cache: EngineCache, count: int) -> EngineCache:
        """Without its last tokens."""
        return self._changed(cache, lambda each: cache.engine.reject(each, count))

    def evict_cache(self, cache: EngineCache, count: int) -> EngineCache:
        """Without its first tokens."""
        return self._changed(cache, lambda each: cache.engine.evict(each, count))

    def reorder_cache(self, cache: EngineCache, order: np.ndarray) -> EngineCache:
        """Its rows in another order."""
        return self._changed(cache, lambda each: cache.engine.reorder(each, self.arrays.array(order)))

    def swap_out(self, cache: EngineCache) -> EngineCache:
        """What is saved takes the place of the sequences."""
        return self._changed(cache, cache.engine.swap_out)

    def swap_in(self, saved: EngineCache) -> EngineCache:
        """The sequences again."""
        return self._changed(saved, saved.engine.swap_in)

    def reset_cache(self, cache: EngineCache) -> EngineCache:
        """Without tokens."""
        return self._changed(cache, cache.engine.reset)

    def release_cache(self, cache: EngineCache) -> None:
        """The engine may use the memory for others."""
        self._changed(cache, cache.engine.release)

    def prefix_cache(self, x: np.ndarray) -> tuple[int, EngineCache]:
        """What the engine finds, the same number of tokens for all rows."""
        assert self.session is not None, "prefixes are found within a session"
        with self.arrays.quietly():
            found = self.session.prefix_hit(self.arrays.array(x))
        try:
            sequence, length = found
            length = operator.index(length)
        except (TypeError, ValueError) as error:
            raise TypeError(f"prefix_hit returns {type(found).__name__} instead of a sequence and a length") from error
        return length, EngineCache(engine=self.session, sequences=(sequence,))

    def _changed(self, cache: EngineCache, change: Callable[[Any], Any]) -> EngineCache:
        """An operation that returns nothing has changed the sequence in place."""
        with self.arrays.quietly():
            found = [(each, change(each)) for each in cache.sequences]
        return replace(cache, sequences=tuple(old if new is None else new for old, new in found))
