"""How a layer's output follows the order of its tokens: what the claims of that section share.

A `Relation` says what becomes of Z when the tokens are permuted. Three routes try it: words (every T, d and P),
balls on a small layer that can be written down, and the reference layer on random numbers.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from flint import arb, ctx

from regard.analysis.closed_forms.order import LayerWeights, causal_softmax, layer, softmax
from regard.analysis.engines.symbolic import Field, identity
from regard.analysis.engines.words import Algebra, Scalar, same
from regard.attention import Block, Linear, attention_block, causal_mask
from regard.claims._comparisons import all_parts
from regard.claims.claim import Trial
from regard.core.axes import Float, Int
from regard.core.verdict import Evidence

GENERATED = "adjacent transpositions generate the permutations"
MOST_TOKENS, MOST_WIDTH = 12, 16


@dataclass(frozen=True, kw_only=True)
class Relation:
    """pool(Z(PX)) = becomes(P, pool(Z(X))), with a causal mask, or with position codes added to X, if it says so."""

    becomes: Callable[[Any, Any], Any]
    pool: Callable[[Any, Any], Any] = lambda _ones, z: z
    is_causal: bool = False
    has_positions: bool = False


def thinned_tokens(tokens: int, most: int = MOST_TOKENS) -> int:
    """The number of tokens that a route with numbers uses; words cover every number."""
    return min(tokens, most)


def swap_lemmas(rng: np.random.Generator) -> Evidence:
    """The rules that words use, for a swap of two tokens: any other token stands for all others.

    The rows and columns of E = e^A are the two swapped ones and one more; the remaining columns of a row enter its
    softmax as their sum `rest`, which no swap changes. Since P moves entries unchanged, e^{PA} = PE.
    """
    field = Field(*(f"e_{i}{j}" for i in range(3) for j in range(3)), *(f"rest_{i}" for i in range(3)))
    entries, rest = field.array("e", 3, 3), field.array("rest", 3)
    swap, moved = np.array([[0, 1, 0], [1, 0, 0], [0, 0, 1]]), [1, 0, 2]

    def shares(exponentials: np.ndarray, others: np.ndarray) -> np.ndarray:
        return exponentials / (exponentials.sum(axis=1) + others)[:, None]

    found = all_parts(
        "algebra",
        [
            identity(swap.T @ swap, np.eye(3, dtype=int), rng=rng, what="PᵀP = I"),
            identity(swap.sum(axis=1), np.ones(3, dtype=int), rng=rng, what="P1 = 1"),
            identity(
                swap @ entries, entries[moved], rng=rng, what="P moves entries unchanged, so ReLU(PA) = P·ReLU(A)"
            ),
            identity(
                shares(swap @ entries, swap @ rest),
                swap @ shares(entries, rest),
                rng=rng,
                what="softmax(PA) = P·softmax(A)",
            ),
            identity(
                shares(entries @ swap.T, rest),
                shares(entries, rest) @ swap.T,
                rng=rng,
                what="softmax(APᵀ) = softmax(A)·Pᵀ",
            ),
        ],
    )
    if found.status != "proved":
        return found
    rules = "PᵀP = I, P1 = 1, softmax(PAPᵀ) = P·softmax(A)·Pᵀ and ReLU(PA) = P·ReLU(A)"
    return replace(found, detail=f"{rules}: identities for a swap of two among any number of tokens")


def generic_layer() -> tuple[Algebra, LayerWeights]:
    """Weights of which only the shapes are known: T tokens of width d, heads of width k, h inner units."""
    algebra = Algebra()
    algebra.passes("softmax", "rows", "columns")
    algebra.passes("ReLU", "rows", "columns")
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


def by_words(trial: Trial) -> Evidence:
    """The relation for every number of tokens, every width, all weights and every permutation."""
    algebra, weights = generic_layer()
    order, x = algebra.permutation("P", "T"), algebra.matrix("X", "T", "d")
    positions = algebra.matrix("Φ", "T", "d")
    relation, share = trial.form, causal_softmax if trial.form.is_causal else softmax

    def pooled(tokens: Any) -> Any:
        placed = tokens + positions if relation.has_positions else tokens
        return relation.pool(weights.ones, layer(placed, weights, share=share))

    claimed = same(lambda: pooled(order @ x), lambda: relation.becomes(order, pooled(x)), what="the relation")
    return all_parts("algebra", [swap_lemmas(trial.rng("lemmas")), claimed])


def plain_weights(tokens: int, *, query: int = 1) -> LayerWeights:
    """d = 1, every weight 1 (but W_Q may differ) and every bias 0, in balls: a layer that can be written down."""
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


def by_balls(trial: Trial) -> Evidence:
    """A small layer in ball arithmetic, its tokens shifted round by one: disjoint balls are a certain difference."""
    tokens, relation = thinned_tokens(trial.at.T, 4), trial.form
    share = causal_softmax if relation.is_causal else softmax
    order, column = np.roll(np.eye(tokens, dtype=int), 1, axis=0), np.arange(1.0, tokens + 1)[:, None]
    with ctx.workprec(128):
        x, weights = balls(column), plain_weights(tokens)
        positions = balls(np.arange(tokens)[:, None] * (1.0 if relation.has_positions else 0.0))
        before, after = (
            relation.pool(weights.ones, layer(tokens_in + positions, weights, share=share))
            for tokens_in in (x, order @ x)
        )
        return _compared(after, relation.becomes(order, before), what=_written_down(relation, tokens))


def _written_down(relation: Relation, tokens: int) -> str:
    extras = ", a causal mask" * relation.is_causal + f", Φ = {tuple(range(tokens))}" * relation.has_positions
    return f"d = 1, all weights 1, biases 0{extras}, X = {tuple(range(1, tokens + 1))}, tokens shifted round by one"


def _compared(measured: np.ndarray, claimed: np.ndarray, *, what: str) -> Evidence:
    if measured.shape != claimed.shape:
        return Evidence(
            route="balls",
            status="refuted",
            detail="the shapes do not fit",
            counterexample=f"{what}: shape {measured.shape}, the statement says {claimed.shape}",
        )
    if all(one.overlaps(other) for one, other in zip(measured.ravel(), claimed.ravel(), strict=True)):
        return Evidence(route="balls", status="holds", detail=f"balls overlap: {what}")
    shown, said = (", ".join(f"{float(entry):.6g}" for entry in side.ravel()) for side in (measured, claimed))
    gap = max(abs(float(one - other)) for one, other in zip(measured.ravel(), claimed.ravel(), strict=True))
    return Evidence(
        route="balls",
        status="refuted",
        detail="balls are disjoint",
        value=gap,
        counterexample=f"{what}: the output is ({shown}), the statement says ({said})",
    )


def by_reference_layer(trial: Trial) -> Evidence:
    """The reference layer on random numbers: a fresh X for each adjacent swap, then a shift and a shuffle."""
    tokens, width = thinned_tokens(trial.at.T), min(trial.at.d, MOST_WIDTH)
    relation, rng, worst = trial.form, trial.rng("layer"), 0.0
    block, positions = random_block(width, rng), rng.normal(size=(tokens, width)) * relation.has_positions
    mask, ones = causal_mask(tokens, tokens) if relation.is_causal else None, np.ones((tokens, 1))
    for order in _orders(tokens, rng):
        x = rng.normal(size=(tokens, width))
        z, z_after = (attention_block(x_in + positions, block, mask=mask) for x_in in (x, x[order]))
        claimed = relation.becomes(np.eye(tokens)[order], relation.pool(ones, z))
        gap = float(np.abs(relation.pool(ones, z_after) - claimed).max())
        if not gap <= rounding_of(z):
            return Evidence(
                route="reference layer",
                status="refuted",
                detail=f"off by {gap:.3g}",
                value=gap,
                counterexample=f"T = {tokens}, d = {width}, seed {trial.seed}, random weights and X, "
                f"tokens in the order {(order + 1).tolist()}: "
                f"off by {gap:.6g}, rounding explains {rounding_of(z):.1g}",
            )
        worst = max(worst, gap)
    detail = f"every adjacent swap, a shift and a shuffle of T = {tokens} tokens agree to {worst:.1e}"
    return Evidence(
        route="reference layer",
        status="holds",
        detail=detail,
        value=worst,
        bound=1e-12,
        is_of_smaller_case=tokens < trial.at.T or width < trial.at.d,
    )


def rounding_of(z: Float[np.ndarray, "*batch width"]) -> float:
    """10⁻¹²·(1 + max|Z|): some thousand float64 roundings of 2⁻⁵³ each, relative to the output's size."""
    return 1e-12 * (1 + float(np.abs(z).max()))


def random_block(width: int, rng: np.random.Generator) -> Block:
    """Gaussian weights that keep the size of what they act on, and Gaussian biases."""

    def matrix(bias: bool = False) -> Linear:
        return Linear(
            weight=rng.normal(size=(width, width)) / np.sqrt(width), bias=rng.normal(size=width) if bias else None
        )

    return Block(query=matrix(), key=matrix(), value=matrix(), hidden=matrix(bias=True), output=matrix(bias=True))


def _orders(tokens: int, rng: np.random.Generator) -> list[Int[np.ndarray, " position"]]:
    """Every adjacent swap, a shift round by one, and a random shuffle."""
    swaps = []
    for first in range(tokens - 1):
        order = np.arange(tokens)
        order[[first, first + 1]] = first + 1, first
        swaps.append(order)
    return [*swaps, np.roll(np.arange(tokens), 1), rng.permutation(tokens)]


def balls(numbers: np.ndarray) -> np.ndarray:
    """Numbers as exact balls."""
    return np.vectorize(lambda number: arb(float(number)), otypes=[object])(numbers)
