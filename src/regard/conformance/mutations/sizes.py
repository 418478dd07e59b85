"""Bugs that show only beyond a border: tables, masks, tiles and sinks of a given size."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from regard.attention import masked_softmax
from regard.conformance.mutations import Mutation, Output
from regard.conformance.oracle import AttentionInputs, Oracle, softmax, visible
from regard.conformance.subject import Spec
from regard.conformance.verdict import BugFamily

_LEAST_BLOCK = 8


def size_mutations(spec: Spec, border: int) -> Iterator[Mutation]:
    """Every bug that is known to show beyond the border, the likeliest first."""
    yield from _of_positions(spec, border)
    yield from _of_masks(spec, border)
    yield from _of_softmax(spec, border)


def _bug(family: BugFamily, description: str, output: Output) -> Mutation:
    return Mutation(family=family, description=description, output=output)


def _of_positions(spec: Spec, border: int) -> Iterator[Mutation]:
    family: BugFamily = spec.positions if spec.positions in ("rotary", "alibi") else "positions"
    rules: dict[str, Callable[[np.ndarray], np.ndarray]] = {
        f"from {border} on are taken for {border - 1}": lambda places: np.minimum(places, border - 1),
        f"start again at {border}": lambda places: places % border,
        f"from {border} on are one too small": lambda places: places - (places >= border),
        f"from {border} on are one too large": lambda places: places + (places >= border),
        f"from {border} on are taken for 0": lambda places: places * (places < border),
    }
    for words, rule in rules.items():
        for part, names in {
            "": ("query_positions", "key_positions"),
            " of queries": ("query_positions",),
            " of keys": ("key_positions",),
        }.items():
            yield _bug(family, f"positions{part} {words}", _moved(names, rule))
    if spec.positions == "rotary":
        for factor in (2, 4, 8):
            slower = _moved(("query_positions", "key_positions"), lambda places, factor=factor: places / factor)
            yield _bug(family, f"inputs beyond {border} tokens use frequencies divided by {factor}", slower)
            base = spec.rotary_base * factor
            yield _bug(
                family,
                f"inputs beyond {border} tokens use the base {base:g}",
                lambda oracle, inputs, base=base: oracle.changed(rotary_base=base).output(inputs),
            )
    if spec.positions == "alibi":
        distances = {
            f"distances from {border} on are taken for {border - 1}": lambda gaps: np.minimum(gaps, border - 1),
            f"distances start again at {border}": lambda gaps: gaps % border,
        }
        for words, rule in distances.items():
            yield _bug(family, words, _biased(rule))


def _moved(names: tuple[str, ...], rule: Callable[[np.ndarray], np.ndarray]) -> Output:
    def output(oracle: Oracle, inputs: AttentionInputs) -> np.ndarray | None:
        places = {name: rule(getattr(inputs, name)) for name in names}
        table = oracle.extra("positions")
        if oracle.spec.positions == "none" or (table is not None and max(map(np.max, places.values())) >= len(table)):
            return None
        return oracle.output(replace(inputs, **places))

    return output


def _biased(rule: Callable[[np.ndarray], np.ndarray]) -> Output:
    def bias(oracle: Oracle, inputs: AttentionInputs) -> np.ndarray:
        gaps = np.abs(inputs.query_positions[:, None, :, None] - inputs.key_positions[:, None, None, :])
        return -oracle.slopes[None, :, None, None] * rule(gaps)

    return lambda oracle, inputs: replace(oracle, bias=bias).output(inputs)


def _of_masks(spec: Spec, border: int) -> Iterator[Mutation]:
    """Rules of query and key that take keys away from the visible ones, or add some."""
    hidden: dict[str, Callable[[np.ndarray, np.ndarray, int], np.ndarray]] = {
        f"keys from {border} on are never seen": lambda _, key, __: key >= border,
        f"only the last {border} keys are seen": lambda query, key, _: query - key >= border,
        f"only the keys of a block of {border} see each other": lambda query, key, _: query // border != key // border,
        f"the last incomplete block of {border} keys is left out": lambda _, key, length: (
            key >= length // border * border
        ),
        "the last key is left out": lambda _, key, length: key == length - 1,
    }
    shown: dict[str, Callable[[np.ndarray, np.ndarray, int], np.ndarray]] = {
        f"keys from {border} on are seen by all queries": lambda _, key, __: key >= border,
        f"queries from {border} on see all keys": lambda query, _, __: query >= border,
        f"the window ends for queries from {border} on": lambda query, key, _: (query >= border) & (key <= query),
    }
    family: BugFamily = "mask" if spec.window is None else "window"
    for rules, is_hiding in ((hidden, True), (shown, False)):
        for words, rule in rules.items():
            yield _bug(family, words, _seeing(rule, is_hiding=is_hiding))


def _seeing(rule: Callable[[np.ndarray, np.ndarray, int], np.ndarray], *, is_hiding: bool) -> Output:
    def seen(oracle: Oracle, inputs: AttentionInputs) -> np.ndarray:
        length = inputs.mask.shape[1]
        found = rule(inputs.places[:, None], np.arange(length)[None, :], length)[None]
        usual = visible(oracle, inputs)
        return usual & ~found if is_hiding else usual | (found & inputs.mask[:, None, :])

    return lambda oracle, inputs: replace(oracle, visible=seen).output(inputs)


def _of_softmax(spec: Spec, border: int) -> Iterator[Mutation]:
    blocks = range(border, border + 1) if border >= _LEAST_BLOCK else range(0)
    for block in blocks:
        yield _bug("softmax", f"each tile of {block} keys subtracts its own maximum", _tiled(block, _unshifted))
        yield _bug("softmax", f"each tile of {block} keys has a softmax of its own", _tiled(block, _averaged))
        yield _bug("softmax", f"zeros that fill up keys to a multiple of {block} take weight", _filled(block))
    if spec.sink:
        for words, extra in {
            f"the sink counts once per tile of {border} keys": lambda length: np.log(-(-length // border)),
            f"the sink is lost beyond {border} keys": lambda length: -np.inf if length > border else 0.0,
        }.items():
            yield _bug("sink/softcap", words, _with_sinks(extra))
    yield _bug("scale", f"beyond {border} keys logits are scaled by log(keys) / log({border})", _scaled(border))


def _tiled(block: int, rule: Callable[[list[np.ndarray], list[np.ndarray]], np.ndarray]) -> Output:
    def weights(oracle: Oracle, logits: np.ndarray, seen: np.ndarray) -> np.ndarray:
        if oracle.spec.sink:
            return softmax(oracle, logits, seen)
        cuts = range(block, logits.shape[-1], block)
        seen = np.broadcast_to(seen, logits.shape)
        return rule(np.split(logits, cuts, axis=-1), np.split(seen, cuts, axis=-1))

    return lambda oracle, inputs: replace(oracle, softmax=weights).output(inputs)


def _unshifted(tiles: list[np.ndarray], seen: list[np.ndarray]) -> np.ndarray:
    hidden = [np.where(shown, tile, -np.inf) for tile, shown in zip(tiles, seen, strict=True)]
    tops = [np.maximum(tile.max(axis=-1, keepdims=True), np.finfo(tile.dtype).min) for tile in hidden]
    powers = [np.exp(tile - top) for tile, top in zip(hidden, tops, strict=True)]
    joined = np.concatenate(powers, axis=-1)
    return joined / joined.sum(axis=-1, keepdims=True)


def _averaged(tiles: list[np.ndarray], seen: list[np.ndarray]) -> np.ndarray:
    shares = [np.nan_to_num(masked_softmax(tile, shown, empty="nan")) for tile, shown in zip(tiles, seen, strict=True)]
    joined = np.concatenate(shares, axis=-1)
    return joined / joined.sum(axis=-1, keepdims=True)


def _filled(block: int) -> Output:
    def weights(_oracle: Oracle, logits: np.ndarray, seen: np.ndarray) -> np.ndarray:
        width = [(0, 0)] * (logits.ndim - 1) + [(0, -logits.shape[-1] % block)]
        seen = np.pad(np.broadcast_to(seen, logits.shape), width, constant_values=True)
        return masked_softmax(np.pad(logits, width), seen, empty="nan")[..., : logits.shape[-1]]

    return lambda oracle, inputs: replace(oracle, softmax=weights).output(inputs)


def _with_sinks(extra: Callable[[int], float]) -> Output:
    def output(oracle: Oracle, inputs: AttentionInputs) -> np.ndarray | None:
        sinks = oracle.extra("sinks")
        if sinks is None or oracle.parts is None:
            return None
        changed = {**(oracle.parts.extra or {}), "sinks": sinks + extra(inputs.mask.shape[1])}
        return replace(oracle, parts=replace(oracle.parts, extra=changed)).output(inputs)

    return output


def _scaled(border: int) -> Output:
    def output(oracle: Oracle, inputs: AttentionInputs) -> np.ndarray:
        factor = max(1.0, float(np.log(inputs.mask.shape[1]) / np.log(border)))
        return oracle.changed(scale=oracle.scale * factor).output(inputs)

    return output
