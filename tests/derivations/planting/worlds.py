"""Random worlds for each subject, drawn without Regard: keys, subspaces, a layer, sinusoids, rotations."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from derivations.planting.values import Misfit, World

NUM_KEYS, WIDTH = 5, 7
SCALES = (20.0, 40.0, 80.0)
GAMMAS = (-0.6, 0.4, 1.7)


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A way to draw generic worlds, and, where something grows, worlds along the way to the limit.

    `drive` gives one list of worlds (scale 20, 40, 80) for each length of the long key.
    """

    draw: Callable[[np.random.Generator], World]
    drive: Callable[[np.random.Generator], list[list[World]]] = lambda rng: []


@dataclass(frozen=True, kw_only=True)
class _Regime:
    scale: float
    noise: float
    gamma: float


@dataclass(frozen=True, kw_only=True)
class _Keys:
    """Which keys: exact or noisy, one of uncertain length, orthonormal or only of length one, for one head or two."""

    is_noisy: bool = False
    is_one_long: bool = False
    is_copying: bool = False
    num_heads: int = 1

    def draw(self, rng: np.random.Generator) -> World:
        regime = _Regime(scale=rng.uniform(0.6, 1.9), noise=rng.uniform(0.05, 0.4), gamma=rng.normal(1.0, 0.7))
        return self.world(rng, regime)

    def drive(self, rng: np.random.Generator) -> list[list[World]]:
        seed = int(rng.integers(2**32))
        return [
            [self.world(np.random.default_rng(seed), _Regime(scale=s, noise=0.0, gamma=g)) for s in SCALES]
            for g in GAMMAS
        ]

    def world(self, rng: np.random.Generator, regime: _Regime) -> World:
        a, b, i, j = (int(place) for place in rng.permutation(NUM_KEYS)[:4])
        means = np.linalg.qr(rng.normal(size=(WIDTH, NUM_KEYS)))[0].T[:, :, None]
        if self.is_copying:
            means = rng.normal(size=means.shape)
            means /= np.linalg.norm(means, axis=1, keepdims=True)
        keys = means.copy()
        if self.is_one_long:
            keys[a] *= regime.gamma
        keys += np.sqrt(regime.noise) * rng.normal(size=keys.shape) * self.is_noisy
        covariances = np.stack([regime.noise * np.eye(WIDTH)] * NUM_KEYS)
        covariances[a] += 0.5 * means[a] @ means[a].T * self.is_one_long
        values = rng.normal(size=keys.shape)
        known = {
            "k": keys,
            "mu": means,
            "v": values,
            "Sigma": covariances,
            "n": NUM_KEYS,
            "d": WIDTH,
            "scale": regime.scale,
            "noise": regime.noise,
            "gamma": regime.gamma,
            "I": np.eye(WIDTH),
        }
        targets = (
            [means[a], means[b]] if self.num_heads == 2 else [means[j] if self.is_copying else means[a] + means[b]]
        )
        known |= _looked_up(keys, values, [regime.scale * target for target in targets])
        return World(values=known, places={"a": a, "b": b, "i": i, "j": j}, lengths=dict.fromkeys("ij", NUM_KEYS))


def _looked_up(keys: np.ndarray, values: np.ndarray, queries: list[np.ndarray]) -> dict[str, np.ndarray]:
    """Queries, weights and outputs of one head, or of two and their mean."""
    weights = [_weights(keys, query) for query in queries]
    outputs = [np.sum(weight[:, None, None] * values, axis=0) for weight in weights]
    if len(queries) == 1:
        return {"q": queries[0], "w": weights[0], "c": outputs[0]}
    both = {f"{name}_{head}": parts[head - 1] for name, parts in (("q", queries), ("c", outputs)) for head in (1, 2)}
    return both | {"c": np.mean(outputs, axis=0)}


def _weights(keys: np.ndarray, query: np.ndarray) -> np.ndarray:
    scores = keys[:, :, 0] @ query[:, 0]
    powers = np.exp(scores - scores.max())
    return powers / powers.sum()


def attended(world: World, query: np.ndarray) -> np.ndarray:
    """The output that a query fetches from a world's keys and values."""
    if query.shape != (WIDTH, 1):
        raise Misfit("A query is a vector as wide as the keys.")
    return _looked_up(world.values["k"], world.values["v"], [query])["c"]


def _subspaces(rng: np.random.Generator) -> World:
    m, p, d = 2, 3, 7
    columns = np.linalg.qr(rng.normal(size=(d, m + p)))[0]
    first, second = columns[:, :m], columns[:, m:]
    coordinates, others = rng.normal(size=(m, 1)), rng.normal(size=(p, 1))
    known = {
        "A": first,
        "B": second,
        "c": coordinates,
        "v_a": first @ coordinates,
        "v_b": second @ others,
        "I": np.eye(m),
        "coefficient": coordinates[:, 0],
        "axis": first.T[:, :, None],
    }
    known |= {"s": known["v_a"] + known["v_b"], "M": first @ first.T}
    return World(values=known, places={"j": int(rng.integers(m))}, lengths={"j": m})


def _layer(rng: np.random.Generator) -> World:
    tokens, d = 5, 3
    labels = rng.permutation(tokens)
    permutation = np.zeros((tokens, tokens))
    permutation[labels, np.roll(labels, 1)] = 1.0
    known = {
        "P": permutation,
        "A": rng.normal(size=(tokens, tokens)),
        "ones": np.ones((tokens, 1)),
        "d": d,
        "I": np.eye(tokens),
        "b_1": rng.normal(size=(1, d)),
        "b_2": rng.normal(size=(1, d)),
    }
    known |= {f"W_{name}": rng.normal(size=(d, d)) for name in ("Q", "K", "V", "1", "2")}
    inputs = rng.normal(size=(tokens, d))
    known |= _through_layer(inputs, known, "") | _through_layer(permutation @ inputs, known, "_perm")
    return World(values=known, places={}, lengths={})


def _through_layer(inputs: np.ndarray, known: dict, mark: str) -> dict[str, np.ndarray]:
    queries, keys, values = (inputs @ known[f"W_{name}"] for name in "QKV")
    scores = np.exp(queries @ keys.T / np.sqrt(known["d"]))
    mixed = scores / scores.sum(axis=1, keepdims=True) @ values
    hidden = np.maximum(mixed @ known["W_1"] + known["ones"] @ known["b_1"], 0.0)
    outputs = hidden @ known["W_2"] + known["ones"] @ known["b_2"]
    names = {"X": inputs, "Q": queries, "K": keys, "V": values, "H": mixed, "Z": outputs}
    return {name + mark: value for name, value in names.items()}


def _sinusoids(rng: np.random.Generator) -> World:
    num_pairs, tokens = 3, 5
    t, s, u = (int(position) for position in rng.permutation(np.arange(1, 12))[:3])
    permutation = np.roll(np.eye(tokens), 1, axis=0)
    inputs, codes = rng.normal(size=(2, tokens, 2 * num_pairs))
    known = {
        "omega": rng.uniform(0.5, 2.0, size=num_pairs),
        "t": t,
        "s": s,
        "u": u,
        "d": 2 * num_pairs,
        "P": permutation,
        "X": inputs,
        "X_perm": permutation @ inputs,
        "codes": codes,
    }
    return World(values=known, places={"i": int(rng.integers(num_pairs))}, lengths={"i": num_pairs})


def _rotations(rng: np.random.Generator) -> World:
    numbers = rng.normal(size=(3, 2)) @ np.array([1.0, 1j])
    positions = [int(position) for position in rng.permutation(np.arange(1, 12))[:4]]
    z, other = numbers[0], rng.normal(size=(2, 1))
    pair = np.array([[z.real], [z.imag]])
    known = dict(zip(("z", "z_1", "z_2", "t", "s", "t_1", "t_2"), [*numbers, *positions], strict=True))
    known |= {
        "theta": rng.normal(),
        "imaginary": 1j,
        "x_1": z.real,
        "x_2": z.imag,
        "x": pair,
        "y": other,
        "I": np.eye(2),
    }
    return World(values=known, places={}, lengths={})


def _about_keys(keys: _Keys) -> Subject:
    return Subject(draw=keys.draw, drive=keys.drive)


SUBJECTS = {
    "copying": _about_keys(_Keys(is_copying=True)),
    "keys": _about_keys(_Keys()),
    "noisy keys": _about_keys(_Keys(is_noisy=True)),
    "one long key": _about_keys(_Keys(is_noisy=True, is_one_long=True)),
    "two heads": _about_keys(_Keys(is_noisy=True, num_heads=2)),
    "two heads, one long key": _about_keys(_Keys(is_noisy=True, is_one_long=True, num_heads=2)),
    "subspaces": Subject(draw=_subspaces),
    "layer": Subject(draw=_layer),
    "sinusoids": Subject(draw=_sinusoids),
    "rotations": Subject(draw=_rotations),
}
