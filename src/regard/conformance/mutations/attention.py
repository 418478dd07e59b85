"""Bugs of attention itself: masks, windows, softmax, scale, softcap, sinks and ALiBi."""

from collections.abc import Callable

import numpy as np

from regard.attention import masked_softmax
from regard.conformance.mutations import Change, Mutation, plain, spec_change, stages, weight_change
from regard.conformance.oracle import AttentionInputs, Oracle, score, softmax, visible
from regard.conformance.subject import Projections, Spec
from regard.positions.alibi import alibi_slopes


def _hides(spec: Spec) -> bool:
    return bool(spec.causal) or spec.window is not None


def _is_alibi(spec: Spec) -> bool:
    return spec.positions == "alibi"


def _places(inputs: AttentionInputs) -> tuple[np.ndarray, np.ndarray]:
    return inputs.places[:, None], np.arange(inputs.mask.shape[1])[None, :]


def _order(rule: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Change:
    """Another rule of query and key indices than the causal one; padding stays hidden."""

    def seen(_oracle: Oracle, inputs: AttentionInputs) -> np.ndarray:
        return rule(*_places(inputs))[None] & inputs.mask[:, None, :]

    return stages(applies=lambda spec: bool(spec.causal) and spec.window is None, visible=seen)


def _only_first(axis: int) -> Change:
    """The mask acts only on the first head, or only on the first row."""

    def weights(oracle: Oracle, logits: np.ndarray, seen: np.ndarray) -> np.ndarray:
        kept = np.broadcast_to(seen, logits.shape).copy()
        kept[(slice(None),) * axis + (slice(1, None),)] = True
        return softmax(oracle, logits, kept)

    return stages(applies=_hides, softmax=weights)


def _weights(
    rule: Callable[[np.ndarray, np.ndarray], np.ndarray], applies: Callable[[Spec], bool] | None = None
) -> Change:
    """Another rule of logits and visibility than the softmax."""
    return stages(applies=applies, softmax=lambda _oracle, z, seen: rule(z, np.broadcast_to(seen, z.shape)))


def _soft(logits: np.ndarray, seen: np.ndarray) -> np.ndarray:
    return masked_softmax(logits, seen, empty="nan")


def _unmasked(logits: np.ndarray) -> np.ndarray:
    return _soft(logits, np.ones(logits.shape, dtype=bool))


_MASKS: dict[str, Change] = {
    "no causal mask": spec_change(lambda spec: {"causal": False} if spec.causal else None),
    "an undeclared causal mask": spec_change(lambda spec: None if spec.causal else {"causal": True}),
    "the causal mask transposed": _order(lambda q, k: k >= q),
    "a causal mask that excludes the diagonal": _order(lambda q, k: k < q),
    "a causal mask that shows one key ahead": _order(lambda q, k: k <= q + 1),
    "the causal mask inverted": _order(lambda q, k: k > q),
    "the mask in the first head only": _only_first(1),
    "the mask in the first row of the batch only": _only_first(0),
    "masked logits set to zero": _weights(lambda z, seen: _unmasked(np.where(seen, z, 0.0)), _hides),
    "masked logits set to zero, and their weights dropped": _weights(
        lambda z, seen: np.where(seen, _unmasked(np.where(seen, z, 0.0)), 0.0), _hides
    ),
    "the mask added as zeros and ones": _weights(lambda z, seen: _unmasked(z + seen), _hides),
    "the mask applied after the softmax": _weights(lambda z, seen: np.where(seen, _unmasked(z), 0.0), _hides),
}


def _window_of(size: Callable[[int], int | None]) -> Change:
    """Another window than the declared one."""
    return spec_change(lambda spec: {"window": size(spec.window)} if spec.window and size(spec.window) != 0 else None)


def _window_by(rule: Callable[[np.ndarray, np.ndarray, int], np.ndarray]) -> Change:
    """Another rule of query, key and window; causality and padding stay."""

    def seen(oracle: Oracle, inputs: AttentionInputs) -> np.ndarray:
        return rule(*_places(inputs), oracle.spec.window or 1)[None] & visible(oracle.changed(window=None), inputs)

    return stages(applies=lambda spec: spec.window is not None, visible=seen)


_WINDOWS: dict[str, Change] = {
    "one key too many (W+1)": _window_of(lambda window: window + 1),
    "one key too few (W−1)": _window_of(lambda window: window - 1),
    "no window": _window_of(lambda _window: None),
    "a window of twice the size": _window_of(lambda window: 2 * window),
    "a window of half the size": _window_of(lambda window: max(window // 2, 1)),
    "blocks of W instead of a sliding window": _window_by(lambda q, k, w: q // w == k // w),
    "the first W keys instead of the last": _window_by(lambda q, k, w: (k < w) | (q < 0)),
    "the keys outside the window instead of those inside": _window_by(lambda q, k, w: np.abs(q - k) >= w),
}


def _along(logits: np.ndarray, seen: np.ndarray, axis: int) -> np.ndarray:
    """Softmax over another axis, with the mask; lines that see nothing are zero."""
    moved = masked_softmax(np.moveaxis(logits, axis, -1), np.moveaxis(seen, axis, -1), empty="zero")
    return np.moveaxis(moved, -1, axis)


def _powers(logits: np.ndarray, seen: np.ndarray) -> np.ndarray:
    return np.where(seen, np.exp(logits), 0.0)


_SOFTMAX: dict[str, Change] = {
    "softmax over the queries": _weights(lambda z, seen: _along(z, seen, -2)),
    "softmax over the heads": _weights(lambda z, seen: _along(z, seen, 1)),
    "softmax over the batch": _weights(lambda z, seen: _along(z, seen, 0)),
    "no softmax: the logits themselves": _weights(lambda z, seen: np.where(seen, z, 0.0)),
    "unnormalized exponentials": _weights(_powers),
    "a denominator larger by one": _weights(
        lambda z, seen: _powers(z, seen) / (1 + _powers(z, seen).sum(axis=-1, keepdims=True)),
        lambda spec: not spec.sink,
    ),
    "powers of two instead of e": _weights(lambda z, seen: _soft(z * np.log(2.0), seen)),
    "a sigmoid instead of a softmax": _weights(lambda z, seen: np.where(seen, 1 / (1 + np.exp(-z)), 0.0)),
    "softmax twice": _weights(lambda z, seen: _soft(_along(z, seen, -1), seen)),
    "uniform weights: the logits are lost": _weights(lambda z, seen: _soft(np.zeros_like(z), seen)),
}


def _scale(size: Callable[[Oracle], float]) -> Change:
    return lambda oracle: oracle.changed(scale=float(size(oracle)))


_SCALES: dict[str, Change] = {
    "no scale": _scale(lambda _oracle: 1.0),
    "1/d instead of 1/√d": _scale(lambda o: 1 / o.spec.head_width),
    "the scale applied twice": _scale(lambda o: o.scale**2),
    "√d instead of 1/√d": _scale(lambda o: o.spec.head_width**0.5),
    "the scale on one side only, d^(−1/4)": _scale(lambda o: o.scale**0.5),
    "the model's width instead of a head's": _scale(lambda o: o.spec.width**-0.5),
    "the number of heads instead of their width": _scale(lambda o: o.spec.num_heads**-0.5),
    "the width of all key heads instead of one": _scale(
        lambda o: (o.spec.head_width * (o.spec.num_kv_heads or 1)) ** -0.5
    ),
    "half the head width": _scale(lambda o: (o.spec.head_width / 2) ** -0.5),
    "twice the head width": _scale(lambda o: (o.spec.head_width * 2) ** -0.5),
    "1/√d where another scale is declared": spec_change(lambda spec: {"scale": None} if spec.scale else None),
    "the opposite sign": _scale(lambda o: -o.scale),
    "the number of keys instead of the head width": stages(
        score=lambda oracle, q, k, added: score(oracle.changed(scale=k.shape[-2] ** -0.5), q, k, added)
    ),
    "the scale applied after the softmax": stages(
        softmax=lambda oracle, z, seen: oracle.scale * softmax(oracle, z / oracle.scale, seen)
    ),
}


def _score(rule: Callable[[np.ndarray, float, float], np.ndarray]) -> Change:
    """Capped logits by another rule of q·k, scale and cap."""

    def scored(oracle: Oracle, queries: np.ndarray, keys: np.ndarray, added: np.ndarray | None) -> np.ndarray:
        z = rule(queries @ np.swapaxes(keys, -1, -2), oracle.scale, oracle.spec.softcap or 1.0)
        return z if added is None else z + added

    return stages(applies=lambda spec: spec.softcap is not None, score=scored)


def _sinks(sinks: Callable[[np.ndarray], np.ndarray | None]) -> Change:
    def changes(parts: Projections) -> dict[str, object] | None:
        extra = dict(parts.extra or {})
        if "sinks" not in extra:
            return None
        changed = sinks(extra.pop("sinks"))
        return {"extra": extra if changed is None else {**extra, "sinks": changed}}

    return weight_change(changes)


_CAPS_AND_SINKS: dict[str, Change] = {
    "no softcap": spec_change(lambda spec: {"softcap": None} if spec.softcap else None),
    "the softcap before the scale": _score(lambda dots, scale, cap: scale * cap * np.tanh(dots / cap)),
    "tanh without multiplying back by the cap": _score(lambda dots, scale, cap: np.tanh(scale * dots / cap)),
    "logits clipped instead of capped smoothly": _score(lambda dots, scale, cap: np.clip(scale * dots, -cap, cap)),
    "logits not divided by the cap": _score(lambda dots, scale, cap: cap * np.tanh(scale * dots)),
    "masked logits capped too, so that they keep a share": stages(
        applies=lambda spec: spec.softcap is not None and _hides(spec),
        softmax=lambda oracle, z, seen: _unmasked(np.where(seen, z, -(oracle.spec.softcap or 0.0))),
    ),
    "masked logits capped too, and their weights dropped": stages(
        applies=lambda spec: spec.softcap is not None and _hides(spec),
        softmax=lambda oracle, z, seen: seen * _unmasked(np.where(seen, z, -(oracle.spec.softcap or 0.0))),
    ),
    "no sink": _sinks(lambda _sinks: None),
    "the sink with its sign reversed": _sinks(lambda sinks: -sinks),
    "the sink counted twice": _sinks(lambda sinks: sinks + np.log(2.0)),
    "the sinks of the heads in reverse": _sinks(lambda sinks: sinks[::-1]),
    "the first head's sink for all": _sinks(lambda sinks: np.full_like(sinks, sinks[0])),
    "a sink whose logit is zero": _sinks(lambda sinks: np.zeros_like(np.asarray(sinks, dtype=np.float64))),
}


def _distances(
    rule: Callable[[np.ndarray, np.ndarray], np.ndarray], slopes: Callable[[int], np.ndarray] | None = None
) -> Change:
    """ALiBi with another distance between query and key positions, or with other slopes."""

    def biases(oracle: Oracle, inputs: AttentionInputs) -> np.ndarray:
        found = rule(inputs.query_positions[:, None, :, None], inputs.key_positions[:, None, None, :])
        return -(slopes(oracle.spec.num_heads) if slopes else oracle.slopes)[None, :, None, None] * found

    return stages(applies=_is_alibi, bias=biases)


def _slopes(slopes: Callable[[int], np.ndarray]) -> Change:
    return _distances(lambda q, k: np.abs(q - k), slopes)


def _bias_scaled(oracle: Oracle, queries: np.ndarray, keys: np.ndarray, added: np.ndarray | None) -> np.ndarray:
    return oracle.scale * (queries @ np.swapaxes(keys, -1, -2) + (0 if added is None else added))


def _counted(num_heads: int) -> np.ndarray:
    return np.arange(1, num_heads + 1)


_ALIBI: dict[str, Change] = {
    "no ALiBi bias": _slopes(np.zeros),
    "slopes in the opposite order": _slopes(lambda n: alibi_slopes(n)[::-1]),
    "slopes off by one: 2^(−8h/H) from h = 0": _slopes(lambda n: 2.0 ** (-8 * (_counted(n) - 1) / n)),
    "slopes off by one: 2^(−8h/H) from h = 2": _slopes(lambda n: 2.0 ** (-8 * (_counted(n) + 1) / n)),
    "slopes 2^(−h)": _slopes(lambda n: 2.0 ** -_counted(n)),
    "slopes 2^(−4h/H)": _slopes(lambda n: 2.0 ** (-4 * _counted(n) / n)),
    "slopes 2^(−h/H): the 8 is missing": _slopes(lambda n: 2.0 ** (-_counted(n) / n)),
    "slopes e^(−8h/H)": _slopes(lambda n: np.exp(-8 * _counted(n) / n)),
    "2^(−8h/H) where H is no power of two": _slopes(lambda n: 2.0 ** (-8 * _counted(n) / n)),
    "the first head's slope for all": _slopes(lambda n: np.full(n, alibi_slopes(n)[0])),
    "a slope of one for all": _slopes(np.ones),
    "slopes of the opposite sign": _slopes(lambda n: -alibi_slopes(n)),
    "the bias scaled with the logits": stages(applies=_is_alibi, score=_bias_scaled),
    "squared distances": _distances(lambda q, k: (q - k) ** 2),
    "signed distances": _distances(lambda q, k: q - k),
    "the key's position instead of the distance": _distances(lambda q, k: k + 0 * q),
    "the query's position instead of the distance": _distances(lambda q, k: q + 0 * k),
    "distances capped at one": _distances(lambda q, k: np.minimum(np.abs(q - k), 1)),
}

MUTATIONS: tuple[Mutation, ...] = (
    *plain("mask", _MASKS),
    *plain("window", _WINDOWS),
    *plain("softmax", _SOFTMAX),
    *plain("sink/softcap", _CAPS_AND_SINKS),
    *plain("scale", _SCALES),
    *plain("alibi", _ALIBI),
)
