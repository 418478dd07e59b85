"""How a layer's output follows the order of its tokens: what the claims about order share.

An `OrderRelation` says what becomes of Z when the tokens are permuted. Three methods test it: matrix algebra (for every
T, d and P), ball arithmetic on a small layer that can be written down, and the reference layer on random numbers.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from flint import arb, ctx

from regard.analysis.closed_forms.order import LayerWeights, causal_softmax, layer, softmax
from regard.analysis.engines.matrix_algebra import Algebra, Scalar, matrix_identity
from regard.analysis.engines.symbolic import Field, identity
from regard.attention import Block, Linear, attention_block, causal_mask
from regard.claims._evidence import Evidence, conjunction
from regard.claims.claim import Method, Settings, Trial
from regard.core.axes import Float, Int
from regard.positions.sinusoidal import sinusoid
from regard.render.figures import Axis, HeatMap

GENERATED = "adjacent transpositions generate the permutations"
MOST_TOKENS, MOST_WIDTH = 12, 16
# In figures exact zeros, which have no logarithm, are drawn as the smallest rounding error.
_SMALLEST_GAP = 1e-17
_FEWEST_TOKENS = 6


@dataclass(frozen=True, kw_only=True)
class OrderRelation:
    """pool(Z(PX)) = becomes(P, pool(Z(X))), with a causal mask, or with position codes added to X, if it says so."""

    becomes: Callable[[Any, Any], Any]
    pool: Callable[[Any, Any], Any] = lambda _ones, z: z
    is_causal: bool = False
    has_positions: bool = False


def swap_lemmas() -> Evidence:
    """The rules of the matrix algebra, for a swap of two tokens; one more token stands for all the others.

    The rows and columns of E = e^A are the two swapped ones and one more; the remaining columns of a row enter its
    softmax as their sum `rest`, which no swap changes. Since P moves entries unchanged, e^{PA} = PE.
    """
    symbols = np.array([*Field(*(f"e_{i}{j}" for i in range(3) for j in range(3)), "rest_0", "rest_1", "rest_2")])
    entries, rest = symbols[:9].reshape(3, 3), symbols[9:]
    swap = np.array([[0, 1, 0], [1, 0, 0], [0, 0, 1]])

    def shares(exponentials: np.ndarray, others: np.ndarray) -> np.ndarray:
        return exponentials / (exponentials.sum(axis=1) + others)[:, None]

    found = conjunction(
        identity(swap.T @ swap, np.eye(3, dtype=int), "PᵀP = I"),
        identity(swap.sum(axis=1), np.ones(3, dtype=int), "P1 = 1"),
        identity(swap @ entries, entries[[1, 0, 2]], "P moves entries unchanged, so ReLU(PA) = P·ReLU(A)"),
        identity(shares(swap @ entries, swap @ rest), swap @ shares(entries, rest), "softmax(PA) = P·softmax(A)"),
        identity(shares(entries @ swap.T, rest), shares(entries, rest) @ swap.T, "softmax(APᵀ) = softmax(A)·Pᵀ"),
    )
    if found.status != "proved":
        return found
    rules = "PᵀP = I, P1 = 1, softmax(PAPᵀ) = P·softmax(A)·Pᵀ and ReLU(PA) = P·ReLU(A)"
    return replace(found, detail=f"{rules}: identities for a swap of two among any number of tokens")


def generic_layer() -> tuple[Algebra, LayerWeights]:
    """Weights of which only the shapes are known: T tokens of width d, heads of width k, h inner units."""
    algebra = Algebra()
    return algebra, LayerWeights(
        query=algebra.matrix("W_Q", "d", "k"),
        key=algebra.matrix("W_K", "d", "k"),
        value=algebra.matrix("W_V", "d", "v"),
        inner=algebra.matrix("W_1", "v", "h"),
        inner_bias=algebra.matrix("b_1", "1", "h"),
        outer=algebra.matrix("W_2", "h", "o"),
        outer_bias=algebra.matrix("b_2", "1", "o"),
        scale=Scalar("1/√d"),
        ones=algebra.ones("T"),
    )


def _by_algebra(trial: Trial) -> list[Evidence]:
    """The relation for every number of tokens, every width, all weights and every permutation."""
    algebra, weights = generic_layer()
    order, x = algebra.permutation("P", "T"), algebra.matrix("X", "T", "d")
    positions = algebra.matrix("Φ", "T", "d")
    relation, share = trial.form, causal_softmax if trial.form.is_causal else softmax

    def pooled(tokens: Any) -> Any:
        placed = tokens + positions if relation.has_positions else tokens
        return relation.pool(weights.ones, layer(placed, weights, share=share))

    claimed = matrix_identity(lambda: pooled(order @ x), lambda: relation.becomes(order, pooled(x)), "the relation")
    return [swap_lemmas(), claimed]


def plain_weights(tokens: int, *, query: int = 1) -> LayerWeights:
    """d = 1, every weight 1 (except perhaps W_Q) and every bias 0, in balls: a layer that can be written down."""
    one = balls(np.ones((1, 1)))
    return LayerWeights(
        query=query * one,
        key=one,
        value=one,
        inner=one,
        inner_bias=0 * one,
        outer=one,
        outer_bias=0 * one,
        scale=arb(1),
        ones=balls(np.ones((tokens, 1))),
    )


def _by_balls(trial: Trial) -> Evidence:
    """A small layer in ball arithmetic, its tokens rotated by one place: disjoint balls are a certain difference."""
    tokens, relation = min(trial.at.T, 4), trial.form
    share = causal_softmax if relation.is_causal else softmax
    order, column = np.roll(np.eye(tokens, dtype=int), 1, axis=0), np.arange(1.0, tokens + 1)[:, None]
    extras = ", a causal mask" * relation.is_causal + f", Φ = {tuple(range(tokens))}" * relation.has_positions
    what = f"d = 1, all weights 1, biases 0{extras}, X = {tuple(range(1, tokens + 1))}, tokens rotated by one place"
    with ctx.workprec(128):
        x, weights = balls(column), plain_weights(tokens)
        positions = balls(np.arange(tokens)[:, None] * (1.0 if relation.has_positions else 0.0))
        before, after = (
            relation.pool(weights.ones, layer(tokens_in + positions, weights, share=share))
            for tokens_in in (x, order @ x)
        )
        return _same_balls(after, relation.becomes(order, before), what)


def _same_balls(found: np.ndarray, claimed: np.ndarray, what: str) -> Evidence:
    if found.shape != claimed.shape:
        against = f"{what}: shape {found.shape}, the statement says {claimed.shape}"
        return Evidence(status="refuted", detail="the shapes differ", counterexample=against)
    if overlap(found, claimed):
        return Evidence(status="holds", detail=f"balls overlap: {what}")
    gap = max(abs(float(one - other)) for one, other in zip(found.ravel(), claimed.ravel(), strict=True))
    against = f"{what}: the output is ({listed(found)}), the statement says ({listed(claimed)})"
    return Evidence(status="refuted", detail="balls are disjoint", value=gap, counterexample=against)


def balls(numbers: np.ndarray) -> np.ndarray:
    """Numbers as exact balls."""
    return np.vectorize(lambda number: arb(float(number)), otypes=[object])(numbers)


def overlap(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether every ball overlaps the one in its place: then nothing shows that the two arrays differ."""
    return all(here.overlaps(there) for here, there in zip(one.ravel(), other.ravel(), strict=True))


def listed(numbers: np.ndarray, digits: int = 6) -> str:
    """The entries of an array of balls, for a counterexample."""
    return ", ".join(f"{float(entry):.{digits}g}" for entry in numbers.ravel())


def _by_reference_layer(trial: Trial) -> Evidence:
    """The reference layer on random numbers: a fresh X for each adjacent swap, then a rotation and a shuffle."""
    tokens, width = min(trial.at.T, MOST_TOKENS), min(trial.at.d, MOST_WIDTH)
    relation, rng, worst = trial.form, trial.rng("layer"), 0.0
    block, positions = random_block(width, rng), rng.normal(size=(tokens, width)) * relation.has_positions
    mask, ones = causal_mask(tokens, tokens) if relation.is_causal else None, np.ones((tokens, 1))
    for order in [*_adjacent_swaps(tokens), np.roll(np.arange(tokens), 1), rng.permutation(tokens)]:
        x = rng.normal(size=(tokens, width))
        z, z_after = (attention_block(x_in + positions, block, mask=mask) for x_in in (x, x[order]))
        claimed = relation.becomes(np.eye(tokens)[order], relation.pool(ones, z))
        gap = float(np.abs(relation.pool(ones, z_after) - claimed).max())
        if not gap <= rounding_of(z):
            against = (
                f"T = {tokens}, d = {width}, seed {trial.seed}, random weights and X, tokens in the order "
                f"{(order + 1).tolist()}: off by {gap:.6g}, rounding explains {rounding_of(z):.1g}"
            )
            return Evidence(status="refuted", detail=f"off by {gap:.3g}", value=gap, counterexample=against)
        worst = max(worst, gap)
    return Evidence(
        status="holds",
        detail=f"every adjacent swap, a rotation and a shuffle of T = {tokens} tokens agree to {worst:.1e}",
        value=worst,
        bound=1e-12,
        is_of_smaller_case=tokens < trial.at.T or width < trial.at.d,
    )


ORDER_METHODS: Mapping[str, Method] = {
    "balls": _by_balls,
    "algebra": _by_algebra,
    "reference layer": _by_reference_layer,
}


def rounding_of(z: Float[np.ndarray, "*batch width"]) -> float:
    """10⁻¹²·(1 + max|Z|): several thousand float64 roundings of 2⁻⁵³ each, relative to the output's size."""
    return 1e-12 * (1 + float(np.abs(z).max()))


def random_block(width: int, rng: np.random.Generator) -> Block:
    """Gaussian weights that preserve the size of their input, and Gaussian biases."""

    def matrix(bias: bool = False) -> Linear:
        return Linear(
            weight=rng.normal(size=(width, width)) / np.sqrt(width), bias=rng.normal(size=width) if bias else None
        )

    return Block(query=matrix(), key=matrix(), value=matrix(), hidden=matrix(bias=True), output=matrix(bias=True))


def _adjacent_swaps(tokens: int) -> list[Int[np.ndarray, " position"]]:
    return [np.array([*range(first), first + 1, first, *range(first + 2, tokens)]) for first in range(tokens - 1)]


def swap_figure(
    at: Settings, *, title: str, caption: str, relation: OrderRelation, gap: str = "Z(PX) − PZ(X)"
) -> HeatMap:
    """How far each output row is from the relation when two neighbouring tokens are swapped, one row per swap."""
    tokens, width = max(min(at.T, MOST_TOKENS), _FEWEST_TOKENS), 2 * max(min(at.d, MOST_WIDTH) // 2, 2)
    rng = np.random.default_rng(0)
    block, x = random_block(width, rng), rng.normal(size=(tokens, width))
    codes = sinusoid(np.arange(tokens), width=width) if relation.has_positions else np.zeros((tokens, width))
    mask = causal_mask(tokens, tokens) if relation.is_causal else None
    before, rows = attention_block(x + codes, block, mask=mask), []
    for order in _adjacent_swaps(tokens):
        after = attention_block(x[order] + codes, block, mask=mask)
        rows.append(np.abs(after - relation.becomes(np.eye(tokens)[order], before)).max(axis=1))
    return HeatMap(
        title=title,
        caption=f"log₁₀ of the largest |{gap}| in each output row when P swaps two neighbours; T = {tokens}, "
        f"d = {width}, random weights. {caption}",
        # Both ends of the scale are the same in all of these figures, so that they can be compared.
        x=Axis(label="row of the output", lower=1.0),
        y=Axis(label="tokens t and t+1 swapped, t =", lower=1.0),
        lower=-17.0,
        upper=1.0,
        values=np.log10(np.maximum(rows, _SMALLEST_GAP)),
    )
