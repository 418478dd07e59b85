"""The product Φ(t)ᵀΦ(u) of sinusoidal codes depends only on t−u."""

import numpy as np

from regard.analysis.closed_forms.arithmetic import cos, sin
from regard.analysis.closed_forms.position_codes import code, code_product
from regard.analysis.engines.symbolic import identity
from regard.claims._evidence import Evidence, smaller_case, worst_entry
from regard.claims._position_codes import BASE, EXPONENTIAL_LAW, WIDTH, rounding, tried
from regard.claims.claim import Claim, NearMiss, Settings, Trial
from regard.positions.rotary import rotary_frequencies
from regard.positions.sinusoidal import sinusoid
from regard.render.figures import Axis, HeatMap


def _by_algebra(trial: Trial) -> list[Evidence]:
    """One pair and then another, with independent angles; shifting both positions changes nothing."""
    names = ("t*theta_0", "t*theta_1", "u*theta_0", "u*theta_1", "s*theta_0", "s*theta_1")
    t_0, t_1, u_0, u_1, s_0, s_1 = trial.field(angles=names)
    here, there = [t_0, t_1], [u_0, u_1]
    moved = trial.form([t_0 + s_0, t_1 + s_1], [u_0 + s_0, u_1 + s_1])
    first = trial.form([t_0], [u_0])
    return [
        identity(trial.form(here, there), code(here) @ code(there), "Φ(t)ᵀΦ(u) in closed form"),
        identity(trial.form(here, there) - first, trial.form([t_1], [u_1]), "pairs add up"),
        identity(moved, trial.form(here, there), "the same for t+s and u+s"),
    ]


def _by_brute_force(trial: Trial) -> list[Evidence]:
    """Products of the codes of random positions."""
    width, note = tried(trial.at.d, 4096)
    rng, frequencies = trial.rng("positions"), rotary_frequencies(trial.at.B, width)
    t, u = rng.integers(0, 4096, size=(2, 32))
    codes = [sinusoid(positions, width=width, base=trial.at.B) for positions in (t, u)]
    angles = [[positions * frequency for frequency in frequencies] for positions in (t, u)]
    part = worst_entry(
        f"Φ(t)ᵀΦ(u){note}",
        claimed=trial.form(*angles),
        found=(codes[0] * codes[1]).sum(-1),
        tolerance=rounding(4096, terms=width),
        at=lambda row: f"d = {width}, B = {trial.at.B:g}, t = {t[row]}, u = {u[row]}",
    )
    return smaller_case(part, tried=width, asked=trial.at.d)


def _figure(at: Settings) -> HeatMap:
    width, positions = min(at.d, 256), np.arange(64)
    angles = [positions * frequency for frequency in rotary_frequencies(at.B, width)]
    values = code_product([angle[:, None] for angle in angles], [angle[None, :] for angle in angles])
    return HeatMap(
        title="The same along every diagonal",
        caption=f"Φ(t)ᵀΦ(u) for codes of width {width}, B = {at.B:g}. It depends only on t − u, so the picture "
        "consists of diagonal stripes, and it is symmetric: it shows how far apart two positions are, not which is "
        "first.",
        x=Axis(label="position u"),
        y=Axis(label="position t"),
        values=values,
    )


CLAIM = Claim(
    id="sinusoid-dot-is-relative",
    section="5 sinusoidal codes",
    statement="Φ(t)ᵀΦ(u) = Σ_i cos((t−u)θ_i) depends only on t−u",
    latex=r"\Phi(t)^\top\Phi(u)=\sum_{i=0}^{d/2-1}\cos\big((t-u)\theta_i\big),\quad\theta_i=B^{-2i/d}",
    expected="proved",
    parameters=(WIDTH, BASE),
    conditions=("t and u any real numbers",),
    assumes=(EXPONENTIAL_LAW,),
    form=code_product,
    near_misses=(
        NearMiss("Σ cos((t+u)θ_i)", lambda first, second: sum(cos(a + b) for a, b in zip(first, second, strict=True))),
        NearMiss(
            "Σ sin((t−u)θ_i), which would distinguish before from after",
            lambda first, second: sum(sin(a - b) for a, b in zip(first, second, strict=True)),
        ),
        NearMiss(
            "the sines alone: Σ sin(tθ_i) sin(uθ_i)",
            lambda first, second: sum(sin(a) * sin(b) for a, b in zip(first, second, strict=True)),
        ),
    ),
    methods={"brute force": _by_brute_force, "algebra": _by_algebra},
    derivation="Each pair gives sin φ sin ψ + cos φ cos ψ = cos(φ−ψ) with φ = tθ_i and ψ = uθ_i, and the pairs add up. "
    "The sum is even in t−u: it shows how far apart, not which comes first. It is d/2 at t = u.",
    source="Vaswani et al. 2017, Attention is all you need, section 3.5",
    figure=_figure,
    demonstration="positions?width=16&count=512",
)
