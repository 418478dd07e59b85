"""Codes of width 2 are nearest to each other 710 positions apart, up to a lag of 103993."""

from itertools import pairwise

import numpy as np

from regard.analysis.closed_forms.position_codes import Nearest, best_returns, gap
from regard.claims._evidence import Evidence, one_case
from regard.claims.claim import Claim, NearMiss, Settings, Trial, integer
from regard.positions.sinusoidal import sinusoid
from regard.render.figures import Axis, Chart, Guide, Series

# The gap is stated to ten digits.
_LAST_DIGIT = 0.5e-14
_SEARCHED = 131_072


def _by_continued_fraction(trial: Trial) -> Evidence:
    """The denominators of the convergents of 1/2π are the lags that beat all smaller ones."""
    lag, next_lag = next((a, b) for a, b in pairwise(best_returns(10**9)) if b >= trial.at.T)
    found = Nearest(lag=lag, gap=float(gap(lag)), next_lag=next_lag)
    return _compared(trial, found, "convergents of 1/2π, with a certified gap")


def _by_brute_force(trial: Trial) -> Evidence:
    """The angle between position 0 and every other one, from the reference code; by rotation this covers every lag."""
    codes = sinusoid(np.arange(1, _SEARCHED), width=2)
    gaps = np.abs(np.arctan2(codes[:, 0], codes[:, 1]))
    nearest = int(np.argmin(gaps[: trial.at.T - 1]))
    nearer = np.flatnonzero(gaps < gaps[nearest])
    found = Nearest(lag=nearest + 1, gap=float(gaps[nearest]), next_lag=int(nearer[0]) + 1 if len(nearer) else 0)
    return _compared(trial, found, f"all lags below {_SEARCHED}")


def _compared(trial: Trial, found: Nearest, how: str) -> Evidence:
    """Whether the nearest lag, its gap and the next nearer lag are as stated."""
    form, shown, is_gap = trial.form, _shown(found), abs(found.gap - trial.form.gap) <= _LAST_DIGIT
    agrees = is_gap and (found.lag, found.next_lag) == (form.lag, form.next_lag)
    case = f"of positions 0…{trial.at.T - 1} the nearest are {shown} ({how})"
    return one_case(case, agrees=agrees, said=_shown(form), value=found.gap, bound=_LAST_DIGIT)


def _shown(nearest: Nearest) -> str:
    return f"{nearest.lag} apart, by {nearest.gap:.10g} rad, and nearer only at {nearest.next_lag}"


def _figure(_: Settings) -> Chart:
    lags = np.arange(1, 801)
    codes = sinusoid(lags, width=2)
    records = best_returns(801)
    return Chart(
        title="710 positions apart, almost the same",
        caption="The angle between codes of width 2 that are s apart. Points mark lags that beat all smaller ones; 710 "
        "is nearly 113 whole turns, and nothing comes nearer before 103993.",
        x=Axis(label="lag s"),
        y=Axis(label="angle between the codes", is_log=True),
        series=(
            Series(label="", x=lags, y=np.abs(np.arctan2(codes[:, 0], codes[:, 1]))),
            Series(
                label="nearer than all smaller lags", x=records, y=[float(gap(lag)) for lag in records], style="points"
            ),
        ),
        guides=(Guide(at=710.0, label="710", is_vertical=True),),
    )


CLAIM = Claim(
    id="sinusoid-nearest",
    section="5 sinusoidal codes",
    statement="d = 2: the nearest two of T positions are 710 apart (710 ≈ 113·2π, gap 6.028870673e-5 rad), "
    "and no lag below 103993 comes nearer",
    latex=r"\min_{0<s<103993}\ \min_m|s-2\pi m|=|710-113\cdot2\pi|=6.028870673\cdot10^{-5}",
    expected="holds",
    parameters=(integer("T", 103_993, lower=711, upper=103_993),),
    conditions=("d = 2", "positions 0…T−1"),
    assumes=("best approximations are convergents",),
    form=Nearest(lag=710, gap=6.028870673e-5, next_lag=103_993),
    near_misses=(
        NearMiss("44 apart, since 22/7 ≈ π", Nearest(lag=44, gap=0.01770285026, next_lag=333)),
        NearMiss("355 apart, since 355/113 ≈ π", Nearest(lag=355, gap=3.014435336e-5, next_lag=103_993)),
        NearMiss("and no lag below 104348 comes nearer", Nearest(lag=710, gap=6.028870673e-5, next_lag=104_348)),
    ),
    methods={"certified": _by_continued_fraction, "brute force": _by_brute_force},
    derivation="Codes s apart are separated by the angle from s to the nearest whole turn, min_m |s − 2πm|. "
    "Lags that beat all smaller ones are the denominators of the convergents of 1/2π = [0; 6, 3, 1, 1, 7, 2, 146, …]: "
    "1, 6, 19, 25, 44, 333, 710, 103993. The large quotient 146 is why 710 is so good and the next lag so far away. "
    "355 ≈ 113π is half a turn off: its code is nearly the opposite.",
    source="continued fraction of 2π; best approximations are convergents (Lagrange)",
    figure=_figure,
    demonstration="positions?width=2&count=1024",
)
