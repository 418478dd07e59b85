"""Everything observable about a layer: the arrays in which a bug can differ from the correct layer."""

import functools
from collections.abc import Callable, Iterator

import ml_dtypes
import numpy as np
import torch

from bugs.bug import Bug
from bugs.building import build
from bugs.subjects import LayerSubject

__all__ = ["difference_of", "first_difference", "large_difference_of", "observed"]

LENGTH = 14
LONG, MANY = 155, 9


def difference_of(bug: Bug) -> str | None:
    """Where a bug first shows, None if nowhere."""
    return first_difference(_correct(bug.layer), bug.build())


@functools.cache
def _correct(layer: str) -> dict[str, np.ndarray | str]:
    return observed(build(layer))


def first_difference(correct: dict[str, np.ndarray | str], layer: LayerSubject) -> str | None:
    """Where a layer first differs from the correct one: outputs beyond rounding, errors raised, inputs modified."""
    return next((name for name, seen in _observations(layer) if not _are_alike(seen, correct[name])), None)


def large_difference_of(bug: Bug) -> str | None:
    """Where a bug first shows in long inputs and large batches, None if nowhere."""
    correct, layer = dict(_seen(_large_looks(build(bug.layer)))), bug.build()
    return next((name for name, seen in _seen(_large_looks(layer)) if not _are_alike(seen, correct[name])), None)


def observed(subject: LayerSubject) -> dict[str, np.ndarray | str]:
    """Everything that can be observed of a layer, by the kind of call."""
    return dict(_observations(subject))


def _large_looks(subject: LayerSubject) -> Iterator[tuple[str, Callable[[], np.ndarray]]]:
    """Calls of many rows and tokens, of one token, and by a cache; in float32 alone."""
    length = min(subject.spec.max_positions or LONG, LONG)
    x = np.random.default_rng(5).normal(size=(MANY, length, subject.spec.width)).astype(np.float32)
    mask = np.arange(length) < length - 3 - 4 * np.arange(MANY)[:, None]
    places = np.arange(MANY)[:, None] + np.arange(20) * (1 + np.arange(MANY)[:, None] % 7)
    yield "one token", lambda: subject.call(x[:, :1])
    for end in {length, length // 16 * 16}:
        yield f"{end} tokens", lambda end=end: subject.call(x[:, :end])
        yield f"{end} tokens, mask", lambda end=end: subject.call(x[:, :end], mask=mask[:, :end])
        for name in subject.path_names:
            yield f"{end} tokens, {name}", lambda end=end, name=name: subject.paths()[name](x[:, :end])
            yield (
                f"{end} tokens, {name}, mask",
                lambda end=end, name=name: subject.paths()[name](x[:, :end], mask=mask[:, :end]),
            )
    if subject.has("positions") and subject.spec.max_positions is None:
        yield "positions", lambda: subject.call(x[:, :20], positions=places)
    if subject.has("cache"):
        for pieces in ((1,) * length, (length // 2, length - length // 2)):
            yield f"cache {pieces}", lambda pieces=pieces: _by_steps(subject, x, None, pieces)
            yield f"cache {pieces}, mask", lambda pieces=pieces: _by_steps(subject, x, mask, pieces)


def _are_alike(one: np.ndarray | str, other: np.ndarray | str) -> bool:
    if isinstance(one, str) or isinstance(other, str):
        return isinstance(one, str) and isinstance(other, str) and one == other
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    tolerance = 1e-12 if one.dtype == np.float64 else 3e-5
    size = max(np.abs(one).max(initial=1.0), np.abs(other).max(initial=1.0))
    return np.allclose(one, other, rtol=0.0, atol=tolerance * size, equal_nan=True)


def _observations(subject: LayerSubject) -> Iterator[tuple[str, np.ndarray | str]]:
    return _seen(_looks(subject))


def _seen(looks: Iterator[tuple[str, Callable[[], np.ndarray]]]) -> Iterator[tuple[str, np.ndarray | str]]:
    for name, look in looks:
        try:
            yield name, look()
        except (RuntimeError, ValueError, IndexError, TypeError) as error:
            yield name, type(error).__name__


def _looks(subject: LayerSubject) -> Iterator[tuple[str, Callable[[], np.ndarray]]]:
    """Every kind of call, in the layer's precision and in float64; those that a layer does not offer are left out."""
    rng = np.random.default_rng(7)
    x = rng.normal(size=(3, LENGTH, subject.spec.width))
    masks = {"without mask": None, "right": _padding(right=True), "left": _padding(right=False), "holes": _holes(rng)}
    for dtype, layer in (("float32", subject), ("float64", subject.in_dtype("float64"))):
        tokens = x.astype(dtype)
        for name, mask in masks.items():
            yield from ((f"{dtype}, {name}, {what}", look) for what, look in _calls(layer, tokens, mask))
        yield from ((f"{dtype}, {what}", look) for what, look in _oddities(layer, tokens))
    if subject.spec.max_positions is None:
        yield "bfloat16, is inexact", lambda: _is_inexact(subject, rng.normal(size=(1, 192, subject.spec.width)))


def _padding(*, right: bool) -> np.ndarray:
    mask = np.ones((3, LENGTH), bool)
    mask[0, 5:], mask[1, 9:] = False, False
    return mask if right else mask[:, ::-1].copy()


def _holes(rng: np.random.Generator) -> np.ndarray:
    mask = rng.random((3, LENGTH)) < 0.6
    mask[2] = False
    return mask


def _calls(layer: LayerSubject, x: np.ndarray, mask: np.ndarray | None) -> Iterator[tuple[str, Callable]]:
    alone = None if mask is None else mask[:1]
    yield "call", lambda: layer.call(x, mask=mask)
    yield "one row", lambda: layer.call(x[:1], mask=alone)
    yield "large", lambda: layer.call(300 * x, mask=mask)
    yield "gradient", lambda: layer.gradient(x, np.cos(np.arange(x.size)).reshape(x.shape).astype(x.dtype), mask=mask)
    for name in layer.path_names:
        yield name, lambda name=name: layer.paths()[name](x, mask=mask)
        yield f"large {name}", lambda name=name: layer.paths()[name](30 * x, mask=mask)
    if layer.has("returned"):
        yield "weights", lambda: layer.call_with_weights(x, mask=mask)[1]
    if layer.has("cache"):
        for pieces in ((1,) * LENGTH, (5, 9), (3, 1, 10), (LENGTH - 1, 1)):
            yield f"cache {pieces}", lambda pieces=pieces: _by_steps(layer, x, mask, pieces)


def _by_steps(layer: LayerSubject, x: np.ndarray, mask: np.ndarray | None, pieces: tuple[int, ...]) -> np.ndarray:
    cache, outputs, done = layer.empty_cache(len(x)), [], 0
    for size in pieces:
        seen = None if mask is None else mask[:, : done + size]
        output, cache = layer.step(x[:, done : done + size], cache, mask=seen)
        outputs, done = [*outputs, output], done + size
    return np.concatenate(outputs, axis=1)


def _oddities(layer: LayerSubject, x: np.ndarray) -> Iterator[tuple[str, Callable]]:
    yield "memory", lambda: _left_behind(layer, x)
    yield "strides", lambda: _strided(layer, x)
    yield "twice", lambda: layer.call(x) - layer.call(x)
    if layer.has("positions"):
        places = np.array([[1], [2], [3]]) * np.arange(LENGTH) + np.array([[0], [3], [20]])
        yield "positions", lambda: layer.call(x, positions=places)
        if layer.spec.max_positions is None:
            yield "far positions", lambda: layer.call(x, positions=places + 3001)
        if layer.has("cache"):
            yield "positions with cache", lambda: _placed_steps(layer, x, places)
    if layer.has("cache"):
        yield "same cache twice", lambda: _same_cache_twice(layer, x)
    if layer.has("core"):
        for sizes in ((6, 6), (3, 7)):
            for causal in (False, True):
                yield f"core {sizes} {causal}", lambda s=sizes, c=causal: _core(layer, s, c, x.dtype)


def _is_inexact(layer: LayerSubject, x: np.ndarray) -> np.ndarray:
    """1 where an output of the layer in bfloat16 is farther from that in float64 than rounding explains."""
    short = layer.in_dtype("bfloat16")
    tokens = x.astype(ml_dtypes.bfloat16)
    error = short.call(tokens).astype(np.float64) - short.in_dtype("float64").call(tokens.astype(np.float64))
    return np.array([float(np.abs(error).max() > 0.06)])


def _left_behind(layer: LayerSubject, x: np.ndarray) -> np.ndarray:
    native = layer.native(x)
    with torch.no_grad():
        layer.call_native(native)
    return layer.numpy(native)


def _strided(layer: LayerSubject, x: np.ndarray) -> np.ndarray:
    native = layer.native(x.transpose(1, 0, 2).copy()).transpose(0, 1)
    with torch.no_grad():
        return layer.numpy(layer.call_native(native))


def _placed_steps(layer: LayerSubject, x: np.ndarray, places: np.ndarray) -> np.ndarray:
    _, cache = layer.step(x[:, :6], layer.empty_cache(3), positions=places[:, :6])
    return layer.step(x[:, 6:], cache, positions=places[:, 6:])[0]


def _same_cache_twice(layer: LayerSubject, x: np.ndarray) -> np.ndarray:
    _, cache = layer.step(x[:, :4], layer.empty_cache(3))
    layer.step(x[:, 4:6], cache)
    return layer.step(x[:, 6:8], cache)[0]


def _core(layer: LayerSubject, sizes: tuple[int, int], causal: bool, dtype: np.dtype) -> np.ndarray:
    rng, spec = np.random.default_rng(3), layer.spec
    q = rng.normal(size=(2, spec.num_heads, sizes[0], spec.head_width)).astype(dtype)
    k, v = rng.normal(size=(2, 2, spec.num_kv_heads or 1, sizes[1], spec.head_width)).astype(dtype)
    mask = rng.random((2, sizes[1])) < 0.7
    return layer.core(q, k, v, mask=mask, causal=causal)
