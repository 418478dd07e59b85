"""‖RoPE(x, t)‖ = ‖x‖."""

from regard.analysis.closed_forms.rotations import rotation_matrix, squared_norm
from regard.analysis.engines.angles import angle_field, generic_angles
from regard.analysis.engines.symbolic import identity
from regard.claims._comparisons import of_smaller_case
from regard.claims._turns import BASE, SMALL_WIDTH, WholeVectors, rounding, tried, worst_entry
from regard.claims.claim import Claim, Rival, Trial
from regard.claims.figures import codes
from regard.core.verdict import Evidence
from regard.positions.rotary import Rotary

_ANGLES = ("t*theta_0", "t*theta_1")


def _by_algebra(trial: Trial) -> Evidence:
    """Two pairs with angles of their own: the squared norm before and after the matrix of RoPE."""
    field = angle_field(*_ANGLES, symbols=("x_0", "x_1", "x_2", "x_3"))
    numbers = field.array("x", 4)
    turned = rotation_matrix(generic_angles(field, *_ANGLES)) @ numbers
    what = "the kept quantity, before and after the rotation"
    return identity(trial.form(turned), trial.form(numbers), rng=trial.rng("algebra"), what=what)


def _by_brute_force(trial: Trial) -> Evidence:
    """Random vectors at random positions, near and far, rotated by the reference."""
    width, note = tried(trial.at.d, 16_384)
    rng, code = trial.rng("vectors"), Rotary(base=trial.at.B)
    positions, vectors = rng.integers(1, 10**6, size=16), WholeVectors.draw(rng, 16, width)
    turned = code.rotate(vectors.rows, positions)

    def place(row: int) -> str:
        return f"d = {width}, B = {trial.at.B:g}, {vectors.told(row, 'x')}, t = {positions[row]}"

    # The norm of a pair survives a wrong angle, so positions add nothing to the rounding.
    outcome = worst_entry(
        f"the kept quantity of RoPE(x,t){note}",
        claimed=trial.form(vectors.rows.T),
        measured=trial.form(turned.T),
        tolerance=rounding(0, terms=18 * width),
        at=place,
    )
    return of_smaller_case(outcome, tried=width, asked=trial.at.d)


CLAIM = Claim(
    id="rope-keeps-norm",
    section="6 rotary codes",
    statement="‖RoPE(x,t)‖ = ‖x‖ at every position t",
    latex=r"\lVert\mathrm{RoPE}(x,t)\rVert=\lVert x\rVert",
    expected="proved",
    parameters=(SMALL_WIDTH, BASE),
    conditions=("x real", "t any real number"),
    form=squared_norm,
    rivals=(
        Rival(statement="the sum of the numbers is kept", form=sum),
        Rival(statement="the ℓ4 norm is kept", form=lambda numbers: sum(x * x * x * x for x in numbers)),
        Rival(statement="the norm of the real parts is kept", form=lambda numbers: squared_norm(numbers[0::2])),
    ),
    routes=(_by_brute_force, _by_algebra),
    derivation="(x cos φ − y sin φ)² + (x sin φ + y cos φ)² = (x² + y²)(cos²φ + sin²φ) = x² + y², pair by pair. "
    "So a rotary code never changes how long a query or a key is, only where it points.",
    source="Su et al. 2021, RoFormer, section 3.2",
    figure=codes.kept_norm,
)
