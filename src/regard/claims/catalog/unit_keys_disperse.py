"""Unit queries and keys with a fixed gain cannot single out a key once there are enough keys."""

import math

import numpy as np

from regard.analysis.closed_forms.arithmetic import exp
from regard.analysis.closed_forms.softmax import copy_margin, uniform_weight, unit_bound, unit_gain
from regard.analysis.engines.symbolic import identity, nonnegative, positive
from regard.claims._evidence import Evidence, agreement, in_balls, one_case, smaller_case
from regard.claims._figures import counts
from regard.claims._retrieval import KEYS_AXIS, WEIGHT_AXIS, crossing, few_keys, log_odds, rounding, tempered, weights
from regard.claims.claim import Claim, Form, NearMiss, Settings, Trial, integer, real
from regard.render.figures import Chart, Guide, Series

_WIDTH = 4


def _by_algebra(trial: Trial) -> list[Evidence]:
    """g·qᵀk lies in [−g, g], so 1/a_j = 1 + Σ_{i≠j} e^{z_i−z_j} = 1 + (n−1)e^{−2g} + slack; opposite keys have none."""
    names = ("e^g-1", "slack", "(1-epsilon)/epsilon", "e^2g/claimed-1")
    growth, slack, odds, step, n, m, gain = trial.field(*names, counts=("n", "n-1"), exponentials=("g",))
    end, bound, epsilon = 1 + growth, trial.form.bound(gain, n), 1 / (1 + odds)
    here = bound.substitute(n=m + 1, e_g=end)
    claimed = (2 * trial.form.gain(epsilon, 1 + m)).exp()
    at_gain, below = 1 / (1 + m / claimed), 1 / (1 + m * (1 + step) / claimed)
    return [
        nonnegative(here - 1 / (1 + m / end**2 + slack), "a_j ≤ bound"),
        identity(here, 1 / (1 + m / end**2), "equality for q = k_j and the other keys opposite"),
        identity(bound.limit("n"), 0, "the bound's limit as n → ∞"),
        identity(at_gain, 1 - epsilon, "a_j can be 1−ε at the claimed gain"),
        positive((1 - epsilon) - below, "and is below 1−ε at any smaller one"),
    ]


def _by_brute_force(trial: Trial) -> list[Evidence]:
    """Unit vectors: first all other keys opposite to key j, then random ones; and the gain found by bisection."""
    (n, size), gain, rng = few_keys(trial.at.n), tempered(trial.at.gain), trial.rng("unit vectors")
    keys = rng.normal(size=(40, n, _WIDTH))
    keys /= np.linalg.norm(keys, axis=-1, keepdims=True)
    keys[0, 1:] = -keys[0, 0]
    found = [float(weights(gain * each[0], each)[0]) for each in keys]
    bound, worst = in_balls(trial.form.bound, gain, n), int(np.argmax(found))
    if not found[worst] <= bound * (1 + rounding(n, gain)):
        others = f"n = {n} unit keys of width {_WIDTH}, {'random' if worst else 'opposite'} other keys"
        shown = f"{others}, g = {gain:g}, q = k_j: a_j = {found[worst]:.12g}"
        return [one_case(shown, agrees=False, said=f"at most {bound:.12g}", value=found[worst])]
    at = f"{size} unit keys, g = {gain:g}, the others opposite to q = k_j"
    tight = agreement("a_j", claimed=bound, found=found[0], tolerance=rounding(n, gain), at=at)
    epsilon = trial.at.epsilon
    wanted = math.log(epsilon) - math.log(1 - epsilon)
    least = crossing(lambda gain: log_odds(np.append(gain, np.full(n - 1, -gain)), 1) <= wanted)
    at, claimed = f"{size}, ε = {epsilon:g}", in_balls(trial.form.gain, epsilon, n)
    gain_part = agreement("least gain", claimed=claimed, found=least, tolerance=rounding(n, least), at=at)
    return smaller_case([tight, gain_part], tried=n, asked=trial.at.n)


def _figure(at: Settings) -> Chart:
    keys = counts(2, 1_000_000).astype(float)
    gains = sorted({min(at.gain, 300.0), 2.0, 4.0, 8.0})
    return Chart(
        title="Any fixed gain disperses",
        caption="The largest weight of one of n unit keys under a unit query, with all other keys opposite. A larger "
        "gain only delays the fall to more keys: the weight is ½ near n = e^{2g}.",
        x=KEYS_AXIS,
        y=WEIGHT_AXIS,
        series=[
            *(Series(label=f"g = {gain:g}", x=keys, y=unit_bound(gain, keys)) for gain in gains),
            Series(label="equal weights, 1/n", x=keys, y=uniform_weight(keys), style="dashed"),
        ],
        guides=(Guide(at=0.5, label="½"),),
    )


CLAIM = Claim(
    id="unit-keys-disperse",
    section="7 softmax",
    statement="unit query and n unit keys, logits g·qᵀk_i with a gain g: a_j ≤ 1/(1+(n−1)e^{−2g}), reached when the "
    "other keys are opposite; a weight of 1−ε needs g ≥ ½log((n−1)(1−ε)/ε), so a fixed gain disperses as n → ∞",
    latex=r"\|q\|=\|k_i\|=1,\ z_i=g\,q^\top k_i:\quad a_j\le\frac1{1+(n-1)e^{-2g}}\xrightarrow{n\to\infty}0,\quad "
    r"a_j\ge1-\varepsilon\Rightarrow g\ge\tfrac12\log\frac{(n-1)(1-\varepsilon)}{\varepsilon}",
    expected="proved",
    parameters=(
        integer("n", 10, lower=2),
        real("gain", 1.0, lower=0),
        real("epsilon", 0.01, lower=0, upper=1, is_open=True),
    ),
    conditions=("unit query and keys",),
    assumes=("|qᵀk| ≤ ‖q‖·‖k‖",),
    # The largest weight of one of n unit keys at a gain, and the least gain at which a weight can be 1−ε.
    form=Form(bound=unit_bound, gain=unit_gain),
    near_misses=(
        NearMiss(
            "a_j ≤ 1/(1+(n−1)e^{−g}), as if the other keys could at best be orthogonal",
            {"bound": lambda gain, n: 1 / (1 + (n - 1) * exp(-gain))},
        ),
        NearMiss("g ≥ log((n−1)(1−ε)/ε) is needed, as for the margin", {"gain": copy_margin}),
        NearMiss("g ≥ ½log(n(1−ε)/ε) is needed", {"gain": lambda epsilon, n: unit_gain(epsilon, n + 1)}),
        NearMiss(
            "a fixed gain keeps its sharpness: a_j ≤ 1/(1+e^{−2g})",
            {"bound": lambda gain, n: 1 / (1 + exp(-2 * gain)) + 0 * n},
        ),
    ),
    methods={"brute force": _by_brute_force, "algebra": _by_algebra},
    derivation="Cosines lie in [−1, 1], so logits spread over 2g at most, which is `dispersion` with R = 2g. "
    "Solving the bound for g gives the gain. g = 1: 0.45085 at n = 10, 0.0073421 at n = 1000. "
    "A weight of 0.99 needs g = 8.1893 at n = 131072: a learned gain must know the length it will meet.",
    source="Henry et al. 2020, Query-key normalization for Transformers; Dehghani et al. 2023, Scaling vision "
    "Transformers to 22 billion parameters",
    figure=_figure,
)
