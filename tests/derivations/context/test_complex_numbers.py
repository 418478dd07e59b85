"""Notes write i for the imaginary unit without saying so."""

import pytest

from derivations.context.notes import last_status


@pytest.mark.parametrize(
    "claim",
    [
        "2\\cos\\phi=e^{i\\phi}+e^{-i\\phi}",
        "\\mathrm{Re}[qk^*e^{i(m-n)\\theta}] = \\mathrm{Re}[qe^{im\\theta}(ke^{in\\theta})^*]",
        "|e^{i\\phi}| = 1",
    ],
)
def test_an_imaginary_unit_is_recognised(claim):
    assert last_status(f"Then ${claim}$.") == "holds"


@pytest.mark.parametrize(
    "claim",
    [
        "2\\sin\\phi=e^{i\\phi}-e^{-i\\phi}",
        "\\mathrm{Re}[qke^{i(m-n)\\theta}] = \\mathrm{Re}[qe^{im\\theta}(ke^{in\\theta})^*]",
    ],
)
def test_what_is_false_for_complex_numbers_does_not_hold(claim):
    assert last_status(f"Then ${claim}$.") != "holds"


def test_a_number_below_a_name_is_its_argument():
    rotation = (
        "$R_m=\\begin{pmatrix}\\cos m\\theta & -\\sin m\\theta\\\\ \\sin m\\theta & \\cos m\\theta\\end{pmatrix}$"
    )
    assert last_status(f"{rotation}. So $R_m^\\top R_n = R_{{n-m}}$.") == "holds"
    assert last_status(f"{rotation}. So $R_m^\\top R_n = R_{{m-n}}$.") != "holds"
    assert last_status("$z_t=e^{i\\omega t}$. So $\\mathrm{Re}(z_s\\overline{z_t})=\\cos(\\omega(s-t))$.") == "holds"


@pytest.mark.parametrize(("sign", "holds"), [("-", True), ("+", False)])
def test_an_i_beside_a_conjugate_is_no_real_number(sign, holds):
    product, conjugate = "e^{ix}u\\overline{e^{iy}w}", "u\\overline{w}"
    claim = f"\\mathrm{{Re}}({product}) = \\mathrm{{Re}}(e^{{i(x{sign}y)}}{conjugate})"
    assert (last_status(f"So ${claim}$.") == "holds") is holds
