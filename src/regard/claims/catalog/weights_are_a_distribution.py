"""Attention weights are strictly between 0 and 1 and sum to 1."""

from fractions import Fraction

from regard.analysis.closed_forms.retrieval import share
from regard.analysis.engines.symbolic import Field, identity, positive
from regard.claims._comparisons import all_parts
from regard.claims._retrieval import counted, thinned
from regard.claims.claim import Claim, Rival, Trial
from regard.claims.parameters import Parameter
from regard.core.verdict import Evidence

# Numbers of this many bits keep exact rational arithmetic quick.
MOST_BITS = 2000


def _by_algebra(trial: Trial) -> Evidence:
    """A key's weight depends on its own exponential and the sum of the rest; weights add up one key at a time.

    The first k weights sum to the share of their exponentials' sum: one more key keeps that, the last one makes it 1.
    """
    field = Field("own", "rest", "earlier", "later")
    own, rest, earlier, later = (field[name] for name in field.symbols)
    form, rng = trial.form, trial.rng("algebra")
    added = form(earlier, own + later) + form(own, earlier + later)
    closed = form(earlier, own) + form(own, earlier)
    return all_parts(
        "algebra",
        [
            positive(form(own, rest), rng=rng, what="a_i > 0"),
            positive(1 - form(own, rest), rng=rng, what="a_i < 1"),
            identity(added, form(earlier + own, later), rng=rng, what="one more key adds its weight"),
            identity(closed, field.constant(1), rng=rng, what="with the last key the sum is 1"),
        ],
    )


def _by_exact_rationals(trial: Trial) -> Evidence:
    """Logits that are whole multiples of log 2 have rational exponentials, so the weights are exact fractions."""
    n, spread = thinned(trial.at.n), min(trial.at.spread, MOST_BITS)
    powers = trial.rng("logits").integers(-int(spread), int(spread), endpoint=True, size=n)
    exponentials = [Fraction(2) ** int(power) for power in powers]
    total = sum(exponentials)
    found = [Fraction(trial.form(own, total - own)) for own in exponentials]
    at = f"n = {n}, logits log 2 · {powers.tolist()[:10]}" + (" …" if n > 10 else "")
    if sum(found) == 1 and all(0 < weight < 1 for weight in found):
        return Evidence(
            route="exact rationals",
            status="holds",
            value=float(sum(found)),
            bound=0.0,
            is_of_smaller_case=n < trial.at.n,
            detail=f"exact fractions sum to 1: {counted(trial.at.n)}, logits up to ±{int(spread)} log 2",
        )
    odd = next((weight for weight in found if not 0 < weight < 1), None)
    shown = f"Σ a_i − 1 = {float(sum(found) - 1):.6g}" if odd is None else f"one of the a_i is {float(odd):.12g}"
    return Evidence(
        route="exact rationals",
        status="refuted",
        detail="not a distribution",
        value=float(sum(found)),
        is_of_smaller_case=n < trial.at.n,
        counterexample=f"{at}: {shown}; the statement says 0 < a_i < 1 and Σ a_i = 1",
    )


CLAIM = Claim(
    id="weights-are-a-distribution",
    section="1 retrieval",
    statement="n ≥ 2 finite logits, exact arithmetic: 0 < a_i < 1 and Σ a_i = 1",
    latex=r"a_i=\frac{e^{z_i}}{\sum_j e^{z_j}}\;\Rightarrow\;0<a_i<1,\quad\sum_i a_i=1",
    expected="proved",
    parameters=(
        Parameter(name="n", default=10, lower=2, is_integer=True),
        Parameter(name="spread", default=10.0, lower=0),
    ),
    conditions=("finite logits (no −∞ mask)",),
    form=share,
    rivals=(
        Rival(
            statement="with a one added to the denominator the weights still sum to 1",
            form=lambda own, rest: own / (1 + own + rest),
        ),
        Rival(
            statement="dividing by the other keys' exponentials gives a distribution too",
            form=lambda own, rest: own / rest,
        ),
        Rival(
            statement="a_i = e^{2z_i}/(e^{2z_i} + R²), as if R² were the sum of the squares",
            form=lambda own, rest: own**2 / (own**2 + rest**2),
        ),
    ),
    routes=(_by_exact_rationals, _by_algebra),
    derivation="With R the sum of the other exponentials, a_i = e^{z_i}/(e^{z_i}+R), both positive: 0 < a_i < 1. "
    "All weights share the denominator S, so the first k of them sum to (their exponentials' sum)/S; "
    "at k = n that is S/S = 1. In float64 a weight does round to 0 or to 1: logits (0, 800) give (0, 1).",
    source="CS224N assignment 4, question 1(a)",
)
