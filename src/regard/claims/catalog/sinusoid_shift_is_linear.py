"""Φ(t+s) = R_s Φ(t): a shift of position is a rotation that does not depend on the position."""

import numpy as np

from regard.analysis.closed_forms.arithmetic import Numbers
from regard.analysis.closed_forms.position_codes import code, shift_matrix
from regard.analysis.engines.symbolic import identity
from regard.claims._evidence import Evidence, smaller_case, worst_entry
from regard.claims._position_codes import BASE, EXPONENTIAL_LAW, WIDTH, rounding, tried
from regard.claims.claim import Claim, NearMiss, Settings, Trial
from regard.positions.rotary import rotary_frequencies
from regard.positions.sinusoidal import sinusoid
from regard.render.figures import Axis, HeatMap


def _by_algebra(trial: Trial) -> list[Evidence]:
    """Two pairs with independent angles: R_s acts on each as the shift does, and is a rotation."""
    t_0, t_1, s_0, s_1 = trial.field(angles=("t*theta_0", "t*theta_1", "s*theta_0", "s*theta_1"))
    matrix, [[a, b], [c, d]] = trial.form([s_0, s_1]), trial.form([s_0])
    shifted, unit = code([t_0 + s_0, t_1 + s_1]), np.eye(4, dtype=int)
    return [
        identity(matrix @ code([t_0, t_1]), shifted, "R_s Φ(t) = Φ(t+s), pair by pair"),
        identity(matrix @ matrix.T, unit, "R_s R_sᵀ = I"),
        identity(a * d - b * c, 1, "each block has determinant 1"),
    ]


def _by_brute_force(trial: Trial) -> list[Evidence]:
    """The matrix of one random shift, applied to the codes of many positions."""
    width, note = tried(trial.at.d, 256)
    rng = trial.rng("positions")
    positions, shift = rng.integers(0, 4096, size=16), int(rng.integers(1, 512))
    matrix = trial.form(shift * rotary_frequencies(trial.at.B, width))
    part = worst_entry(
        f"Φ(t+s)_j{note}",
        claimed=sinusoid(positions, width=width, base=trial.at.B) @ matrix.T.astype(float),
        found=sinusoid(positions + shift, width=width, base=trial.at.B),
        tolerance=rounding(5000, terms=4),
        at=lambda row, j: f"d = {width}, B = {trial.at.B:g}, t = {positions[row]}, s = {shift}, j = {j}",
    )
    return smaller_case(part, tried=width, asked=trial.at.d)


def _reflected(angles: Numbers) -> np.ndarray:
    """Each block with its second row negated."""
    matrix = shift_matrix(angles)
    matrix[1::2] = -matrix[1::2]
    return matrix


def _figure(at: Settings) -> HeatMap:
    width = min(at.d, 32)
    return HeatMap(
        title="A shift is a rotation",
        caption=f"R_5, which takes Φ(t) to Φ(t+5) whatever t is, for d = {width} and B = {at.B:g}: one 2×2 rotation "
        "per pair, from fast at the top left to slow at the bottom right.",
        x=Axis(label="column"),
        y=Axis(label="row"),
        values=shift_matrix(5 * rotary_frequencies(at.B, width)).astype(float),
        scale="diverging",
    )


CLAIM = Claim(
    id="sinusoid-shift-is-linear",
    section="5 sinusoidal codes",
    statement="Φ(t+s) = R_s Φ(t) for all t, with R_s a block rotation that depends only on s",
    latex=r"\Phi(t+s)=R_s\,\Phi(t),\quad R_s=\bigoplus_i\begin{pmatrix}\cos s\theta_i&\sin s\theta_i\\"
    r"-\sin s\theta_i&\cos s\theta_i\end{pmatrix},\quad\theta_i=B^{-2i/d}",
    expected="proved",
    parameters=(WIDTH, BASE),
    conditions=("t and s any real numbers",),
    assumes=(EXPONENTIAL_LAW,),
    form=shift_matrix,
    near_misses=(
        NearMiss("the blocks turn the other way", lambda angles: shift_matrix(angles).T),
        NearMiss("one angle s for every pair", lambda angles: shift_matrix([angles[0]] * len(angles))),
        NearMiss("the blocks are reflections", _reflected),
    ),
    methods={"brute force": _by_brute_force, "algebra": _by_algebra},
    derivation="For φ = tθ_i, ψ = sθ_i: sin(φ+ψ) = cos ψ sin φ + sin ψ cos φ, cos(φ+ψ) = −sin ψ sin φ + cos ψ cos φ. "
    "So (sin φ, cos φ) is multiplied by [[cos ψ, sin ψ], [−sin ψ, cos ψ]], whose entries depend on s and θ_i but not "
    "on t. Pairs do not mix, so R_s is block diagonal whatever the width.",
    source="Vaswani et al. 2017, Attention is all you need, section 3.5",
    figure=_figure,
)
