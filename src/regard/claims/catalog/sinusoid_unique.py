"""Integer positions never share a sinusoidal code."""

from fractions import Fraction

import numpy as np

from regard.analysis.closed_forms.arithmetic import cos, sin
from regard.analysis.closed_forms.sinusoids import FirstPair, PiLine
from regard.analysis.engines.angles import angle_field, generic_angles
from regard.analysis.engines.symbolic import identity
from regard.claims._comparisons import all_parts
from regard.claims._turns import EXPONENTIAL_LAW, rounding
from regard.claims.claim import Claim, Rival, Trial
from regard.claims.figures import codes
from regard.core.verdict import Evidence
from regard.positions.sinusoidal import sinusoid

_FURTHEST = 750


def _by_algebra(trial: Trial) -> Evidence:
    """The distance of two codes as a chord, and where a chord can vanish."""
    return all_parts("algebra", (_vanishes_at_whole_turns(trial), _has_no_period(trial.form)))


def _vanishes_at_whole_turns(trial: Trial) -> Evidence:
    """‖Φ(φ) − Φ(ψ)‖² = 4 sin²((φ−ψ)/2), which is 0 at whole turns only."""
    half_phi, half_psi = generic_angles(angle_field("phi/2", "psi/2"), "phi/2", "psi/2")
    parts = [(sin, cos)[part] for part in trial.form.parts]
    squared = sum((part(2 * half_phi) - part(2 * half_psi)) ** 2 for part in parts)
    chord = 4 * sin(half_phi - half_psi) ** 2
    what = "‖Φ(φ) − Φ(ψ)‖² = 4 sin²((φ−ψ)/2), so codes meet at whole turns only"
    found = identity(squared, chord, rng=trial.rng("algebra"), what=what)
    if found.status == "proved":
        return found
    # Another distance may still tell whole positions apart, so a failed identity decides nothing.
    return Evidence(route="algebra", status="undecided", detail="the distance of two codes is no chord of the circle")


def _has_no_period(pair: FirstPair) -> Evidence:
    """No whole number of steps is a whole number of wavelengths."""
    if pair.period is None:
        detail = "k·spacing = m·wavelength with k ≠ 0 would make π rational"
        return Evidence(route="algebra", status="proved", detail=detail)
    step, wavelength, steps = _told(pair.spacing), _told(pair.wavelength), pair.period
    apart = f"positions {steps} steps of {step} apart, as 0 and {steps}·{step}, share a code of wavelength {wavelength}"
    return Evidence(route="algebra", status="refuted", detail=f"codes repeat every {steps} steps", counterexample=apart)


def _told(line: PiLine) -> str:
    """The number a + bπ as one writes it."""
    a, b = line
    times = "π" if b == 1 else f"{b}π" if Fraction(b).denominator == 1 else f"({b})π"
    return f"{a}" if not b else times if not a else f"({a} + {times})"


def _by_brute_force(trial: Trial) -> Evidence:
    """Every two of the positions around 0, coded by the reference."""
    steps = np.array(sorted(range(-_FURTHEST, _FURTHEST + 1), key=abs))
    codes = sinusoid(trial.form.angles(steps), width=2)[:, list(trial.form.parts)]
    squared = sum(np.subtract.outer(column, column) ** 2 for column in codes.T) + np.diag(np.full(len(steps), np.inf))
    row, column = np.unravel_index(int(np.argmin(squared)), squared.shape)
    nearest, tolerance = float(np.sqrt(squared[row, column])), rounding(_FURTHEST)
    pair = f"positions {steps[row]} and {steps[column]}"
    if nearest > tolerance:
        detail = f"the nearest codes from −{_FURTHEST} to {_FURTHEST}, those of {pair}, are {nearest:.4g} apart"
        return Evidence(route="brute force", status="holds", detail=detail, value=nearest, bound=tolerance)
    return Evidence(
        route="brute force",
        status="refuted",
        detail="two positions share a code",
        value=nearest,
        bound=tolerance,
        counterexample=f"{pair}: codes {codes[row].tolist()} and {codes[column].tolist()}, {nearest:.1e} apart",
    )


CLAIM = Claim(
    id="sinusoid-unique",
    section="5 sinusoidal codes",
    statement="integer positions never share a code, however many there are: the pair (sin t, cos t) tells them apart",
    latex=r"t,u\in\mathbb Z,\ t\neq u\;\Rightarrow\;(\sin t,\cos t)\neq(\sin u,\cos u),\ \Phi(t)\neq\Phi(u)",
    expected="proved",
    conditions=("positions whole numbers", "any even d", "any B > 1"),
    form=FirstPair(),
    rivals=(
        Rival(statement="the cosine alone tells them apart", form=FirstPair(parts=(1,))),
        Rival(
            statement="so does a pair of wavelength 710/113 ≈ 2π", form=FirstPair(wavelength=(Fraction(710, 113), 0))
        ),
        Rival(statement="so do positions that are multiples of π/8", form=FirstPair(spacing=(0, Fraction(1, 8)))),
    ),
    routes=(_by_algebra, _by_brute_force),
    derivation="The pair i = 0 has wavelength 2π whatever d and B are. ‖Φ(t) − Φ(u)‖ is at least that pair's share, "
    "2|sin((t−u)/2)|, which is 0 only if t − u = 2πm. For whole t ≠ u that would make π = (t−u)/(2m) rational. "
    "So no length is too long; the codes do come near each other, first at 710 ≈ 113·2π (see sinusoid-nearest).",
    source="CS224N assignment 4, position embeddings; Vaswani et al. 2017, section 3.5",
    assumes=("π is irrational", EXPONENTIAL_LAW),
    figure=codes.code_table,
)
