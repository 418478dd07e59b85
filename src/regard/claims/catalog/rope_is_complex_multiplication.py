"""The D×D block rotation of RoPE is an elementwise product of D/2 complex numbers."""

from typing import Any

import numpy as np

from regard.analysis.closed_forms.arithmetic import Numbers, cos, sin
from regard.analysis.closed_forms.position_codes import complex_product, rotation_matrix
from regard.analysis.engines.symbolic import identity
from regard.claims._evidence import Evidence, smaller_case, worst_entry
from regard.claims._position_codes import BASE, WIDTH, rounding, tried
from regard.claims.claim import Claim, NearMiss, Settings, Trial
from regard.positions.rotary import Rotary, rotary_frequencies
from regard.render.figures import Axis, HeatMap


def _by_algebra(trial: Trial) -> Evidence:
    """Two pairs with independent angles: the matrix times the vector is the product."""
    *numbers, first, second = trial.field("x_0", "x_1", "x_2", "x_3", angles=("t*theta_0", "t*theta_1"))
    turned = rotation_matrix([first, second]) @ np.array(numbers)
    return identity(trial.form(numbers, [first, second]), turned, "the block rotation times x, pair by pair")


def _by_brute_force(trial: Trial) -> list[Evidence]:
    """Random vectors at random positions, turned by the reference code and by numpy's complex numbers."""
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
    parts = [
        worst_entry(what + note, claimed=claimed, found=found, tolerance=rounding(4096, terms=12), at=place)
        for what, found in sides.items()
    ]
    return smaller_case(parts, tried=width, asked=trial.at.d)


def _scaled_apart(numbers: Numbers, angles: Numbers) -> list[Any]:
    """Real parts times cosines, imaginary parts times sines."""
    pairs = zip(numbers[0::2], numbers[1::2], angles, strict=True)
    return [part for x, y, angle in pairs for part in (x * cos(angle), y * sin(angle))]


def _swapped(numbers: Numbers, angles: Numbers) -> list[Any]:
    """The product with real and imaginary parts exchanged."""
    turned = complex_product(numbers, angles)
    return [turned[j ^ 1] for j in range(len(turned))]


def _figure(at: Settings) -> HeatMap:
    width = min(at.d, 32)
    return HeatMap(
        title="Mostly zeros",
        caption=f"The matrix of RoPE at t = 5 for D = {width} and B = {at.B:g}. Each 2×2 block is one complex "
        "number; D/2 products do the work of the whole matrix.",
        x=Axis(label="column"),
        y=Axis(label="row"),
        values=rotation_matrix(5 * rotary_frequencies(at.B, width)).astype(float),
        scale="diverging",
    )


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
    near_misses=(
        NearMiss(
            "the conjugate factor e^{−itθ}",
            lambda numbers, angles: complex_product(numbers, [-1 * angle for angle in angles]),
        ),
        NearMiss("parts scaled separately: (x cos tθ, y sin tθ)", _scaled_apart),
        NearMiss("real and imaginary parts are exchanged", _swapped),
    ),
    methods={"brute force": _by_brute_force, "algebra": _by_algebra},
    derivation="(x + iy)(cos φ + i sin φ) = (x cos φ − y sin φ) + i(x sin φ + y cos φ): the two parts are "
    "the rows of [[cos φ, −sin φ], [sin φ, cos φ]] times (x, y). "
    "Blocks do not mix, so D/2 complex products replace D² real ones.",
    source="Su et al. 2021, RoFormer, section 3.2; CS224N assignment 4, rotary position embeddings",
    figure=_figure,
    demonstration="positions?turnWidth=8",
)
