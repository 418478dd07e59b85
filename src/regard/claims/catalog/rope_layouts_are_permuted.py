"""Interleaved and half-split rotary codes differ by a fixed permutation, and must not be mixed."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias, get_args

import numpy as np
from flint import arb

from regard.analysis.closed_forms.arithmetic import cos
from regard.analysis.closed_forms.position_codes import half_split_slot, interleaved_slot, mixed_score, rotation_matrix
from regard.analysis.engines.symbolic import identity
from regard.claims._evidence import Evidence, worst_entry
from regard.claims._position_codes import BASE, EXPONENTIAL_LAW, SMALL_WIDTH, WholeVectors, rounding, tried
from regard.claims.claim import Claim, Form, NearMiss, Settings, Trial
from regard.positions.rotary import Rotary, RotaryLayout
from regard.render.figures import Axis, Chart, Series

Destination: TypeAlias = Callable[[Any, int, Any], Any]


def _order(destination: Destination, width: int) -> np.ndarray:
    """The interleaved slot that ends up in each slot."""
    order = np.empty(width, dtype=int)
    for slot in range(width):
        order[int(destination(slot // 2, slot % 2, width))] = slot
    return order


def _half_split_matrix(angles: list[Any]) -> np.ndarray:
    """RoPE's matrix with the pairs (x_i, x_{i+d/2}), built from its definition."""
    half = len(angles)
    blocks, matrix = rotation_matrix(angles), np.full((2 * half, 2 * half), 0 * angles[0].cos())
    for i in range(half):
        matrix[np.ix_([i, i + half], [i, i + half])] = blocks[2 * i : 2 * i + 2, 2 * i : 2 * i + 2]
    return matrix


def _by_algebra(trial: Trial) -> list[Evidence]:
    """Where each number goes, for every pair and width; matrices at widths 2, 4 and 6; the mixed score."""
    *angles, i, d = trial.field(angles=tuple(f"{t}*theta_{i}" for t in "tu" for i in range(3)), counts=("i", "d"))
    # The mixed score of e_1 with itself, from columns 1 of the two matrices.
    halves = [(angles[:half], angles[3 : 3 + half]) for half in (2, 3)]
    scores = [rotation_matrix(t)[:, 1] @ _half_split_matrix(u)[:, 1] for t, u in halves]
    claimed = [trial.form.mixed(t, u) for t, u in halves]
    slots = np.array([trial.form.destination(i, part, d) for part in (0, 1)])
    return [
        _conjugate(trial.form.destination, angles[:3]),
        identity(slots, np.array([i, i + d / 2]), "P takes each number of pair i to its half-split slot, at any width"),
        identity(claimed, scores, "the mixed score of q = k = e_1 at d = 4, 6"),
        _loses_relativity(trial.form.mixed),
    ]


def _conjugate(destination: Destination, angles: list[Any]) -> Evidence:
    """Half-split = P·interleaved·Pᵀ; at d = 2 with P = I, since there is only one pair."""
    sides: list[tuple[np.ndarray, np.ndarray]] = []
    for half in (1, 2, 3):
        order = _order(destination, 2 * half)
        sides.append((_half_split_matrix(angles[:half]), rotation_matrix(angles[:half])[np.ix_(order, order)]))
    sides.append((_half_split_matrix(angles[:1]), rotation_matrix(angles[:1])))
    left, right = (np.concatenate([np.ravel(side) for side in each]) for each in zip(*sides, strict=True))
    what = "half-split = P·interleaved·Pᵀ at d = 2, 4, 6, and they coincide at d = 2"
    return identity(left, right, what)


def _loses_relativity(mixed: Callable[..., Any]) -> Evidence:
    """The mixed score with both tokens at 0, then both at 1, for every frequency θ_1 = B^{−2/d} in [0, 1] at once."""
    slower = arb(0.5, 0.5)
    at_zero, at_one = (mixed([arb(t), t * slower], [arb(t), t * slower]) for t in (0, 1))
    if at_zero - at_one > 0:
        scores = f"{float(at_zero):g} at positions 0, 0 and at most {float(at_one.upper()):.6f} at 1, 1"
        return Evidence(status="proved", detail=f"q = k = e_1 scores {scores}, for every d ≥ 4 and B > 1: not relative")
    return Evidence(status="undecided", detail="no difference between positions 0, 0 and 1, 1")


def _by_brute_force(trial: Trial) -> list[Evidence]:
    """The reference code in both layouts: on permuted vectors, and mixed."""
    width, note = tried(trial.at.d, 4096)
    rng, order = trial.rng("vectors"), _order(trial.form.destination, width)
    interleaved, half_split = (Rotary(base=trial.at.B, layout=layout) for layout in get_args(RotaryLayout))
    positions, vectors = rng.integers(1, 4096, size=(2, 16)), WholeVectors.draw(rng, 16, width)
    unit, frequencies = np.eye(width)[np.ones(16, dtype=int)], interleaved.frequencies(width)[:, None]
    where = f"d = {width}, B = {trial.at.B:g}"
    permuted = worst_entry(
        f"RoPE of the permuted x{note}",
        claimed=interleaved.rotate(vectors.rows, positions[0])[:, order],
        found=half_split.rotate(vectors.rows[:, order], positions[0]),
        tolerance=rounding(4096, terms=12),
        at=lambda row, j: f"{where}, {vectors.described(row, 'x')}, t = {positions[0, row]}, half-split slot {j}",
    )
    mixed = worst_entry(
        f"the mixed score of q = k = e_1{note}",
        claimed=trial.form.mixed(positions[0] * frequencies, positions[1] * frequencies),
        found=(interleaved.rotate(unit, positions[0]) * half_split.rotate(unit, positions[1])).sum(-1),
        tolerance=rounding(4096, terms=4),
        at=lambda row: f"{where}, q interleaved at {positions[0, row]}, k half-split at {positions[1, row]}",
    )
    return [permuted, mixed]


def _figure(at: Settings) -> Chart:
    width = int(min(max(at.d, 4), 128))
    positions = np.arange(0, 100)
    query, key = np.random.default_rng(1).normal(size=(2, width))
    turned = {layout: Rotary(base=at.B, layout=layout) for layout in ("interleaved", "half-split")}

    def sliding(first: str, second: str) -> np.ndarray:
        queries = turned[first].rotate(np.tile(query, (100, 1)), positions + 5)
        return (queries * turned[second].rotate(np.tile(key, (100, 1)), positions)).sum(axis=-1)

    return Chart(
        title="Mixed layouts lose relativity",
        caption=f"The score at distance 5 while both positions slide, d = {width}. In either layout it is constant; "
        "with the query in one and the key in the other it varies.",
        x=Axis(label="position of the key"),
        y=Axis(label="score"),
        series=(
            Series(label="both interleaved", x=positions, y=sliding("interleaved", "interleaved")),
            Series(label="mixed", x=positions, y=sliding("interleaved", "half-split")),
            Series(label="both half-split", x=positions, y=sliding("half-split", "half-split")),
        ),
    )


CLAIM = Claim(
    id="rope-layouts-are-permuted",
    section="6 rotary codes",
    statement="d ≥ 4: interleaved and half-split RoPE are conjugate by a fixed permutation; mixing them "
    "between q and k breaks relativity (at d = 2 they coincide)",
    latex=r"R^{\mathrm{half}}_t=P\,R^{\mathrm{inter}}_t\,P^\top,\quad P:2i+p\mapsto i+p\tfrac d2;\quad "
    r"\langle R^{\mathrm{inter}}_{t}e_1,R^{\mathrm{half}}_{u}e_1\rangle=\cos t\theta_0\,\cos u\theta_1",
    expected="proved",
    parameters=(replace(SMALL_WIDTH, lower=4), BASE),
    conditions=("t and u any real numbers",),
    assumes=(EXPONENTIAL_LAW,),
    # Where the permutation takes part p of pair i, and the score of q = k = e_1 under mixed layouts.
    form=Form(destination=half_split_slot, mixed=mixed_score),
    near_misses=(
        NearMiss("the layouts are the same", {"destination": interleaved_slot}),
        NearMiss(
            "second parts come first: part p of pair i goes to i + (1−p)d/2",
            {"destination": lambda pair, part, width: half_split_slot(pair, 1 - part, width)},
        ),
        NearMiss(
            "mixing is harmless: the score stays cos((t−u)θ_0)", {"mixed": lambda here, there: cos(here[0] - there[0])}
        ),
    ),
    methods={"brute force": _by_brute_force, "algebra": _by_algebra},
    derivation="Both layouts turn pair i by tθ_i; they only store the pair in different slots: (2i, 2i+1) or (i, "
    "i+d/2). P moves each number from one slot to the other, so turning and moving commute, whatever t is. Mixed: "
    "slot 1 belongs to pair 0 in one layout and to pair 1 in the other (d ≥ 4), so q = k = e_1 scores "
    "cos(tθ_0)·cos(uθ_1): 1 with both at position 0, cos 1·cos θ_1 ≤ cos 1 = 0.5403 with both at position 1. At d = "
    "2 there is one pair in slots (0, 1) either way.",
    source="Su et al. 2021, RoFormer (interleaved); GPT-NeoX and Hugging Face's Llama (half-split)",
    figure=_figure,
    demonstration="positions?layout=mixed&vectors=random&keyAt=100",
)
