"""Logits of bounded spread disperse: no key keeps its weight as keys are added."""

from regard.analysis.closed_forms.arithmetic import exp
from regard.analysis.closed_forms.softmax import copy_weight, uniform_weight
from regard.analysis.engines.symbolic import identity, nonnegative
from regard.attention import masked_softmax
from regard.claims._evidence import Evidence, agreement, in_balls, one_case, smaller_case
from regard.claims._figures import counts, guide_at
from regard.claims._retrieval import KEYS_AXIS, few_keys, rounding, tempered
from regard.claims.claim import Claim, NearMiss, Settings, Trial, integer, real
from regard.render.figures import Axis, Chart, Series


def _by_algebra(trial: Trial) -> list[Evidence]:
    """1/a_i = 1 + Σ_{j≠i} e^{z_j−z_i}, n−1 terms of at least e^{−R} each, so the slack above (n−1)e^{−R} is ≥ 0."""
    r, s, n, m, spread = trial.field("e^R-1", "slack", counts=("n", "n-2"), exponentials=("R",))
    bound, weight = trial.form(spread, n), 1 / (1 + (m + 1) / (1 + r) + s)
    return [
        nonnegative(bound.substitute(n=m + 2, e_R=1 + r) - weight, "a_i ≤ bound"),
        identity(bound.limit("n"), 0, "the bound's limit as n → ∞"),
    ]


def _by_brute_force(trial: Trial) -> list[Evidence]:
    """Random logits within the spread, including the most favourable case; and the bound where n is 10⁶·e^R."""
    (n, size), spread, rng = few_keys(trial.at.n), tempered(trial.at.spread), trial.rng("logits")
    logits = spread * rng.random(size=(50, n))
    logits[0], logits[0, 0] = 0.0, spread
    heaviest, bound = masked_softmax(logits).max(axis=-1), in_balls(trial.form, spread, n)
    far = in_balls(lambda within: trial.form(within, 1 + 10**6 * within.exp()), spread)
    vanishing = agreement("bound for 1 + 10⁶·e^R keys", claimed=0.0, found=far, tolerance=1e-5, at=f"R = {spread:g}")
    value = float(heaviest.max())
    others = "0" if heaviest.argmax() == 0 else f"random in [0, {spread:g}]"
    shown = f"{size}, of 50 draws the largest weight (one logit {spread:g}, the others {others}) is {value:.12g}"
    agrees, said = value <= bound * (1 + rounding(n, spread)), f"at most {bound:.12g}"
    kept = one_case(shown, agrees=agrees, said=said, value=value, bound=rounding(n, spread))
    return smaller_case([kept, vanishing], tried=n, asked=trial.at.n)


def _figure(at: Settings) -> Chart:
    keys = counts(2, 100_000)
    spreads = (at.spread, at.spread + 2, at.spread + 4)
    return Chart(
        title="Bounded logits disperse",
        caption="The largest weight one key can have when all logits lie within R of each other. However large R is, "
        "it eventually falls like e^R/n.",
        x=KEYS_AXIS,
        y=Axis(label="largest possible weight", is_log=True),
        series=[
            *(Series(label=f"R = {spread:g}", x=keys, y=copy_weight(spread, keys)) for spread in spreads),
            Series(label="equal weights, 1/n", x=keys, y=uniform_weight(keys), style="dashed"),
        ],
        guides=guide_at(at.n, f"n = {at.n:g}", keys),
    )


CLAIM = Claim(
    id="dispersion",
    section="1 retrieval",
    statement="if max z − min z ≤ R for every n, then a_i ≤ 1/(1+(n−1)e^{−R}) → 0 as n → ∞",
    latex=r"\max z-\min z\le R\;\Rightarrow\;a_i\le\frac1{1+(n-1)e^{-R}}\xrightarrow{n\to\infty}0",
    expected="proved",
    parameters=(integer("n", 10, lower=2), real("spread", 2.0, lower=0)),
    form=copy_weight,
    near_misses=(
        NearMiss("a_i ≤ 1/n", lambda spread, n: 1 / n + 0 * spread),
        NearMiss("a_i ≤ 1/(1+n·e^{−R})", lambda spread, n: 1 / (1 + n * exp(-spread))),
        NearMiss("a_i ≤ 1/(1+(n−1)e^R)", lambda spread, n: 1 / (1 + (n - 1) * exp(spread))),
        NearMiss("a_i ≤ 1/(1+e^{−R}) → 0", lambda spread, n: 1 / (1 + exp(-spread)) + 0 * n),
    ),
    methods={"brute force": _by_brute_force, "algebra": _by_algebra},
    derivation="1/a_i = 1 + Σ_{j≠i} e^{z_j−z_i} ≥ 1 + (n−1)e^{−R}. With R fixed the right side grows with n, so every "
    "weight vanishes: sharp attention over more keys needs larger logits. R = 2: 0.451 at n = 10, 0.00734 at n = 1000.",
    source="Veličković et al. 2024, softmax is not enough (for sharp out-of-distribution)",
    figure=_figure,
    demonstration="copy?goal=copy&degrees=0&beta=2&n=1000",
)
