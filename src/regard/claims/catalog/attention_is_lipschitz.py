"""Misconception: dot-product self-attention is Lipschitz."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np

from regard.analysis.closed_forms.softmax import self_attention_slope
from regard.analysis.engines.symbolic import RationalFunction, identity
from regard.attention import AttentionRule, attend
from regard.claims._evidence import Evidence, agreement, in_balls
from regard.claims._figures import around
from regard.claims.claim import Claim, Form, NearMiss, Settings, Trial, real
from regard.render.figures import Axis, Chart, Guide, Series

# Step of x₁ in units of 1/R: a central difference is then accurate to about 1e-10, rounding included.
_STEP = 1e-5
# The square of a larger radius overflows.
_LARGEST_RADIUS = 1e153


def _radius(constant: float) -> float:
    """A power of ten R with ⅔R² ≥ L.

    >>> _radius(50.0), _radius(1e6)
    (10.0, 10000.0)
    """
    return 10.0 ** math.ceil(math.log10(max(constant, 1.0)) / 2 + math.log10(1.5) / 2)


def _by_algebra(trial: Trial) -> list[Evidence]:
    """f₁ = Σ_j e^{x₁x_j}x_j/Σ_j e^{x₁x_j}; d/dx₁ acts through x₁, x₁² and x₁R; then x₁ = 0."""
    x, radius, own, other = trial.field("x", "R", exponentials=("xx", "xR"))
    itself, up, down = own.exp(), other.exp(), (-other).exp()
    output = (itself * x + (up - down) * radius) / (itself + up + down)

    def change(element: RationalFunction) -> RationalFunction:
        by_logits = 2 * x * element.derivative("xx") + radius * element.derivative("xR")
        return element.derivative("x") + by_logits

    slope = change(output).substitute(x=0, e_xx=1, e_xR=1)
    exact = identity(trial.form.slope(radius), slope, "∂f₁/∂x₁ at (0, R, −R)")
    what = "∂f₁/∂x₁ exceeds ⅔R² by ⅓, and so any L where R² = 3L/2"
    excess = identity(slope - 2 * radius**2 / 3, Fraction(1, 3), what)
    if trial.form.is_bounded and excess.status == "proved":
        there = in_balls(self_attention_slope, _radius(trial.at.L))
        return [_broken(trial, there, detail="∂f₁/∂x₁ = ⅓+⅔R² exceeds every constant")]
    return [exact, excess]


def _broken(trial: Trial, slope: float, *, detail: str) -> Evidence:
    at = "n = 3, d = 1, x = (0, {0:.6g}, −{0:.6g})".format(_radius(trial.at.L))
    shown = f"{at}: moving x₁ moves f₁ {slope:.6g} times as far, more than L = {trial.at.L:g}"
    return Evidence(status="refuted", detail=detail, counterexample=shown)


def _by_differences(trial: Trial) -> Evidence:
    """Central differences of the reference layer, whose queries, keys and values are the tokens themselves."""
    radius = min(_radius(trial.at.L), _LARGEST_RADIUS)
    step = _STEP / radius
    ends = []
    for first in (step, -step):
        tokens = np.array([[first], [radius], [-radius]])
        ends.append(float(attend(tokens, tokens, tokens, rule=AttentionRule(scale=1.0))[0, 0]))
    found = (ends[0] - ends[1]) / (2 * step)
    claimed = in_balls(trial.form.slope, radius)
    at = f"x = (0, {radius:.6g}, −{radius:.6g})"
    exact = agreement("∂f₁/∂x₁", claimed=claimed, found=found, tolerance=1e-8 * found, at=at)
    if trial.form.is_bounded and found > trial.at.L * (1 + 1e-8):
        broken = _broken(trial, found, detail=f"∂f₁/∂x₁ is above L = {trial.at.L:g}")
        return replace(broken, value=found, bound=exact.bound)
    return exact


def _figure(at: Settings) -> Chart:
    radii = around(math.sqrt(at.L), 0.1, 100.0, 80)
    return Chart(
        title="Larger tokens, steeper attention",
        caption="∂f₁/∂x₁ of dot-product self-attention at the tokens (0, R, −R). It grows like R², past any constant.",
        x=Axis(label="size R of the tokens", is_log=True),
        y=Axis(label="slope", is_log=True),
        series=(Series(label="⅓ + ⅔R²", x=radii, y=self_attention_slope(radii)),),
        guides=(Guide(at=at.L, label=f"L = {at.L:g}"),) if 0.4 < at.L < 1e6 else (),
    )


CLAIM = Claim(
    id="attention-is-lipschitz",
    section="7 softmax",
    statement="dot-product self-attention f_i = Σ_j softmax_j(x_iᵀx_j) x_j is Lipschitz: there is a constant "
    "L such that its output never moves more than L times as far as its input",
    latex=r"f_i(X)=\sum_j\mathrm{softmax}_j(x_i^\top x_j)\,x_j:\quad\exists L\ \forall X,Y:\ "
    r"\|f(X)-f(Y)\|\le L\,\|X-Y\|",
    expected="refuted",
    parameters=(real("L", 50.0, lower=0),),
    conditions=("inputs of any size", "no normalization before"),
    # ∂f₁/∂x₁ at x = (0, R, −R) as a function of R, and whether a single constant bounds all slopes.
    form=Form(is_bounded=True, slope=self_attention_slope),
    near_misses=(
        NearMiss("no constant works: n = 3, d = 1, x = (0, R, −R) has ∂f₁/∂x₁ = ⅓+⅔R²", {"is_bounded": False}),
        NearMiss(
            "no constant works: the slope there is ⅓ plus the variance ⅔R² of the values under the weights",
            {"is_bounded": False, "slope": lambda radius: (1 + radius**2 + (-radius) ** 2) / 3},
        ),
    ),
    methods={"brute force": _by_differences, "algebra": _by_algebra},
    derivation="x₁ = 0 makes all logits 0 and the weights ⅓ each. Moving x₁ by t moves logit j by t·x_j, so f₁ moves "
    "by t(⅓ + Var_a(x)) = t(⅓+⅔R²): 67t at R = 10. Values multiply the slope of softmax, and nothing bounds them. On a "
    "bounded set, such as after LayerNorm, there is a constant, but it grows at least like the square of the radius.",
    source="Kim, Papamakarios and Mnih 2021, The Lipschitz constant of self-attention",
    figure=_figure,
)
