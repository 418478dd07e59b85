"""YaRN keeps the pairs that turn often within the trained length, and slows those that hardly turn."""

from dataclasses import replace
from typing import Any, get_args

import numpy as np

from regard.analysis.closed_forms.position_codes import yarn_logit_gain, yarn_ramp
from regard.analysis.engines.symbolic import identity, positive
from regard.claims._evidence import Evidence, agreement, one_case
from regard.claims._position_codes import BASE, LARGEST_BASE, LARGEST_FACTOR, WIDTH, figure_width, slowdowns, tried
from regard.claims.claim import Claim, Form, NearMiss, Settings, Trial, integer, real
from regard.positions.rotary import NtkScaling, Ramp, Rotary, YarnScaling, rotary_frequencies
from regard.render.figures import Chart

# A pair this close to a threshold may be on either side of it once its rotations are rounded.
_AT_AN_END = 1e-9
_FAST, _SLOW = 32.0, 1.0


def _by_algebra(trial: Trial) -> list[Evidence]:
    """θ'/θ = γ + (1−γ)/s with γ linear in r or in log r: 1/s and 1 at the ends, and it grows in between.

    γ is clipped to [0, 1], so it is constant beyond the ends; rounding the ends outward to whole pairs moves no pair
    across one.
    """
    slow, apart, more, growth, log_s, score = trial.field("slow", "fast-slow", "s-1", "growth", "ln s", "qk")
    form, fast, s = trial.form, slow + apart, 1 + more

    def ratio(turns: Any) -> Any:
        kept = yarn_ramp(turns, slow, fast)
        return kept + (1 - kept) / s

    gain = 1 + log_s / 10
    return [
        identity(ratio(form.kept_from(slow, fast)), 1, "θ' = θ from r_fast rotations on"),
        identity(ratio(form.stretched_to(slow, fast)), 1 / s, "θ' = θ/s up to r_slow rotations"),
        positive(ratio(slow + growth) - ratio(slow), "between the ends θ'/θ grows with the rotations"),
        identity(form.logit_gain(log_s) * score, gain * gain * score, "q and k both times 0.1·ln s + 1"),
    ]


def _by_reference_code(trial: Trial) -> list[Evidence]:
    """The reference code's frequencies with all three of its ramps, compared with θ and s alone; and its scores."""
    width, note = tried(trial.at.d, 4096)
    base, length, factor = min(trial.at.B, LARGEST_BASE), trial.at.length, min(trial.at.s, LARGEST_FACTOR)
    plain = rotary_frequencies(base, width)
    turns = length * plain / (2 * np.pi)
    kept_from, stretched_to = trial.form.kept_from(_SLOW, _FAST), trial.form.stretched_to(_SLOW, _FAST)
    is_kept, is_stretched = turns > kept_from * (1 + _AT_AN_END), turns < stretched_to * (1 - _AT_AN_END)
    at = f"d = {width}, B = {base:g}, L = {length:g}, s = {factor:g}"
    code = Rotary(scaling=YarnScaling(factor=trial.at.s, original_length=length))
    turned = code.rotate(np.array([[3.0, 4.0]]), np.array([5]))
    # The score of a rotated vector with itself at one position, over its squared norm.
    gain, claimed = float((turned**2).sum()) / 25, float(trial.form.logit_gain(np.log(trial.at.s)))
    parts = [agreement("gain of the logits", claimed=claimed, found=gain, tolerance=1e-12 * gain, at=at)]
    for ramp in get_args(Ramp):
        scaling = YarnScaling(factor=factor, original_length=length, beta_fast=_FAST, beta_slow=_SLOW, ramp=ramp)
        slowed = plain / scaling.frequencies(base, width)
        for name, chosen, wanted in (("unchanged", is_kept, 1.0), (f"{factor:g} times slower", is_stretched, factor)):
            off = np.where(chosen, np.abs(slowed / wanted - 1), 0.0)
            pair = int(np.argmax(off))
            count, agrees = f"{int(chosen.sum())} pairs {name}", bool(off[pair] <= 1e-12)
            worst = f"pair {pair} turns {turns[pair]:.6g} times within L and is {slowed[pair]:.6g} times slower"
            shown = f"{at}, ramp along {ramp}{note}: {count if agrees else worst}"
            parts.append(one_case(shown, agrees=agrees, said=f"{wanted:g}"))
    return parts


def _figure(at: Settings) -> Chart:
    factor, width = min(at.s, 1e6), figure_width(at.d)
    length, base = int(min(at.length, 10**9)), max(at.B, 1.0 + 1e-9)
    return slowdowns(
        {"YaRN": YarnScaling(factor=factor, original_length=length), "NTK-aware": NtkScaling(factor=factor)},
        width=width,
        base=base,
        caption=f"θ_i/θ'_i for d = {width}, B = {at.B:g}, s = {factor:g}, trained length {length}. Pairs that turn "
        "more than 32 times are kept, those that turn less than once are slowed by s, and a ramp joins the two.",
    )


CLAIM = Claim(
    id="yarn-keeps-fast-pairs",
    section="6 rotary codes",
    statement="YaRN with factor s: pairs that turn more than β_fast = 32 times within the trained length L keep their "
    "frequency, those that turn less than β_slow = 1 times are slowed by s, and logits are multiplied by (0.1·ln s + "
    "1)²",
    latex=r"r_i=\frac{L\theta_i}{2\pi}:\quad r_i\ge\beta_{\text{fast}}\Rightarrow\theta'_i=\theta_i,\quad "
    r"r_i\le\beta_{\text{slow}}\Rightarrow\theta'_i=\theta_i/s;\qquad z'=(0.1\ln s+1)^2z",
    expected="proved",
    parameters=(replace(WIDTH, default=128), BASE, integer("length", 4096, lower=7), real("s", 16.0, lower=1)),
    conditions=("β_fast = 32 and β_slow = 1, the paper's for Llama", "any of the ramps in use between them"),
    # The number of rotations from which pairs are kept, and up to which they are slowed; the gain of the logits.
    form=Form(kept_from=lambda _slow, fast: fast, stretched_to=lambda slow, _fast: slow, logit_gain=yarn_logit_gain),
    near_misses=(
        NearMiss("all pairs that turn more than β_slow times are kept", {"kept_from": lambda slow, _fast: slow}),
        NearMiss(
            "all pairs that turn less than β_fast times are slowed by s", {"stretched_to": lambda _slow, fast: fast}
        ),
        NearMiss(
            "logits are multiplied by 0.1·ln s + 1 only once", {"logit_gain": lambda log_factor: 1 + log_factor / 10}
        ),
    ),
    methods={"reference code": _by_reference_code, "algebra": _by_algebra},
    derivation="θ'/θ = γ + (1−γ)/s, and γ goes from 0 at β_slow rotations to 1 at β_fast, along the rotations (the "
    "paper) or along the pairs (the released code, whose ends are rounded outward to whole pairs). d = 128, B = 10⁴, "
    "L = 4096, s = 16: of 64 pairs 21 are kept and 18 slowed by 16. The factor 0.1·ln s + 1 = 1.2773 multiplies "
    "both queries and keys, so logits are multiplied by its square, 1.6314.",
    source="Peng et al. 2023, YaRN: efficient context window extension of large language models, section 3.2 to 3.4",
    figure=_figure,
    demonstration="positions?scaling=yarn&factor=8&turnWidth=64",
)
