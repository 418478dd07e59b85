"""Bugs that show only with padding, with positions or with a cache."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

import numpy as np

from regard.attention import masked_softmax
from regard.conformance.mutations import Mutation, Output, Scenario
from regard.conformance.oracle import AttentionInputs, Oracle
from regard.conformance.verdict import BugFamily

_ChunkChange = Callable[[AttentionInputs, int], AttentionInputs]

_CHUNKS = (4, 3, 2)


def chunks_of(scenario: Scenario, length: int) -> tuple[int, ...]:
    """How many tokens come at once."""
    if scenario == "cached":
        return (1,) * length
    sizes, left = [], length
    for size in _CHUNKS:
        sizes.append(min(size, left))
        left -= sizes[-1]
    return tuple(size for size in (*sizes, left) if size)


def decoded(
    oracle: Oracle, inputs: AttentionInputs, chunks: Iterable[int], change: _ChunkChange | None = None
) -> np.ndarray:
    """The outputs chunk by chunk, each attending to all tokens so far; `change` is given each chunk and its start."""
    outputs, start = [], 0
    for size in chunks:
        end = start + size
        now = slice(start, end)
        chunk = AttentionInputs(
            queries_from=inputs.queries_from[:, now],
            keys_from=inputs.keys_from[:, :end],
            query_positions=inputs.query_positions[:, now],
            key_positions=inputs.key_positions[:, :end],
            mask=inputs.mask[:, :end],
            places=np.arange(start, end),
        )
        outputs.append(oracle.output(chunk if change is None else change(chunk, start)))
        start = end
    return np.concatenate(outputs, axis=1)


def _mask_read_as(rule: Callable[[np.ndarray], np.ndarray]) -> Output:
    return lambda oracle, inputs: oracle.output(replace(inputs, mask=rule(inputs.mask)))


def _padded_weights(rule: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]) -> Output:
    """Padding that does not go into the softmax, but acts by a rule of logits, causal mask and padding mask."""

    def output(oracle: Oracle, inputs: AttentionInputs) -> np.ndarray:
        unpadded = replace(inputs, mask=np.ones_like(inputs.mask))
        order, real = oracle.visible(oracle, unpadded)[:, None], inputs.mask[:, None, None, :]
        changed = replace(oracle, softmax=lambda _same, z, _seen: rule(z, np.broadcast_to(order, z.shape), real))
        return changed.output(inputs)

    return output


def _soft(logits: np.ndarray, seen: np.ndarray) -> np.ndarray:
    return masked_softmax(logits, seen, empty="nan")


_PADDING: dict[str, Output] = {
    "the mask ignored": _mask_read_as(np.ones_like),
    "the mask inverted": _mask_read_as(np.logical_not),
    "the first row's mask for all": _mask_read_as(lambda mask: np.broadcast_to(mask[:1], mask.shape)),
    "the last row's mask for all": _mask_read_as(lambda mask: np.broadcast_to(mask[-1:], mask.shape)),
    "the mask one key off": _mask_read_as(lambda mask: np.roll(mask, 1, axis=1)),
    "the mask one key off the other way": _mask_read_as(lambda mask: np.roll(mask, -1, axis=1)),
    "the mask reversed": _mask_read_as(lambda mask: mask[:, ::-1]),
    "the rows' masks in another order": _mask_read_as(lambda mask: mask[::-1]),
    "masked logits set to zero": _padded_weights(lambda z, order, real: _soft(np.where(real, z, 0.0), order)),
    "the mask added as zeros and ones": _padded_weights(lambda z, order, real: _soft(z + real, order)),
    "the mask applied after the softmax": _padded_weights(lambda z, order, real: np.where(real, _soft(z, order), 0.0)),
}


def _positions_read_as(rule: Callable[[AttentionInputs], tuple[np.ndarray, np.ndarray]]) -> Output:
    """Other positions of queries and keys than the given ones."""

    def output(oracle: Oracle, inputs: AttentionInputs) -> np.ndarray:
        queries, keys = rule(inputs)
        return oracle.output(replace(inputs, query_positions=queries, key_positions=keys))

    return output


def _counted(inputs: AttentionInputs) -> np.ndarray:
    return np.broadcast_to(np.arange(inputs.mask.shape[1]), inputs.mask.shape)


def _first_row(places: np.ndarray) -> np.ndarray:
    return np.broadcast_to(places[:1], places.shape)


_POSITIONS: dict[str, Output] = {
    "the given positions ignored": _positions_read_as(lambda inputs: (_counted(inputs), _counted(inputs))),
    "the first row's positions for all": _positions_read_as(
        lambda inputs: (_first_row(inputs.query_positions), _first_row(inputs.key_positions))
    ),
    "the given positions for queries only": _positions_read_as(
        lambda inputs: (inputs.query_positions, _counted(inputs))
    ),
    "the given positions for keys only": _positions_read_as(lambda inputs: (_counted(inputs), inputs.key_positions)),
}


def _moved_by(rule: Callable[[np.ndarray], np.ndarray]) -> _ChunkChange:
    """Every token was, when it was new, at another position than its index."""

    def change(chunk: AttentionInputs, _start: int) -> AttentionInputs:
        keys = np.arange(chunk.mask.shape[1])
        return replace(
            chunk,
            key_positions=np.broadcast_to(rule(keys), chunk.key_positions.shape),
            query_positions=np.broadcast_to(rule(chunk.places), chunk.query_positions.shape),
        )

    return change


def _keys_at(rule: Callable[[np.ndarray, AttentionInputs, int], np.ndarray]) -> _ChunkChange:
    """Other positions of the keys, by a rule of their indices, the chunk and its start."""

    def change(chunk: AttentionInputs, start: int) -> AttentionInputs:
        places = rule(np.arange(chunk.mask.shape[1]), chunk, start)
        return replace(chunk, key_positions=np.broadcast_to(places, chunk.key_positions.shape))

    return change


def _queries_moved_by(step: int) -> _ChunkChange:
    return lambda chunk, start: replace(chunk, query_positions=chunk.query_positions + step * (start > 0))


def _only_keys(rule: Callable[[np.ndarray, AttentionInputs], np.ndarray]) -> _ChunkChange:
    """Only some of the keys are visible once there is a past."""

    def change(chunk: AttentionInputs, start: int) -> AttentionInputs:
        if start == 0:
            return chunk
        kept = rule(np.arange(chunk.mask.shape[1]), chunk)
        return replace(chunk, mask=chunk.mask & kept[None, :])

    return change


_TOKEN_BY_TOKEN: dict[str, _ChunkChange] = {
    "each new token at position zero": _moved_by(lambda keys: 0 * keys),
    "new tokens one position too far": _moved_by(lambda keys: keys + (keys > 0)),
    "new tokens one position too near": _moved_by(lambda keys: np.maximum(keys - 1, 0)),
    "cached keys rotated again at every step": _keys_at(lambda keys, chunk, _: keys * (chunk.places[-1] - keys + 1)),
    "cached keys not rotated": _keys_at(lambda keys, chunk, start: np.where(keys < start, 0, chunk.key_positions)),
    "the new query at position zero": lambda chunk, _start: replace(chunk, query_positions=0 * chunk.query_positions),
    "the new query one position too far": _queries_moved_by(1),
    "the new query one position too near": _queries_moved_by(-1),
    "only the first key visible: the mask is aligned top-left": _only_keys(lambda keys, _chunk: keys == 0),
    "only the new token visible: the cache is not used": _only_keys(lambda keys, chunk: keys >= chunk.places[0]),
    "only the last two tokens visible: the cache is overwritten": _only_keys(
        lambda keys, chunk: keys >= chunk.places[0] - 1
    ),
    "the new token not among the keys": _only_keys(lambda keys, chunk: keys < chunk.places[0]),
    "the last cached token lost": _only_keys(lambda keys, chunk: keys != chunk.places[0] - 1),
    "the first cached token lost": _only_keys(lambda keys, _chunk: keys != 0),
}


def _restarted(chunk: AttentionInputs, start: int) -> AttentionInputs:
    """Positions begin again with each chunk, also with those of the past."""
    ends = np.cumsum((0, *_CHUNKS))
    past = np.arange(start)
    past = np.broadcast_to(past - ends[np.searchsorted(ends, past, side="right") - 1], (chunk.mask.shape[0], start))
    return replace(
        chunk,
        query_positions=chunk.query_positions - start,
        key_positions=np.concatenate([past, chunk.key_positions[:, start:] - start], axis=1),
    )


_IN_CHUNKS: dict[str, _ChunkChange] = {
    "a mask aligned top-left": lambda chunk, start: replace(chunk, places=chunk.places - start),
    "positions that begin again with every chunk": _restarted,
}


def _window(size: Callable[[int], int | None]) -> Output:
    """Another window with a cache."""

    def output(oracle: Oracle, inputs: AttentionInputs) -> np.ndarray | None:
        window = oracle.spec.window
        if window is None or size(window) == 0:
            return None
        chunks = chunks_of("cached", inputs.mask.shape[1])
        return decoded(oracle.changed(window=size(window)), inputs, chunks)

    return output


_CACHED_WINDOWS: dict[str, Output] = {
    "no window with a cache": _window(lambda _window: None),
    "a window one too small with a cache": _window(lambda window: window - 1),
    "a window one too large with a cache": _window(lambda window: window + 1),
}


def _open_chunks(oracle: Oracle, inputs: AttentionInputs) -> np.ndarray:
    """No causal mask as soon as there is a past."""
    chunks = chunks_of("chunked", inputs.mask.shape[1])
    lawful, unmasked = (decoded(each, inputs, chunks) for each in (oracle, oracle.changed(causal=False)))
    return np.concatenate([lawful[:, : chunks[0]], unmasked[:, chunks[0] :]], axis=1)


def _decoding(scenario: Scenario, change: _ChunkChange) -> Output:
    return lambda oracle, inputs: decoded(oracle, inputs, chunks_of(scenario, inputs.mask.shape[1]), change)


def _bugs(family: BugFamily, scenario: Scenario, outputs: Mapping[str, Output]) -> Iterator[Mutation]:
    for description, output in outputs.items():
        yield Mutation(family=family, description=description, scenario=scenario, output=output)


MUTATIONS: tuple[Mutation, ...] = (
    *_bugs("padding", "padded", _PADDING),
    *_bugs(
        "mask",
        "padded",
        {
            "no causal mask if there is a padding mask": lambda oracle, inputs: (
                oracle.changed(causal=False, window=None).output(inputs) if oracle.spec.causal else None
            )
        },
    ),
    *_bugs("positions", "gaps", _POSITIONS),
    *_bugs("cache", "cached", {each: _decoding("cached", change) for each, change in _TOKEN_BY_TOKEN.items()}),
    *_bugs("cache", "cached", _CACHED_WINDOWS),
    *_bugs("cache", "chunked", {"no causal mask among new tokens": _open_chunks}),
    *_bugs("cache", "chunked", {each: _decoding("chunked", change) for each, change in _IN_CHUNKS.items()}),
)
