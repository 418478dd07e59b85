"""The myth that a causal decoder without position codes can count repeated tokens."""

from dataclasses import dataclass

import numpy as np

from regard.analysis.closed_forms.order import bos_weight, mixture
from regard.analysis.engines.symbolic import Field, identity, positive
from regard.attention import attention_block, causal_mask
from regard.claims._comparisons import all_parts, settled
from regard.claims._order import MOST_WIDTH, random_block, rounding_of, thinned_tokens
from regard.claims.claim import Claim, Rival, Trial
from regard.claims.parameters import Parameter
from regard.core.verdict import Evidence

_MOST_LAYERS = 8


@dataclass(frozen=True, kw_only=True)
class Counting:
    """Whether the repeated tokens follow a first token of another kind, and whether their rows then can differ."""

    has_bos: bool = False
    can_count: bool = True


def _by_algebra(trial: Trial) -> Evidence:
    """Without BOS a mixture of equal values is that value, whatever the weights; with it BOS's share falls with t."""
    rng, form = trial.rng("algebra"), trial.form
    if form.has_bos:
        field = Field("b-v", "v", "s", counts=("t",))
        apart, v, s, t = (field[name] for name in field.symbols)
        here, there = (mixture(1, place - 1, v + apart, v) for place in (t + 1, t + 2 + s))
        falls = positive(here - there, rng=rng, what="BOS b > v, zero logits: token t+1's row exceeds all later ones")
        share = identity((here - v) / apart, bos_weight(t + 1), rng=rng, what="BOS's share is 1/t")
        return settled(
            all_parts("algebra", [falls, share]),
            claimed=form.can_count,
            is_so=True,
            shown="d = 1, zero logits, BOS of value 1, tokens of value 0: rows 1, 1/2, 1/3, … all differ",
        )
    field = Field("e^z", "rest", "v")
    own, rest, v = (field[name] for name in field.symbols)
    equal = identity(
        mixture(own, rest, v, v),
        v,
        rng=rng,
        what="equal values mix to that value whatever the weights, so equal rows stay equal",
    )
    return settled(
        equal,
        claimed=form.can_count,
        is_so=False,
        shown="X = (x, x, …, x), T tokens, any depth and weights: (Σ_u e^{z_u} v)/(Σ_u e^{z_u}) = v in "
        "every "
        "row, so the rows after 1, 2, 3, … repeats are the same",
    )


def _by_reference_layer(trial: Trial) -> Evidence:
    """A stack of random causal layers with residual connections on one token repeated, with BOS or without."""
    tokens, width = thinned_tokens(trial.at.T), min(trial.at.d, MOST_WIDTH)
    layers, rng, form = min(trial.at.layers, _MOST_LAYERS), trial.rng("layer"), trial.form
    x = np.broadcast_to(rng.normal(size=width), (tokens + form.has_bos, width)).copy()
    if form.has_bos:
        x[0] = 3 * rng.normal(size=width)
    for _ in range(layers):
        x = x + attention_block(x, random_block(width, rng), mask=causal_mask(len(x), len(x)))
    rows = x[form.has_bos :]
    spread, limit = float(np.ptp(rows, axis=0).max()), rounding_of(rows)
    told = (
        f"{'BOS and ' * form.has_bos}one token {tokens} times, d = {width}, {layers} random causal layers (seed "
        f"{trial.seed}): its rows are {spread:.1e} apart, rounding explains {limit:.1e}"
    )
    if (not spread <= limit) == form.can_count:
        return Evidence(route="reference layer", status="holds", detail=told, value=spread)
    if form.has_bos and form.can_count:
        # A narrow layer's ReLU may be off for every token; other weights tell.
        return Evidence(route="reference layer", status="undecided", detail=told, value=spread)
    return Evidence(
        route="reference layer",
        status="refuted",
        detail=told,
        value=spread,
        counterexample=f"{told}; the statement says that they {'differ' if form.can_count else 'agree'}",
        is_of_smaller_case=(tokens, width, layers) != (trial.at.T, trial.at.d, trial.at.layers),
    )


CLAIM = Claim(
    id="decoder-counts-repeats",
    section="4 order",
    statement="a causal decoder without position codes can count how often a token was repeated, with no beginning-of-"
    "sequence token before it: on the input x, x, …, x its rows differ, but for special weights",
    latex=r"X=(x,x,\dots,x):\quad Z_t\ne Z_u\text{ for }t\ne u\text{ and almost all weights}",
    expected="refuted",
    parameters=(
        Parameter(name="T", default=8, lower=2, is_integer=True),
        Parameter(name="d", default=4, lower=1, is_integer=True),
        Parameter(name="layers", default=3, lower=1, is_integer=True),
    ),
    conditions=("no position codes", "what acts beside attention acts row by row"),
    assumes=("induction over the layers",),
    form=Counting(),
    rivals=(
        Rival(
            statement="without BOS all rows are equal, at any depth and with any weights",
            form=Counting(can_count=False),
            becomes="proved",
        ),
        Rival(
            statement="with BOS before them they can differ (BOS's weight is 1/t at zero logits)",
            form=Counting(has_bos=True),
            becomes="proved",
        ),
    ),
    routes=(_by_algebra, _by_reference_layer),
    derivation="Every row attends to copies of one value v, and weights sum to 1, so every row gets v: equal rows in, "
    "equal rows out, and what follows acts on each row alone. The mask changes how many copies there are, which "
    "softmax does not see. A first token of another kind breaks this: its weight is 1/t (see "
    "`bos-weight-tells-position`).",
    source="Haviv et al. 2022, Transformer language models without positional encodings still learn positional "
    "information; Kazemnejad et al. 2023, The impact of positional encoding on length generalization in transformers",
)
