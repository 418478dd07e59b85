"""‖RoPE(x, t)‖ = ‖x‖."""

import numpy as np

from regard.analysis.closed_forms.position_codes import rotation_matrix, squared_norm
from regard.analysis.engines.symbolic import identity
from regard.claims._evidence import Evidence, smaller_case, worst_entry
from regard.claims._position_codes import BASE, SMALL_WIDTH, WholeVectors, rounding, tried
from regard.claims.claim import Claim, NearMiss, Settings, Trial
from regard.positions.rotary import Rotary
from regard.render.figures import Axis, Chart, Series


def _by_algebra(trial: Trial) -> Evidence:
    """Two pairs with independent angles: the squared norm before and after the matrix of RoPE."""
    *numbers, first, second = trial.field("x_0", "x_1", "x_2", "x_3", angles=("t*theta_0", "t*theta_1"))
    turned = rotation_matrix([first, second]) @ np.array(numbers)
    what = "the preserved quantity, before and after the rotation"
    return identity(trial.form(turned), trial.form(numbers), what)


def _by_brute_force(trial: Trial) -> list[Evidence]:
    """Random vectors at random positions, near and far, rotated by the reference code."""
    width, note = tried(trial.at.d, 16_384)
    rng, code = trial.rng("vectors"), Rotary(base=trial.at.B)
    positions, vectors = rng.integers(1, 10**6, size=16), WholeVectors.draw(rng, 16, width)
    part = worst_entry(
        f"the preserved quantity of RoPE(x,t){note}",
        claimed=trial.form(vectors.rows.T),
        found=trial.form(code.rotate(vectors.rows, positions).T),
        # An error in the angle does not change the norm of a pair, so positions add nothing to the rounding.
        tolerance=rounding(0, terms=18 * width),
        at=lambda row: f"d = {width}, B = {trial.at.B:g}, {vectors.described(row, 'x')}, t = {positions[row]}",
    )
    return smaller_case(part, tried=width, asked=trial.at.d)


def _figure(at: Settings) -> Chart:
    width, positions = min(at.d, 256), np.arange(0, 201)
    x = WholeVectors.draw(np.random.default_rng(0), 1, width).rows[0]
    turned = Rotary(base=at.B).rotate(np.broadcast_to(x, (len(positions), width)), positions)
    return Chart(
        title="Rotations preserve length",
        caption=f"A vector of width {width} under RoPE: its norm is the same at every position, while the sum of its "
        "entries varies.",
        x=Axis(label="position t"),
        y=Axis(label="of RoPE(x, t)"),
        series=(
            Series(label="norm", x=positions, y=np.sqrt(squared_norm(turned.T))),
            Series(label="sum of the entries", x=positions, y=turned.sum(axis=1)),
        ),
    )


CLAIM = Claim(
    id="rope-keeps-norm",
    section="6 rotary codes",
    statement="‖RoPE(x,t)‖ = ‖x‖ at every position t",
    latex=r"\lVert\mathrm{RoPE}(x,t)\rVert=\lVert x\rVert",
    expected="proved",
    parameters=(SMALL_WIDTH, BASE),
    conditions=("x real", "t any real number"),
    form=squared_norm,
    near_misses=(
        NearMiss("the sum of the entries is preserved", sum),
        NearMiss("the ℓ4 norm is preserved", lambda numbers: sum(x * x * x * x for x in numbers)),
        NearMiss("the norm of the real parts is preserved", lambda numbers: squared_norm(numbers[0::2])),
    ),
    methods={"brute force": _by_brute_force, "algebra": _by_algebra},
    derivation="(x cos φ − y sin φ)² + (x sin φ + y cos φ)² = (x² + y²)(cos²φ + sin²φ) = x² + y², pair by pair. "
    "So a rotary code never changes how long a query or a key is, only where it points.",
    source="Su et al. 2021, RoFormer, section 3.2",
    figure=_figure,
)
