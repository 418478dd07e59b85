"""Misconception: a causal decoder without position codes can count repeated tokens."""

from dataclasses import replace

import numpy as np

from regard.analysis.closed_forms.order import causal_softmax, mixture
from regard.analysis.closed_forms.softmax import uniform_weight
from regard.analysis.engines.symbolic import identity, positive
from regard.attention import attention_block, causal_mask
from regard.claims._evidence import Evidence, conjunction, one_case, yes_or_no
from regard.claims._order import MOST_TOKENS, MOST_WIDTH, random_block, rounding_of
from regard.claims.claim import Claim, Form, NearMiss, Settings, Trial, integer
from regard.render.figures import Axis, Chart, Series

_MOST_LAYERS = 8


def _by_algebra(trial: Trial) -> Evidence:
    """Without BOS a mixture of equal values is that value, whatever the weights; with it, BOS's weight falls with t."""
    form = trial.form
    if form.has_bos:
        apart, v, s, t = trial.field("b-v", "v", "s", counts=("t",))
        here, there = (mixture(1, place - 1, v + apart, v) for place in (t + 1, t + 2 + s))
        falls = positive(here - there, "BOS b > v, zero logits: token t+1's row exceeds all later ones")
        weight = identity((here - v) / apart, uniform_weight(t + 1), "BOS's weight is 1/t")
        shown = "d = 1, zero logits, BOS of value 1, tokens of value 0: rows 1, 1/2, 1/3, … all differ"
        return yes_or_no(conjunction(falls, weight), claimed=form.can_count, truth=True, counterexample=shown)
    own, rest, v = trial.field("e^z", "rest", "v")
    what = "equal values mix to that value whatever the weights, so equal rows stay equal"
    equal = identity(mixture(own, rest, v, v), v, what)
    shown = (
        "X = (x, x, …, x), T tokens, any depth and weights: (Σ_u e^{z_u} v)/(Σ_u e^{z_u}) = v in every row, so the "
        "rows after 1, 2, 3, … repeats are the same"
    )
    return yes_or_no(equal, claimed=form.can_count, truth=False, counterexample=shown)


def _by_reference_layer(trial: Trial) -> Evidence:
    """A stack of random causal layers with residual connections on one repeated token, with BOS or without."""
    tokens, width = min(trial.at.T, MOST_TOKENS), min(trial.at.d, MOST_WIDTH)
    layers, rng, form = min(trial.at.layers, _MOST_LAYERS), trial.rng("layer"), trial.form
    x = np.broadcast_to(rng.normal(size=width), (tokens + form.has_bos, width)).copy()
    if form.has_bos:
        x[0] = 3 * rng.normal(size=width)
    for _ in range(layers):
        x = x + attention_block(x, random_block(width, rng), mask=causal_mask(len(x), len(x)))
    rows = x[form.has_bos :]
    spread, limit = float(np.ptp(rows, axis=0).max()), rounding_of(rows)
    shown = (
        f"{'BOS and ' * form.has_bos}one token {tokens} times, d = {width}, {layers} random causal layers (seed "
        f"{trial.seed}): its rows are {spread:.1e} apart, rounding explains {limit:.1e}"
    )
    agrees = (not spread <= limit) == form.can_count
    if not agrees and form.has_bos and form.can_count:
        # A narrow layer's ReLU may be off for every token; that says nothing about other weights.
        return Evidence(status="undecided", detail=shown, value=spread)
    said = f"that they {'differ' if form.can_count else 'agree'}"
    found = one_case(shown, agrees=agrees, said=said, value=spread)
    is_smaller = (tokens, width, layers) != (trial.at.T, trial.at.d, trial.at.layers)
    return replace(found, is_of_smaller_case=is_smaller)


def _figure(at: Settings) -> Chart:
    count = int(min(max(at.T, 4), 24))
    values = np.vstack([[0.0], np.ones((count, 1))])
    alone = causal_softmax(np.zeros((count, count))) @ values[1:]
    after = causal_softmax(np.zeros((count + 1, count + 1))) @ values
    positions = np.arange(1, count + 1)
    return Chart(
        title="Every repeat looks like the first",
        caption="The output of a causal head at the t-th of equal tokens. On their own they all average one value, so "
        "nothing counts them; a different token before them makes their outputs differ.",
        x=Axis(label="repeat t"),
        y=Axis(label="output", lower=0.0, upper=1.15),
        series=(
            Series(label="repeats alone", x=positions, y=alone[:, 0]),
            Series(label="after another token", x=positions, y=after[1:, 0]),
        ),
    )


CLAIM = Claim(
    id="decoder-counts-repeats",
    section="4 order",
    statement="a causal decoder without position codes can count how often a token is repeated, with no beginning-of-"
    "sequence token before it: on the input x, x, …, x its rows differ, except for special weights",
    latex=r"X=(x,x,\dots,x):\quad Z_t\ne Z_u\text{ for }t\ne u\text{ and almost all weights}",
    expected="refuted",
    parameters=(integer("T", 8, lower=2), integer("d", 4, lower=1), integer("layers", 3, lower=1)),
    conditions=("no position codes", "what acts beside attention acts row by row"),
    assumes=("induction over the layers",),
    # Whether a different first token precedes the repeated ones, and whether their rows can then differ.
    form=Form(has_bos=False, can_count=True),
    near_misses=(
        NearMiss("without BOS all rows are equal, at any depth and with any weights", {"can_count": False}),
        NearMiss("with BOS before them they can differ (BOS's weight is 1/t at zero logits)", {"has_bos": True}),
    ),
    methods={"algebra": _by_algebra, "reference layer": _by_reference_layer},
    derivation="Every row attends to copies of one value v, and weights sum to 1, so every row gets v: equal rows "
    "in, equal rows out, and everything else acts on each row separately. The mask changes how many copies there "
    "are, which softmax does not see. A different first token breaks this: its weight is 1/t (see "
    "`bos-weight-tells-position`).",
    source="Haviv et al. 2022, Transformer language models without positional encodings still learn positional "
    "information; Kazemnejad et al. 2023, The impact of positional encoding on length generalization in transformers",
    figure=_figure,
)
