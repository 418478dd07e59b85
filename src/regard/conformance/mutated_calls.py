"""Bugs that show only with padding, with positions, or with a cache."""

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np

from regard.attention import masked_softmax
from regard.conformance.mutation import Mutation, Scenario
from regard.conformance.oracle import Asked, Oracle

CHUNKS = (4, 3, 2)


def _padded(words: str, mask: Callable[[np.ndarray], np.ndarray]) -> Mutation:
    """Padding read otherwise."""
    return Mutation(
        family="padding",
        words=words,
        scenario="padded",
        answer=lambda oracle, asked: oracle.output(replace(asked, mask=mask(asked.mask))),
    )


def _padded_share(words: str, rule: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]) -> Mutation:
    """Padding that is kept out of the softmax, and acts by another rule of logits, order's mask and padding's."""

    def answer(oracle: Oracle, asked: Asked) -> np.ndarray:
        open_to = replace(asked, mask=np.ones_like(asked.mask))
        order, real = oracle.visible(oracle, open_to)[:, None], asked.mask[:, None, None, :]
        changed = replace(oracle, share=lambda _same, z, _seen: rule(z, np.broadcast_to(order, z.shape), real))
        return changed.output(asked)

    return Mutation(family="padding", words=words, scenario="padded", answer=answer)


def _soft(logits: np.ndarray, seen: np.ndarray) -> np.ndarray:
    return masked_softmax(logits, seen, empty="nan")


def _order_dropped(oracle: Oracle, asked: Asked) -> np.ndarray | None:
    return oracle.changed(causal=False, window=None).output(asked) if oracle.spec.causal else None


_PADDING = (
    _padded("the mask ignored", np.ones_like),
    _padded("the mask inverted", np.logical_not),
    _padded("the first row's mask for all", lambda mask: np.broadcast_to(mask[:1], mask.shape)),
    _padded("the last row's mask for all", lambda mask: np.broadcast_to(mask[-1:], mask.shape)),
    _padded("the mask one key off", lambda mask: np.roll(mask, 1, axis=1)),
    _padded("the mask one key off the other way", lambda mask: np.roll(mask, -1, axis=1)),
    _padded("the mask from the other side", lambda mask: mask[:, ::-1]),
    _padded("the rows' masks in another order", lambda mask: mask[::-1]),
    _padded_share("masked logits set to zero", lambda z, order, real: _soft(np.where(real, z, 0.0), order)),
    _padded_share("the mask added as zeros and ones", lambda z, order, real: _soft(z + real, order)),
    _padded_share("the mask applied after the softmax", lambda z, order, real: np.where(real, _soft(z, order), 0.0)),
    Mutation(
        family="mask", words="no causal mask where there is a padding mask", scenario="padded", answer=_order_dropped
    ),
)


def _placed(words: str, places: Callable[[Asked], tuple[np.ndarray, np.ndarray]]) -> Mutation:
    """Positions of queries and keys read otherwise."""

    def answer(oracle: Oracle, asked: Asked) -> np.ndarray:
        queries, keys = places(asked)
        return oracle.output(replace(asked, query_positions=queries, key_positions=keys))

    return Mutation(family="positions", words=words, scenario="gaps", answer=answer)


def _counted(asked: Asked) -> np.ndarray:
    return np.broadcast_to(np.arange(asked.mask.shape[1]), asked.mask.shape)


def _first_row(places: np.ndarray) -> np.ndarray:
    return np.broadcast_to(places[:1], places.shape)


_POSITIONS = (
    _placed("the positions given are ignored", lambda asked: (_counted(asked), _counted(asked))),
    _placed(
        "the first row's positions for all",
        lambda asked: (_first_row(asked.query_positions), _first_row(asked.key_positions)),
    ),
    _placed("the positions given for queries only", lambda asked: (asked.query_positions, _counted(asked))),
    _placed("the positions given for keys only", lambda asked: (_counted(asked), asked.key_positions)),
)


def sizes_of(scenario: Scenario, length: int) -> list[int]:
    """How many tokens come at once."""
    if scenario == "cached":
        return [1] * length
    sizes, left = [], length
    for size in CHUNKS:
        sizes.append(min(size, left))
        left -= sizes[-1]
    return [size for size in (*sizes, left) if size]


def decoded(
    oracle: Oracle, asked: Asked, sizes: Iterable[int], change: Callable[[Asked, int], Asked] | None = None
) -> np.ndarray:
    """The outputs chunk by chunk, each chunk asking all tokens so far; `change` is given each chunk and its start."""
    outputs, start = [], 0
    for size in sizes:
        end = start + size
        now = slice(start, end)
        chunk = Asked(
            queries_from=asked.queries_from[:, now],
            keys_from=asked.keys_from[:, :end],
            query_positions=asked.query_positions[:, now],
            key_positions=asked.key_positions[:, :end],
            mask=asked.mask[:, :end],
            places=np.arange(start, end),
        )
        outputs.append(oracle.output(chunk if change is None else change(chunk, start)))
        start = end
    return np.concatenate(outputs, axis=1)


def _cached(words: str, change: Callable[[Asked, int], Asked], *, scenario: Scenario = "cached") -> Mutation:
    """A chunk that is asked otherwise when there is a past."""

    def answer(oracle: Oracle, asked: Asked) -> np.ndarray:
        return decoded(oracle, asked, sizes_of(scenario, asked.mask.shape[1]), change)

    return Mutation(family="cache", words=words, scenario=scenario, answer=answer)


def _moved_by(rule: Callable[[np.ndarray], np.ndarray]) -> Callable[[Asked, int], Asked]:
    """Every token stood, when it was new, at another position than its index."""

    def change(chunk: Asked, start: int) -> Asked:
        del start
        keys, queries = np.arange(chunk.mask.shape[1]), chunk.places
        wide, narrow = chunk.key_positions.shape, chunk.query_positions.shape
        return replace(
            chunk,
            key_positions=np.broadcast_to(rule(keys), wide),
            query_positions=np.broadcast_to(rule(queries), narrow),
        )

    return change


def _again(chunk: Asked, start: int) -> Asked:
    """A key j has been turned by j at every step since."""
    del start
    keys, last = np.arange(chunk.mask.shape[1]), int(chunk.places[-1])
    return replace(chunk, key_positions=np.broadcast_to(keys * (last - keys + 1), chunk.key_positions.shape))


def _masked(rule: Callable[[np.ndarray, Asked], np.ndarray]) -> Callable[[Asked, int], Asked]:
    """Only some of the keys are there; the token itself is if none would be."""

    def change(chunk: Asked, start: int) -> Asked:
        if start == 0:
            return chunk
        kept = rule(np.arange(chunk.mask.shape[1]), chunk)
        return replace(chunk, mask=chunk.mask & kept[None, :])

    return change


def _unwindowed(oracle: Oracle, asked: Asked) -> np.ndarray | None:
    if oracle.spec.window is None:
        return None
    return decoded(oracle.changed(window=None), asked, sizes_of("cached", asked.mask.shape[1]))


def _window_by(step: int) -> Callable[[Oracle, Asked], np.ndarray | None]:
    def answer(oracle: Oracle, asked: Asked) -> np.ndarray | None:
        window = (oracle.spec.window or 0) + step
        if oracle.spec.window is None or window < 1:
            return None
        return decoded(oracle.changed(window=window), asked, sizes_of("cached", asked.mask.shape[1]))

    return answer


def _see_the_chunk(oracle: Oracle, asked: Asked) -> np.ndarray | None:
    """No causal mask as soon as there is a past."""
    sizes = sizes_of("chunked", asked.mask.shape[1])
    lawful, open_to_all = (decoded(each, asked, sizes) for each in (oracle, oracle.changed(causal=False)))
    return np.concatenate([lawful[:, : sizes[0]], open_to_all[:, sizes[0] :]], axis=1)


_CACHES = (
    _cached("each new token at position zero", _moved_by(lambda keys: 0 * keys)),
    _cached("new tokens one position too far", _moved_by(lambda keys: keys + (keys > 0))),
    _cached("new tokens one position too near", _moved_by(lambda keys: np.maximum(keys - 1, 0))),
    _cached("cached keys turned again at every step", _again),
    _cached(
        "cached keys not turned",
        lambda chunk, start: replace(
            chunk, key_positions=np.where(np.arange(chunk.mask.shape[1]) < start, 0, chunk.key_positions)
        ),
    ),
    _cached(
        "the new query at position zero",
        lambda chunk, _start: replace(chunk, query_positions=0 * chunk.query_positions),
    ),
    _cached(
        "the new query one position off",
        lambda chunk, start: replace(chunk, query_positions=chunk.query_positions + (start > 0)),
    ),
    _cached(
        "the new query one position back",
        lambda chunk, start: replace(chunk, query_positions=chunk.query_positions - (start > 0)),
    ),
    _cached("only the first key seen: the mask is aligned top-left", _masked(lambda keys, _chunk: keys == 0)),
    _cached("only the new token seen: the cache is not used", _masked(lambda keys, chunk: keys >= chunk.places[0])),
    _cached(
        "only the last two tokens seen: the cache is overwritten",
        _masked(lambda keys, chunk: keys >= chunk.places[0] - 1),
    ),
    _cached("the new token not among the keys", _masked(lambda keys, chunk: keys < chunk.places[0])),
    _cached("the last cached token lost", _masked(lambda keys, chunk: keys != chunk.places[0] - 1)),
    _cached("the first cached token lost", _masked(lambda keys, _chunk: keys != 0)),
    Mutation(family="cache", words="no window with a cache", scenario="cached", answer=_unwindowed),
    Mutation(family="cache", words="a window one too small with a cache", scenario="cached", answer=_window_by(-1)),
    Mutation(family="cache", words="a window one too large with a cache", scenario="cached", answer=_window_by(1)),
    Mutation(family="cache", words="no causal mask among new tokens", scenario="chunked", answer=_see_the_chunk),
    _cached(
        "a mask aligned top-left", lambda chunk, start: replace(chunk, places=chunk.places - start), scenario="chunked"
    ),
    _cached(
        "positions that begin again with every chunk",
        lambda chunk, start: replace(
            chunk,
            query_positions=chunk.query_positions - start,
            key_positions=np.concatenate([_restarted(start, chunk), chunk.key_positions[:, start:] - start], axis=1),
        ),
        scenario="chunked",
    ),
)


def _restarted(start: int, chunk: Asked) -> np.ndarray:
    """Positions of the past if they began again with each of its chunks."""
    ends = np.cumsum((0, *CHUNKS))
    keys = np.arange(start)
    begins = ends[np.searchsorted(ends, keys, side="right") - 1]
    return np.broadcast_to(keys - begins, (chunk.mask.shape[0], start))


MUTATIONS: tuple[Mutation, ...] = (*_PADDING, *_POSITIONS, *_CACHES)
