"""Relations on every instance: what holds, what fails, and what a failure shows."""

import pytest

from derivations.judging.small import found, scope

TRUE = (
    r"k_a^\top k_b = 0",
    r"\|k_i\| = 1",
    r"(x + y)^2 = x^2 + 2xy + y^2",
    r"\text{softmax}(u)^\top u \leq \|u\|",
    r"P^\top P = I",
    r"X_{perm} = P X",
    r"k_a \perp k_b",
    r"x > 0",
    r"t \neq s",
    r"x \geq 0",
    r"u \in \mathbb{R}^d",
    r"X \in \mathbb{R}^{n \times d}",
    r"\frac{1}{3} \approx 0.333",
)
FALSE = (
    r"v_a^\top v_b = 0",
    r"\|v_i\| = 1",
    r"(x + y)^2 = x^2 + y^2",
    r"\|u\| \leq 0",
    r"P P = I",
    r"X_{perm} = X P^\top",
    r"u \perp w",
    r"y > 0",
    r"x \neq x",
    r"u \in \mathbb{R}^n",
    r"X \in \mathbb{R}^{d \times n}",
    r"\frac{1}{3} \approx 0.4",
    "u = x",
)


@pytest.mark.parametrize("source", TRUE)
def test_what_holds(source):
    assert found(source).is_true, found(source)


@pytest.mark.parametrize("source", FALSE)
def test_what_fails_and_shows_it(source):
    finding = found(source)
    assert finding.is_false, finding
    assert finding.counterexample


def test_a_counterexample_shows_the_instance_and_both_sides():
    finding = found("x + y = x y")
    assert finding.reason == "The two sides differ"
    assert "n = 3, d = 5, x = " in (finding.counterexample or "")
    assert "the left side is" in (finding.counterexample or "")
    assert finding.value != finding.bound


def test_shapes_are_shown_with_their_sizes():
    finding = found("A X = X")
    assert finding.kind == "ill-shaped"
    assert finding.counterexample == "n = 3, d = 5: 5×5 times 3×5"


def test_rounding_is_not_a_counterexample():
    assert found(r"\sin(y)^2 + \cos(y)^2 - 1 = 0").is_true
    assert found(r"(10^{9} x)^2 - 10^{18} x^2 = 0").is_true


def test_dividing_by_zero_is_not_understood():
    assert found(r"\frac{x}{y - y} = 1").kind == "not understood"
    assert found(r"\frac{x}{y - s} = 1").is_false
    assert found(r"\frac{1}{k_a^\top k_i} = 1").kind == "not understood"
    assert found(r"\frac{1}{k_a^\top k_a} = 1").is_true


def test_entries_out_of_range_are_neither_true_nor_false():
    for source in (r"u_{12} = x", r"(u + w)_{12} = 0"):
        assert found(source).kind == "not understood"
    assert found("u_2 = x").is_false


@pytest.mark.parametrize(
    ("source", "is_true"), [(r"z \bar z \geq 0", True), (r"0 \leq z \bar z", True), (r"z \bar z < 0", False)]
)
def test_a_complex_number_that_is_real_has_an_order(source, is_true):
    assert found(source, scope("2")).is_true is is_true


def test_other_complex_numbers_have_none():
    assert found(r"z + z \geq 0", scope("2")).kind == "not understood"


def test_an_equality_that_only_holds_in_the_limit_is_said_to_be_one():
    finding = found(r"\frac{e^\beta}{e^\beta + 1} = 1")
    assert finding.kind == "approximate"
    assert finding.is_approximation_meant
    assert not found(r"\frac{e^\beta}{e^\beta + 1} \approx 1").is_approximation_meant


def test_an_order_may_hold_once_the_scale_is_large():
    assert found(r"e^\beta > 100").reason == "True once the scale is large enough"
    assert found(r"e^{-\beta} > 100").is_false


def test_printed_decimals_are_compared_as_printed_at_particular_values():
    assert found(r"\frac{1}{7} = 0.1429", is_particular=True).is_true
    assert found(r"\frac{1}{7} = 0.1427", is_particular=True).is_false
    assert found(r"\frac{1}{7} = 0.1429").is_true


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("P^0 = I", "true"),
        (r"(P^\top P)^{20} = I", "true"),
        (r"(P^\top P)^n = I", "true"),
        (r"P^{1000000007} = I", "false"),
        (r"(P^\top P)^{1/2} = I", "not understood"),
        ("X^2 = X", "ill-shaped"),
        ("u^2 = u", "not understood"),
        (r"\sum_{i=1}^{1000000000} 1 = 5", "false"),
        (r"\sum_{i=1}^{1000000000} i = 5", "not understood"),
        (r"(1 + x)^{1000000000} = 5", "false"),
    ],
)
def test_powers_and_long_sums_are_computed_or_left_open(source, kind):
    assert found(source).kind == kind


def test_what_rounding_blurs_is_neither_true_nor_false():
    assert found(r"\sin(e^{e^{y + 9}}) = 0.5").kind == "not understood"
