"""Misconception: rotary codes can only favour near keys."""

import numpy as np
from flint import arb, ctx

from regard.analysis.closed_forms.arithmetic import cos
from regard.analysis.closed_forms.position_codes import FirstPair, favour_lost, rotation_matrix
from regard.analysis.engines.symbolic import identity
from regard.claims._evidence import Evidence, one_case, smaller_case
from regard.claims._position_codes import BASE, EXPONENTIAL_LAW, SMALL_WIDTH, WholeVectors, figure_width, tried
from regard.claims.claim import Claim, Form, NearMiss, Settings, Trial, integer
from regard.positions.rotary import Rotary, rotary_frequencies
from regard.render.figures import Axis, Chart, Guide, Series

_MOST_DISTANCE, _MARGIN = 200, 50


def _by_algebra(trial: Trial) -> list[Evidence]:
    """What each pair loses at distance s, for all angles; for whole s ≠ r the fastest pair loses something."""
    *q, t, half_s, half_r = trial.field("q_0", "q_1", angles=("t*theta", "s*theta/2", "r*theta/2"))
    q, r = np.array(q), trial.at.r
    key = rotation_matrix([t - 2 * half_s]) @ (rotation_matrix([2 * half_r]) @ q)
    lost, what = q @ q - (rotation_matrix([t]) @ q) @ key, "|q|² − ⟨R_t q, R_{t−s} R_r q⟩ for each pair"
    assert FirstPair().period is None
    only = (
        "with θ_0 = 1 that vanishes at whole s only if s = r, since π is irrational: the only maximum is at distance r"
    )
    parts = [
        identity(lost, trial.form.lost(q @ q, half_s - half_r), f"{what} is 2|q|² sin²((s−r)θ/2)"),
        Evidence(status="proved", detail=only),
    ]
    claimed = trial.form.peak(r)
    if claimed != r:
        with ctx.workprec(4096):
            score = float((arb(claimed) - r).cos())
        scores = f"the score is 1 at distance {r:.12g} and {score:.9g} at distance {claimed:.12g}"
        said = f"the statement says that distance {claimed:.12g} is favoured"
        against = f"q = (1, 0, …, 0), k = R_r q with r = {r:.12g}: {scores}; {said}"
        parts.append(Evidence(status="refuted", detail="the maximum is elsewhere", counterexample=against))
    return parts


def _by_brute_force(trial: Trial) -> list[Evidence]:
    """The reference code turns q at distance s and k = R_r q at 0, for distances up to a little beyond 2r."""
    width, note = tried(trial.at.d, 512)
    r, code = min(trial.at.r, _MOST_DISTANCE), Rotary(base=trial.at.B)
    vectors, distances = WholeVectors.draw(trial.rng("vectors"), 4, width), np.arange(2 * r + _MARGIN)
    claimed = trial.form.peak(r)
    for row, q in enumerate(vectors.rows):
        [key] = code.rotate(q[None], np.array([r]))
        scores = code.rotate(np.broadcast_to(q, (len(distances), width)), distances) @ key
        half_turns = (distances - r)[:, None] * code.frequencies(width) / 2
        stated = q @ q - trial.form.lost(q[0::2] ** 2 + q[1::2] ** 2, half_turns).sum(axis=-1)
        peak, off = int(np.argmax(scores)), float(np.abs(scores - stated).max())
        case = f"d = {width}{note}, B = {trial.at.B:g}, {vectors.described(row, 'q')}, k = R_r q with r = {r}"
        shown = f"{case}: of distances 0…{len(distances) - 1} the score is largest at {peak}, {scores[peak]:.9g}"
        agrees, said = (peak == claimed and off <= 1e-10 * float(q @ q), f"at {claimed} ({scores[claimed]:.9g})")
        found = one_case(shown, agrees=agrees, said=said, value=float(peak))
        if not agrees:
            break
    return smaller_case(found, tried=r, asked=trial.at.r)


def _figure(at: Settings) -> Chart:
    width, peak = figure_width(at.d), int(min(at.r, 200))
    distances = np.arange(0, 2 * peak + 25)
    frequencies = rotary_frequencies(at.B, width)
    scores = {turn: np.cos(np.outer(distances - turn, frequencies)).mean(axis=1) for turn in (0, peak)}
    return Chart(
        title="The favoured distance can be chosen",
        caption=f"⟨RoPE(q,t), RoPE(k,t−s)⟩ by distance s for d = {width}, B = {at.B:g}, relative to |q|². A key "
        f"turned by R_{peak} scores highest at distance {peak}: weights can favour any distance.",
        x=Axis(label="distance s"),
        y=Axis(label="score / |q|²", lower=-1.0, upper=1.1),
        series=[
            Series(label="k = q", x=distances, y=scores[0], style="dashed"),
            Series(label=f"k = R_{peak} q", x=distances, y=scores[peak]),
        ],
        guides=(Guide(at=float(peak), label=f"s = {peak}", is_vertical=True),),
    )


CLAIM = Claim(
    id="rope-only-favours-near-keys",
    section="6 rotary codes",
    statement="rotary codes can only favour near keys: whatever q and k are, even for k = R_r q, the score "
    "⟨RoPE(q,t), RoPE(k,t−s)⟩ is largest at distance s = 0",
    latex=r"\operatorname*{arg\,max}_{s\ge0}\ \langle R_t\,q,\;R_{t-s}\,R_r\,q\rangle=0\quad\text{for all }r",
    expected="refuted",
    parameters=(integer("r", 12, lower=1), SMALL_WIDTH, BASE),
    conditions=("s and r whole numbers", "q not 0 in its first pair, θ_0 = 1"),
    assumes=("π is irrational", EXPONENTIAL_LAW),
    # The distance at which q and k = R_r q score highest, and how much a pair loses at other distances.
    form=Form(peak=lambda _r: 0, lost=favour_lost),
    near_misses=(
        NearMiss("k = R_r q, a rotation of the query, scores highest only at distance r", {"peak": lambda r: r}),
        NearMiss(
            "there the score is |q|², and at distance s it is Σ|q_i|²(1−cos((s−r)θ_i)) less",
            {"peak": lambda r: r, "lost": lambda energy, half: energy * (1 - cos(2 * half))},
        ),
    ),
    methods={"algebra": _by_algebra, "brute force": _by_brute_force},
    derivation="⟨R_t q, R_{t−s}R_r q⟩ = Σ|q_i|² cos((s−r)θ_i): the key's own rotation shifts the whole curve by r, so "
    "it is largest where all pairs are aligned again, at s = r. A learned W_K can contain such a rotation, as in heads "
    "that look exactly one token back. What falls with distance is the envelope for q and k that point the same way "
    "(see `rope-decays`).",
    source="Barbero et al. 2024, Round and round we go! What makes rotary positional encodings useful?",
    figure=_figure,
)
