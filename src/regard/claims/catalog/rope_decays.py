"""The envelope of rotary scores falls with distance on average, but not at every step."""

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np

from regard.analysis.closed_forms.position_codes import envelope, envelope_floor
from regard.claims._evidence import Evidence, one_case, worst_entry
from regard.claims._position_codes import WIDTH, rounding
from regard.claims.claim import Claim, Form, NearMiss, Settings, Trial, real
from regard.positions.rotary import Rotary
from regard.render.figures import Axis, Chart, Guide, Series

_DECADES = ((1, 10), (10, 100), (100, 1000), (1000, 10_000))
_MOST_ANGLES = 1_000_000
_STATED = {(128, 10_000.0): (51.32, 34.47, 20.04, 9.31)}


def _lags(width: int) -> np.ndarray:
    """Lags 1…9999; for wide codes all up to 999 and every few beyond."""
    stride = -(-9_999 * width // (2 * _MOST_ANGLES))
    return np.concatenate([np.arange(1, 1000), np.arange(1000, 10_000, stride)])


def _by_brute_force(trial: Trial) -> list[Evidence]:
    """The curve at every lag, and at huge random lags."""
    lags = _lags(trial.at.d)
    values = trial.form.curve(lags, trial.at.d, trial.at.B)
    return [_falls(trial, lags, values), _rises(trial, lags, values), _floor(trial)]


def _by_rotary_scores(trial: Trial) -> list[Evidence]:
    """Scores of the all-ones vector with itself, turned by the reference code: real and imaginary parts."""
    lags, code = _lags(trial.at.d), Rotary(base=trial.at.B)
    ones = np.tile([1.0, 0.0], trial.at.d // 2)
    turned = code.rotate(np.broadcast_to(ones, (len(lags), trial.at.d)), lags)
    values = np.hypot(turned @ ones, turned @ np.roll(ones, 1))
    claimed, tolerance = trial.form.curve(lags, trial.at.d, trial.at.B), rounding(10_000, terms=trial.at.d)
    curve = worst_entry(
        "|Σ_j e^{isθ_j}|",
        claimed=claimed,
        found=values,
        tolerance=tolerance,
        at=lambda row: f"{_code(trial)}, s = {lags[row]}",
    )
    return [_falls(trial, lags, values), _rises(trial, lags, values), curve]


def _code(trial: Trial) -> str:
    return f"d = {trial.at.d}, B = {trial.at.B:g}"


def _falls(trial: Trial, lags: np.ndarray, values: np.ndarray) -> Evidence:
    """Whether each decade's mean is below the previous one, and as stated to two decimals."""
    means = [float(values[(lags >= first) & (lags < end)].mean()) for first, end in _DECADES]
    stated = trial.form.means.get((trial.at.d, trial.at.B), means)
    shown = f"means over s in [1,10), [10,100), [100,1000), [1000,10000): {', '.join(f'{mean:.2f}' for mean in means)}"
    is_as_stated = all(abs(mean - wanted) <= 0.005 + 1e-9 for mean, wanted in zip(means, stated, strict=True))
    agrees = is_as_stated and all(after < before for before, after in pairwise(means))
    said = "that they fall" + (f" and are {', '.join(map(str, stated))}" if stated is not means else "")
    return one_case(f"{_code(trial)}: {shown}", agrees=agrees, said=said, value=means[-1])


def _rises(trial: Trial, lags: np.ndarray, values: np.ndarray) -> Evidence:
    """The first step from one lag to the next at which the curve rises by more than rounding."""
    steps = np.flatnonzero((np.diff(values) > rounding(10_000, terms=trial.at.d)) & (np.diff(lags) == 1))
    shown = "it falls at every step"
    if len(steps):
        s = int(steps[0])
        shown = f"it rises from {values[s]:.9g} at s = {lags[s]} to {values[s + 1]:.9g} at s = {lags[s + 1]}"
    said = f"that it {'falls' if trial.form.is_monotone else 'does not fall'} at every step"
    return one_case(f"{_code(trial)}: {shown}", agrees=trial.form.is_monotone == (not len(steps)), said=said)


def _floor(trial: Trial) -> Evidence:
    """The mean at random lags far beyond the longest wavelength, to five standard errors and 1 % for few pairs."""
    count = min(8000, _MOST_ANGLES // trial.at.d)
    lags = trial.rng("far lags").integers(int(1e3 * trial.at.B), int(1e6 * trial.at.B), size=count)
    values = trial.form.curve(lags, trial.at.d, trial.at.B)
    found, stated = float(values.mean()), trial.form.floor(trial.at.d)
    tolerance = 5 * float(envelope_floor(trial.at.d)) * 0.523 / np.sqrt(count) + 0.01 * stated
    shown = f"{_code(trial)}: at huge lags the mean is {found:.2f} ± {tolerance:.2f} over {count} lags"
    return one_case(shown, agrees=bool(abs(found - stated) <= tolerance), said=f"{stated:.2f}")


def _figure(at: Settings) -> Chart:
    lags = np.unique(np.geomspace(1, 9_999, 400).round().astype(int))
    middles = [math.sqrt(first * end) for first, end in _DECADES]
    samples = [np.unique(np.linspace(first, end - 1, 500).round().astype(int)) for first, end in _DECADES]
    means = [float(envelope(sample, at.d, at.B).mean()) for sample in samples]
    floor = float(envelope_floor(at.d))
    return Chart(
        title="Far tokens agree less, on average",
        caption=f"The envelope of rotary scores, d = {at.d}, B = {at.B:g}: on average over each decade it falls "
        "with distance, with ripples, to the length of a random walk of d/2 steps.",
        x=Axis(label="distance s", is_log=True),
        y=Axis(label="|Σ e^{isθ_j}|", lower=0.0),
        series=(
            Series(label="envelope", x=lags, y=envelope(lags, at.d, at.B)),
            Series(label="mean of the decade", x=middles, y=means, style="points"),
        ),
        guides=(Guide(at=floor, label=f"random phases: {floor:.3g}"),),
    )


CLAIM = Claim(
    id="rope-decays",
    section="6 rotary codes",
    statement="the envelope |Σ_j e^{isθ_j}| falls with distance s on average, decade by decade up to s = 10⁴ "
    "(d = 128, B = 10⁴: 51.32, 34.47, 20.04, 9.31), not monotonically, to a floor of about ½√(πd/2) (7.1)",
    latex=r"\Big|\sum_{j=0}^{d/2-1}e^{\mathrm{i}s\theta_j}\Big|,\quad\theta_j=B^{-2j/d}:\quad"
    r"51.32,\ 34.47,\ 20.04,\ 9.31\;\to\;\tfrac12\sqrt{\pi d/2}\approx7.1\quad(d=128,\ B=10^4)",
    expected="holds",
    parameters=(replace(WIDTH, default=128, lower=32, upper=1024), real("B", 10_000.0, lower=10_000, upper=1_000_000)),
    conditions=("s whole",),
    # A curve over lags, its stated means by decade, whether it falls at every step, and its mean at huge lags.
    form=Form(curve=envelope, means=_STATED, is_monotone=False, floor=envelope_floor),
    near_misses=(
        NearMiss("it falls at every step", {"is_monotone": True}),
        NearMiss("it falls to nothing", {"floor": lambda width: 0.0 * width}),
        # E(qᵀR_s k)² = tr R_sᵀR_s = d at every lag, whatever the base.
        NearMiss(
            "so does the root mean square score of independent isotropic q and k",
            {"curve": lambda lags, width, _base: np.full(len(lags), np.sqrt(width)), "means": {}},
        ),
    ),
    methods={"brute force": _by_brute_force, "rotary scores": _by_rotary_scores},
    derivation="It is the score of vectors whose products z_j w̄_j are all 1. At lag s the pairs with sθ_j < 1 still "
    "agree and the phases of the others are spread out, so about d/2·(1 − log_B s) pairs add up: a decline in log s, "
    "with ripples (d = 128: up from 43.61659 at s = 11 to 43.61668 at s = 12). Beyond the longest wavelength all "
    "phases are spread out and the sum is a random walk of d/2 steps, of mean length ½√(πd/2); before that the mean "
    "dips below it (6.6 over s in [10⁴, 10⁵)). For independent isotropic q and k the score has mean 0 and variance "
    "tr R_sᵀR_s = d at every distance: nothing decays there.",
    source="Su et al. 2021, RoFormer, section 3.4.3",
    figure=_figure,
    demonstration="positions?turnWidth=128",
)
