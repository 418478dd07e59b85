"""Letters that may stand for more than one thing: what is true in a sensible reading is not refuted."""

import pytest

from derivations.passages import judged, last


# -- another reading of the same letters -------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("step", "status"),
    [
        (r"\langle R_{t_1}z_1, R_{t_2}z_2\rangle = z_1^\top R_{t_1}^\top R_{t_2}z_2", "holds"),
        (r"\langle R_{t_1}z_1, R_{t_2}z_2\rangle = z_1^\top R_{t_1}R_{t_2}z_2", "refuted"),
        (r"\|R_t z\| = \|z\|", "holds"),
        (r"\|R_t z\| = 2\|z\|", "refuted"),
        (r"\overline{z_1} = z_1", "undecided"),
        (r"\operatorname{Re}(z_1\bar z_2) = \langle z_1, z_2\rangle", "holds"),
        (r"\operatorname{Re}(z_1z_2) = \langle z_1, z_2\rangle", "refuted"),
    ],
)
def test_rotations_act_on_numbers_and_on_vectors(step, status):
    assert last("3g.ii", f"${step}$").status == status


@pytest.mark.parametrize(
    ("step", "status"),
    [
        (r"\sin^2(t\omega) + \cos^2(t\omega) = 1", "holds"),
        (r"\sin((t+s)\omega) = \sin t\omega\cos s\omega + \cos t\omega\sin s\omega", "holds"),
        (r"\cos((t-u)\omega) = \cos t\omega\cos u\omega - \sin t\omega\sin u\omega", "refuted"),
        (r"\sin(t\omega) = \sin t", "undecided"),
    ],
)
def test_omega_may_be_one_frequency(step, status):
    assert last("2b.i", f"${step}$").status == status


def test_what_the_text_assumes_itself_is_assumed():
    steps = r"take $q = 5k_j$ and $n = 10$: $\alpha_j = \frac{e^5}{e^5 + 9}$."
    assert last("1a", f"With orthonormal keys, {steps}").status == "holds"
    assert last("1a", f"With some keys, {steps}").status == "undecided"
    assert last("1a", f"With orthonormal keys, {steps}".replace("+ 9", "+ 8")).status == "refuted"


# -- coordinates -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("x", "y"), [("x", "y"), ("u", "w"), ("p", "r"), ("c", "d")])
def test_letters_that_name_coordinates(x, y):
    named = f"Let $v_a = A{x}$ and $v_b = B{y}$."
    chain = rf"$AA^\top s = AA^\top A{x} + AA^\top B{y} = A{x} = v_a$"
    assert {step.status for step in judged("1b.subspace", named, chain)} == {"holds"}
    assert last("1b.subspace", named, rf"$B^\top s = {y}$").status == "holds"
    assert last("1b.subspace", named, rf"$A^\top s = {y}$").outcome == "doubtful"
    assert last("1b.subspace", named, rf"$B^\top s = 2{y}$").status == "refuted"


def test_a_vector_has_no_coordinates_in_another_space():
    assert last("1b.subspace", "Let $v_a = Bx$.").status != "holds"


# -- different in general ----------------------------------------------------------------------------------------------
def test_sides_that_differ_in_general():
    assert last("1b.subspace", r"In general $AA^\top + BB^\top \neq I$.").status == "holds"
    assert last("1b.subspace", r"In fact $AA^\top + BB^\top \neq I$.").status == "undecided"
    assert last("1b.subspace", r"In general $A^\top A \neq I$.").status == "refuted"


# -- random numbers and scales by other names --------------------------------------------------------------------------
def test_a_random_number_may_be_counted_from_its_mean():
    text = r"$k_a \approx (1 + \epsilon)\mu_a$ with $\epsilon \sim \mathcal N(0, \frac12)$"
    assert {step.status for step in judged("1c.ii", text)} == {"holds"}
    assert last("1c.ii", text, r"$k_a^\top q \approx \beta(1 + \epsilon)$").status == "holds"
    assert last("1c.ii", text, r"$k_a^\top q \approx \beta(1 - \epsilon)$").status == "refuted"


def test_each_head_may_have_a_scale_of_its_own():
    steps = judged("1d.i", r"$q_1 = t_1\mu_a$, $q_2 = t_2\mu_b$", r"$c_2 \approx v_b$", r"$k_a^\top q_1 \approx t_2$")
    assert [step.status for step in steps] == ["holds", "holds", "holds", "refuted"]
