"""Codes of width 2 come nearest 710 positions apart, and no nearer before 103993."""

from itertools import pairwise

import numpy as np

from regard.analysis.closed_forms.sinusoids import Nearest, best_returns, gap
from regard.claims.claim import Claim, Rival, Trial
from regard.claims.figures import codes
from regard.claims.parameters import Parameter
from regard.core.verdict import Evidence
from regard.positions.sinusoidal import sinusoid

# The gap is stated to ten digits.
_LAST_DIGIT = 0.5e-14
_SEARCHED = 131_072


def _by_continued_fraction(trial: Trial) -> Evidence:
    """The denominators of the convergents of 1/2π are the lags that beat all before them."""
    lag, next_lag = next((a, b) for a, b in pairwise(best_returns(10**9)) if b >= trial.at.T)
    found = Nearest(lag=lag, gap=float(gap(lag)), next_lag=next_lag)
    return _compared("certified", trial, found, "convergents of 1/2π, with a certified gap")


def _by_brute_force(trial: Trial) -> Evidence:
    """The angle between position 0 and each other one, from the reference; by rotation every lag is there."""
    codes = sinusoid(np.arange(1, _SEARCHED), width=2)
    gaps = np.abs(np.arctan2(codes[:, 0], codes[:, 1]))
    nearest = int(np.argmin(gaps[: trial.at.T - 1]))
    nearer = np.flatnonzero(gaps < gaps[nearest])
    found = Nearest(lag=nearest + 1, gap=float(gaps[nearest]), next_lag=int(nearer[0]) + 1 if len(nearer) else 0)
    return _compared("brute force", trial, found, f"all lags below {_SEARCHED}")


def _compared(route: str, trial: Trial, found: Nearest, how: str) -> Evidence:
    """Whether a route found the nearest lag, its gap and the next nearer lag as stated."""
    form, told = trial.form, f"{found.lag} apart, by {found.gap:.10g} rad, and nearer only at {found.next_lag}"
    is_as_stated = abs(found.gap - form.gap) <= _LAST_DIGIT
    if is_as_stated and (found.lag, found.next_lag) == (form.lag, form.next_lag):
        return Evidence(route=route, status="holds", detail=f"{how}: {told}", value=found.gap, bound=_LAST_DIGIT)
    stated = f"{form.lag} apart, by {form.gap:.10g} rad, and nearer only at {form.next_lag}"
    return Evidence(
        route=route,
        status="refuted",
        detail=f"{how}: {told}",
        value=found.gap,
        counterexample=f"of positions 0…{trial.at.T - 1} the nearest are {told}; the statement says {stated}",
    )


CLAIM = Claim(
    id="sinusoid-nearest",
    section="5 sinusoidal codes",
    statement="d = 2: the nearest two of T positions are 710 apart (710 ≈ 113·2π, gap 6.028870673e-5 rad), "
    "and nothing nearer comes before 103993",
    latex=r"\min_{0<s<103993}\ \min_m|s-2\pi m|=|710-113\cdot2\pi|=6.028870673\cdot10^{-5}",
    expected="holds",
    parameters=(Parameter(name="T", default=103_993, lower=711, upper=103_993, is_integer=True),),
    conditions=("d = 2", "positions 0…T−1"),
    form=Nearest(lag=710, gap=6.028870673e-5, next_lag=103_993),
    rivals=(
        Rival(statement="44 apart, since 22/7 ≈ π", form=Nearest(lag=44, gap=0.01770285026, next_lag=333)),
        Rival(statement="355 apart, since 355/113 ≈ π", form=Nearest(lag=355, gap=3.014435336e-5, next_lag=103_993)),
        Rival(
            statement="and nothing nearer before 104348", form=Nearest(lag=710, gap=6.028870673e-5, next_lag=104_348)
        ),
    ),
    routes=(_by_continued_fraction, _by_brute_force),
    derivation="Codes s apart are separated by the angle from s to the nearest whole turn, min_m |s − 2πm|. "
    "Lags that beat all smaller ones are the denominators of the convergents of 1/2π = [0; 6, 3, 1, 1, 7, 2, 146, …]: "
    "1, 6, 19, 25, 44, 333, 710, 103993. The large quotient 146 makes 710 so good, and the next one so far away. "
    "355 ≈ 113π is half a turn off: its code is nearly the opposite one.",
    source="continued fraction of 2π; best approximations are convergents (Lagrange)",
    assumes=("best approximations are convergents",),
    figure=codes.near_returns,
)
