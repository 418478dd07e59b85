"""Draws meet the assumptions, sizes are all different, and what is drawn can be driven, set and moved."""

from dataclasses import replace

import numpy as np
import pytest

from derivations.judging.small import instance, problem, scope
from regard.derivations.judging.instances import QUANTILES, Instance, choose_sizes, with_particular
from regard.derivations.judging.setting import Size
from regard.derivations.judging.values import BALLS, FLOATS
from regard.derivations.notation.tokens import NotUnderstood
from regard.derivations.problems.problem import load_problem

SHIPPED = load_problem("cs224n-a4")
SETTINGS = {question.setting.name: question.setting for question in SHIPPED.questions}.values()
each_setting = pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.name)


def of(question: str, name: str, **changes) -> np.ndarray:
    setting = SHIPPED.question(question).setting
    drawn = Instance(setting=setting, sizes=choose_sizes(setting), **changes)
    return drawn.draw(setting.symbols[name], FLOATS)


def gram(vectors: np.ndarray) -> np.ndarray:
    """Inner products of the members of a family, (draw, member, member)."""
    return np.einsum("nirc,njrc->nij", vectors, vectors)


# -- assumptions -------------------------------------------------------------------------------------------------------
def test_keys_are_orthonormal_and_values_are_not():
    keys, values = of("1b", "k_i"), of("1b", "v_i")
    identity = np.broadcast_to(np.eye(keys.shape[1]), gram(keys).shape)
    np.testing.assert_allclose(gram(keys), identity, atol=1e-12)
    assert np.abs(gram(values) - identity).max() > 0.1


def test_many_keys_are_orthonormal_too():
    setting = SHIPPED.question("1b").setting
    sizes = with_particular(setting, choose_sizes(setting), {"n": 60})
    keys = Instance(setting=setting, sizes=sizes).draw(setting.symbols["k_i"], FLOATS)
    np.testing.assert_allclose(gram(keys), np.broadcast_to(np.eye(60), (3, 60, 60)), atol=1e-12)
    assert np.abs(keys[0, :, :60, 0] - np.eye(60)).max() > 0.1


def test_keys_of_unit_length_are_not_orthogonal():
    keys = of("1a", "k_i")
    products = gram(keys)
    np.testing.assert_allclose(np.diagonal(products, axis1=1, axis2=2), 1, atol=1e-12)
    assert np.abs(products - np.eye(keys.shape[1])).max() > 0.05


def test_one_subspace_is_orthogonal_to_the_other():
    a, b = of("1b.subspace", "A"), of("1b.subspace", "B")
    for basis in (a, b):
        np.testing.assert_allclose(
            np.swapaxes(basis, 1, 2) @ basis,
            np.broadcast_to(np.eye(basis.shape[2]), (3, *[basis.shape[2]] * 2)),
            atol=1e-12,
        )
    np.testing.assert_allclose(np.swapaxes(a, 1, 2) @ b, 0, atol=1e-12)
    assert np.abs(a @ np.swapaxes(a, 1, 2) - np.eye(a.shape[1])).max() > 0.1


@pytest.mark.parametrize("larger", [0, 1, 2])
def test_a_permutation_is_one_and_not_its_own_inverse(larger):
    setting = SHIPPED.question("2a.i").setting
    p = Instance(setting=setting, sizes=choose_sizes(setting, larger)).draw(setting.symbols["P"], FLOATS)[0]
    assert (np.sort(p, axis=0)[-1] == 1).all()
    np.testing.assert_array_equal(p @ p.T, np.eye(len(p)))
    assert (p @ p != np.eye(len(p))).any()


def test_whole_numbers_are_whole_positive_and_different():
    t, s = of("3g.ii", "t"), of("3g.ii", "s")
    assert (t == np.round(t)).all()
    assert (t > 0).all()
    assert (t != s).all()


def test_complex_numbers_are_complex_and_angles_are_not():
    assert np.abs(of("3g.ii", "z").imag).min() > 0
    assert not np.iscomplexobj(of("3g.ii", "theta"))


def test_scales_are_positive_and_noise_is_small():
    assert (of("1b", "beta") > 0).all()
    assert (of("1c.i", "alpha") > 0).all()
    assert (of("1c.i", "alpha") < 0.5).all()


def test_plain_draws_are_halves_and_never_zero():
    values = of("1b", "v_i", is_plain=True)
    np.testing.assert_array_equal(values * 2, np.round(values * 2))
    assert (values != 0).all()
    assert (of("1b", "v_i") * 2 != np.round(of("1b", "v_i") * 2)).any()


def test_balls_hold_the_same_draws():
    small = scope().setting
    for name in ("u", "k_i"):
        floats, balls = (instance().draw(small.symbols[name], each) for each in (FLOATS, BALLS))
        np.testing.assert_allclose(np.vectorize(float)(balls), floats, atol=1e-12)


def test_draws_are_repeatable_and_change_with_the_seed():
    np.testing.assert_array_equal(of("1b", "v_i"), of("1b", "v_i"))
    assert (of("1b", "v_i") != of("1b", "v_i", seed=9)).all()


def test_one_more_symbol_changes_no_other_draw():
    setting = scope().setting
    fewer = replace(setting, symbols={"u": setting.symbols["u"]})
    drawn = Instance(setting=fewer, sizes=choose_sizes(setting)).draw(setting.symbols["u"], FLOATS)
    np.testing.assert_array_equal(drawn, instance().draw(setting.symbols["u"], FLOATS))


# -- sizes -------------------------------------------------------------------------------------------------------------
@each_setting
@pytest.mark.parametrize("larger", [0, 1, 2])
def test_sizes_are_all_different_and_large_enough(setting, larger):
    sizes = choose_sizes(setting, larger)
    assert len(set(sizes.values())) == len(sizes)
    for name, size in setting.sizes.items():
        assert sizes[name] >= max(size.minimum, sum(sizes[other] for other in size.above))
        assert size.twice is None or sizes[name] == 2 * sizes[size.twice]


def test_a_text_may_declare_many_sizes():
    many = replace(scope().setting, sizes={f"d_{number}": Size() for number in range(40)})
    assert len(set(choose_sizes(many, 1).values())) == 40


def test_too_many_sizes_are_not_understood():
    many = replace(scope().setting, sizes={f"d_{number}": Size() for number in range(400)})
    with pytest.raises(NotUnderstood, match="Too many sizes"):
        choose_sizes(many)


def test_larger_sizes_are_larger():
    setting = scope().setting
    assert choose_sizes(setting, 2)["n"] > choose_sizes(setting, 0)["n"]


def test_particular_sizes_are_kept_and_others_make_room():
    setting = scope().setting
    sizes = with_particular(setting, choose_sizes(setting), {"n": 10})
    assert sizes["n"] == 10
    assert sizes["d"] >= 10
    assert with_particular(setting, choose_sizes(setting), {}) == choose_sizes(setting)
    assert with_particular(setting, {"n": 3, "d": 31}, {"n": 10})["d"] == 31


# -- drives ------------------------------------------------------------------------------------------------------------
def test_a_drive_shows_every_draw_at_every_stage():
    symbols = scope().setting.symbols
    driven = instance(num_draws=2, driven={"beta": (8.0, 32.0)})
    np.testing.assert_array_equal(driven.draw(symbols["beta"], FLOATS).ravel(), [8, 8, 32, 32])
    still = driven.draw(symbols["u"], FLOATS)
    np.testing.assert_array_equal(still[:2], still[2:])
    assert driven.total_draws == 4


def test_a_number_can_be_set_draw_by_draw():
    gamma = scope().setting.symbols["gamma"]
    set_to = instance(num_draws=2, drawn={"gamma": (0.5, 2.0)}, driven={"beta": (8.0, 32.0)})
    np.testing.assert_array_equal(set_to.draw(gamma, FLOATS).ravel(), [0.5, 2, 0.5, 2])


def test_random_numbers_meet_each_part_of_their_law():
    gamma = scope().setting.symbols["gamma"]
    drawn = instance(num_draws=len(QUANTILES)).draw(gamma, FLOATS).ravel()
    np.testing.assert_allclose((drawn - 1) / np.sqrt(0.5), QUANTILES)
    assert (instance(num_draws=3).draw(gamma, FLOATS).ravel() != drawn[:3]).all()


def test_moved_random_symbols_leave_their_means_one_at_a_time():
    symbols = scope().setting.symbols
    moved = instance(num_draws=1, moved=2.0)
    gamma, rho = (moved.draw(symbols[name], FLOATS)[:, 0, 0] for name in ("gamma", "rho"))
    assert gamma[0] == 1
    assert sorted(set(gamma)) == [1, 3]
    assert list(rho).count(2.0) == 1
    assert moved.component_variances().tolist() == [0.5] + [2.0] * moved.size("d")


def test_the_small_setting_is_what_these_tests_think():
    assert problem().question("1").setting.sizes.keys() == {"n", "d"}
