"""The myth that rotary codes can only favour keys that are near."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import arb, ctx

from regard.analysis.closed_forms.arithmetic import cos
from regard.analysis.closed_forms.rotations import favour_lost, rotation_matrix
from regard.analysis.closed_forms.sinusoids import FirstPair
from regard.analysis.engines.angles import angle_field, generic_angles
from regard.analysis.engines.symbolic import identity
from regard.claims._comparisons import all_parts, of_smaller_case
from regard.claims._turns import BASE, EXPONENTIAL_LAW, SMALL_WIDTH, WholeVectors, tried
from regard.claims.claim import Claim, Rival, Trial
from regard.claims.figures import distances
from regard.claims.parameters import Parameter
from regard.core.verdict import Evidence
from regard.positions.rotary import Rotary

_MOST_DISTANCE, _MARGIN = 200, 50


@dataclass(frozen=True, kw_only=True)
class Favourite:
    """The distance at which q and k = R_r q score highest, and what a pair's score is short of that elsewhere."""

    peak: Callable[[int], int]
    lost: Callable[[Any, Any], Any] = favour_lost


def _by_algebra(trial: Trial) -> Evidence:
    """What each pair loses at distance s, for all angles; for whole s ≠ r the fastest pair loses something."""
    names, rng, r = ("t*theta", "s*theta/2", "r*theta/2"), trial.rng("algebra"), trial.at.r
    field = angle_field(*names, symbols=("q_0", "q_1"))
    t, half_s, half_r = generic_angles(field, *names)
    q = field.array("q", 2)
    key = rotation_matrix([t - 2 * half_s]) @ (rotation_matrix([2 * half_r]) @ q)
    found = identity(
        q @ q - (rotation_matrix([t]) @ q) @ key,
        trial.form.lost(q @ q, half_s - half_r),
        rng=rng,
        what="|q|² − ⟨R_t q, R_{t−s} R_r q⟩ = 2|q|² sin²((s−r)θ/2) for each pair",
    )
    assert FirstPair().period is None
    parts = [
        found,
        Evidence(
            route="algebra",
            status="proved",
            detail="with θ_0 = 1 that vanishes at whole s only if "
            "s = r, since π is irrational: the maximum at distance r is the only one",
        ),
    ]
    claimed = trial.form.peak(r)
    if claimed != r:
        with ctx.workprec(4096):
            score = float((arb(claimed) - r).cos())
        shown = (
            f"q = (1, 0, …, 0), k = R_r q with r = {r:.12g}: the score is 1 at distance {r:.12g} and "
            f"{score:.9g} at distance {claimed:.12g}"
        )
        parts.append(
            Evidence(
                route="algebra",
                status="refuted",
                detail="the maximum is elsewhere",
                counterexample=f"{shown}; the statement says that distance {claimed:.12g} is favoured",
            )
        )
    return all_parts("algebra", parts)


def _by_brute_force(trial: Trial) -> Evidence:
    """The reference turns q at distance s and k = R_r q at 0, for distances up to 2r and some more."""
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
        if peak != claimed or not off <= 1e-10 * (q @ q):
            shown = f"d = {width}, B = {trial.at.B:g}, {vectors.told(row, 'q')}, k = R_r q with r = {r}"
            return Evidence(
                route="brute force",
                status="refuted",
                detail=f"the score is largest at distance {peak}{note}",
                value=float(peak),
                counterexample=f"{shown}: of distances 0…{len(distances) - 1} the score is largest "
                f"at {peak} ({scores[peak]:.9g}, against {scores[claimed]:.9g} at {claimed})",
                is_of_smaller_case=r < trial.at.r,
            )
    detail = f"k = R_r q with r = {r} scores highest at distance {r}, for 4 vectors q of width {width}{note}"
    found = Evidence(route="brute force", status="holds", detail=detail, value=float(r))
    return of_smaller_case(found, tried=r, asked=trial.at.r)


CLAIM = Claim(
    id="rope-only-favours-near-keys",
    section="6 rotary codes",
    statement="rotary codes can only favour near keys: whatever q and k are, also for k = R_r q, the score "
    "⟨RoPE(q,t), RoPE(k,t−s)⟩ is largest at distance s = 0",
    latex=r"\operatorname*{arg\,max}_{s\ge0}\ \langle R_t\,q,\;R_{t-s}\,R_r\,q\rangle=0\quad\text{for all }r",
    expected="refuted",
    parameters=(Parameter(name="r", default=12, lower=1, is_integer=True), SMALL_WIDTH, BASE),
    conditions=("s and r whole numbers", "q not 0 in its first pair, θ_0 = 1"),
    form=Favourite(peak=lambda _r: 0),
    rivals=(
        Rival(
            statement="k = R_r q, a rotation of the query, has its only maximum at distance r",
            form=Favourite(peak=lambda r: r),
            becomes="proved",
        ),
        Rival(
            statement="there the score is |q|², and at distance s it is Σ|q_i|²(1−cos((s−r)θ_i)) less",
            form=Favourite(peak=lambda r: r, lost=lambda energy, half: energy * (1 - cos(2 * half))),
            becomes="proved",
        ),
    ),
    routes=(_by_algebra, _by_brute_force),
    figure=distances.favourite,
    derivation="⟨R_t q, R_{t−s}R_r q⟩ = Σ|q_i|² cos((s−r)θ_i): the key's own rotation shifts the whole curve by r, so "
    "it is largest where all pairs are back, at s = r. A learned W_K can hold such a rotation; heads that look "
    "exactly one token back do. What falls with distance is the envelope for q and k that point the same way (see "
    "`rope-decays`).",
    source="Barbero et al. 2024, Round and round we go! What makes rotary positional encodings useful?",
    assumes=("π is irrational", EXPONENTIAL_LAW),
)
