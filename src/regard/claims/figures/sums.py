"""Figures of sums: heads averaged, narrow formats, aligned entries, and the ranks that widths allow."""

from types import SimpleNamespace

import numpy as np

from regard.analysis.closed_forms.random_keys import averaged_variance_ratio
from regard.claims.figures._ranges import counts
from regard.core.axes import Float
from regard.render.figures import Axis, Chart, Rule, Series

_FORMATS = ((8, "bfloat16"), (11, "float16"), (24, "float32"))
_FEWEST_TOKENS, _MOST_TOKENS = 12, 48
# Singular values below the rounding of the largest are zeros.
_ZERO = 1e-13


def averaged(at: SimpleNamespace) -> Chart:
    """The variance of the mean of H heads against H, for a few correlations."""
    heads = counts(1, 256).astype(float)
    return Chart(
        title="Correlation sets the floor",
        caption="The variance of the mean of H alike heads, as a share of one head's. Independent heads divide it by "
        "H; with correlation ρ it never falls below ρ, so copies of one query on the same keys gain nothing.",
        x=Axis(label="number of heads H", is_log=True),
        y=Axis(label="variance / that of one head", is_log=True),
        series=[
            Series(label=f"ρ = {rho:g}", x=heads, y=1 / averaged_variance_ratio(rho, heads))
            for rho in sorted({0.0, at.rho, 1.0})
        ],
        rules=(Rule(at=at.rho, label="ρ"),) if at.rho > 0.004 else (),
    )


def stalled(at: SimpleNamespace) -> Chart:
    """What n weights of 1/n add up to in narrow formats."""
    powers = np.arange(0, 33)
    numbers = 2.0**powers
    formats = sorted({*_FORMATS, *(() if at.p in dict(_FORMATS) else ((at.p, f"{at.p} bits"),))})
    return Chart(
        title="Sums that stop growing",
        caption="n weights of 1/n added one by one in a format of p significant bits. The sum should be 1; past n = "
        "2^p each new term is lost in rounding, and what was added is all there is.",
        x=Axis(label="number of terms n", is_log=True),
        y=Axis(label="computed sum", lower=0.0, upper=1.1),
        series=[
            Series(label=f"{name}: 2^{bits}", x=numbers, y=np.minimum(numbers, 2.0**bits) / numbers)
            for bits, name in formats
        ],
        rules=(Rule(at=1.0, label="the true sum"),),
    )


def aligned(at: SimpleNamespace) -> Chart:
    """The mean logit of aligned queries and keys against the width."""
    widths = counts(1, 4096).astype(float)
    return Chart(
        title="√d does not tame what is aligned",
        caption="E(kᵀq) for entries of variance 1 and correlation ρ, divided by √d or by d. Noise grows with √d, but "
        "what queries and keys have in common grows with d: divided by √d it still grows.",
        x=Axis(label="width d", is_log=True),
        y=Axis(label="mean logit", is_log=True),
        series=(
            Series(label=f"kᵀq/√d, ρ = {at.rho:g}", x=widths, y=at.rho * np.sqrt(widths)),
            Series(label=f"kᵀq/d, ρ = {at.rho:g}", x=widths, y=at.rho * np.ones_like(widths)),
        ),
        rules=(Rule(at=at.rho, label="claimed: ρ at every width"),),
    )


def weights_rank(at: SimpleNamespace) -> Chart:
    """Singular values of the logits and of their softmax, for a narrow head."""
    width = int(min(at.d, 8))
    tokens = int(min(max(width + at.extra, _FEWEST_TOKENS), _MOST_TOKENS))
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(tokens, width)) @ rng.normal(size=(tokens, width)).T * 2
    weights = np.exp(logits - logits.max(axis=1, keepdims=True))
    return _spectra(
        {"logits QKᵀ": logits, "weights softmax(QKᵀ)": weights / weights.sum(axis=1, keepdims=True)},
        title="Softmax raises the rank",
        caption=f"Singular values, each as a share of the largest, for T = {tokens} tokens and width {width}. The "
        f"logits have {width} of them; after softmax many more are there, though they fall fast.",
        bound=width,
    )


def shared_ranks(at: SimpleNamespace) -> Chart:
    """Singular values of the stacked logits of several heads, keys shared or not."""
    heads, width = int(min(at.H, 6)), int(min(at.d, 6))
    tokens = min(heads * width + 6, _MOST_TOKENS)
    rng = np.random.default_rng(0)
    queries = rng.normal(size=(heads, tokens, width))
    keys = rng.normal(size=(heads, tokens, width))
    own = np.concatenate([query @ key.T for query, key in zip(queries, keys, strict=True)])
    shared = np.concatenate([query @ keys[0].T for query in queries])
    return _spectra(
        {"keys of their own": own, "shared keys": shared},
        title="Shared keys, shared rank",
        caption=f"Singular values of the logits of H = {heads} heads of width {width} on top of each other, each as a "
        f"share of the largest. With keys of their own there are {heads * width}, with shared keys {width}.",
        bound=width,
    )


def _spectra(matrices: dict[str, Float[np.ndarray, "_ _"]], *, title: str, caption: str, bound: int) -> Chart:
    series = []
    for name, matrix in matrices.items():
        values = np.linalg.svd(matrix, compute_uv=False)
        shares = values / values[0]
        places = np.arange(1, len(shares) + 1)
        series.append(Series(label=name, x=places, y=np.where(shares > _ZERO, shares, np.nan), style="points"))
    return Chart(
        title=title,
        caption=caption,
        x=Axis(label="singular value, largest first"),
        y=Axis(label="share of the largest", is_log=True),
        series=series,
        rules=(Rule(at=bound + 0.5, label=f"rank {bound}", is_vertical=True),),
    )
