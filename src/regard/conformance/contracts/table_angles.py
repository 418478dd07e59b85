"""The table holds cos tθ_i and sin tθ_i."""

from collections.abc import Callable, Iterator

import numpy as np

from regard.conformance.contracts.table_shape import SIZES
from regard.conformance.homework import RotaryTable, honest_table, table_of
from regard.conformance.law import Comparison, InputSize, Law, LawTrial, distance
from regard.conformance.subject import Subject

# A float32 angle is off by a few units in its last place, and cos and sin move no faster than their angle.
_ULPS = 8
_NEAR = 1e-3


def _compare(trial: LawTrial) -> Iterator[Comparison]:
    built = {size: table_of(trial).table(*size) for size in SIZES}
    built = {size: found for size, found in built.items() if found.shape == (size[1], size[0] // 2, 2)}
    looks = [set(_looks(found, *size)) for size, found in built.items()]
    for (dim, max_positions), found in built.items():
        wanted = honest_table(dim, max_positions)
        yield Comparison(
            what=f"precompute_rotary_emb({dim}, {max_positions}) is not cos and sin of t·10000^(-2(i-1)/{dim})",
            error=distance(found, wanted),
            tolerance=_ULPS * 2.0**-23 * max_positions,
            place=_worst_place(found, wanted),
            signature={"looks": tuple(f"matches {name}" for name in _MISTAKES if all(name in seen for seen in looks))},
        )


def _worst_place(found: np.ndarray, wanted: np.ndarray) -> dict[str, object]:
    gaps = np.nan_to_num(np.abs(found.astype(np.float64) - wanted), nan=np.inf)
    t, i, part = (int(place) for place in np.unravel_index(int(np.argmax(gaps)), gaps.shape))
    values = f"{found[t, i, part]:.4g} for {wanted[t, i, part]:.4g}"
    return {"position": t, "pair i =": i + 1, "cos" if part == 0 else "sin": values}


# Angles for positions t, pairs i = 0, 1, … and the width d.
Angles = Callable[[np.ndarray, np.ndarray, int], np.ndarray]
_MISTAKES: dict[str, Angles] = {
    "the exponent −(i−1)/dim, without its 2": lambda t, i, d: t * 10_000.0 ** (-i / d),
    "the exponent −2i/dim with i from 1": lambda t, i, d: t * 10_000.0 ** (-2 * (i + 1) / d),
    "the exponent −4(i−1)/dim": lambda t, i, d: t * 10_000.0 ** (-4 * i / d),
    "frequencies that grow, 1/10000^(−2(i−1)/dim), a sign slip of the handed-out docstring": lambda t, i, d: (
        t * 10_000.0 ** (2 * i / d)
    ),
    "frequencies that grow, 1/10000^(−2i/dim) with i from 1": lambda t, i, d: t * 10_000.0 ** (2 * (i + 1) / d),
    "frequencies that grow, 1/10000^(−2(i−1)/dim) with i from 0": lambda t, i, d: t * 10_000.0 ** (2 * (i - 1) / d),
    "positions that start at 1": lambda t, i, d: (t + 1) * 10_000.0 ** (-2 * i / d),
    "the base 1000": lambda t, i, d: t * 1_000.0 ** (-2 * i / d),
    "a natural exponential e^(−2(i−1)/dim)": lambda t, i, d: t * np.exp(-2 * i / d),
    "sin before cos": lambda t, i, d: np.pi / 2 - t * 10_000.0 ** (-2 * i / d),
    "sines with the wrong sign": lambda t, i, d: -t * 10_000.0 ** (-2 * i / d),
}


def _built(mistake: str, dim: int, max_positions: int) -> tuple[np.ndarray, float]:
    """The table with that mistake, and how far float32 may be from it."""
    angles = _MISTAKES[mistake](np.arange(max_positions)[:, None], np.arange(dim // 2), dim)
    rounding = 4 * 2.0**-23 * float(np.abs(angles).max())
    return np.stack([np.cos(angles), np.sin(angles)], axis=-1), _NEAR + rounding


def _looks(found: np.ndarray, dim: int, max_positions: int) -> Iterator[str]:
    for name in _MISTAKES:
        wrong, near = _built(name, dim, max_positions)
        if distance(found, wrong) < near:
            yield name


def _broken_example() -> Subject:
    return RotaryTable(lambda dim, max_positions: _built("the base 1000", dim, max_positions)[0], name="base 1000")


LAW = Law(
    id="TABLE-ANGLES",
    statement="cache[t, i] = (cos tθ_i, sin tθ_i) with θ_i = 10000^{−2(i−1)/dim}",
    needs=("table",),
    compare=_compare,
    broken_example=_broken_example,
    grade="spec",
    size=InputSize(batch=1, length=1),
    suspects=("the exponent of the frequencies", "the base", "the order of cos and sin", "positions that start at 1"),
)
