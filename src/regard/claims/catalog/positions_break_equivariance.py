"""Position codes added to the tokens break equivariance, unless every position has the same code."""

from dataclasses import dataclass

import numpy as np
from flint import arb, ctx

from regard.analysis.closed_forms.order import layer, swapped_code
from regard.analysis.engines.symbolic import Field, positive
from regard.analysis.engines.words import same
from regard.attention import attention_block
from regard.claims._comparisons import all_parts, settled, universality
from regard.claims._order import (
    GENERATED,
    MOST_WIDTH,
    balls,
    generic_layer,
    plain_weights,
    random_block,
    rounding_of,
    swap_lemmas,
    thinned_tokens,
)
from regard.claims.claim import Claim, Rival, Trial
from regard.claims.figures import order
from regard.claims.parameters import Parameter
from regard.core.axes import Float
from regard.core.verdict import Evidence
from regard.positions.sinusoidal import sinusoid

# A narrow layer's ReLU may be off for every token, so one draw of weights is not enough.
NUM_DRAWS = 8


@dataclass(frozen=True, kw_only=True)
class CodedOrder:
    """Whether X ↦ Z(X+Φ) is equivariant when Φ's rows differ, and when they are all the same."""

    with_different_rows: bool = False
    with_equal_rows: bool = True


def _by_algebra(trial: Trial) -> Evidence:
    """For every Φ whose rows i and j differ, by δ: X = −Φ and a layer with Z = H make PZ(X+Φ) zero.

    Then PX+Φ has rows δ and −δ at i and j and zeros elsewhere, so with E = e^{|δ|²/√d} > 1 row i of Z(PX+Φ) is
    δ(E − 1/E)/(E + 1/E + T−2). With Φ = 1φ words show equivariance; with any Φ = PD that Z(PX+Φ) = PZ(X+PᵀΦ).
    """
    field, rng = Field("E-1", counts=("T-2",)), trial.rng("algebra")
    algebra, weights = generic_layer()
    order, x = algebra.permutation("P", "T"), algebra.matrix("X", "T", "d")
    moved, equal = algebra.matrix("PᵀΦ", "T", "d"), weights.ones @ algebra.matrix("φ", "1", "d")
    breaks = positive(
        swapped_code(1 + field["E-1"], 2 + field["T-2"]),
        rng=rng,
        what="row i of Z(PX+Φ) is a positive multiple of δ, that of PZ(X+Φ) is 0",
    )
    keeps = same(
        lambda: layer(order @ x + equal, weights), lambda: order @ layer(x + equal, weights), what="equal rows, Φ = 1φ"
    )
    return all_parts(
        "algebra",
        [
            swap_lemmas(rng),
            same(
                lambda: layer(order @ x + order @ moved, weights),
                lambda: order @ layer(x + moved, weights),
                what="Z(PX+Φ) = PZ(X+PᵀΦ)",
            ),
            settled(breaks, claimed=trial.form.with_different_rows, is_so=False, shown=_case(2, np.arange(2.0))[1]),
            settled(keeps, claimed=trial.form.with_equal_rows, is_so=True, shown=_case(2, np.ones(2))[1]),
        ],
    )


def _case(tokens: int, codes: np.ndarray) -> tuple[bool, str]:
    """Whether shifting the tokens of a layer with d = 1 and all weights 1 differs from shifting its output, and how."""
    order, column = np.roll(np.eye(tokens, dtype=int), 1, axis=0), np.arange(1.0, tokens + 1)[:, None]
    with ctx.workprec(128):
        x, code, weights = balls(column), balls(codes[:, None]), plain_weights(tokens)
        before, after = order @ layer(x + code, weights), layer(order @ x + code, weights)
        differs = not all(one.overlaps(other) for one, other in zip(before.ravel(), after.ravel(), strict=True))
        sides = [", ".join(f"{float(arb(entry)):.6g}" for entry in side.ravel()) for side in (after, before)]
    return differs, (
        f"d = 1, all weights 1, biases 0, Φ = {tuple(codes.astype(int).tolist())}, "
        f"X = {tuple(range(1, tokens + 1))}, tokens shifted round by one: "
        f"Z(PX+Φ) = ({sides[0]}), PZ(X+Φ) = ({sides[1]})"
    )


def _by_balls(trial: Trial) -> Evidence:
    """A small layer in ball arithmetic, with codes 0, 1, 2, … and with the same code everywhere."""
    tokens, parts = thinned_tokens(trial.at.T, 4), []
    for claimed, codes in (
        (trial.form.with_different_rows, np.arange(1.0 * tokens)),
        (trial.form.with_equal_rows, np.ones(tokens)),
    ):
        differs, shown = _case(tokens, codes)
        parts.append(universality(shown, claimed=claimed, differs=differs, route="balls", certain="proved"))
    return all_parts("balls", parts)


def _by_reference_layer(trial: Trial) -> Evidence:
    """The reference layer with sinusoidal codes (random ones at odd widths) and with one code for all."""
    tokens, width, rng = thinned_tokens(trial.at.T), min(trial.at.d, MOST_WIDTH), trial.rng("layer")
    varied = rng.normal(size=(tokens, width)) if width % 2 else sinusoid(np.arange(tokens), width=width)
    parts = []
    for what, claimed, codes in (
        ("different codes", trial.form.with_different_rows, varied),
        ("equal codes", trial.form.with_equal_rows, np.tile(varied[:1], (tokens, 1))),
    ):
        gap = max(_gap(codes, rng) for _ in range(NUM_DRAWS))
        shown = (
            f"T = {tokens}, d = {width}, seed {trial.seed}, {what}, random weights and X, tokens shifted round: "
            f"Z(PX+Φ) and PZ(X+Φ) are {gap:.3g} roundings apart"
        )
        parts.append(
            universality(shown, claimed=claimed, differs=not gap <= 1, route="reference layer", certain="holds")
        )
    return all_parts("reference layer", parts)


def _gap(codes: Float[np.ndarray, "position width"], rng: np.random.Generator) -> float:
    """How far a random layer is from equivariance under a shift, in units of its rounding."""
    block, x = random_block(codes.shape[1], rng), rng.normal(size=codes.shape)
    z, z_after = (attention_block(start + codes, block) for start in (x, np.roll(x, 1, axis=0)))
    return float(np.abs(np.roll(z, 1, axis=0) - z_after).max()) / rounding_of(z)


CLAIM = Claim(
    id="positions-break-equivariance",
    section="4 order",
    statement="with X+Φ in place of X equivariance fails, for every Φ whose rows are not all equal and only for those",
    latex=r"Z(PX+\Phi)\ne P\,Z(X+\Phi)\text{ for some }X,P",
    expected="proved",
    parameters=(
        Parameter(name="T", default=6, lower=2, is_integer=True),
        Parameter(name="d", default=4, lower=1, is_integer=True),
    ),
    conditions=("no mask",),
    form=CodedOrder(),
    rivals=(
        Rival(statement="position codes leave the layer equivariant", form=CodedOrder(with_different_rows=True)),
        Rival(
            statement="the same code at every position breaks equivariance, too", form=CodedOrder(with_equal_rows=False)
        ),
    ),
    routes=(_by_algebra, _by_balls, _by_reference_layer),
    assumes=(GENERATED,),
    derivation="PX+Φ = P(X+PᵀΦ), so Z(PX+Φ) = P Z(X+PᵀΦ): the codes stay where they are while the tokens move. "
    "That is P Z(X+Φ) for every layer, X and P only if PᵀΦ = Φ for every P, that is, if all rows of Φ are equal. "
    "If rows i and j differ by δ, swap them at X = −Φ: the tokens become ±δ, and a layer with Z = H maps them to "
    "±δ(E−1/E)/(E+1/E+T−2) with E = e^{|δ|²/√d}, not to 0.",
    source="CS224N assignment 4, question 2(b)",
    figure=order.positioned,
)
