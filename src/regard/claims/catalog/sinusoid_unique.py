"""Integer positions never share a sinusoidal code."""

from fractions import Fraction

import numpy as np

from regard.analysis.closed_forms.arithmetic import cos, sin
from regard.analysis.closed_forms.position_codes import FirstPair, PiLine
from regard.analysis.engines.symbolic import identity
from regard.claims._evidence import Evidence
from regard.claims._position_codes import EXPONENTIAL_LAW, rounding
from regard.claims.claim import Claim, NearMiss, Trial
from regard.positions.sinusoidal import sinusoid
from regard.render.figures import Axis, HeatMap

_FURTHEST = 750


def _by_algebra(trial: Trial) -> list[Evidence]:
    """The distance between two codes is a chord, ‖Φ(φ) − Φ(ψ)‖² = 4 sin²((φ−ψ)/2), which is 0 only at whole turns."""
    half_phi, half_psi = trial.field(angles=("phi/2", "psi/2"))
    parts = [(sin, cos)[part] for part in trial.form.parts]
    squared = sum((part(2 * half_phi) - part(2 * half_psi)) ** 2 for part in parts)
    chord = 4 * sin(half_phi - half_psi) ** 2
    what = "‖Φ(φ) − Φ(ψ)‖² = 4 sin²((φ−ψ)/2), so codes meet only at whole turns"
    found = identity(squared, chord, what)
    if found.status != "proved":
        # Another distance may still separate whole positions, so a failed identity decides nothing.
        found = Evidence(status="undecided", detail="the distance between two codes is not a chord of the circle")
    return [found, _has_no_period(trial.form)]


def _has_no_period(pair: FirstPair) -> Evidence:
    """No whole number of steps is a whole number of wavelengths."""
    if pair.period is None:
        return Evidence(status="proved", detail="k·spacing = m·wavelength with k ≠ 0 would make π rational")
    step, wavelength, steps = _written(pair.spacing), _written(pair.wavelength), pair.period
    apart = f"positions {steps} steps of {step} apart share a code of wavelength {wavelength}: 0 and {steps}·{step}"
    return Evidence(status="refuted", detail=f"codes repeat every {steps} steps", counterexample=apart)


def _written(line: PiLine) -> str:
    """The number a + bπ in the usual notation."""
    a, b = line
    times = "π" if b == 1 else f"{b}π" if Fraction(b).denominator == 1 else f"({b})π"
    return f"{a}" if not b else times if not a else f"({a} + {times})"


def _by_brute_force(trial: Trial) -> Evidence:
    """Every two of the positions around 0, coded by the reference code."""
    steps = np.array(sorted(range(-_FURTHEST, _FURTHEST + 1), key=abs))
    codes = sinusoid(trial.form.angles(steps), width=2)[:, list(trial.form.parts)]
    squared = sum(np.subtract.outer(column, column) ** 2 for column in codes.T) + np.diag(np.full(len(steps), np.inf))
    row, column = np.unravel_index(int(np.argmin(squared)), squared.shape)
    nearest, tolerance = float(np.sqrt(squared[row, column])), rounding(_FURTHEST)
    pair = f"positions {steps[row]} and {steps[column]}"
    if nearest > tolerance:
        detail = f"the nearest codes from −{_FURTHEST} to {_FURTHEST}, those of {pair}, are {nearest:.4g} apart"
        return Evidence(status="holds", detail=detail, value=nearest, bound=tolerance)
    against = f"{pair}: codes {codes[row].tolist()} and {codes[column].tolist()}, {nearest:.1e} apart"
    detail = "two positions share a code"
    return Evidence(status="refuted", detail=detail, value=nearest, bound=tolerance, counterexample=against)


CLAIM = Claim(
    id="sinusoid-unique",
    section="5 sinusoidal codes",
    statement="integer positions never share a code, however many there are: the pair (sin t, cos t) distinguishes "
    "them",
    latex=r"t,u\in\mathbb Z,\ t\neq u\;\Rightarrow\;(\sin t,\cos t)\neq(\sin u,\cos u),\ \Phi(t)\neq\Phi(u)",
    expected="proved",
    conditions=("positions whole numbers", "any even d", "any B > 1"),
    assumes=("π is irrational", EXPONENTIAL_LAW),
    form=FirstPair(),
    near_misses=(
        NearMiss("the cosine alone distinguishes them", FirstPair(parts=(1,))),
        NearMiss("so does a pair of wavelength 710/113 ≈ 2π", FirstPair(wavelength=(Fraction(710, 113), 0))),
        NearMiss("so do positions that are multiples of π/8", FirstPair(spacing=(0, Fraction(1, 8)))),
    ),
    methods={"algebra": _by_algebra, "brute force": _by_brute_force},
    derivation="The pair i = 0 has wavelength 2π whatever d and B are. ‖Φ(t) − Φ(u)‖ is at least that pair's share, "
    "2|sin((t−u)/2)|, which is 0 only if t − u = 2πm. For whole t ≠ u that would make π = (t−u)/(2m) rational. So no "
    "sequence is too long; but codes do come close to each other, first at 710 ≈ 113·2π (see `sinusoid-nearest`).",
    source="CS224N assignment 4, position embeddings; Vaswani et al. 2017, section 3.5",
    figure=lambda _: HeatMap(
        title="No two rows are the same",
        caption="Sinusoidal codes of width 64. The first columns turn once every 2π positions, the last hardly at "
        "all; since π is irrational, even the first two columns never repeat.",
        x=Axis(label="coordinate of the code"),
        y=Axis(label="position t"),
        values=sinusoid(np.arange(64), width=64),
        scale="diverging",
    ),
    demonstration="positions?width=2&count=1024",
)
