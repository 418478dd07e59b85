"""The grammar reads what people write, and says where it stops."""

import contextlib
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.derivations.notation.parser import MAX_DEPTH, Reading, parse
from regard.derivations.notation.syntax import (
    Accent,
    Apply,
    BigOperator,
    Cases,
    Condition,
    Expression,
    Identity,
    Inner,
    Label,
    Matrix,
    Negative,
    Norm,
    Number,
    Ones,
    Power,
    Product,
    Quotient,
    Sum,
    Symbol,
    Transpose,
)
from regard.derivations.notation.tokens import NotUnderstood, tokenize

A, B = Symbol("a"), Symbol("b")


def read(source: str, **reading):
    return parse(tokenize(source), Reading(functions=frozenset({"RoPE"}), **reading))


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("k_a", Symbol("k", (A,))),
        (r"\mathbf{X}_{\text{perm}}", Symbol("X", (Label("perm"),))),
        ("X_{perm}", Symbol("X", (Label("perm"),))),
        ("Q'", Symbol("Q'")),
        (r"K_a^{\intercal}", Transpose(Symbol("K", (A,)))),
        ("k_a^T", Transpose(Symbol("k", (A,)))),
        ("z^*", Accent("bar", Symbol("z"))),
        (r"\bar z_a", Accent("bar", Symbol("z", (A,)))),
        (r"\boldsymbol\mu_a", Symbol("mu", (A,))),
        (r"\overline{z}", Accent("bar", Symbol("z"))),
        (r"\mathbf 1", Ones()),
        ("I", Identity()),
        (r"\frac12", Quotient(Number(Fraction(1)), Number(Fraction(2)))),
        ("e^{x}", Apply("exp", (Symbol("x"),))),
        ("exp(x)", Apply("exp", (Symbol("x"),))),
        (r"\operatorname{Re}(z)", Apply("re", (Symbol("z"),))),
        (r"\cos t\theta", Apply("cos", (Product((Symbol("t"), Symbol("theta")), (False,)),))),
        (r"\langle a, b\rangle", Inner(A, B)),
        (r"\|a\|", Norm(A)),
        (r"\sqrt d", Apply("sqrt", (Symbol("d"),))),
        ("a - b", Sum((A, Negative(B)))),
        (r"a \cdot b", Product((A, B), (True,))),
        ("a^2", Power(A, Number(Fraction(2)))),
        ("x_t^{(1)}", Symbol("x^(1)", (Symbol("t"),))),
        ("RoPE(a, b)", Apply("RoPE", (A, B))),
        (r"\begin{pmatrix} a & b \\ b & a \end{pmatrix}", Matrix(((A, B), (B, A)))),
        (r"\begin{array}{cc} a & b \end{array}", Matrix(((A, B),))),
    ],
)
def test_notation_of_real_answers(source, expected):
    assert read(source) == expected


def test_a_sum_keeps_its_condition():
    total = read(r"\sum_{i \ne j} a_i")
    assert isinstance(total, BigOperator)
    assert total.index == "i"
    assert total.conditions == (Condition(Symbol("i"), "≠", (Symbol("j"),)),)


def test_a_sum_over_the_others_keeps_its_label():
    assert read(r"\sum_{others} e^0").conditions == (Label("others"),)


def test_cases_keep_their_conditions():
    piecewise = read(r"\begin{cases} a & i = a \\ b & \text{otherwise} \end{cases}")
    assert isinstance(piecewise, Cases)
    assert piecewise.conditions == ((Condition(Symbol("i"), "=", (A,)),), ())


def test_a_slash_can_be_read_two_ways():
    assert read("a/b c") == Product((Quotient(A, B), Symbol("c")), (False,))
    assert read("a/b c", is_slash_wide=True) == Quotient(A, Product((B, Symbol("c")), (False,)))


@pytest.mark.parametrize(("source", "start"), [("a +", 3), ("a )", 2), (r"a \circ b", 2), ("", 0)])
def test_the_place_of_what_does_not_fit_is_reported(source, start):
    with pytest.raises(NotUnderstood) as caught:
        read(source)
    assert caught.value.start == start


@pytest.mark.parametrize(
    "source", ["(" * 5000 + "x" + ")" * 5000, "{" * 5000, "x" + "^{x" * 3000, r"\sqrt{" * 2000, "-" * 5000]
)
def test_depth_is_bounded(source):
    with pytest.raises(NotUnderstood):
        read(source)


def test_nesting_within_the_limit_is_read():
    depth = MAX_DEPTH - 5
    assert read("(" * depth + "a" + ")" * depth) == A


@given(st.text(alphabet=r"\{}_^&+-*/()[]|abckqβ12 ,'frcsumtex", max_size=80))
def test_any_text_parses_or_is_refused(source):
    result = None
    with contextlib.suppress(NotUnderstood):
        result = read(source)
    assert result is None or isinstance(result, Expression)


@pytest.mark.parametrize(
    ("source", "same"),
    [
        ("xᵢ", "x_i"),
        ("kₐ", "k_a"),
        ("tanh(a)", r"\tanh(a)"),
        (r"\lVert a\rVert_2", r"\|a\|"),
        (r"\|a\|_{2}^2", r"\|a\|^2"),
    ],
)
def test_other_spellings_read_the_same(source, same):
    assert read(source) == read(same)


@pytest.mark.parametrize("source", [r"\|a\|_p", r"\int x", r"\sqrt[3]{x}", r"\nabla f", r"g(a, b)", r"a \pm b"])
def test_what_is_not_read_is_refused(source):
    with pytest.raises(NotUnderstood):
        read(source)
