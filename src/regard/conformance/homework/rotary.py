"""Rotary position codes: `precompute_rotary_emb`, which builds a table, and `apply_rotary_emb`, which rotates by it."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial

import numpy as np

from regard.conformance.homework import HomeworkFunction, called, yes_no
from regard.conformance.law import NO_INPUTS, Comparisons, Law, LawTrial, distance
from regard.conformance.verdict import Diagnosis
from regard.positions.rotary import Rotary

_SIZES = ((8, 12), (2, 5), (32, 128), (6, 1))
_WIDTH, _HEADS = 8, 3
# A float32 angle is off by a few units in the last place, and cos and sin change no faster than their angle.
TABLE_ULPS = 8
# A result this close to that of a known mistake looks like it.
_NEAR = 1e-3


def reference_table(dim: int, max_positions: int) -> np.ndarray:
    """(cos tθ_i, sin tθ_i) for every position t and pair i, θ_i = 10000^{−2(i−1)/dim}, in float64."""
    angles = np.arange(max_positions)[:, None] * Rotary().frequencies(dim)
    return np.stack([np.cos(angles), np.sin(angles)], axis=-1)


def reference_rotation(x: np.ndarray, table: np.ndarray) -> np.ndarray:
    """Neighbours (x_1, x_2), (x_3, x_4) … as complex numbers, times cos + i sin of their positions."""
    wide = x.astype(np.float64)
    cos, sin = np.moveaxis(table[: x.shape[-2]].astype(np.float64), -1, 0)
    first, second = wide[..., 0::2], wide[..., 1::2]
    rotated = np.stack([first * cos - second * sin, first * sin + second * cos], axis=-1)
    return rotated.reshape(x.shape).astype(x.dtype)


def _matches(mistakes: Iterable[str]) -> tuple[Diagnosis, ...]:
    """The known mistakes whose result is the one found."""
    return tuple(Diagnosis(None, f"matches {mistake}") for mistake in mistakes)


def _table_shape(trial: LawTrial) -> Comparisons:
    for dim, max_positions in _SIZES:
        found = called(trial, dim, max_positions)
        wanted = (max_positions, dim // 2, 2)
        is_real = np.issubdtype(found.dtype, np.floating)
        yield yes_no(
            f"precompute_rotary_emb({dim}, {max_positions}) gives {found.dtype} of shape {found.shape} instead of "
            f"finite real numbers of shape {wanted}",
            bool(found.shape == wanted and is_real and np.isfinite(found).all()),
        )


def _table_angles(trial: LawTrial) -> Comparisons:
    built = {size: called(trial, *size) for size in _SIZES}
    built = {size: found for size, found in built.items() if found.shape == (size[1], size[0] // 2, 2)}
    wrong = {(name, size): _wrong_table(name, *size) for name in _WRONG_ANGLES for size in built}
    looks = [name for name in _WRONG_ANGLES if all(_is_near(built[size], wrong[name, size]) for size in built)]
    for (dim, max_positions), found in built.items():
        wanted = reference_table(dim, max_positions)
        yield trial.compared(
            f"precompute_rotary_emb({dim}, {max_positions}) differs from cos and sin of t·10000^(-2(i-1)/{dim})",
            found,
            wanted,
            TABLE_ULPS * 2.0**-23 * max_positions,
            place=_worst_entry(found, wanted),
            suggests=_matches(looks),
        )


def _worst_entry(found: np.ndarray, wanted: np.ndarray) -> dict[str, object]:
    gaps = np.nan_to_num(np.abs(found.astype(np.float64) - wanted), nan=np.inf)
    t, i, part = (int(place) for place in np.unravel_index(int(np.argmax(gaps)), gaps.shape))
    values = f"{found[t, i, part]:.4g} for {wanted[t, i, part]:.4g}"
    return {"position": t, "pair i =": i + 1, "cos" if part == 0 else "sin": values}


# Angles for positions t, pairs i = 0, 1, … and the width d.
_WRONG_ANGLES: dict[str, Callable[[np.ndarray, np.ndarray, int], np.ndarray]] = {
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


def _wrong_table(mistake: str, dim: int, max_positions: int) -> tuple[np.ndarray, float]:
    """The table with that mistake, and how far float32 may be from it."""
    angles = _WRONG_ANGLES[mistake](np.arange(max_positions)[:, None], np.arange(dim // 2), dim)
    rounding = 4 * 2.0**-23 * float(np.abs(angles).max())
    return np.stack([np.cos(angles), np.sin(angles)], axis=-1), _NEAR + rounding


def _is_near(found: np.ndarray, wrong: tuple[np.ndarray, float]) -> bool:
    return distance(found, wrong[0]) < wrong[1]


def _inputs(trial: LawTrial, name: str = "turned") -> np.ndarray:
    """Standard normal numbers [batch, head, position, width] in float32."""
    shape = (trial.size.batch, _HEADS, trial.size.length, _WIDTH)
    return trial.rng(name).standard_normal(shape).astype(np.float32)


def _table(max_positions: int) -> np.ndarray:
    """The right table as a caller has it, so that the student's own table, if wrong, does not count here."""
    return reference_table(_WIDTH, max_positions).astype(np.float32)


def _rotation_norm(trial: LawTrial) -> Comparisons:
    x = _inputs(trial)
    found = called(trial, x, _table(trial.size.length))
    if found.shape != x.shape:
        return
    before, after = (np.linalg.norm(side.astype(np.float64), axis=-1) for side in (x, found))
    yield trial.compared("rotating a vector changes its norm", after, before, control=float(before.max()))


def _rotation_pairs(trial: LawTrial) -> Comparisons:
    x, table = _inputs(trial), _table(trial.size.length)
    found, wanted = called(trial, x, table), reference_rotation(x, table)
    if found.shape != wanted.shape:
        return
    errors = {name: distance(found, wrong) for name, wrong in _wrong_rotations(x, table).items()}
    yield trial.compared(
        "the result differs from (x_1 + i x_2)(cos + i sin) for each pair",
        found,
        wanted,
        control=None if trial.size.length == 1 else distance(wanted, x),
        suggests=_matches(f"{name} to {error:.0e}" for name, error in errors.items() if error < _NEAR),
    )


def _wrong_rotations(x: np.ndarray, table: np.ndarray) -> Mapping[str, np.ndarray]:
    """The same input rotated with one known mistake each."""
    backwards = table * np.array([1.0, -1.0], dtype=table.dtype)
    length, heads = x.shape[2], x.shape[1]
    mistakes = {
        "half-split pairs (x_i, x_{i+d/2})": _half_split(x),
        "a rotation the other way (sin with the wrong sign)": reference_rotation(x, backwards),
        "half-split pairs rotated the other way": _half_split(x, sign=-1),
        "positions shifted by one": reference_rotation(x, _table(length + 1)[1:]),
        "pairs taken as (x_2, x_1) and left exchanged": reference_rotation(_exchanged(x), table),
        "pairs taken as (x_2, x_1)": _exchanged(reference_rotation(_exchanged(x), table)),
        "x as it was, nothing rotated": x,
    }
    if heads <= length:
        by_head = reference_rotation(x.swapaxes(1, 2), table[:heads]).swapaxes(1, 2)
        mistakes["positions counted along the head axis"] = by_head
    return mistakes


def _exchanged(x: np.ndarray) -> np.ndarray:
    return x.reshape(*x.shape[:-1], -1, 2)[..., ::-1].reshape(x.shape)


def _half_split(x: np.ndarray, sign: int = 1) -> np.ndarray:
    return Rotary(layout="half-split").rotate(x, np.broadcast_to(sign * np.arange(x.shape[-2]), x.shape[:-1]))


def _rotation_relative(trial: LawTrial) -> Comparisons:
    """One query and one key at every position: scores along each diagonal must be equal."""
    length = trial.size.length
    if length < 3:
        return
    queries, keys = (np.repeat(_inputs(trial, name)[:, :, :1], length, axis=2) for name in ("query", "key"))
    rotated = [called(trial, side, _table(length)) for side in (queries, keys)]
    if any(side.shape != queries.shape for side in rotated):
        return
    scores = rotated[0].astype(np.float64) @ rotated[1].astype(np.float64).swapaxes(-1, -2)
    yield trial.compared(
        "moving a query and a key on by one position changes their score",
        scores[..., 1:, 1:],
        scores[..., :-1, :-1],
        trial.tolerance(scores),
        control=distance(scores[..., 1:, :], scores[..., :-1, :]),
    )


def _rotation_shape(trial: LawTrial) -> Comparisons:
    x, table = _inputs(trial), _table(trial.size.length)
    given, given_table = x.copy(), table.copy()
    found = called(trial, x, table)
    yield yes_no(
        f"x of shape {given.shape} and {given.dtype} comes back as {found.shape} and {found.dtype}",
        found.shape == given.shape and found.dtype == given.dtype,
    )
    yield trial.compared("x is changed in place", x, given, 0.0)
    yield trial.compared("the cache is changed in place", table, given_table, 0.0)


def _rotation_truncated(trial: LawTrial) -> Comparisons:
    """TURN-PAIRS compares with the right result; here only the table gets longer."""
    x, length = _inputs(trial), trial.size.length
    exact = called(trial, x, _table(length))
    for more in (1, 5, 116):
        what = f"a cache of {length + more} rows is not cut to the input's {length} positions: it changes the result"
        yield trial.compared(what, called(trial, x, _table(length + more)), exact)


def _broken_rotation(
    name: str, rotate: Callable[[np.ndarray, np.ndarray], np.ndarray]
) -> Callable[[], HomeworkFunction]:
    return lambda: HomeworkFunction("rotation", rotate, name=name)


_TableContract = partial(Law, needs=("table",), size=NO_INPUTS, diagnosed_by="suspects")
_RotationContract = partial(Law, needs=("rotation",), diagnosed_by="suspects")

CONTRACTS = (
    _TableContract(
        id="TABLE-ANGLES",
        statement="cache[t, i] = (cos tθ_i, sin tθ_i) with θ_i = 10000^{−2(i−1)/dim}",
        compare=_table_angles,
        broken_example=lambda: HomeworkFunction("table", lambda *size: _wrong_table("the base 1000", *size)[0]),
        grade="spec",
        suspects=(
            "the exponent of the frequencies",
            "the base",
            "the order of cos and sin",
            "positions that start at 1",
        ),
    ),
    _TableContract(
        id="TABLE-SHAPE",
        statement="the cache has the shape (max_positions, dim/2, 2)",
        compare=_table_shape,
        broken_example=lambda: HomeworkFunction("table", lambda *size: reference_table(*size).swapaxes(0, 1)),
        suspects=(
            "positions and pairs are transposed",
            "cos and sin are concatenated rather than stacked on a last axis",
            "a complex table is returned without view_as_real",
            "one column per dimension instead of one per pair",
        ),
    ),
    _RotationContract(
        id="TURN-NORM",
        statement="‖apply_rotary_emb(x)‖ = ‖x‖ for every vector",
        compare=_rotation_norm,
        broken_example=_broken_rotation("stretches", lambda x, t: reference_rotation(x, t * np.float32(1.01))),
        suspects=("a sign in the rotation", "cos and sin of different pairs are combined", "only the cosine is used"),
    ),
    _RotationContract(
        id="TURN-PAIRS",
        statement="(x_{2i−1} + i x_{2i}) is multiplied by cos tθ_i + i sin tθ_i, for neighbouring pairs",
        compare=_rotation_pairs,
        broken_example=_broken_rotation("half-split pairs", lambda x, t: _half_split(x) + 0 * t[0, 0, 0]),
        grade="spec",
        suspects=("half-split pairs instead of neighbours", "the sign of the sine", "positions along another axis"),
    ),
    _RotationContract(
        id="TURN-RELATIVE",
        statement="the score of a query rotated to t and a key rotated to u depends on t − u alone",
        compare=_rotation_relative,
        broken_example=_broken_rotation("cosine alone", lambda x, t: reference_rotation(x, t * np.array([1.0, 0.0]))),
        suspects=("a sign in the rotation", "positions are taken along the head axis", "the table is used unevenly"),
    ),
    _RotationContract(
        id="TURN-SHAPE",
        statement="the shape (B, heads, T, head_dim) and the dtype of x are kept, and nothing is changed in place",
        compare=_rotation_shape,
        broken_example=_broken_rotation("float64", lambda x, t: reference_rotation(x, t).astype(np.float64)),
        suspects=("pairs are not flattened again", "a complex or wider result is returned", "x is written to in place"),
    ),
    _RotationContract(
        id="TURN-TRUNCATED",
        statement="an input of T positions is rotated by the first T rows of a longer cache",
        compare=_rotation_truncated,
        broken_example=_broken_rotation("last rows", lambda x, t: reference_rotation(x, t[-x.shape[-2] :])),
        suspects=("the cache is not cut to the input's length", "its last rows are taken instead of its first"),
    ),
)
