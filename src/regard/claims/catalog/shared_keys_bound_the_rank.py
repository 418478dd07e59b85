"""Heads that share their keys have logits of one head's rank; heads with keys of their own have that many times it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from regard.analysis.closed_forms.ranks import multi_head_rank, multi_query_rank, rank_of
from regard.analysis.engines.symbolic import Field, identity
from regard.analysis.engines.words import Algebra, same
from regard.claims._comparisons import all_parts, of_smaller_case
from regard.claims.claim import Claim, Rival, Trial
from regard.claims.figures import sums
from regard.claims.parameters import Parameter
from regard.core.verdict import Evidence

_MOST_WIDTH, _MOST_ROWS = 3, 40


@dataclass(frozen=True, kw_only=True)
class Ranks:
    """The largest rank of H heads' logits on top of each other: with shared keys, and with keys of their own."""

    shared: Callable[[Any, Any], Any] = multi_query_rank
    own: Callable[[Any, Any], Any] = multi_head_rank


def _by_algebra(trial: Trial) -> Evidence:
    """Shared keys: one product of inner size d. Keys of their own: each head adds d, by induction over the heads."""
    field, rng, form = Field(counts=("H", "d")), trial.rng("algebra"), trial.form
    heads, width = field["H"], field["d"]
    return all_parts(
        "algebra",
        [
            _shared_factors(),
            _one_more_head(),
            identity(form.shared(heads, width), width, rng=rng, what="rank with shared keys, inner size d"),
            identity(form.own(0 * heads + 1, width), width, rng=rng, what="rank of one head, d"),
            identity(
                form.own(heads + 1, width) - form.own(heads, width),
                width,
                rng=rng,
                what="what one more head with keys of its own adds to the rank, d",
            ),
        ],
    )


def _shared_factors() -> Evidence:
    """Queries on top of each other are one HT×d matrix; Q and K made of d units reach rank d."""
    algebra = Algebra()
    q, k, unit = algebra.matrix("Q", "HT", "d"), algebra.matrix("K", "T", "d"), algebra.orthonormal("U", "T", "d")
    place = algebra.orthonormal("E", "HT", "T")
    parts = [
        same(lambda: q @ k.T, lambda: (k @ q.T).T, what="shared keys: S = QKᵀ, Q of HT×d"),
        same(
            lambda: (unit.T @ place.T) @ (place @ unit @ unit.T) @ unit,
            lambda: unit.T @ unit,
            what="Q = EU and K = U give UᵀEᵀSU = I of size d, so S has rank d",
        ),
    ]
    return all_parts("algebra", parts)


def _one_more_head() -> Evidence:
    """Heads so far have S = LR of inner size r; with one more S' = ELR + FQKᵀ, of inner size r+d.

    E and F put the rows of S and of the new head in place, G and J do so among the r+d inner numbers.
    """
    algebra = Algebra()
    e, f = algebra.orthonormal("E", "HT+T", "HT"), algebra.orthonormal("F", "HT+T", "T")
    g, j = algebra.orthonormal("G", "r+d", "r"), algebra.orthonormal("J", "r+d", "d")
    w, v, u = (algebra.orthonormal(*shape) for shape in (("W", "HT", "r"), ("V", "T", "r"), ("U", "T", "d")))
    for one, other in ((e, f), (g, j), (v, u)):
        algebra.let_vanish(one.T, other)
    left, right = algebra.matrix("L", "HT", "r"), algebra.matrix("R", "r", "T")
    q, k = algebra.matrix("Q", "T", "d"), algebra.matrix("K", "T", "d")
    rows, columns, inner = e @ w @ g.T + f @ u @ j.T, v @ g.T + u @ j.T, g @ g.T + j @ j.T
    return all_parts(
        "algebra",
        [
            same(
                lambda: (e @ left @ g.T + f @ q @ j.T) @ (g @ right + j @ k.T),
                lambda: e @ left @ right + f @ q @ k.T,
                what="one more head with keys of its own: inner size r+d instead of r",
            ),
            same(
                lambda: rows @ columns.T,
                lambda: e @ w @ v.T + f @ u @ u.T,
                what="Q = K = U, units that no head had before, make S = WVᵀ into W'V'ᵀ",
            ),
            same(lambda: rows.T @ rows, lambda: inner, what="W' has orthonormal columns, as W has"),
            same(lambda: columns.T @ columns, lambda: inner, what="so has V', so that the rank grows by d"),
        ],
    )


def _by_exact_ranks(trial: Trial) -> Evidence:
    """Random whole-number queries and keys, T = Hd+1 tokens; ranks by exact elimination."""
    heads, width = min(trial.at.H, _MOST_ROWS), min(trial.at.d, _MOST_WIDTH)
    heads = max(1, min(heads, _MOST_ROWS // width))
    tokens, rng = heads * width + 1, trial.rng("heads")
    queries = rng.integers(-3, 4, size=(heads, tokens, width))
    keys = rng.integers(-3, 4, size=(heads, tokens, width))
    parts = []
    for name, used, claimed in (
        ("shared keys", np.broadcast_to(keys[:1], keys.shape), trial.form.shared(heads, width)),
        ("keys of their own", keys, trial.form.own(heads, width)),
    ):
        found = rank_of((queries @ used.transpose(0, 2, 1)).reshape(-1, tokens))
        told = f"H = {heads}, d = {width}, T = {tokens}, {name}, random whole numbers (seed {trial.seed}): rank {found}"
        status = "holds" if found == claimed else "refuted" if found > claimed else "undecided"
        parts.append(
            Evidence(
                route="exact rank",
                status=status,
                detail=told,
                value=float(found),
                counterexample=f"{told}; the statement says {claimed}" if found > claimed else None,
            )
        )
    found = all_parts("exact rank", parts)
    return of_smaller_case(found, tried=heads * width, asked=trial.at.H * trial.at.d)


CLAIM = Claim(
    id="shared-keys-bound-the-rank",
    section="8 ranks",
    statement="the logits of H heads of width d on top of each other, an HT×T matrix, have rank at most d if the heads "
    "share their keys (multi-query) and at most H·d if each has its own (multi-head); both are reached once T ≥ H·d",
    latex=r"\max\,\mathrm{rank}\begin{pmatrix}Q_1K^\top\\ \vdots\\ Q_HK^\top\end{pmatrix}=d,\qquad"
    r"\max\,\mathrm{rank}\begin{pmatrix}Q_1K_1^\top\\ \vdots\\ Q_HK_H^\top\end{pmatrix}=Hd",
    expected="proved",
    parameters=(
        Parameter(name="H", default=4, lower=2, is_integer=True),
        Parameter(name="d", default=3, lower=1, is_integer=True),
    ),
    conditions=("T ≥ H·d tokens",),
    assumes=("a product has no larger rank than its inner size", "induction over the heads"),
    form=Ranks(),
    rivals=(
        Rival(
            statement="queries of their own make up for it: H·d with shared keys too",
            form=Ranks(shared=multi_head_rank),
        ),
        Rival(statement="keys of their own do not matter: d either way", form=Ranks(own=multi_query_rank)),
        Rival(statement="H + d with keys of their own", form=Ranks(own=lambda heads, width: heads + width)),
    ),
    routes=(_by_exact_ranks, _by_algebra),
    figure=sums.shared_ranks,
    derivation="With shared keys the stack is (Q_1; …; Q_H)Kᵀ, a product through d numbers, however many heads there "
    "are. With keys of their own it is blockdiag(Q_1, …, Q_H)(K_1, …, K_H)ᵀ, through H·d numbers. Columns of the "
    "identity, other ones for each head, reach both: H = 4, d = 3 gives ranks 3 and 12. Multi-query attention has an "
    "H-th of the keys to keep, and an H-th of the rank.",
    source="Shazeer 2019, Fast transformer decoding: one write-head is all you need (the scheme); linear algebra",
)
