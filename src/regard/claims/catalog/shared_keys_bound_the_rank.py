"""The stacked logits of heads that share keys have the rank of one head; with separate keys the ranks add up."""

from dataclasses import replace

import numpy as np

from regard.analysis.closed_forms.low_rank import multi_head_rank, multi_query_rank, rank_of
from regard.analysis.engines.matrix_algebra import Algebra, matrix_identity
from regard.analysis.engines.symbolic import identity
from regard.claims._evidence import Evidence, conjunction, one_case, smaller_case
from regard.claims._figures import spectra
from regard.claims.claim import Claim, Form, NearMiss, Settings, Trial, integer
from regard.render.figures import Chart

_MOST_WIDTH, _MOST_ROWS = 3, 40


def _by_algebra(trial: Trial) -> list[Evidence]:
    """Shared keys: one product of inner size d. Separate keys: each head adds d, by induction over the heads."""
    heads, width = trial.field(counts=("H", "d"))
    form = trial.form
    added = form.own(heads + 1, width) - form.own(heads, width)
    return [
        _shared_factors(),
        _one_more_head(),
        identity(form.shared(heads, width), width, "rank with shared keys, inner size d"),
        identity(form.own(0 * heads + 1, width), width, "rank of one head, d"),
        identity(added, width, "rank added by one more head with separate keys, d"),
    ]


def _shared_factors() -> Evidence:
    """The stacked queries are one HT×d matrix; Q and K made of d unit vectors reach rank d."""
    algebra = Algebra()
    q, k, unit = algebra.matrix("Q", "HT", "d"), algebra.matrix("K", "T", "d"), algebra.orthonormal("U", "T", "d")
    place = algebra.orthonormal("E", "HT", "T")
    factors = matrix_identity(lambda: q @ k.T, lambda: (k @ q.T).T, "shared keys: S = QKᵀ, Q of HT×d")
    what = "Q = EU and K = U give UᵀEᵀSU = I of size d, so S has rank d"
    reached = matrix_identity(lambda: (unit.T @ place.T) @ (place @ unit @ unit.T) @ unit, lambda: unit.T @ unit, what)
    return conjunction(factors, reached)


def _one_more_head() -> Evidence:
    """The heads so far have S = LR of inner size r; one more makes it S' = ELR + FQKᵀ, of inner size r+d.

    E and F place the rows of S and of the new head, G and J do the same among the r+d inner indices.
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
    return conjunction(
        matrix_identity(
            lambda: (e @ left @ g.T + f @ q @ j.T) @ (g @ right + j @ k.T),
            lambda: e @ left @ right + f @ q @ k.T,
            "one more head with separate keys: inner size r+d instead of r",
        ),
        matrix_identity(
            lambda: rows @ columns.T,
            lambda: e @ w @ v.T + f @ u @ u.T,
            "Q = K = U, unit vectors new to all heads, turn S = WVᵀ into W'V'ᵀ",
        ),
        matrix_identity(lambda: rows.T @ rows, lambda: inner, "W' has orthonormal columns, as W has"),
        matrix_identity(lambda: columns.T @ columns, lambda: inner, "so has V', and the rank grows by d"),
    )


def _by_exact_ranks(trial: Trial) -> list[Evidence]:
    """Random whole-number queries and keys, T = Hd+1 tokens; ranks by exact elimination."""
    heads, width = min(trial.at.H, _MOST_ROWS), min(trial.at.d, _MOST_WIDTH)
    heads = max(1, min(heads, _MOST_ROWS // width))
    tokens, rng = heads * width + 1, trial.rng("heads")
    queries = rng.integers(-3, 4, size=(heads, tokens, width))
    keys = rng.integers(-3, 4, size=(heads, tokens, width))
    parts, at = [], f"H = {heads}, d = {width}, T = {tokens}, random whole numbers (seed {trial.seed})"
    for name, used, claimed in (
        ("shared keys", np.broadcast_to(keys[:1], keys.shape), trial.form.shared(heads, width)),
        ("separate keys", keys, trial.form.own(heads, width)),
    ):
        found = rank_of((queries @ used.transpose(0, 2, 1)).reshape(-1, tokens))
        part = one_case(f"{at}, {name}: rank {found}", agrees=found <= claimed, said=str(claimed), value=float(found))
        parts.append(replace(part, status="undecided") if found < claimed else part)
    return smaller_case(parts, tried=heads * width, asked=trial.at.H * trial.at.d)


def _figure(at: Settings) -> Chart:
    heads, width = int(min(at.H, 6)), int(min(at.d, 6))
    tokens = min(heads * width + 6, 48)
    rng = np.random.default_rng(0)
    queries = rng.normal(size=(heads, tokens, width))
    keys = rng.normal(size=(heads, tokens, width))
    own = np.concatenate([query @ key.T for query, key in zip(queries, keys, strict=True)])
    shared = np.concatenate([query @ keys[0].T for query in queries])
    return spectra(
        {"separate keys": own, "shared keys": shared},
        title="Shared keys, shared rank",
        caption=f"Singular values of the stacked logits of H = {heads} heads of width {width}, as fractions of the "
        f"largest. With separate keys there are {heads * width}, with shared keys {width}.",
        rank=width,
    )


CLAIM = Claim(
    id="shared-keys-bound-the-rank",
    section="8 ranks",
    statement="the stacked logits of H heads of width d, an HT×T matrix, have rank at most d if the heads share "
    "their keys (multi-query) and at most H·d if each has its own (multi-head); both are reached once T ≥ H·d",
    latex=r"\max\,\mathrm{rank}\begin{pmatrix}Q_1K^\top\\ \vdots\\ Q_HK^\top\end{pmatrix}=d,\qquad"
    r"\max\,\mathrm{rank}\begin{pmatrix}Q_1K_1^\top\\ \vdots\\ Q_HK_H^\top\end{pmatrix}=Hd",
    expected="proved",
    parameters=(integer("H", 4, lower=2), integer("d", 3, lower=1)),
    conditions=("T ≥ H·d tokens",),
    assumes=("a product has no larger rank than its inner size", "induction over the heads"),
    # The largest rank of the stacked logits of H heads: with shared keys, and with separate keys.
    form=Form(shared=multi_query_rank, own=multi_head_rank),
    near_misses=(
        NearMiss("separate queries make up for it: H·d with shared keys too", {"shared": multi_head_rank}),
        NearMiss("separate keys do not matter: d either way", {"own": multi_query_rank}),
        NearMiss("H + d with separate keys", {"own": lambda heads, width: heads + width}),
    ),
    methods={"exact rank": _by_exact_ranks, "algebra": _by_algebra},
    derivation="With shared keys the stack is (Q_1; …; Q_H)Kᵀ, a product of inner size d, however many heads there "
    "are. With separate keys it is blockdiag(Q_1, …, Q_H)(K_1, …, K_H)ᵀ, of inner size H·d. Columns of the identity, "
    "different ones for each head, reach both: H = 4, d = 3 gives ranks 3 and 12. Multi-query attention stores 1/H "
    "of the keys, and has 1/H of the rank.",
    source="Shazeer 2019, Fast transformer decoding: one write-head is all you need (the scheme); linear algebra",
    figure=_figure,
)
