"""Attention weights lie strictly between 0 and 1 and sum to 1."""

from fractions import Fraction

import numpy as np

from regard.analysis.closed_forms.order import softmax
from regard.analysis.closed_forms.softmax import share
from regard.analysis.engines.symbolic import identity, positive
from regard.claims._evidence import Evidence, one_case, smaller_case
from regard.claims._retrieval import few_keys
from regard.claims.claim import Claim, NearMiss, Settings, Trial, integer, real
from regard.render.figures import Axis, Chart, Series

# Exact rational arithmetic is fast with numbers of up to this many bits.
_MOST_BITS = 2000


def _by_algebra(trial: Trial) -> list[Evidence]:
    """A key's weight depends on its own exponential and the sum of the rest; weights add up one key at a time.

    The first k weights sum to the weight of their exponentials' sum; one more key preserves that, and the last
    one makes it 1.
    """
    own, rest, earlier, later = trial.field("own", "rest", "earlier", "later")
    form = trial.form
    added = form(earlier, own + later) + form(own, earlier + later)
    closed = form(earlier, own) + form(own, earlier)
    return [
        positive(form(own, rest), "a_i > 0"),
        positive(1 - form(own, rest), "a_i < 1"),
        identity(added, form(earlier + own, later), "one more key adds its weight"),
        identity(closed, 1, "with the last key the sum is 1"),
    ]


def _by_exact_rationals(trial: Trial) -> list[Evidence]:
    """Logits that are whole multiples of log 2 have rational exponentials, so the weights are exact fractions."""
    (n, size), spread = few_keys(trial.at.n), min(trial.at.spread, _MOST_BITS)
    powers = trial.rng("logits").integers(-int(spread), int(spread), endpoint=True, size=n)
    exponentials = [Fraction(2) ** int(power) for power in powers]
    total = sum(exponentials)
    found = [Fraction(trial.form(own, total - own)) for own in exponentials]
    odd = next((weight for weight in found if not 0 < weight < 1), None)
    total = f"Σ a_i − 1 = {float(sum(found) - 1):.6g}" if odd is None else f"one of the a_i is {float(odd):.12g}"
    shown = f"{size}, logits log 2 · {powers.tolist()[:10]}{' …' if n > 10 else ''}, exact fractions: {total}"
    agrees, said = odd is None and sum(found) == 1, "0 < a_i < 1 and Σ a_i = 1"
    part = one_case(shown, agrees=agrees, said=said, value=float(sum(found)), bound=0.0)
    return smaller_case(part, tried=n, asked=trial.at.n)


def _figure(at: Settings) -> Chart:
    n = int(min(at.n, 10))
    logits = np.linspace(-8, 8, 121)
    rows = np.array([softmax(np.array([[z, *np.linspace(-1, 1, n - 1)]]))[0] for z in logits])
    return Chart(
        title="Never 0, never 1, always 1 in total",
        caption=f"Weights of n = {n} keys as the first one's logit grows from far below the others to far above "
        "them. Each stays strictly between 0 and 1, and their sum is 1.",
        x=Axis(label="logit of the first key"),
        y=Axis(label="weight", lower=0.0, upper=1.1),
        series=(
            Series(label="first key", x=logits, y=rows[:, 0]),
            Series(label="all others together", x=logits, y=rows[:, 1:].sum(axis=1)),
            Series(label="the sum", x=logits, y=rows.sum(axis=1), style="dashed"),
        ),
    )


CLAIM = Claim(
    id="weights-are-a-distribution",
    section="1 retrieval",
    statement="n ≥ 2 finite logits, exact arithmetic: 0 < a_i < 1 and Σ a_i = 1",
    latex=r"a_i=\frac{e^{z_i}}{\sum_j e^{z_j}}\;\Rightarrow\;0<a_i<1,\quad\sum_i a_i=1",
    expected="proved",
    parameters=(integer("n", 10, lower=2), real("spread", 10.0, lower=0)),
    conditions=("finite logits (no −∞ mask)",),
    form=share,
    near_misses=(
        NearMiss(
            "with a one added to the denominator the weights still sum to 1", lambda own, rest: own / (1 + own + rest)
        ),
        NearMiss("dividing by the other keys' exponentials also gives a distribution", lambda own, rest: own / rest),
        NearMiss(
            "a_i = e^{2z_i}/(e^{2z_i} + R²), as if R² were the sum of the squares",
            lambda own, rest: own**2 / (own**2 + rest**2),
        ),
    ),
    methods={"exact rationals": _by_exact_rationals, "algebra": _by_algebra},
    derivation="With R the sum of the other exponentials, a_i = e^{z_i}/(e^{z_i}+R), both positive: 0 < a_i < 1. "
    "All weights share the denominator S, so the first k of them sum to (their exponentials' sum)/S; "
    "at k = n that is S/S = 1. In float64 a weight does round to 0 or to 1: logits (0, 800) give (0, 1).",
    source="CS224N assignment 4, question 1(a)",
    figure=_figure,
    demonstration="copy?goal=average&degrees=45&beta=2&n=10",
)
