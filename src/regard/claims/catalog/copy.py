"""A key that beats the others by a margin is copied: a lower bound on its weight, an upper bound on the error."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from regard.analysis.closed_forms.arithmetic import exp
from regard.analysis.closed_forms.retrieval import copy_error, copy_weight
from regard.analysis.engines.symbolic import Field, identity, nonnegative
from regard.attention import masked_softmax
from regard.claims._comparisons import all_parts, in_balls, of_smaller_case
from regard.claims._retrieval import counted, rounding, tempered, thinned
from regard.claims.claim import Claim, Rival, Trial
from regard.claims.figures import retrieval
from regard.claims.parameters import Parameter
from regard.core.verdict import Evidence


@dataclass(frozen=True, kw_only=True)
class Copying:
    """The least weight at a margin among n keys, and the error that a weight leaves when values are D apart."""

    weight: Callable[[Any, Any], Any] = copy_weight
    error: Callable[[Any, Any], Any] = copy_error


def _by_algebra(trial: Trial) -> Evidence:
    """R = Σ_{i≠j} e^{z_i−z_j} has m = n−1 terms, each at most e^{−Δ}: so m·e^{−Δ} = R + s with a slack s ≥ 0."""
    field = Field("R", "slack", "D", counts=("n", "n-1"), exponentials=("Delta",))
    m, rest, slack, distance = (field[name] for name in ("n-1", "R", "slack", "D"))
    rng, weight = trial.rng("algebra"), 1 / (1 + rest)
    bound = trial.form.weight(field["Delta"], field["n"]).substitute(n=m + 1, e_Delta=m / (rest + slack))
    others = rest / (1 + rest)
    return all_parts(
        "algebra",
        [
            nonnegative(weight - bound, rng=rng, what="a_j ≥ bound"),
            identity(bound.substitute(slack=0), weight, rng=rng, what="equality when the other logits are equal"),
            identity(weight + others, field.constant(1), rng=rng, what="c − v_j = Σ_{i≠j} a_i(v_i − v_j)"),
            nonnegative(trial.form.error(weight, distance) - others * distance, rng=rng, what="‖c−v_j‖ ≤ bound"),
        ],
    )


def _by_brute_force(trial: Trial) -> Evidence:
    """The worst case first (equal other logits, equal other values), then random ones at the same margin."""
    n, margin, rng = thinned(trial.at.n), tempered(trial.at.margin), trial.rng("logits and values")
    bound = in_balls(trial.form.weight, margin, n)
    for draw in range(40):
        is_worst = draw == 0
        gaps = np.zeros(n - 1) if is_worst else rng.exponential(size=n - 1) * (np.arange(n - 1) > 0)
        values = np.minimum(np.arange(n), 1.0)[:, None] if is_worst else rng.normal(size=(n, 3))
        found = _violation(trial.form, bound, np.append(0.0, -margin - gaps), values)
        if found is not None:
            return of_smaller_case(found, tried=n, asked=trial.at.n)
    return Evidence(
        route="brute force",
        status="holds",
        value=bound,
        bound=rounding(n, margin),
        is_of_smaller_case=n < trial.at.n,
        detail=f"both bounds kept, the first reached by equal logits, in 40 draws with "
        f"{counted(trial.at.n)}, Δ = {margin:g}",
    )


def _violation(form: Copying, bound: float, logits: np.ndarray, values: np.ndarray) -> Evidence | None:
    """Evidence against the bounds if this case breaks one; with equal other logits the first must be reached."""
    slack, is_tight = rounding(len(logits), np.ptp(logits)), np.ptp(logits[1:]) == 0
    weights = masked_softmax(logits[None, :])[0]
    weight, error = float(weights[0]), float(np.linalg.norm(weights @ values - values[0]))
    distance = float(np.linalg.norm(values - values[0], axis=1).max())
    allowed = float(form.error(weight, distance))
    if not weight >= bound * (1 - slack):
        shown = f"a_j = {weight:.12g} is below the claimed bound {bound:.12g}"
    elif is_tight and not abs(weight - bound) <= slack * weight:
        shown = f"a_j = {weight:.12g} is not the claimed bound {bound:.12g}"
    elif not error <= allowed + slack * (1 + distance):
        shown = f"‖c−v_j‖ = {error:.12g} exceeds the claimed bound {allowed:.12g} (a_j = {weight:.12g})"
    else:
        return None
    others = "all other logits" if is_tight else "the largest other logit"
    spread = "all other values at distance" if is_tight else "the farthest value at distance"
    at = f"n = {len(logits)}, z_j = 0, {others} {logits[1:].max():g}, {spread} {distance:.12g} from v_j"
    return Evidence(
        route="brute force", status="refuted", detail="a bound fails", value=weight, counterexample=f"{at}: {shown}"
    )


CLAIM = Claim(
    id="copy",
    section="1 retrieval",
    statement="with margin Δ = z_j − max of the other logits: a_j ≥ 1/(1+(n−1)e^{−Δ}), tight when the other logits are "
    "equal; ‖c−v_j‖ ≤ (1−a_j)·max_i‖v_i−v_j‖",
    latex=r"\Delta=z_j-\max_{i\ne j}z_i:\quad a_j\ge\frac1{1+(n-1)e^{-\Delta}},\qquad"
    r"\lVert c-v_j\rVert\le(1-a_j)\max_i\lVert v_i-v_j\rVert",
    expected="proved",
    parameters=(Parameter(name="n", default=10, lower=2, is_integer=True), Parameter(name="margin", default=5.0)),
    conditions=("finite logits",),
    form=Copying(),
    rivals=(
        Rival(
            statement="a_j ≥ 1/(1+(n−2)e^{−Δ})", form=Copying(weight=lambda margin, n: 1 / (1 + (n - 2) * exp(-margin)))
        ),
        Rival(
            statement="1/(1+n·e^{−Δ}) is reached when the other logits are equal",
            form=Copying(weight=lambda margin, n: 1 / (1 + n * exp(-margin))),
        ),
        Rival(
            statement="‖c−v_j‖ ≤ (1−a_j)²·max‖v_i−v_j‖",
            form=Copying(error=lambda weight, distance: (1 - weight) ** 2 * distance),
        ),
        Rival(
            statement="‖c−v_j‖ ≤ ½(1−a_j)·max‖v_i−v_j‖",
            form=Copying(error=lambda weight, distance: (1 - weight) * distance / 2),
        ),
    ),
    routes=(_by_brute_force, _by_algebra),
    assumes=("the triangle inequality",),
    derivation="1/a_j = 1 + Σ_{i≠j} e^{z_i−z_j}, n−1 terms of at most e^{−Δ} each, all equal to it when the other "
    "logits are equal. Since Σ a_i = 1, c − v_j = Σ_{i≠j} a_i(v_i−v_j), and the weights in that sum add up to 1 − a_j.",
    source="CS224N assignment 4, question 1(a)",
    figure=retrieval.copying,
)
