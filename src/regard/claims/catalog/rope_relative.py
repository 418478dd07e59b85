"""The score of two rotated vectors depends only on the distance between their positions."""

from typing import Any

import numpy as np

from regard.analysis.closed_forms.arithmetic import Numbers
from regard.analysis.closed_forms.position_codes import relative_score, rotation_matrix
from regard.analysis.engines.symbolic import identity
from regard.claims._evidence import Evidence, smaller_case, worst_entry
from regard.claims._position_codes import BASE, EXPONENTIAL_LAW, SMALL_WIDTH, WholeVectors, rounding, tried
from regard.claims.claim import Claim, NearMiss, Settings, Trial
from regard.positions.rotary import Rotary
from regard.render.figures import Axis, Chart, Series

_ANGLES = ("t_1*theta_0", "t_1*theta_1", "t_2*theta_0", "t_2*theta_1")
_NUMBERS = ("z_0", "z_1", "z_2", "z_3", "w_0", "w_1", "w_2", "w_3")


def _by_algebra(trial: Trial) -> list[Evidence]:
    """Two pairs with independent angles: the matrix of RoPE on both sides, then on one side only."""
    symbols = list(trial.field(*_NUMBERS, angles=_ANGLES))
    z, w, here, there = np.array(symbols[:4]), np.array(symbols[4:8]), symbols[8:10], symbols[10:]
    apart = [a - b for a, b in zip(here, there, strict=True)]
    at_rest = [a - a for a in here]
    score = trial.form(z, w, here, there)
    both = (rotation_matrix(here) @ z) @ (rotation_matrix(there) @ w)
    one = (rotation_matrix(apart) @ z) @ (rotation_matrix(at_rest) @ w)
    return [
        identity(score, both, "⟨RoPE(z_1,t_1), RoPE(z_2,t_2)⟩ in closed form"),
        identity(score, one, "⟨RoPE(z_1,t_1−t_2), RoPE(z_2,0)⟩ in closed form"),
    ]


def _by_brute_force(trial: Trial) -> list[Evidence]:
    """Random vectors at random positions, rotated by the reference code and multiplied."""
    width, note = tried(trial.at.d, 4096)
    rng, code = trial.rng("vectors"), Rotary(base=trial.at.B)
    t_1, t_2 = rng.integers(1, 4096, size=(2, 16))
    first, second = (WholeVectors.draw(rng, 16, width) for _ in range(2))
    z, w = first.rows, second.rows
    frequencies = code.frequencies(width)[:, None]
    claimed = trial.form(z.T, w.T, t_1 * frequencies, t_2 * frequencies)
    scores = {
        "⟨RoPE(z_1,t_1), RoPE(z_2,t_2)⟩": (code.rotate(z, t_1) * code.rotate(w, t_2)).sum(-1),
        "⟨RoPE(z_1,t_1−t_2), RoPE(z_2,0)⟩": (code.rotate(z, t_1 - t_2) * code.rotate(w, np.zeros(16))).sum(-1),
    }

    def place(row: int) -> str:
        vectors = f"{first.described(row, 'z_1')}, {second.described(row, 'z_2')}"
        return f"d = {width}, B = {trial.at.B:g}, {vectors}, t_1 = {t_1[row]}, t_2 = {t_2[row]}"

    tolerance = rounding(4096, terms=9 * width)
    parts = [
        worst_entry(what + note, claimed=claimed, found=score, tolerance=tolerance, at=place)
        for what, score in scores.items()
    ]
    return smaller_case(parts, tried=width, asked=trial.at.d)


def _conjugate(numbers: Numbers) -> list[Any]:
    """Each imaginary part negated."""
    return [-number if j % 2 else number for j, number in enumerate(numbers)]


def _figure(at: Settings) -> Chart:
    width, lags = min(at.d, 256), np.linspace(-60, 60, 481)
    rng, code = np.random.default_rng(0), Rotary(base=at.B)
    z, w = (WholeVectors.draw(rng, 1, width).rows[0] for _ in range(2))
    frequencies = code.frequencies(width)
    claimed = relative_score(z, w, list(np.multiply.outer(frequencies, lags)), [0.0] * len(frequencies))
    far = np.arange(-60, 61, 4)
    moved = code.rotate(np.broadcast_to(z, (len(far), width)), 1000 + far)
    there = code.rotate(np.broadcast_to(w, (len(far), width)), np.full(len(far), 1000))
    return Chart(
        title="Only the distance matters",
        caption=f"The score of two fixed vectors of width {width} against t₁ − t₂: with t₂ = 0 as a curve, and with "
        "both positions moved on by a thousand tokens as points. They agree to the last digits.",
        x=Axis(label="distance t₁ − t₂"),
        y=Axis(label="score"),
        series=(
            Series(label="t₂ = 0", x=lags, y=claimed),
            Series(label="t₂ = 1000", x=far, y=(moved * there).sum(axis=-1), style="points"),
        ),
    )


CLAIM = Claim(
    id="rope-relative",
    section="6 rotary codes",
    statement="⟨RoPE(z_1,t_1), RoPE(z_2,t_2)⟩ = ⟨RoPE(z_1,t_1−t_2), RoPE(z_2,0)⟩ = Re Σ z_1 z̄_2 e^{i(t_1−t_2)θ}",
    latex=r"\langle\mathrm{RoPE}(z_1,t_1),\mathrm{RoPE}(z_2,t_2)\rangle="
    r"\langle\mathrm{RoPE}(z_1,t_1-t_2),\mathrm{RoPE}(z_2,0)\rangle="
    r"\mathrm{Re}\sum_j z_{1j}\,\overline{z_{2j}}\,e^{\mathrm{i}(t_1-t_2)\theta_j}",
    expected="proved",
    parameters=(SMALL_WIDTH, BASE),
    conditions=("z_1 and z_2 real vectors of d numbers read as d/2 complex ones", "t_1 and t_2 any real numbers"),
    assumes=(EXPONENTIAL_LAW,),
    form=relative_score,
    near_misses=(
        NearMiss(
            "without the conjugate: Re(z_1 z_2 e^{i(t_1−t_2)θ})",
            lambda z, w, here, there: relative_score(z, _conjugate(w), here, there),
        ),
        NearMiss(
            "the sum of the positions: Re(z_1 z̄_2 e^{i(t_1+t_2)θ})",
            lambda z, w, here, there: relative_score(z, w, here, [-1 * angle for angle in there]),
        ),
        NearMiss(
            "the distance in the other direction: Re(z_1 z̄_2 e^{i(t_2−t_1)θ})",
            lambda z, w, here, there: relative_score(z, w, there, here),
        ),
    ),
    methods={"brute force": _by_brute_force, "algebra": _by_algebra},
    derivation="The inner product of two pairs is Re(z w̄). Rotated, it is Re(z_1 e^{it_1θ} · conj(z_2 e^{it_2θ})) = "
    "Re(z_1 z̄_2 e^{i(t_1−t_2)θ}), which is also what RoPE(z_1, t_1−t_2) and the unrotated z_2 give. Pairs add up.",
    source="Su et al. 2021, RoFormer, section 3.2; CS224N assignment 4, rotary position embeddings",
    figure=_figure,
    demonstration="positions?keyAt=100",
)
