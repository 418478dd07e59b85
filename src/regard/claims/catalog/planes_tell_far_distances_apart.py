"""Misconception: a rotary plane distinguishes distances longer than its wavelength."""

import math

import numpy as np

from regard.analysis.closed_forms.position_codes import FirstPair, best_returns, gap
from regard.analysis.engines.enclosures import doubles_around
from regard.claims._evidence import Evidence, smaller_case
from regard.claims._figures import counts
from regard.claims.claim import Claim, Form, NearMiss, Settings, Trial, integer, real
from regard.positions.rotary import Rotary
from regard.render.figures import Axis, Chart, Guide, Series

_SEARCHED = 131_072


def _compared(trial: Trial, lag: int, angles: tuple[float, float], *, certain: bool) -> Evidence:
    """An enclosure of the angle between the nearest two distances, against the claimed least angle."""
    claimed, count, longest = trial.form.least(trial.at.resolution), trial.at.N, trial.form.longest
    if longest is not None and count > longest:
        return Evidence(status="undecided", detail=f"the statement is about N ≤ {longest}")
    shown = f"of distances 0…{count - 1} the nearest, 0 and {lag}, turn the plane to angles {angles[0]:.9g} rad apart"
    if angles[1] < claimed:
        against = f"θ = 1, {shown}; the statement says at least {claimed:g}"
        return Evidence(status="refuted", detail=shown, value=angles[0], counterexample=against)
    status = "undecided" if not angles[0] >= claimed else "proved" if certain else "holds"
    return Evidence(status=status, detail=shown, value=angles[0])


def _by_continued_fraction(trial: Trial) -> list[Evidence]:
    """The lags nearer to whole turns than all smaller ones are the denominators of the convergents of 1/2π."""
    lag = best_returns(trial.at.N)[-1]
    found = _compared(trial, lag, doubles_around(gap(lag)), certain=True)
    if FirstPair().period is not None or found.status != "proved":
        return [found]
    return [found, Evidence(status="proved", detail="no two are equal: k = 2πm would make π rational")]


def _by_reference_code(trial: Trial) -> list[Evidence]:
    """The reference code turns (1, 0) by each distance, up to about a hundred thousand."""
    count = min(trial.at.N, _SEARCHED)
    turned = Rotary().rotate(np.broadcast_to([1.0, 0.0], (count - 1, 2)), np.arange(1, count))
    angles = np.abs(np.arctan2(turned[:, 1], turned[:, 0]))
    lag = int(np.argmin(angles)) + 1
    # A large angle is rounded to its own last digit.
    error = float(np.finfo(float).eps) * count
    ends = (float(angles[lag - 1]) - error, float(angles[lag - 1]) + error)
    if count < trial.at.N and ends[1] >= trial.form.least(trial.at.resolution):
        return [Evidence(status="undecided", detail=f"nothing nearer among {count} distances")]
    return smaller_case(_compared(trial, lag, ends, certain=False), tried=count, asked=trial.at.N)


def _figure(at: Settings) -> Chart:
    lags = np.arange(1, int(min(at.N, 200_000)))
    gaps = np.minimum.accumulate(np.abs((lags + math.pi) % (2 * math.pi) - math.pi))
    shown = np.unique(np.searchsorted(lags, counts(1, int(lags[-1]))))
    return Chart(
        title="Distances soon look alike",
        caption="The least angle between any two of the distances 0…N−1 in the plane of frequency 1. At N = 7 two are "
        "0.28 radians apart, from N = 711 on only 6·10⁻⁵: far distances alias near ones.",
        x=Axis(label="number of distances N", is_log=True),
        y=Axis(label="least angle between two", is_log=True),
        series=(Series(label="least angle", x=lags[shown] + 1, y=gaps[shown], style="bars"),),
        guides=(Guide(at=at.resolution, label=f"claimed: {at.resolution:.3g}"),),
    )


CLAIM = Claim(
    id="planes-tell-far-distances-apart",
    section="6 rotary codes",
    statement="a frequency tells apart distances beyond its wavelength 2π/θ: in the rotary plane of frequency θ = 1 "
    "any two of the whole distances 0…N−1 turn a vector to angles at least δ = `resolution` apart",
    latex=r"0\le s<s'<N\;\Rightarrow\;\min_{m\in\mathbb Z}|s'-s-2\pi m|\ge\delta",
    expected="refuted",
    parameters=(integer("N", 1024, lower=711, upper=10**9), real("resolution", 2**-8, lower=1e-4, upper=3)),
    conditions=("θ = 1, the fastest plane of RoPE",),
    assumes=("π is irrational", "best approximations are convergents"),
    # The angle by which any two of N whole distances differ at least, given the resolution; for N up to `longest`.
    form=Form(least=lambda resolution: resolution, longest=None),
    near_misses=(
        NearMiss(
            "no two whole distances give exactly the same angle, since π is irrational",
            {"least": lambda _resolution: 0.0},
        ),
        NearMiss(
            "they are at least 6.0288706e-5 rad apart as long as N ≤ 103993",
            {"least": lambda _resolution: 6.0288706e-5, "longest": 103_993},
        ),
    ),
    methods={"certified": _by_continued_fraction, "reference code": _by_reference_code},
    derivation="An angle determines a distance only up to whole turns. 44 = 7·2π + 0.0177 comes back to 0.0177 rad, "
    "and 710 = 113·2π + 6.0289e-5 to 6.0289e-5 rad, while bfloat16 resolves 2⁻⁸ = 0.0039 near 1. Every frequency has "
    "this problem: of N angles on a circle, two are within 2π/N. At θ = 1 they are never exactly equal, because π is "
    "irrational; a plane of wavelength 8 repeats every 8. Only all planes together tell far distances apart.",
    source="continued fraction of 2π (Lagrange: best approximations are convergents); Su et al. 2021, RoFormer (the "
    "code)",
    figure=_figure,
)
