"""NTK-aware scaling slows the slowest pair by the factor and leaves the fastest unchanged."""

from dataclasses import replace

import numpy as np

from regard.analysis.closed_forms.position_codes import interpolation_slowdown, ntk_slowdown
from regard.analysis.engines.symbolic import identity
from regard.claims._evidence import Evidence, conjunction, worst_entry
from regard.claims._position_codes import BASE, LARGEST_BASE, LARGEST_FACTOR, WIDTH, figure_width, slowdowns, tried
from regard.claims.claim import Claim, Form, NearMiss, Settings, Trial, real
from regard.positions.rotary import LinearScaling, NtkScaling, rotary_frequencies
from regard.render.figures import Chart


def _by_algebra(trial: Trial) -> list[Evidence]:
    """In logarithms: θ_i = B^{−2i/d}, θ'_i = (B·s^{d/(d−2)})^{−2i/d}; interpolation turns by (t/s)θ_i."""
    log_b, log_s, i, d = trial.field("log B", "log s", counts=("i", "d"))
    form, grown = trial.form, log_b + d / (d - 2) * log_s
    slower = -2 * i / d * log_b - (-2 * i / d * grown)
    last = d / 2 - 1
    return [
        identity(form.ntk(i, d) * log_s, slower, "log(θ_i/θ'_i) under the base B·s^{d/(d−2)}"),
        identity(form.ntk(0 * i, d), 0, "the fastest pair, i = 0, is unchanged"),
        identity(form.ntk(last, d), 1, "the slowest, i = d/2−1, is s times slower"),
        identity(form.interpolation(i, d) * log_s, log_s, "position interpolation slows all pairs by s"),
    ]


def _by_reference_code(trial: Trial) -> Evidence:
    """The frequencies of the reference code, pair by pair."""
    width, note = tried(trial.at.d, 4096)
    factor, base = min(trial.at.s, LARGEST_FACTOR), min(trial.at.B, LARGEST_BASE)
    plain, pairs = rotary_frequencies(base, width), np.arange(width // 2)
    tolerance = 1e-13 * (1 + np.log(base) + np.log(factor))

    def at(pair: int) -> str:
        return f"d = {width}, B = {base:g}, s = {factor:g}, pair {pair} of 0…{width // 2 - 1}"

    parts = []
    for name, scaling, slowdown in (
        ("NTK-aware", NtkScaling(factor=factor), trial.form.ntk),
        ("interpolation", LinearScaling(factor=factor), trial.form.interpolation),
    ):
        claimed = slowdown(pairs, width) * np.log(factor)
        found = np.log(plain / scaling.frequencies(base, width))
        what = f"log(θ_i/θ'_i), {name}{note}"
        parts.append(worst_entry(what, claimed=claimed, found=found, tolerance=tolerance, at=at))
    is_smaller = (width, factor, base) != (trial.at.d, trial.at.s, trial.at.B)
    return replace(conjunction(*parts), is_of_smaller_case=is_smaller)


def _figure(at: Settings) -> Chart:
    factor, width = min(at.s, 1e6), figure_width(at.d)
    return slowdowns(
        {"NTK-aware": NtkScaling(factor=factor), "interpolation": LinearScaling(factor=factor)},
        width=width,
        base=at.B,
        caption=f"θ_i/θ'_i for d = {width}, B = {at.B:g}, s = {factor:g}. Interpolation slows all pairs equally, even "
        "those that tell neighbours apart; the raised base leaves the fastest pair unchanged and slows the last by s.",
    )


CLAIM = Claim(
    id="ntk-keeps-the-fastest-pair",
    section="6 rotary codes",
    statement="rotary codes of width d ≥ 4 with the base raised to B·s^{d/(d−2)} (NTK-aware scaling): the fastest pair "
    "keeps its frequency, the slowest turns exactly s times slower, pair i by s^{2i/(d−2)}; position interpolation "
    "slows all pairs by s, so even neighbours become s times harder to tell apart",
    latex=r"B'=B\,s^{d/(d-2)}:\quad\frac{\theta_i}{\theta'_i}=s^{2i/(d-2)},\quad"
    r"\theta'_0=\theta_0,\ \theta'_{d/2-1}=\theta_{d/2-1}/s;\qquad\text{interpolation: }\theta'_i=\theta_i/s",
    expected="proved",
    parameters=(replace(WIDTH, default=128, lower=4), BASE, real("s", 8.0, lower=1)),
    # Pair i of d/2 turns s to this power times slower: under the raised base, and under position interpolation.
    form=Form(ntk=ntk_slowdown, interpolation=interpolation_slowdown),
    near_misses=(
        NearMiss("s^{2i/d}, as if the base were multiplied by s", {"ntk": lambda i, d: 2 * i / d}),
        NearMiss("all pairs are slowed by s", {"ntk": interpolation_slowdown}),
        NearMiss("position interpolation keeps the fastest pair as well", {"interpolation": ntk_slowdown}),
    ),
    methods={"reference code": _by_reference_code, "algebra": _by_algebra},
    derivation="θ'_i = B'^{−2i/d} = θ_i·s^{−2i/(d−2)}: the slowdown's exponent 2i/(d−2) is 0 at i = 0 and 1 at i = "
    "d/2−1, which is why the base's exponent is d/(d−2). With B·s alone the slowest pair would only slow by "
    "s^{1−2/d} (d = 128, s = 8: 7.744). Under interpolation the fastest pair turns 1/s between neighbours instead of "
    "1 radian: 0.125 at s = 8.",
    source="Peng et al. 2023, YaRN: efficient context window extension of large language models, section 3.1; Chen et "
    "al. 2023, Extending context window of large language models via positional interpolation",
    figure=_figure,
    demonstration="positions?scaling=ntk&factor=8",
)
