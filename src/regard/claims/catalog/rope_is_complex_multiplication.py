"""The D×D block rotation of RoPE is an elementwise product of D/2 complex numbers."""

from typing import Any

import numpy as np

from regard.analysis.closed_forms.arithmetic import Numbers, cos, sin
from regard.analysis.closed_forms.rotations import complex_product, rotation_matrix
from regard.analysis.engines.angles import angle_field, generic_angles
from regard.analysis.engines.symbolic import identity
from regard.claims._comparisons import all_parts, of_smaller_case
from regard.claims._turns import BASE, WIDTH, rounding, tried, worst_entry
from regard.claims.claim import Claim, Rival, Trial
from regard.claims.figures import codes
from regard.core.verdict import Evidence
from regard.positions.rotary import Rotary

_ANGLES = ("t*theta_0", "t*theta_1")
_NUMBERS = ("x_0", "x_1", "x_2", "x_3")


def _by_algebra(trial: Trial) -> Evidence:
    """Two pairs with angles of their own: the matrix times the vector is the product."""
    field = angle_field(*_ANGLES, symbols=_NUMBERS)
    angles, numbers = generic_angles(field, *_ANGLES), field.array("x", 4)
    what = "the block rotation times x, pair by pair"
    return identity(trial.form(numbers, angles), rotation_matrix(angles) @ numbers, rng=trial.rng("algebra"), what=what)


def _by_brute_force(trial: Trial) -> Evidence:
    """Random vectors at random positions, turned by the reference and by numpy's complex numbers."""
    width, note = tried(trial.at.d, 4096)
    rng, code = trial.rng("vectors"), Rotary(base=trial.at.B)
    positions, vectors = rng.integers(1, 4096, size=16), rng.integers(-3, 4, size=(16, width)) * 1.0
    angles = positions * code.frequencies(width)[:, None]
    products = (vectors[:, 0::2] + 1j * vectors[:, 1::2]) * np.exp(1j * angles.T)
    claimed = np.stack(trial.form(vectors.T, angles), axis=-1)

    def place(row: int, j: int) -> str:
        x, y = vectors[row, j - j % 2 : j - j % 2 + 2]
        part = "imaginary" if j % 2 else "real"
        return f"D = {width}, B = {trial.at.B:g}, t = {positions[row]}, z_{j // 2} = {x:g}+({y:g})i, {part} part"

    sides = {
        "RoPE(x, t)": code.rotate(vectors, positions),
        "z e^{itθ}": np.stack([products.real, products.imag], axis=-1).reshape(vectors.shape),
    }
    outcome = all_parts(
        "brute force",
        (
            worst_entry(what + note, claimed=claimed, measured=measured, tolerance=rounding(4096, terms=12), at=place)
            for what, measured in sides.items()
        ),
    )
    return of_smaller_case(outcome, tried=width, asked=trial.at.d)


def _scaled_apart(numbers: Numbers, angles: Numbers) -> list[Any]:
    """Real parts times cosines, imaginary parts times sines."""
    pairs = zip(numbers[0::2], numbers[1::2], angles, strict=True)
    return [part for x, y, angle in pairs for part in (x * cos(angle), y * sin(angle))]


def _swapped(numbers: Numbers, angles: Numbers) -> list[Any]:
    """The product read with its parts exchanged."""
    turned = complex_product(numbers, angles)
    return [turned[j ^ 1] for j in range(len(turned))]


CLAIM = Claim(
    id="rope-is-complex-multiplication",
    section="6 rotary codes",
    statement="RoPE's block-diagonal D×D rotation is D/2 complex products, elementwise: z_i ↦ z_i e^{itθ_i}",
    latex=r"\bigoplus_i\begin{pmatrix}\cos t\theta_i&-\sin t\theta_i\\\sin t\theta_i&\cos t\theta_i\end{pmatrix}x"
    r"\;\cong\;\big(z_i\,e^{\mathrm{i}t\theta_i}\big)_{i},\quad z_i=x_{2i}+\mathrm{i}\,x_{2i+1}",
    expected="proved",
    parameters=(WIDTH, BASE),
    conditions=("x real", "t any real number"),
    form=complex_product,
    rivals=(
        Rival(
            statement="the conjugate factor e^{−itθ}",
            form=lambda numbers, angles: complex_product(numbers, [-1 * angle for angle in angles]),
        ),
        Rival(statement="parts scaled one by one: (x cos tθ, y sin tθ)", form=_scaled_apart),
        Rival(statement="real and imaginary parts change places", form=_swapped),
    ),
    routes=(_by_brute_force, _by_algebra),
    derivation="(x + iy)(cos φ + i sin φ) = (x cos φ − y sin φ) + i(x sin φ + y cos φ): the two parts are "
    "the rows of [[cos φ, −sin φ], [sin φ, cos φ]] times (x, y). "
    "Blocks do not mix, so D/2 complex products replace D² real ones.",
    source="Su et al. 2021, RoFormer, section 3.2; CS224N assignment 4, rotary position embeddings",
    figure=codes.rotation,
)
