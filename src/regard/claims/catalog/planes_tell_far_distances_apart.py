"""The myth that a rotary plane tells distances apart that are longer than its wavelength."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from regard.analysis.closed_forms.sinusoids import FirstPair, best_returns, gap
from regard.analysis.engines.balls import doubles_around
from regard.claims._comparisons import all_parts, of_smaller_case
from regard.claims.claim import Claim, Rival, Trial
from regard.claims.figures import distances
from regard.claims.parameters import Parameter
from regard.core.verdict import Evidence
from regard.positions.rotary import Rotary

_SEARCHED = 131_072
_NEAREST = 6.0288706e-5


@dataclass(frozen=True, kw_only=True)
class Apart:
    """Any two of N whole distances differ by at least this angle, given the resolution; or at least differ."""

    least: Callable[[float], float]
    longest: int | None = None

    def applies(self, count: int) -> bool:
        """Whether the statement speaks of that many distances."""
        return self.longest is None or count <= self.longest


def _weighed(route: str, trial: Trial, lag: int, angles: tuple[float, float], *, certain: bool) -> Evidence:
    """The nearest two distances, enclosed, against the claimed least angle; equality is excluded by algebra alone."""
    claimed, count = trial.form.least(trial.at.resolution), trial.at.N
    if not trial.form.applies(count):
        return Evidence(route=route, status="undecided", detail=f"the statement is about N ≤ {trial.form.longest}")
    told = f"of distances 0…{count - 1} the nearest, 0 and {lag}, turn the plane to angles {angles[0]:.9g} rad apart"
    if angles[1] < claimed:
        return Evidence(
            route=route,
            status="refuted",
            detail=told,
            value=angles[0],
            counterexample=f"θ = 1, {told}; the statement says at least {claimed:g}",
        )
    status = "undecided" if not angles[0] >= claimed else "proved" if certain else "holds"
    return Evidence(route=route, status=status, detail=told, value=angles[0])


def _by_continued_fraction(trial: Trial) -> Evidence:
    """The denominators of the convergents of 1/2π are the lags that come nearer to whole turns than all before."""
    lag = best_returns(trial.at.N)[-1]
    found = _weighed("certified", trial, lag, doubles_around(gap(lag)), certain=True)
    if FirstPair().period is not None or found.status != "proved":
        return found
    never = Evidence(route="certified", status="proved", detail="no two are equal: k = 2πm would make π rational")
    return all_parts("certified", [found, never])


def _by_reference_code(trial: Trial) -> Evidence:
    """The reference turns (1, 0) by each distance, up to some hundred thousand."""
    count = min(trial.at.N, _SEARCHED)
    turned = Rotary().rotate(np.broadcast_to([1.0, 0.0], (count - 1, 2)), np.arange(1, count))
    angles = np.abs(np.arctan2(turned[:, 1], turned[:, 0]))
    lag = int(np.argmin(angles)) + 1
    # An angle of some thousand radians is rounded to its own last digit.
    error = float(np.finfo(float).eps) * count
    ends = (float(angles[lag - 1]) - error, float(angles[lag - 1]) + error)
    if count < trial.at.N and ends[1] >= trial.form.least(trial.at.resolution):
        return Evidence(route="reference code", status="undecided", detail=f"nothing nearer among {count} distances")
    return of_smaller_case(_weighed("reference code", trial, lag, ends, certain=False), tried=count, asked=trial.at.N)


CLAIM = Claim(
    id="planes-tell-far-distances-apart",
    section="6 rotary codes",
    statement="distances beyond a frequency's wavelength 2π/θ are told apart by that frequency: in the rotary plane of "
    "frequency θ = 1 any two of the whole distances 0…N−1 turn a vector to angles at least δ = `resolution` apart",
    latex=r"0\le s<s'<N\;\Rightarrow\;\min_{m\in\mathbb Z}|s'-s-2\pi m|\ge\delta",
    expected="refuted",
    parameters=(
        Parameter(name="N", default=1024, lower=711, upper=10**9, is_integer=True),
        Parameter(name="resolution", default=2**-8, lower=1e-4, upper=3),
    ),
    conditions=("θ = 1, the fastest plane of RoPE",),
    assumes=("π is irrational", "best approximations are convergents"),
    form=Apart(least=lambda resolution: resolution),
    rivals=(
        Rival(
            statement="no two whole distances are turned alike exactly, since π is irrational",
            form=Apart(least=lambda _resolution: 0.0),
            becomes="proved",
        ),
        Rival(
            statement="they are at least 6.0288706e-5 rad apart as long as N ≤ 103993",
            form=Apart(least=lambda _resolution: _NEAREST, longest=103_993),
            becomes="proved",
        ),
    ),
    routes=(_by_continued_fraction, _by_reference_code),
    figure=distances.aliases,
    derivation="An angle knows a distance only up to whole turns. 44 = 7·2π + 0.0177 comes back to 0.0177 rad, and "
    "710 = 113·2π + 6.0289e-5 to 6.0289e-5 rad, while bfloat16 resolves 2⁻⁸ = 0.0039 near 1. So it must be for every "
    "frequency: of N angles on a circle two are within 2π/N. Exactly equal they are not at θ = 1, because π is "
    "irrational; a plane of wavelength 8 repeats every 8. Only all planes together tell far distances apart.",
    source="continued fraction of 2π (Lagrange: best approximations are convergents); Su et al. 2021, RoFormer (the "
    "code)",
)
