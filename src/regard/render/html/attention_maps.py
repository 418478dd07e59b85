"""A head's weights as a map with a token's name at each row and column, as SVG inside a page that has charts.css."""

import html
from collections.abc import Sequence

import numpy as np

from regard.core.axes import Float
from regard.render.html.chart_labels import width_of
from regard.render.html.heat_maps import NUM_SHADES

_CELL, _LONGEST = 16.0, 14


def draw_map(
    weights: Float[np.ndarray, "query key"], tokens: Sequence[str], name: tuple[int, int], *, title: str
) -> str:
    """Rows are the tokens that look, columns those that are looked at; a frame marks the columns of the name.

    Keys that a causal query cannot see have no colour.
    """
    labels = [_short(token) for token in tokens]
    side = max(width_of(label) for label in labels) + 6
    count, reach = len(tokens), _CELL * len(tokens)
    cells = "".join(_row(weights[query, : query + 1], tokens, query) for query in range(count))
    rows = "".join(_label(label, side - 5, _CELL * (place + 0.5) + 4) for place, label in enumerate(labels))
    columns = "".join(_turned(label, side + _CELL * (place + 0.5) + 4, reach + 6) for place, label in enumerate(labels))
    first, end = name
    frame = (
        f'<rect class="name" x="{side + _CELL * first:.1f}" y="0.5" width="{_CELL * (end - first):.1f}" '
        f'height="{reach - 1:.1f}"/>'
    )
    told = f"Attention weights of {title}: rows look at columns, darker is more; the frame marks the name."
    return (
        f'<figure class="chart map"><svg viewBox="0 0 {side + reach + 2:.0f} {reach + side:.0f}" role="img" '
        f'focusable="false"><title>{html.escape(title)}</title><desc>{html.escape(told)}</desc>'
        f'<g class="chart-cells" transform="translate({side:.1f} 0) scale({_CELL:g})">{cells}</g>'
        f"{frame}{rows}{columns}</svg><figcaption><b>{html.escape(title)}</b></figcaption></figure>"
    )


def _row(weights: Float[np.ndarray, " key"], tokens: Sequence[str], query: int) -> str:
    shades = np.clip(np.rint(weights * (NUM_SHADES - 1)), 0, NUM_SHADES - 1).astype(int)
    return "".join(
        f'<rect class="s{shade}" x="{key}" y="{query}" width="1" height="1">'
        f"<title>{html.escape(tokens[query])} → {html.escape(tokens[key])}: {weight:.0%}</title></rect>"
        for key, (shade, weight) in enumerate(zip(shades.tolist(), weights.tolist(), strict=True))
    )


def _label(label: str, x: float, y: float) -> str:
    return f'<text class="chart-tick" x="{x:.1f}" y="{y:.1f}" text-anchor="end">{html.escape(label)}</text>'


def _turned(label: str, x: float, y: float) -> str:
    return (
        f'<text class="chart-tick" transform="translate({x:.1f} {y:.1f}) rotate(-90)" text-anchor="end">'
        f"{html.escape(label)}</text>"
    )


def _short(token: str) -> str:
    """A token as a label: the mark of a word's beginning left out, long ones cut.

    >>> _short("▁Where"), _short("▁extraordinarily")
    ('Where', 'extraordinari…')
    """
    bare = token.removeprefix("▁") or token
    return bare if len(bare) <= _LONGEST else f"{bare[: _LONGEST - 1]}…"
