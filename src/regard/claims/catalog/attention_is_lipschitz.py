"""The myth that dot-product self-attention is Lipschitz."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from flint import arb, ctx

from regard.analysis.closed_forms.stability import self_attention_slope
from regard.analysis.engines.symbolic import Field, RationalFunction, identity
from regard.attention import Rule, attend
from regard.claims._comparisons import Measured, agreement, all_parts
from regard.claims.claim import Claim, Rival, Trial
from regard.claims.figures import softmax
from regard.claims.parameters import Parameter
from regard.core.verdict import Evidence

# Steps of x₁ in units of 1/R: a central difference is then off by a relative 1e-10 or so, rounding included.
_STEP = 1e-5
# The square of a larger one is no double.
_LARGEST_RADIUS = 1e153


@dataclass(frozen=True, kw_only=True)
class Steepness:
    """∂f₁/∂x₁ at x = (0, R, −R) as a function of R, and whether one constant bounds all slopes."""

    is_bounded: bool
    slope: Callable[[Any], Any] = self_attention_slope


def _radius(constant: float) -> float:
    """A power of ten R with ⅔R² ≥ L.

    >>> _radius(50.0), _radius(1e6)
    (10.0, 10000.0)
    """
    return 10.0 ** math.ceil(math.log10(max(constant, 1.0)) / 2 + math.log10(1.5) / 2)


def _by_algebra(trial: Trial) -> Evidence:
    """f₁ = Σ_j e^{x₁x_j}x_j/Σ_j e^{x₁x_j}; d/dx₁ goes through x₁, through x₁² and through x₁R, then x₁ = 0."""
    field, rng = Field("x", "R", exponentials=("xx", "xR")), trial.rng("algebra")
    x, radius = field["x"], field["R"]
    itself, up, down = field["xx"].exp(), field["xR"].exp(), (-field["xR"]).exp()
    output = (itself * x + (up - down) * radius) / (itself + up + down)

    def change(element: RationalFunction) -> RationalFunction:
        by_logits = 2 * x * element.derivative("xx") + radius * element.derivative("xR")
        return element.derivative("x") + by_logits

    slope = change(output).substitute(x=0, e_xx=1, e_xR=1)
    exact = identity(trial.form.slope(radius), slope, rng=rng, what="∂f₁/∂x₁ at (0, R, −R)")
    excess = identity(
        slope - 2 * radius**2 / 3,
        field.constant(1) / 3,
        rng=rng,
        what="∂f₁/∂x₁ exceeds ⅔R² by ⅓, and any L where R² = 3L/2",
    )
    if trial.form.is_bounded and excess.status == "proved":
        with ctx.workprec(128):
            there = self_attention_slope(arb(_radius(trial.at.L)))
        return _broken(trial, "algebra", there.str(6, radius=False), detail="∂f₁/∂x₁ = ⅓+⅔R² exceeds every constant")
    return all_parts("algebra", [exact, excess])


def _broken(trial: Trial, route: str, slope: str, *, detail: str) -> Evidence:
    radius, constant = _radius(trial.at.L), trial.at.L
    shown = (
        f"n = 3, d = 1, x = (0, {radius:.6g}, −{radius:.6g}): moving x₁ moves f₁ {slope} times as far, "
        f"more than L = {constant:g}"
    )
    return Evidence(route=route, status="refuted", detail=detail, counterexample=shown)


def _by_differences(trial: Trial) -> Evidence:
    """Central differences of the reference's self-attention: queries, keys and values are the tokens themselves."""
    radius = min(_radius(trial.at.L), _LARGEST_RADIUS)
    step = _STEP / radius
    ends = []
    for first in (step, -step):
        tokens = np.array([[first], [radius], [-radius]])
        ends.append(float(attend(tokens, tokens, tokens, rule=Rule(scale=1.0))[0, 0]))
    found = (ends[0] - ends[1]) / (2 * step)
    with ctx.workprec(128):
        claimed = float(arb(trial.form.slope(arb(radius))))
    exact = agreement(
        "∂f₁/∂x₁",
        claimed=claimed,
        measured=Measured(value=found, tolerance=1e-8 * found),
        at=f"x = (0, {radius:.6g}, −{radius:.6g})",
        route="brute force",
    )
    if trial.form.is_bounded and found > trial.at.L * (1 + 1e-8):
        broken = _broken(trial, "brute force", f"{found:.6g}", detail=f"∂f₁/∂x₁ is above L = {trial.at.L:g}")
        return replace(broken, value=found, bound=exact.bound)
    return exact


CLAIM = Claim(
    id="attention-is-lipschitz",
    section="7 softmax",
    statement="dot-product self-attention f_i = Σ_j softmax_j(x_iᵀx_j) x_j is Lipschitz: some constant L bounds how "
    "much farther than its input its output can move",
    latex=r"f_i(X)=\sum_j\mathrm{softmax}_j(x_i^\top x_j)\,x_j:\quad\exists L\ \forall X,Y:\ "
    r"\|f(X)-f(Y)\|\le L\,\|X-Y\|",
    expected="refuted",
    parameters=(Parameter(name="L", default=50.0, lower=0),),
    conditions=("inputs of any size", "no normalisation before"),
    form=Steepness(is_bounded=True),
    rivals=(
        Rival(
            statement="no constant does: n = 3, d = 1, x = (0, R, −R) has ∂f₁/∂x₁ = ⅓+⅔R²",
            form=Steepness(is_bounded=False),
            becomes="proved",
        ),
        Rival(
            statement="no constant does: the slope there is ⅓ plus the variance ⅔R² of the values under the weights",
            form=Steepness(is_bounded=False, slope=lambda radius: (1 + radius**2 + (-radius) ** 2) / 3),
            becomes="proved",
        ),
    ),
    routes=(_by_differences, _by_algebra),
    figure=softmax.steepness,
    derivation="x₁ = 0 makes all logits 0 and the weights ⅓ each. Moving x₁ by t moves logit j by t·x_j, so f₁ moves "
    "by t(⅓ + Var_a(x)) = t(⅓+⅔R²): 67t at R = 10. Values multiply the softmax's slope, and nothing bounds them. On "
    "a bounded set, as after LayerNorm, there is a constant; it grows at least like the square of the radius.",
    source="Kim, Papamakarios and Mnih 2021, The Lipschitz constant of self-attention",
)
