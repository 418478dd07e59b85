"""Figures of order: which rows of a layer's output change, swap by swap."""

from types import SimpleNamespace

import numpy as np

from regard.attention import attention_block, causal_mask
from regard.claims._order import MOST_WIDTH, random_block, thinned_tokens
from regard.positions.sinusoidal import sinusoid
from regard.render.figures import Axis, HeatMap

# Exact zeros have no logarithm; they are drawn as the smallest rounding.
_LEAST = 1e-17
_FEWEST_TOKENS = 6


def equivariant(at: SimpleNamespace) -> HeatMap:
    """The gap between Z(PX) and PZ(X): rounding only."""
    return HeatMap(
        title="Every row comes along",
        caption=f"log₁₀ of the largest |Z(PX) − PZ(X)| in each output row when P swaps two neighbours; {_told(at)}. "
        "Nothing is left but float64's rounding, about 10⁻¹⁶.",
        **_axes(),
        values=_gaps(at, follows=True),
    )


def invariant(at: SimpleNamespace) -> HeatMap:
    """The gap between Z(PX) and Z(X): the swapped rows differ."""
    return HeatMap(
        title="The swapped rows change places",
        caption=f"log₁₀ of the largest |Z(PX) − Z(X)| in each output row when P swaps two neighbours; {_told(at)}. "
        "The two rows that were swapped differ, so Z does change; all others stay.",
        **_axes(),
        values=_gaps(at, follows=False),
    )


def causal(at: SimpleNamespace) -> HeatMap:
    """The gap between Z(PX) and PZ(X) under a causal mask."""
    return HeatMap(
        title="A causal mask sees order",
        caption="log₁₀ of the largest |Z(PX) − PZ(X)| in each output row when P swaps two neighbours, with a "
        f"causal mask; {_told(at)}. The two swapped tokens see different pasts. Rows below them see the same set, so "
        "one layer leaves them alone.",
        **_axes(),
        values=_gaps(at, follows=True, is_causal=True),
    )


def positioned(at: SimpleNamespace) -> HeatMap:
    """The gap between Z(PX+Φ) and PZ(X+Φ) with sinusoidal codes."""
    return HeatMap(
        title="Codes stay while tokens move",
        caption="log₁₀ of the largest |Z(PX+Φ) − PZ(X+Φ)| in each output row when P swaps two neighbours, with "
        f"sinusoidal codes; {_told(at)}. Every row changes, because every token sees the swapped pair at other "
        "positions.",
        **_axes(),
        values=_gaps(at, follows=True, has_positions=True),
    )


def _axes() -> dict:
    # Both ends of the scale are the same in all of these figures, so that they can be compared.
    return {
        "x": Axis(label="row of the output", lower=1.0),
        "y": Axis(label="tokens t and t+1 swapped, t =", lower=1.0),
        "lower": -17.0,
        "upper": 1.0,
    }


def _size(at: SimpleNamespace) -> tuple[int, int]:
    return max(thinned_tokens(at.T), _FEWEST_TOKENS), 2 * max(min(at.d, MOST_WIDTH) // 2, 2)


def _told(at: SimpleNamespace) -> str:
    tokens, width = _size(at)
    return f"T = {tokens}, d = {width}, random weights"


def _gaps(at: SimpleNamespace, *, follows: bool, is_causal: bool = False, has_positions: bool = False) -> np.ndarray:
    """Log₁₀ of the largest gap, by swap and output row; P is applied to the output as well if the output follows."""
    tokens, width = _size(at)
    rng = np.random.default_rng(0)
    block, x = random_block(width, rng), rng.normal(size=(tokens, width))
    codes = sinusoid(np.arange(tokens), width=width) if has_positions else np.zeros((tokens, width))
    mask = causal_mask(tokens, tokens) if is_causal else None
    before, rows = attention_block(x + codes, block, mask=mask), []
    for first in range(tokens - 1):
        order = np.arange(tokens)
        order[[first, first + 1]] = first + 1, first
        after = attention_block(x[order] + codes, block, mask=mask)
        rows.append(np.abs(after - (before[order] if follows else before)).max(axis=1))
    return np.log10(np.maximum(rows, _LEAST))
