"""Φ(t)ᵀΦ(u) depends on t−u only."""

from regard.analysis.closed_forms.arithmetic import cos, sin
from regard.analysis.closed_forms.sinusoids import code, code_product
from regard.analysis.engines.angles import angle_field, generic_angles
from regard.analysis.engines.symbolic import identity
from regard.claims._comparisons import all_parts, of_smaller_case
from regard.claims._turns import BASE, EXPONENTIAL_LAW, WIDTH, rounding, tried, worst_entry
from regard.claims.claim import Claim, Rival, Trial
from regard.claims.figures import codes
from regard.core.verdict import Evidence
from regard.positions.rotary_scaling import rotary_frequencies
from regard.positions.sinusoidal import sinusoid


def _by_algebra(trial: Trial) -> Evidence:
    """One pair and then one more, with angles of their own; moving both positions alike changes nothing."""
    names = ("t*theta_0", "t*theta_1", "u*theta_0", "u*theta_1", "s*theta_0", "s*theta_1")
    t_0, t_1, u_0, u_1, s_0, s_1 = generic_angles(angle_field(*names), *names)
    rng = trial.rng("algebra")
    here, there = [t_0, t_1], [u_0, u_1]
    moved = trial.form([t_0 + s_0, t_1 + s_1], [u_0 + s_0, u_1 + s_1])
    first = trial.form([t_0], [u_0])
    return all_parts(
        "algebra",
        (
            identity(trial.form(here, there), code(here) @ code(there), rng=rng, what="Φ(t)ᵀΦ(u) in closed form"),
            identity(trial.form(here, there) - first, trial.form([t_1], [u_1]), rng=rng, what="pairs add up"),
            identity(moved, trial.form(here, there), rng=rng, what="the same for t+s and u+s"),
        ),
    )


def _by_brute_force(trial: Trial) -> Evidence:
    """Codes of random positions multiplied as they are."""
    width, note = tried(trial.at.d, 4096)
    rng, frequencies = trial.rng("positions"), rotary_frequencies(trial.at.B, width)
    t, u = rng.integers(0, 4096, size=(2, 32))
    codes = [sinusoid(positions, width=width, base=trial.at.B) for positions in (t, u)]
    angles = [[positions * frequency for frequency in frequencies] for positions in (t, u)]
    outcome = worst_entry(
        f"Φ(t)ᵀΦ(u){note}",
        claimed=trial.form(*angles),
        measured=(codes[0] * codes[1]).sum(-1),
        tolerance=rounding(4096, terms=width),
        at=lambda row: f"d = {width}, B = {trial.at.B:g}, t = {t[row]}, u = {u[row]}",
    )
    return of_smaller_case(outcome, tried=width, asked=trial.at.d)


CLAIM = Claim(
    id="sinusoid-dot-is-relative",
    section="5 sinusoidal codes",
    statement="Φ(t)ᵀΦ(u) = Σ_i cos((t−u)θ_i) depends on t−u only",
    latex=r"\Phi(t)^\top\Phi(u)=\sum_{i=0}^{d/2-1}\cos\big((t-u)\theta_i\big),\quad\theta_i=B^{-2i/d}",
    expected="proved",
    parameters=(WIDTH, BASE),
    conditions=("t and u any real numbers",),
    form=code_product,
    rivals=(
        Rival(
            statement="Σ cos((t+u)θ_i)",
            form=lambda first, second: sum(cos(a + b) for a, b in zip(first, second, strict=True)),
        ),
        Rival(
            statement="Σ sin((t−u)θ_i), which would tell before from after",
            form=lambda first, second: sum(sin(a - b) for a, b in zip(first, second, strict=True)),
        ),
        Rival(
            statement="the sines alone: Σ sin(tθ_i) sin(uθ_i)",
            form=lambda first, second: sum(sin(a) * sin(b) for a, b in zip(first, second, strict=True)),
        ),
    ),
    routes=(_by_brute_force, _by_algebra),
    derivation="Each pair gives sin φ sin ψ + cos φ cos ψ = cos(φ−ψ) with φ = tθ_i and ψ = uθ_i, and the pairs add up. "
    "The sum is even in t−u: it sees how far, not on which side. It is d/2 at t = u.",
    source="Vaswani et al. 2017, Attention is all you need, section 3.5",
    assumes=(EXPONENTIAL_LAW,),
    figure=codes.products,
)
