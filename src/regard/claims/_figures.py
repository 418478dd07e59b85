"""What the claims' figures share: ranges to draw over, smooth curves, and lines that mark a value."""

import numpy as np

from regard.core.axes import Float, Int
from regard.render.figures import Axis, Chart, Guide, Series


def around(value: float, lower: float, upper: float, count: int) -> Float[np.ndarray, " point"]:
    """Numbers from `lower` to `upper` in equal ratios; the range grows to include a value up to 100 times beyond it.

    >>> around(5.0, 1.0, 100.0, 3).tolist()
    [1.0, 10.0, 100.0]
    """
    if lower / 100 <= value <= 100 * upper:
        lower, upper = min(lower, value), max(upper, value)
    return np.geomspace(lower, upper, count)


def evenly(value: float, lower: float, upper: float, count: int) -> Float[np.ndarray, " point"]:
    """Numbers from `lower` to `upper` in equal steps; the range grows to include a value up to its length beyond it."""
    reach = upper - lower
    if lower - reach <= value <= upper + reach:
        lower, upper = min(lower, value), max(upper, value)
    return np.linspace(lower, upper, count)


def counts(least: int, most: int) -> Int[np.ndarray, " point"]:
    """Whole numbers from `least` to `most` in roughly equal ratios.

    >>> counts(2, 8).tolist()
    [2, 3, 4, 5, 6, 7, 8]
    """
    return np.unique(np.geomspace(least, most, 80).round().astype(int))


def guide_at(value: float, label: str, shown: np.ndarray) -> tuple[Guide, ...]:
    """A line at the value the claim was decided at, if it is in view."""
    return (Guide(at=float(value), label=label, is_vertical=True),) if shown[0] <= value <= shown[-1] else ()


def spectra(matrices: dict[str, Float[np.ndarray, "_ _"]], *, title: str, caption: str, rank: int) -> Chart:
    """The singular values of several matrices, each as a fraction of the largest."""
    series = []
    for name, matrix in matrices.items():
        values = np.linalg.svd(matrix, compute_uv=False)
        shares = values / values[0]
        places = np.arange(1, len(shares) + 1)
        # Singular values below the rounding error of the largest are zeros.
        series.append(Series(label=name, x=places, y=np.where(shares > 1e-13, shares, np.nan), style="points"))
    return Chart(
        title=title,
        caption=caption,
        x=Axis(label="singular value, largest first"),
        y=Axis(label="fraction of the largest", is_log=True),
        series=series,
        guides=(Guide(at=rank + 0.5, label=f"rank {rank}", is_vertical=True),),
    )


def smoothed(
    x: Float[np.ndarray, " point"], y: Float[np.ndarray, " point"], *, steps: int = 6
) -> tuple[Float[np.ndarray, " more"], Float[np.ndarray, " more"]]:
    """The points with more in between, on a smooth curve through them (over log x) that does not overshoot.

    Cubic pieces whose slope at a point is the harmonic mean of the slopes on either side (Fritsch and Carlson).

    >>> [column.tolist() for column in smoothed(np.array([1.0, 100.0]), np.array([0.0, 2.0]), steps=2)]
    [[1.0, 10.0, 100.0], [0.0, 1.0, 2.0]]
    """
    at, share = np.log10(x), np.arange(steps) / steps
    slopes = np.diff(y) / np.diff(at)
    before, after = slopes[:-1], slopes[1:]
    is_turn = before * after <= 0
    inner = np.where(is_turn, 0.0, 2 * before * after / np.where(is_turn, 1.0, before + after))
    rises = np.concatenate([slopes[:1], inner, slopes[-1:]])
    widths, rest = np.diff(at)[:, None], 1 - share
    start, end = y[:-1, None], y[1:, None]
    rising, falling = widths * rises[:-1, None] * share * rest**2, widths * rises[1:, None] * share**2 * rest
    found = start * rest**2 * (1 + 2 * share) + rising + end * share**2 * (3 - 2 * share) - falling
    places = 10 ** (at[:-1, None] + share * widths)
    return np.append(places, x[-1]), np.append(found, y[-1])
