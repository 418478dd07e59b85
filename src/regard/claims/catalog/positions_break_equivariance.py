"""Position codes added to the tokens break equivariance, unless every position has the same code."""

import numpy as np
from flint import ctx

from regard.analysis.closed_forms.order import layer, swapped_code
from regard.analysis.engines.matrix_algebra import matrix_identity
from regard.analysis.engines.symbolic import positive
from regard.attention import attention_block
from regard.claims import _order
from regard.claims._evidence import Evidence, from_one_case, yes_or_no
from regard.claims.claim import Claim, Form, NearMiss, Trial, integer
from regard.core.axes import Float
from regard.positions.sinusoidal import sinusoid

# A narrow layer's ReLU may be off for every token, so one draw of weights is not enough.
_NUM_DRAWS = 8


def _by_algebra(trial: Trial) -> list[Evidence]:
    """For every Φ whose rows i and j differ, by δ: X = −Φ and a layer with Z = H make PZ(X+Φ) zero.

    Then PX+Φ has rows δ and −δ at i and j and zeros elsewhere, so with E = e^{|δ|²/√d} > 1 row i of Z(PX+Φ) is
    δ(E − 1/E)/(E + 1/E + T−2). Matrix algebra shows equivariance for Φ = 1φ, and Z(PX+Φ) = PZ(X+PᵀΦ) for any Φ.
    """
    excess, others = trial.field("E-1", counts=("T-2",))
    algebra, weights = _order.generic_layer()
    order, x = algebra.permutation("P", "T"), algebra.matrix("X", "T", "d")
    moved, equal = algebra.matrix("PᵀΦ", "T", "d"), weights.ones @ algebra.matrix("φ", "1", "d")
    what = "row i of Z(PX+Φ) is a positive multiple of δ, that of PZ(X+Φ) is 0"
    breaks = positive(swapped_code(1 + excess, 2 + others), what)
    rule = "Z(PX+Φ) = PZ(X+PᵀΦ)"
    moves = matrix_identity(
        lambda: layer(order @ (x + moved), weights), lambda: order @ layer(x + moved, weights), rule
    )
    keeps = matrix_identity(
        lambda: layer(order @ x + equal, weights), lambda: order @ layer(x + equal, weights), "Φ = 1φ"
    )
    different, alike = _case(2, np.arange(2.0))[1], _case(2, np.ones(2))[1]
    return [
        _order.swap_lemmas(),
        moves,
        yes_or_no(breaks, claimed=trial.form.with_different_rows, truth=False, counterexample=different),
        yes_or_no(keeps, claimed=trial.form.with_equal_rows, truth=True, counterexample=alike),
    ]


def _case(tokens: int, codes: np.ndarray) -> tuple[bool, str]:
    """Whether rotating the tokens of a layer with d = 1 and all weights 1 differs from rotating its output, and how."""
    order, column = np.roll(np.eye(tokens, dtype=int), 1, axis=0), np.arange(1.0, tokens + 1)[:, None]
    with ctx.workprec(128):
        x, code, weights = _order.balls(column), _order.balls(codes[:, None]), _order.plain_weights(tokens)
        before, after = order @ layer(x + code, weights), layer(order @ x + code, weights)
        differs = not _order.overlap(before, after)
        sides = f"Z(PX+Φ) = ({_order.listed(after)}), PZ(X+Φ) = ({_order.listed(before)})"
    inputs = f"Φ = {tuple(codes.astype(int).tolist())}, X = {tuple(range(1, tokens + 1))}"
    return differs, f"d = 1, all weights 1, biases 0, {inputs}, tokens rotated by one place: {sides}"


def _by_balls(trial: Trial) -> list[Evidence]:
    """A small layer in ball arithmetic, with codes 0, 1, 2, … and with the same code everywhere."""
    tokens, parts = min(trial.at.T, 4), []
    for claimed, codes in (
        (trial.form.with_different_rows, np.arange(1.0 * tokens)),
        (trial.form.with_equal_rows, np.ones(tokens)),
    ):
        differs, shown = _case(tokens, codes)
        parts.append(from_one_case(shown, claimed=claimed, differs=differs, certain="proved"))
    return parts


def _by_reference_layer(trial: Trial) -> list[Evidence]:
    """The reference layer with sinusoidal codes (random ones at odd widths) and with one code for all."""
    tokens, width, rng = min(trial.at.T, _order.MOST_TOKENS), min(trial.at.d, _order.MOST_WIDTH), trial.rng("layer")
    varied = rng.normal(size=(tokens, width)) if width % 2 else sinusoid(np.arange(tokens), width=width)
    parts = []
    for what, claimed, codes in (
        ("different codes", trial.form.with_different_rows, varied),
        ("equal codes", trial.form.with_equal_rows, np.tile(varied[:1], (tokens, 1))),
    ):
        gap = max(_gap(codes, rng) for _ in range(_NUM_DRAWS))
        shown = (
            f"T = {tokens}, d = {width}, seed {trial.seed}, {what}, random weights and X, tokens rotated: "
            f"Z(PX+Φ) and PZ(X+Φ) are {gap:.3g} roundings apart"
        )
        parts.append(from_one_case(shown, claimed=claimed, differs=not gap <= 1, certain="holds"))
    return parts


def _gap(codes: Float[np.ndarray, "position width"], rng: np.random.Generator) -> float:
    """How far a random layer is from equivariance under a rotation, in units of its rounding."""
    block, x = _order.random_block(codes.shape[1], rng), rng.normal(size=codes.shape)
    z, z_after = (attention_block(start + codes, block) for start in (x, np.roll(x, 1, axis=0)))
    return float(np.abs(np.roll(z, 1, axis=0) - z_after).max()) / _order.rounding_of(z)


CLAIM = Claim(
    id="positions-break-equivariance",
    section="4 order",
    statement="with X+Φ in place of X, equivariance fails for every Φ whose rows are not all equal, and only for those",
    latex=r"Z(PX+\Phi)\ne P\,Z(X+\Phi)\text{ for some }X,P",
    expected="proved",
    parameters=(integer("T", 6, lower=2), integer("d", 4, lower=1)),
    conditions=("no mask",),
    assumes=(_order.GENERATED,),
    # Whether X ↦ Z(X+Φ) is equivariant when Φ's rows differ, and when they are all the same.
    form=Form(with_different_rows=False, with_equal_rows=True),
    near_misses=(
        NearMiss("position codes leave the layer equivariant", {"with_different_rows": True}),
        NearMiss("the same code at every position breaks equivariance, too", {"with_equal_rows": False}),
    ),
    methods={"algebra": _by_algebra, "balls": _by_balls, "reference layer": _by_reference_layer},
    derivation="PX+Φ = P(X+PᵀΦ), so Z(PX+Φ) = P Z(X+PᵀΦ): the codes stay in place while the tokens move. That equals "
    "P Z(X+Φ) for every layer, X and P only if PᵀΦ = Φ for every P, which means that all rows of Φ are equal. If "
    "rows i and j differ by δ, swap them at X = −Φ: the tokens become ±δ, and a layer with Z = H maps them to "
    "±δ(E−1/E)/(E+1/E+T−2) with E = e^{|δ|²/√d}, not to 0.",
    source="CS224N assignment 4, question 2(b)",
    figure=lambda at: _order.swap_figure(
        at,
        title="Codes stay while tokens move",
        caption="With sinusoidal codes every row changes, because every token sees the swapped pair at other "
        "positions.",
        relation=_order.OrderRelation(becomes=lambda order, z: order @ z, has_positions=True),
        gap="Z(PX+Φ) − PZ(X+Φ)",
    ),
    demonstration="shuffle?codes=sinusoidal",
)
