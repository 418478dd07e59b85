"""A key whose logit leads by a margin is copied: a lower bound on its weight, an upper bound on the error."""

import numpy as np

from regard.analysis.closed_forms.arithmetic import exp
from regard.analysis.closed_forms.softmax import copy_error, copy_weight
from regard.analysis.engines.symbolic import identity, nonnegative
from regard.attention import masked_softmax
from regard.claims._evidence import Evidence, in_balls, smaller_case
from regard.claims._figures import evenly, guide_at
from regard.claims._retrieval import few_keys, rounding, tempered
from regard.claims.claim import Claim, Form, NearMiss, Settings, Trial, integer, real
from regard.render.figures import Axis, Chart, Series


def _by_algebra(trial: Trial) -> list[Evidence]:
    """R = Σ_{i≠j} e^{z_i−z_j} has m = n−1 terms, each at most e^{−Δ}: so m·e^{−Δ} = R + s with a slack s ≥ 0."""
    rest, slack, distance, n, m, margin = trial.field("R", "slack", "D", counts=("n", "n-1"), exponentials=("Delta",))
    weight, others = 1 / (1 + rest), rest / (1 + rest)
    bound = trial.form.weight(margin, n).substitute(n=m + 1, e_Delta=m / (rest + slack))
    return [
        nonnegative(weight - bound, "a_j ≥ bound"),
        identity(bound.substitute(slack=0), weight, "equality when the other logits are equal"),
        identity(weight + others, 1, "c − v_j = Σ_{i≠j} a_i(v_i − v_j)"),
        nonnegative(trial.form.error(weight, distance) - others * distance, "‖c−v_j‖ ≤ bound"),
    ]


def _by_brute_force(trial: Trial) -> list[Evidence]:
    """The worst case first (equal other logits, equal other values), then random ones at the same margin."""
    (n, size), margin, rng = few_keys(trial.at.n), tempered(trial.at.margin), trial.rng("logits and values")
    bound = in_balls(trial.form.weight, margin, n)
    for draw in range(40):
        is_worst = draw == 0
        gaps = np.zeros(n - 1) if is_worst else rng.exponential(size=n - 1) * (np.arange(n - 1) > 0)
        values = np.minimum(np.arange(n), 1.0)[:, None] if is_worst else rng.normal(size=(n, 3))
        found = _violation(trial.form, bound, np.append(0.0, -margin - gaps), values)
        if found is not None:
            return smaller_case(found, tried=n, asked=trial.at.n)
    detail = f"both bounds hold, and equal logits reach the first, in 40 draws with {size}, Δ = {margin:g}"
    kept = Evidence(status="holds", value=bound, bound=rounding(n, margin), detail=detail)
    return smaller_case(kept, tried=n, asked=trial.at.n)


def _violation(form: Form, bound: float, logits: np.ndarray, values: np.ndarray) -> Evidence | None:
    """Evidence against the bounds if this case breaks one; if the other logits are equal, the first must be reached."""
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
    return Evidence(status="refuted", detail="a bound fails", value=weight, counterexample=f"{at}: {shown}")


def _figure(at: Settings) -> Chart:
    margins = evenly(at.margin, -2.0, 14.0, 160)
    return Chart(
        title="A margin copies",
        caption="The least weight of a key whose logit leads by Δ. More keys shift the curve by log n; they do not "
        "change its shape.",
        x=Axis(label="margin Δ"),
        y=Axis(label="least weight a_j", lower=0.0, upper=1.0),
        series=[
            Series(label=f"n = {n:g}", x=margins, y=copy_weight(margins, float(n)))
            for n in (at.n, 10 * at.n, 100 * at.n)
        ],
        guides=guide_at(at.margin, f"Δ = {at.margin:g}", margins),
    )


CLAIM = Claim(
    id="copy",
    section="1 retrieval",
    statement="with margin Δ = z_j − max of the other logits: a_j ≥ 1/(1+(n−1)e^{−Δ}), tight when the other logits are "
    "equal; ‖c−v_j‖ ≤ (1−a_j)·max_i‖v_i−v_j‖",
    latex=r"\Delta=z_j-\max_{i\ne j}z_i:\quad a_j\ge\frac1{1+(n-1)e^{-\Delta}},\qquad"
    r"\lVert c-v_j\rVert\le(1-a_j)\max_i\lVert v_i-v_j\rVert",
    expected="proved",
    parameters=(integer("n", 10, lower=2), real("margin", 5.0)),
    conditions=("finite logits",),
    assumes=("the triangle inequality",),
    # The least weight at a margin among n keys, and the error at a given weight when values are at most D apart.
    form=Form(weight=copy_weight, error=copy_error),
    near_misses=(
        NearMiss("a_j ≥ 1/(1+(n−2)e^{−Δ})", {"weight": lambda margin, n: 1 / (1 + (n - 2) * exp(-margin))}),
        NearMiss(
            "1/(1+n·e^{−Δ}) is reached when the other logits are equal",
            {"weight": lambda margin, n: 1 / (1 + n * exp(-margin))},
        ),
        NearMiss("‖c−v_j‖ ≤ (1−a_j)²·max‖v_i−v_j‖", {"error": lambda weight, distance: (1 - weight) ** 2 * distance}),
        NearMiss("‖c−v_j‖ ≤ ½(1−a_j)·max‖v_i−v_j‖", {"error": lambda weight, distance: (1 - weight) * distance / 2}),
    ),
    methods={"brute force": _by_brute_force, "algebra": _by_algebra},
    derivation="1/a_j = 1 + Σ_{i≠j} e^{z_i−z_j}, n−1 terms of at most e^{−Δ} each, all equal to it when the other "
    "logits are equal. Since Σ a_i = 1, c − v_j = Σ_{i≠j} a_i(v_i−v_j), and the weights in that sum add up to 1 − a_j.",
    source="CS224N assignment 4, question 1(a)",
    figure=_figure,
    demonstration="copy?goal=copy&degrees=0&beta=5&n=10",
)
