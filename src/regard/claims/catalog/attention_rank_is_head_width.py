"""Misconception: the rank of a matrix of attention weights is at most the width of its head."""

from dataclasses import replace
from fractions import Fraction

import numpy as np

from regard.analysis.closed_forms.low_rank import centred_logs_rank, power_table, rank_of, row_centred, weights_rank
from regard.analysis.engines.matrix_algebra import Algebra, Scalar, matrix_identity
from regard.analysis.engines.symbolic import identity
from regard.attention import AttentionRule, attention_weights
from regard.claims._evidence import Evidence, conjunction, one_case, smaller_case, yes_or_no
from regard.claims._figures import spectra
from regard.claims.claim import Claim, Form, NearMiss, Settings, Trial, integer
from regard.render.figures import Chart

_MOST_TOKENS, _FLOAT_TOKENS = 24, 6


_IN_POWERS = (
    "one coordinate of q_i is i·log 2 and that of k_j is j, i, j = 0…T−1, all others 0: A is the table 2^{ij} with "
    "rows divided by their sums, and a Vandermonde matrix of T different nodes has rank T"
)
_IN_UNITS = (
    "Q = K = the first d columns of the identity (T−1 of them if d ≥ T), where the row-centred log A is QKᵀ − Q1ᵀ/T,"
)


def _sizes(trial: Trial, most: int) -> tuple[int, int]:
    """Width d and T = d + extra tokens, both small enough, with d < T."""
    tokens = min(trial.at.d + trial.at.extra, most)
    return min(trial.at.d, tokens - 1), tokens


def _by_algebra(trial: Trial) -> Evidence:
    """Every T and d: A by Vandermonde's determinant; log A = QKᵀ − r1ᵀ by matrix algebra, 1ᵀC = 0 for centring C."""
    width, tokens = trial.at.d, trial.at.d + trial.at.extra
    claimed = trial.form.most(width, tokens)
    sizes = f"d = {width:.12g}, T = {tokens:.12g}"
    if trial.form.of == "A":
        found = _vandermonde(trial)
        shown = f"{sizes}; {_IN_POWERS} = {tokens:.12g}; the statement says at most {claimed:.12g}"
        return yes_or_no(found, claimed=claimed == tokens, truth=True, counterexample=shown)
    truth = centred_logs_rank(width, tokens)
    reached = f"the rank is at most {truth:.12g}, and {_IN_UNITS} reaches it"
    shown = f"{sizes}: {reached}; the statement says {claimed:.12g}"
    return yes_or_no(_bottleneck(), claimed=claimed == truth, truth=True, counterexample=shown)


def _bottleneck() -> Evidence:
    """(log A)C = Q(CᵀK)ᵀ has rank at most d; Q = K = U, d < T orthonormal columns of sum 0, reach it, since CU = U."""
    algebra = Algebra()
    q, k, r = (algebra.matrix(name, "T", size) for name, size in (("Q", "d"), ("K", "d"), ("r", "1")))
    ones, centring, unit = algebra.ones("T"), algebra.matrix("C", "T", "T"), algebra.orthonormal("U", "T", "d")
    algebra.let_vanish(ones.T, centring)
    algebra.let_vanish(ones.T, unit)
    logits = unit @ unit.T
    centred = logits - logits @ ones @ ones.T * Scalar("1/T")
    bounded, reached = "row-centred log A = Q(CᵀK)ᵀ, of inner size d", "Q = K = U with UᵀU = I and 1ᵀU = 0 reach rank d"
    return conjunction(
        matrix_identity(lambda: (q @ k.T - r @ ones.T) @ centring, lambda: q @ (centring.T @ k).T, bounded),
        matrix_identity(lambda: unit.T @ centred @ unit, lambda: unit.T @ unit, reached),
    )


def _vandermonde(trial: Trial) -> Evidence:
    """det(s_i x_i^j) = Π_i s_i Π_{i<j} (x_j − x_i) for three generic nodes and divisors; likewise for any number."""
    x, s = np.array([*trial.field("x_0", "x_1", "x_2", "s_0", "s_1", "s_2")]).reshape(2, 3)
    a, b, c = (np.array([s[i] * x[i] ** j for i in range(3)]) for j in range(3))
    return identity(
        a @ np.cross(b, c),
        s.prod() * (x[1] - x[0]) * (x[2] - x[0]) * (x[2] - x[1]),
        "det(s_i x_i^j) = Π s_i Π(x_j − x_i), not 0 for different nodes x_i = 2^i, so rank A = T is "
        "reached at every width",
    )


def _by_exact_ranks(trial: Trial) -> list[Evidence]:
    """The two matrices that reach the largest ranks, in whole numbers and fractions."""
    width, tokens = _sizes(trial, _MOST_TOKENS)
    claimed = trial.form.most(width, tokens)
    if trial.form.of == "A":
        matrix, example = power_table(tokens), _IN_POWERS
    else:
        units = np.array([[Fraction(int(i == j < width)) for j in range(tokens)] for i in range(tokens)])
        matrix, example = row_centred(units), _IN_UNITS
    found = rank_of(matrix)
    shown = f"d = {width}, T = {tokens}: the rank of {trial.form.of} is {found} for this example. {example}"
    return _compared(trial, found, claimed, tokens, shown)


def _by_reference_layer(trial: Trial) -> list[Evidence]:
    """Random queries and keys through the reference layer, ranks by singular values."""
    width, tokens = _sizes(trial, _FLOAT_TOKENS)
    rng, claimed = trial.rng("layer"), trial.form.most(width, tokens)
    queries, keys = 2 * rng.normal(size=(tokens, width)), 2 * rng.normal(size=(tokens, width))
    found = attention_weights(queries, keys, rule=AttentionRule(scale=1.0))
    # log A is rounded relative to logits of some tens, while the weights of narrow heads have tiny singular values.
    matrix, cut = (found, 1e-13) if trial.form.of == "A" else (row_centred(np.log(found)), 1e-9)
    sizes = np.linalg.svd(matrix, compute_uv=False)
    rank = int((sizes > cut * sizes[0]).sum())
    at = f"d = {width}, T = {tokens}, random queries and keys, seed {trial.seed}"
    return _compared(trial, rank, claimed, tokens, f"{at}: {trial.form.of} has {rank} singular values that are not 0")


def _compared(trial: Trial, found: int, claimed: int, tokens: int, shown: str) -> list[Evidence]:
    evidence = one_case(shown, agrees=found <= claimed, said=f"at most {claimed}", value=float(found))
    if found < claimed:
        evidence = replace(evidence, status="undecided")
    return smaller_case(evidence, tried=tokens, asked=trial.at.d + trial.at.extra)


def _figure(at: Settings) -> Chart:
    width = int(min(at.d, 8))
    tokens = int(min(max(width + at.extra, 12), 48))
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(tokens, width)) @ rng.normal(size=(tokens, width)).T * 2
    weights = np.exp(logits - logits.max(axis=1, keepdims=True))
    return spectra(
        {"logits QKᵀ": logits, "weights softmax(QKᵀ)": weights / weights.sum(axis=1, keepdims=True)},
        title="Softmax raises the rank",
        caption=f"Singular values as fractions of the largest, for T = {tokens} tokens and width {width}. The logits "
        f"have {width} of them; softmax adds many more, though they fall off fast.",
        rank=width,
    )


CLAIM = Claim(
    id="attention-rank-is-head-width",
    section="8 ranks",
    statement="the T×T matrix of attention weights A = softmax(QKᵀ), Q and K of width d, has rank at most d",
    latex=r"Q,K\in\mathbb R^{T\times d}\;\Rightarrow\;\mathrm{rank}\,\mathrm{softmax}(QK^\top)\le d",
    expected="refuted",
    parameters=(integer("d", 1, lower=1), integer("extra", 5, lower=1)),
    conditions=("T = d + extra tokens",),
    assumes=("Vandermonde's determinant", "a product has no larger rank than its inner size"),
    # The largest rank that A = softmax(QKᵀ), or the row-centred log A, can have at width d and T tokens.
    form=Form(most=lambda width, _tokens: width, of="A"),
    near_misses=(
        NearMiss(
            "the row-centred log A has rank at most min(d, T−1), and can reach it (the rank bottleneck)",
            {"most": centred_logs_rank, "of": "row-centred log A"},
        ),
        NearMiss("A itself can have full rank T at every width d ≥ 1", {"most": weights_rank}),
    ),
    methods={"exact rank": _by_exact_ranks, "reference layer": _by_reference_layer, "algebra": _by_algebra},
    derivation="The logits QKᵀ have rank d, but softmax is not linear: e^{q_i k_j} with q_i = i·log 2, k_j = j is the "
    "table 2^{ij}, whose determinant is a nonzero product of differences of the nodes 2^i. Dividing rows by "
    "their sums keeps the rank, so a head of width 1 reaches full rank, T = 6 at d = 1. What is bounded is "
    "linear in the logits: log A differs from QKᵀ by a constant in each row; centring each row removes it and leaves a "
    "rank of at most d.",
    source="Bhojanapalli et al. 2020, Low-rank bottleneck in multi-head attention models; Yang et al. 2018, Breaking "
    "the softmax bottleneck",
    figure=_figure,
)
