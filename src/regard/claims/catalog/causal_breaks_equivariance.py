"""A causal mask breaks equivariance; one layer's last row still ignores order, a deeper decoder's does not."""

from fractions import Fraction

import numpy as np
from flint import ctx

from regard.analysis.closed_forms.order import causal_softmax, layer, output_row, running_means
from regard.analysis.engines.matrix_algebra import matrix_identity
from regard.analysis.engines.symbolic import identity, positive
from regard.attention import Block, Linear, attention_block, causal_mask
from regard.claims import _order
from regard.claims._evidence import Evidence, conjunction, from_one_case, yes_or_no
from regard.claims.claim import Claim, Form, NearMiss, Trial, integer

# A narrow layer's ReLU may be off for every token, so one draw of weights is not enough.
MOST_LAYERS, NUM_DRAWS = 8, 8


def _by_algebra(trial: Trial) -> list[Evidence]:
    """Each answer for every T: the first and the third by layers of running means, the second by matrix algebra."""
    form = trial.form
    unchanged = f"{_worked_case(1)}: the last row does not change, as for every X"
    return [
        yes_or_no(_first_row_differs(trial), claimed=form.is_equivariant, truth=False, counterexample=_worked_case(1)),
        _order.swap_lemmas(),
        yes_or_no(_last_row_forgets(), claimed=form.last_row_forgets, truth=True, counterexample=unchanged),
        yes_or_no(_depth_tells(trial), claimed=form.deep_last_row_forgets, truth=False, counterexample=_worked_case(2)),
    ]


def _first_row_differs(trial: Trial) -> Evidence:
    """The first row of Z(PX) is x_2, that of PZ(X) is the mean of x_1 and x_2, when P swaps the first two tokens."""
    first, apart = trial.field("x_1", "x_2-x_1")
    before, after = running_means([first, first + apart]), running_means([first + apart, first])
    return positive(after[0] - before[1], "x_2 > x_1 > 0: row 1 of Z(PX) − PZ(X)")


def _last_row_forgets() -> Evidence:
    algebra, weights = _order.generic_layer()
    order, x, last = algebra.permutation("P", "T"), algebra.matrix("X", "T", "d"), algebra.matrix("x_T", "1", "d")
    what = "the last row of one layer, before and after"
    return matrix_identity(lambda: output_row(last, order @ x, weights), lambda: output_row(last, x, weights), what)


def _depth_tells(trial: Trial) -> Evidence:
    """By induction over the depth, from the last layer down: the last row is Σ_t r_t y_t, y the rows one layer earlier.

    One layer has r_t = 1/T. In Σ_t r_t y_t with y the running means of x, all y_t with t ≥ 3 treat x_1 and x_2 alike
    (together s(x_1+x_2) + more), so x_1's coefficient is positive again and exceeds x_2's by r_1 > 0.
    """
    x_1, x_2, r_1, r_2, s, more = trial.field("x_1", "x_2", "r_1", "r_2", "s", "more")
    y_1, y_2 = running_means([x_1, x_2])
    last_row = r_1 * y_1 + r_2 * y_2 + s * (x_1 + x_2) + more
    first, second = last_row.derivative("x_1"), last_row.derivative("x_2")
    return conjunction(
        identity(first - second, r_1, "two or more layers: the coefficient of x_1 exceeds that of x_2 by r_1"),
        positive(first, "r_1 > 0 at every depth"),
    )


def _worked_case(layers: int) -> str:
    rows = []
    for numbers in ([1, 2, 3], [2, 1, 3]):
        found = [Fraction(number) for number in numbers]
        for _ in range(layers):
            found = running_means(found)
        rows.append(f"({', '.join(map(str, found))})")
    return (
        f"causal layers: {layers}, d = 1, W_Q = 0, other weights 1, biases 0: "
        f"X = (1, 2, 3) gives {rows[0]}, X = (2, 1, 3) gives {rows[1]}"
    )


def _by_balls(trial: Trial) -> list[Evidence]:
    """The layer that takes running means, and for the single layer also one that attends by content."""
    tokens, layers, form = min(trial.at.T, 5), min(trial.at.layers, MOST_LAYERS), trial.form
    swap = np.eye(tokens, dtype=int)[[1, 0, *range(2, tokens)]]
    with ctx.workprec(128):
        x = _order.balls(np.arange(1.0, tokens + 1)[:, None])
        once, once_swapped = (
            layer(start, _order.plain_weights(tokens), share=causal_softmax) for start in (x, swap @ x)
        )
        means, deep, deep_swapped = _order.plain_weights(tokens, query=0), x, swap @ x
        for _ in range(layers):
            deep, deep_swapped = (layer(z, means, share=causal_softmax) for z in (deep, deep_swapped))
        last = f"{layers} layers' last rows (with W_Q = 0)"
        return [
            _instance(f"T = {tokens}, Z(PX) and PZ(X)", form.is_equivariant, once_swapped, swap @ once),
            _instance("one layer's last rows", form.last_row_forgets, once[-1:], once_swapped[-1:]),
            _instance(last, form.deep_last_row_forgets, deep[-1:], deep_swapped[-1:]),
        ]


def _instance(what: str, claimed: bool, one: np.ndarray, other: np.ndarray) -> Evidence:
    at = "d = 1, all weights 1, biases 0, X = (1, 2, …, T), the first two swapped"
    shown = f"{at}: {what} are ({_order.listed(one, 9)}) and ({_order.listed(other, 9)})"
    return from_one_case(shown, claimed=claimed, differs=not _order.overlap(one, other), certain="proved")


def _by_reference_layer(trial: Trial) -> list[Evidence]:
    """The reference layer with a causal mask: random weights and X, and a stack of layers that take running means."""
    tokens, width, form = min(trial.at.T, _order.MOST_TOKENS), min(trial.at.d, _order.MOST_WIDTH), trial.form
    layers, rng, mask = min(trial.at.layers, MOST_LAYERS), trial.rng("layer"), causal_mask(tokens, tokens)
    order = np.array([1, 0, *range(2, tokens)])
    gaps = np.zeros(3)
    for _ in range(NUM_DRAWS):
        x, block = rng.normal(size=(tokens, width)), _order.random_block(width, rng)
        once, once_swapped = (attention_block(start, block, mask=mask) for start in (x, x[order]))
        deep, deep_swapped = np.abs(x), np.abs(x[order])
        for _ in range(layers):
            deep, deep_swapped = (attention_block(z, _averaging(width), mask=mask) for z in (deep, deep_swapped))
        pairs = ((once_swapped, once[order]), (once[-1], once_swapped[-1]), (deep[-1], deep_swapped[-1]))
        gaps = np.maximum(gaps, [np.abs(one - other).max() / _order.rounding_of(one) for one, other in pairs])
    names = ("Z(PX) and PZ(X)", "one layer's last rows", f"{layers} layers' last rows")
    answers = (form.is_equivariant, form.last_row_forgets, form.deep_last_row_forgets)
    at = f"T = {tokens}, d = {width}, seed {trial.seed}, random X, the first two tokens swapped"
    return [
        from_one_case(
            f"{at}: {what} are {gap:.3g} roundings apart", claimed=claimed, differs=not gap <= 1, certain="holds"
        )
        for what, claimed, gap in zip(names, answers, gaps, strict=True)
    ]


def _averaging(width: int) -> Block:
    """W_Q = 0 and identities elsewhere: on positive numbers, a causal layer that takes running means."""
    same_again, zero = Linear(weight=np.eye(width)), Linear(weight=np.zeros((width, width)))
    return Block(query=zero, key=same_again, value=same_again, hidden=same_again, output=same_again)


CLAIM = Claim(
    id="causal-breaks-equivariance",
    section="4 order",
    statement="with a causal mask equivariance fails; the last row of one causal layer is still invariant under "
    "permuting the earlier tokens, that of two or more layers is not: such a decoder can detect order without "
    "position codes",
    latex=r"Z_{\text{causal}}(PX)\ne P\,Z_{\text{causal}}(X)\text{ for some }X,P",
    expected="proved",
    parameters=(integer("T", 6, lower=3), integer("d", 4, lower=1), integer("layers", 2, lower=2)),
    conditions=("no position codes",),
    assumes=(_order.GENERATED,),
    # What a causal layer still ignores about order, as three yes/no answers.
    form=Form(is_equivariant=False, last_row_forgets=True, deep_last_row_forgets=False),
    near_misses=(
        NearMiss("a causal layer is equivariant", {"is_equivariant": True}),
        NearMiss("one causal layer's last row depends on the order of the earlier tokens", {"last_row_forgets": False}),
        NearMiss(
            "without position codes no decoder's last row depends on order, however deep it is",
            {"deep_last_row_forgets": True},
        ),
    ),
    methods={"algebra": _by_algebra, "balls": _by_balls, "reference layer": _by_reference_layer},
    derivation="Row 1 sees only token 1, so after a swap of tokens 1 and 2 it is a function of the other token, while "
    "row 2 mixes both. The last token sees all the others, and softmax ignores their order, so its row does not "
    "change. A second layer sees the rows of the first, which do depend on order: with W_Q = 0 layers take running "
    "means, (1, 2, 3) → (1, 3/2, 2) → … 3/2, but (2, 1, 3) → (2, 3/2, 2) → … 11/6.",
    source="Haviv et al. 2022, Transformer language models without positional encodings still learn positional "
    "information",
    figure=lambda at: _order.swap_figure(
        at,
        title="A causal mask sees order",
        caption="With a causal mask the two swapped tokens see different pasts. Later rows see the same set of "
        "tokens, so one layer leaves them unchanged.",
        relation=_order.OrderRelation(becomes=lambda order, z: order @ z, is_causal=True),
    ),
    demonstration="shuffle?isCausal=1",
)
