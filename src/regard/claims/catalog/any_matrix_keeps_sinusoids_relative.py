"""Misconception: attention over sinusoidal codes sees only distances, whatever its weights."""

import numpy as np

from regard.analysis.closed_forms.position_codes import code, turned_product
from regard.analysis.engines.symbolic import identity
from regard.claims._evidence import Evidence, worst_entry
from regard.claims._position_codes import BASE, EXPONENTIAL_LAW, SMALL_WIDTH, figure_width, rounding, tried
from regard.claims.claim import Claim, Form, NearMiss, Settings, Trial
from regard.positions.rotary import rotary_frequencies
from regard.positions.sinusoidal import sinusoid
from regard.render.figures import Axis, HeatMap

_FURTHEST = 1000


def _by_algebra(trial: Trial) -> list[Evidence]:
    """One pair, generic angles and numbers: shifting both t and u by s must change nothing."""
    a, b, c, d, t, u, s = trial.field("a", "b", "c", "d", angles=("t*theta", "u*theta", "s*theta"))
    block = np.array(trial.form.block(a, b, c, d), dtype=object)
    here, moved = (code([x]) @ block @ code([y]) for x, y in ((t, u), (t + s, u + s)))
    parts = [identity(moved, here, "Φ(t+s)ᵀWΦ(u+s) = Φ(t)ᵀWΦ(u) for a pair")]
    if trial.form.adds is not None:
        parts.append(identity(trial.form.adds(a, b, t, u), here, "what a pair adds"))
    return parts


def _by_brute_force(trial: Trial) -> list[Evidence]:
    """Codes from the reference implementation, one block for all pairs, both positions shifted."""
    width, note = tried(trial.at.d, 1024)
    rng, base = trial.rng("positions"), trial.at.B
    numbers = rng.integers(1, 6, size=4).tolist()
    block = np.array(trial.form.block(*numbers), dtype=float)
    t, u, s = rng.integers(1, _FURTHEST, size=(3, 16))

    def product(first: np.ndarray, second: np.ndarray) -> np.ndarray:
        left, right = (sinusoid(x, width=width, base=base).reshape(-1, width // 2, 2) for x in (first, second))
        return np.einsum("tpi,ij,tpj->t", left, block, right)

    where = f"d = {width}, B = {base:g}, W = diag of blocks {block.astype(int).tolist()}"
    tolerance = rounding(2 * _FURTHEST, terms=20 * width)

    def at(row: int) -> str:
        return f"{where}, t = {t[row]}, u = {u[row]}, s = {s[row]}"

    here, moved = product(t, u), product(t + s, u + s)
    parts = [worst_entry(f"Φ(t+s)ᵀWΦ(u+s){note}", claimed=here, found=moved, tolerance=tolerance, at=at)]
    if trial.form.adds is not None:
        angles = (x[:, None] * rotary_frequencies(base, width) for x in (t, u))
        claimed = trial.form.adds(*numbers[:2], *angles).sum(axis=-1)
        parts.append(worst_entry(f"Φ(t)ᵀWΦ(u){note}", claimed=claimed, found=here, tolerance=tolerance, at=at))
    return parts


def _figure(at: Settings) -> HeatMap:
    width = figure_width(at.d)
    codes = sinusoid(np.arange(48), width=width, base=max(at.B, 1.0))
    matrix = np.random.default_rng(0).normal(size=(width, width)) / width
    return HeatMap(
        title="Not the same along diagonals",
        caption=f"Φ(t)ᵀWΦ(u) for codes of width {width} and a random W. If it depended on t − u alone, every "
        "diagonal would have a single colour.",
        x=Axis(label="position u"),
        y=Axis(label="position t"),
        values=codes @ matrix @ codes.T,
        scale="diverging",
    )


CLAIM = Claim(
    id="any-matrix-keeps-sinusoids-relative",
    section="5 sinusoidal codes",
    statement="Φ(t)ᵀWΦ(u), the position part of the logits over sinusoidal codes Φ with W = W_Q W_Kᵀ, depends only on "
    "t−u, whatever W is",
    latex=r"\Phi(t+s)^\top W\,\Phi(u+s)=\Phi(t)^\top W\,\Phi(u)\quad\text{for every }W",
    expected="refuted",
    parameters=(SMALL_WIDTH, BASE),
    conditions=("W block-diagonal, one 2×2 block for each pair", "t, u and s any real numbers"),
    assumes=(EXPONENTIAL_LAW,),
    # The 2×2 block of W for each pair, from four numbers; and what the pair adds, given two of them and the angles.
    form=Form(block=lambda a, b, c, d: ((a, b), (c, d)), adds=None),
    near_misses=(
        NearMiss("it does if W's blocks are [[a, −b], [b, a]]", {"block": lambda a, b, _c, _d: ((a, -b), (b, a))}),
        NearMiss(
            "a pair then adds a cos((t−u)θ) − b sin((t−u)θ), which distinguishes before from after",
            {"block": lambda a, b, _c, _d: ((a, -b), (b, a)), "adds": turned_product},
        ),
        NearMiss("it does for multiples of the identity", {"block": lambda a, b, _c, _d: ((a, 0 * b), (0 * b, a))}),
    ),
    methods={"brute force": _by_brute_force, "algebra": _by_algebra},
    derivation="Shifting both positions by s turns each pair of Φ by sθ: Φᵀ becomes ΦᵀR_sᵀ, so the product is "
    "unchanged for all t and u only if R_sᵀWR_s = W. The 2×2 matrices that commute with every rotation are a·I plus b "
    "times a quarter turn. W = e_1e_1ᵀ, a single sine, gives sin t·sin u: 0 at t = u = 0, but 0.708 at t = u = 1.",
    source="Dai et al. 2019, Transformer-XL, section 3.3; Yan et al. 2019, TENER: adapting Transformer encoder for "
    "named entity recognition",
    figure=_figure,
)
