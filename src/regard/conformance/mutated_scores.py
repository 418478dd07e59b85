"""Bugs of scales, softcaps, sinks and ALiBi."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from regard.conformance.mutation import Mutation, declared_as, plain, staged
from regard.conformance.oracle import Asked, Oracle, share
from regard.conformance.subject import Spec
from regard.positions.alibi import alibi_slopes


def _scaled(words: str, size: Callable[[Oracle], float | None]) -> Mutation:
    def change(oracle: Oracle) -> Oracle | None:
        scale = size(oracle)
        return None if scale is None else oracle.changed(scale=float(scale))

    return plain("scale", words, change)


def _scale_by_length(oracle: Oracle) -> Oracle:
    usual = oracle.score
    return replace(oracle, score=lambda same, q, k, added: usual(same.changed(scale=k.shape[-2] ** -0.5), q, k, added))


def _after(oracle: Oracle, logits: np.ndarray, seen: np.ndarray) -> np.ndarray:
    return oracle.scale * share(oracle, logits / oracle.scale, seen)


def _cap_first(oracle: Oracle, queries: np.ndarray, keys: np.ndarray, added: np.ndarray | None) -> np.ndarray:
    """The cap before the scale."""
    cap = oracle.spec.softcap or 1.0
    z = oracle.scale * cap * np.tanh(queries @ np.swapaxes(keys, -1, -2) / cap)
    return z if added is None else z + added


def _tanh_only(oracle: Oracle, queries: np.ndarray, keys: np.ndarray, added: np.ndarray | None) -> np.ndarray:
    cap = oracle.spec.softcap or 1.0
    z = np.tanh(oracle.scale * (queries @ np.swapaxes(keys, -1, -2)) / cap)
    return z if added is None else z + added


def _clipped(oracle: Oracle, queries: np.ndarray, keys: np.ndarray, added: np.ndarray | None) -> np.ndarray:
    cap = oracle.spec.softcap or 1.0
    z = np.clip(oracle.scale * (queries @ np.swapaxes(keys, -1, -2)), -cap, cap)
    return z if added is None else z + added


def _bias_scaled(oracle: Oracle, queries: np.ndarray, keys: np.ndarray, added: np.ndarray | None) -> np.ndarray:
    z = queries @ np.swapaxes(keys, -1, -2)
    return oracle.scale * (z if added is None else z + added)


def _without_sinks(oracle: Oracle) -> Oracle | None:
    if oracle.parts is None or "sinks" not in (oracle.parts.extra or {}):
        return None
    kept = {name: value for name, value in (oracle.parts.extra or {}).items() if name != "sinks"}
    return replace(oracle, parts=replace(oracle.parts, extra=kept))


def _sinks_at_zero(oracle: Oracle) -> Oracle | None:
    if oracle.parts is None or "sinks" not in (oracle.parts.extra or {}):
        return None
    extra = {**(oracle.parts.extra or {}), "sinks": np.zeros(oracle.spec.num_heads)}
    return replace(oracle, parts=replace(oracle.parts, extra=extra))


def _slopes(words: str, slopes: Callable[[int], np.ndarray]) -> Mutation:
    """ALiBi with other slopes."""

    def biases(oracle: Oracle, asked: Asked) -> np.ndarray:
        gaps = np.abs(asked.query_positions[:, None, :, None] - asked.key_positions[:, None, None, :])
        return -slopes(oracle.spec.num_heads)[None, :, None, None] * gaps

    return staged("alibi", words, applies=_is_alibi, bias=biases)


def _distances(words: str, rule: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Mutation:
    """ALiBi with another distance of query and key positions."""

    def biases(oracle: Oracle, asked: Asked) -> np.ndarray:
        found = rule(asked.query_positions[:, None, :, None], asked.key_positions[:, None, None, :])
        return -oracle.slopes[None, :, None, None] * found

    return staged("alibi", words, applies=_is_alibi, bias=biases)


def _is_capped(spec: Spec) -> bool:
    return spec.softcap is not None


def _is_alibi(spec: Spec) -> bool:
    return spec.positions == "alibi"


def _steps(count: int) -> np.ndarray:
    return np.arange(1, count + 1)


_SCALES = (
    _scaled("no scale", lambda _oracle: 1.0),
    _scaled("1/d instead of 1/√d", lambda o: 1 / o.spec.head_width),
    _scaled("the scale applied twice", lambda o: o.scale**2),
    _scaled("√d instead of 1/√d", lambda o: o.spec.head_width**0.5),
    _scaled("the scale on one side only, d^(−1/4)", lambda o: o.scale**0.5),
    _scaled("the width of the model instead of a head's", lambda o: o.spec.width**-0.5),
    _scaled("the number of heads instead of their width", lambda o: o.spec.num_heads**-0.5),
    _scaled(
        "the width of all key heads instead of one", lambda o: (o.spec.head_width * (o.spec.num_kv_heads or 1)) ** -0.5
    ),
    _scaled("half the head width", lambda o: (o.spec.head_width / 2) ** -0.5),
    _scaled("twice the head width", lambda o: (o.spec.head_width * 2) ** -0.5),
    _scaled("1/√d where another scale is declared", lambda o: o.spec.head_width**-0.5 if o.spec.scale else None),
    _scaled("the opposite sign", lambda o: -o.scale),
    plain("scale", "the number of keys instead of the head width", _scale_by_length),
    staged("scale", "the scale applied after the softmax", share=_after),
)

_CAPS = (
    declared_as("sink/softcap", "no softcap", lambda spec: {"softcap": None} if spec.softcap else None),
    staged("sink/softcap", "the softcap before the scale", applies=_is_capped, score=_cap_first),
    staged("sink/softcap", "tanh without multiplying back by the cap", applies=_is_capped, score=_tanh_only),
    staged("sink/softcap", "logits clipped instead of bent", applies=_is_capped, score=_clipped),
    plain("sink/softcap", "no sink", _without_sinks),
    plain("sink/softcap", "a sink whose logit is zero", _sinks_at_zero),
)

_ALIBI = (
    _slopes("no ALiBi bias", np.zeros),
    _slopes("slopes in the opposite order", lambda count: alibi_slopes(count)[::-1]),
    _slopes("slopes off by one: 2^(−8h/H) from h = 0", lambda count: 2.0 ** (-8 * (_steps(count) - 1) / count)),
    _slopes("slopes off by one: 2^(−8h/H) from h = 2", lambda count: 2.0 ** (-8 * (_steps(count) + 1) / count)),
    _slopes("slopes 2^(−h)", lambda count: 2.0 ** -_steps(count)),
    _slopes("slopes 2^(−4h/H)", lambda count: 2.0 ** (-4 * _steps(count) / count)),
    _slopes("slopes 2^(−h/H): the 8 is missing", lambda count: 2.0 ** (-_steps(count) / count)),
    _slopes("slopes e^(−8h/H)", lambda count: np.exp(-8 * _steps(count) / count)),
    _slopes("2^(−8h/H) where H is no power of two", lambda count: 2.0 ** (-8 * _steps(count) / count)),
    _slopes("the first head's slope for all", lambda count: np.full(count, alibi_slopes(count)[0])),
    _slopes("a slope of one for all", np.ones),
    _slopes("slopes of the opposite sign", lambda count: -alibi_slopes(count)),
    staged("alibi", "the bias scaled with the logits", applies=_is_alibi, score=_bias_scaled),
    _distances("squared distances", lambda q, k: (q - k) ** 2),
    _distances("distances with a sign", lambda q, k: q - k),
    _distances("distances from the start: the key's position", lambda q, k: k + 0 * q),
    _distances("distances from the query's start", lambda q, k: q + 0 * k),
    _distances("distances capped at one", lambda q, k: np.minimum(np.abs(q - k), 1)),
)

MUTATIONS: tuple[Mutation, ...] = (*_SCALES, *_CAPS, *_ALIBI)
