"""What is typed becomes exact coefficients or a condition, or one clear refusal; nothing is evaluated as Python."""

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.core.errors import InputError
from regard.designs.expressions import ExpressionReader, read_condition

READER = ExpressionReader(vector="mu", scalars={"beta": Fraction(20), "n": Fraction(10), "s": Fraction("0.1")})


@pytest.mark.parametrize(
    "text",
    [
        "beta*(mu_a+mu_b)",
        "beta mu_a + mu_b beta",
        "20*(mu_a+mu_b)",
        "2e1*mu_a + 20 mu_b",
        r"\beta(\mu_a+\mu_b)",
        "β(μ_a+μ_b)",
        r"\frac{\beta}{2}(2\mu_a+2\mu_b)",
        "beta/2*(2*mu_a+2mu_b)",
        "sqrt(400)*(mu_a+mu_b)",
        "sqrt(2)*sqrt(200)*(mu_a+mu_b)",
        "exp(log(20))*(mu_a+mu_b)",
        "beta**2*mu_a/20 + beta*mu_b",
        "400**(1/2)*(mu_a + mu_b)",
        "200*s*(mu_a + mu_b)",
        "-(-beta*mu_a) - -beta*mu_b",
        "(3*s - 0.3)*mu_a + beta*(mu_a+mu_b)",
        r"\sqrt2\sqrt{200}\left(\boldsymbol{\mu}_a+\mu_{b}\right)",
        "½(40μₐ + 2β·μ_b)",
        r"\tfrac12 \beta^2 \cdot 0.1(\mu_a+\mu_b)",
        "2^-1*40(mu_a + mu_b)",
        "2^2^3 mu_a/12.8 + 20 [mu_b]",
    ],
)
def test_equivalent_expressions_have_the_same_coefficients(text):
    assert READER.coefficients(text) == {"a": 20.0, "b": 20.0}


def test_what_cancels_is_exactly_zero():
    assert READER.coefficients("0.1*3*mu_a - 0.3*mu_a + mu_b") == {"a": 0.0, "b": 1.0}
    assert READER.coefficients("(sqrt(2)*sqrt(3) - sqrt(6))*mu_a + mu_b") == {"a": 0.0, "b": 1.0}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "empty"),
        ("foo*mu_a", "'foo'"),
        ("lambda*mu_a", "lambda has no value"),
        ("v_a", "v_a is not known"),
        ("mu", "ambiguous"),
        ("mu_a2", "'a2' is not known"),
        ("log n mu_a", "log needs brackets"),
        (r"\sqrt[3]{8}mu_a", "braces"),
        ("mu_{a", "at the end"),
        ("beta*(mu_a]", "']' has no place here"),
        ("mu_a*mu_b", "two vectors"),
        ("mu_a/mu_b", "divides by a vector"),
        ("mu_a/0", "divides by zero"),
        ("mu_a/(beta-20)", "divides by zero"),
        ("mu_a^2", "power"),
        ("mu_a+1", "sum of multiples"),
        ("beta", "sum of multiples"),
        ("beta*(mu_a", "cannot be read"),
        ("beta*mu_a)", "cannot be read"),
        ("__import__('os')", "'import'"),
        ("1e999*mu_a", "exponent"),
        ("10**400*mu_a", "exponent"),
        ("exp(exp(exp(20)))*mu_a", "finite"),
        ("log(0)*mu_a", "finite"),
        ("sqrt(-1)*mu_a", "finite"),
        ("sin(1)*mu_a", "sqrt, log and exp"),
        ("mu_a = mu_b", "cannot be read"),
        ("(" * 900 + "mu_a", "cannot be read"),
        ("mu_a+" * 400 + "mu_a", "characters"),
        ("\x00mu_a", "cannot be read"),
    ],
)
def test_what_is_no_combination_is_refused_in_one_line(text, complaint):
    with pytest.raises(InputError) as refusal:
        READER.coefficients(text)
    assert complaint in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_a_missing_beta_is_asked_for_by_its_option():
    with pytest.raises(InputError, match="--beta NUMBER"):
        ExpressionReader(vector="mu", scalars={}).coefficients("beta*mu_a")


@settings(max_examples=300)
@given(st.text(alphabet="bmeta_uv+-*/^(){}\\0123456789. nsqrtloexp=<>γμβ\n\t'\"[];", max_size=60))
def test_any_text_is_read_or_refused(text):
    try:
        found = READER.coefficients(text)
    except InputError:
        return
    assert found


@given(st.dictionaries(st.sampled_from(("a", "b", "c", "o1", "o2")), st.decimals(-1000, 1000, places=3), min_size=1))
def test_written_sums_are_read_back(parts):
    text = " + ".join(f"({factor})*mu_{{{key}}}" for key, factor in parts.items())
    assert READER.coefficients(text) == {key: float(factor) for key, factor in parts.items()}


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("beta*(foo+mu_b)", 7),
        ("β(μ_a + foo)", 9),
        ("½ mu_a + mu_b)", 14),
        ("beta*(mu_a", 6),
        ("mu_a*beta*mu_b", 10),
        ("mu_a/(beta-20)", 5),
        ("mu_a + log(0)*mu_b", 8),
        ("mu_a +", 7),
        ("1 mu_a + " * 60 + "foo", 541),
    ],
)
def test_a_refusal_shows_the_place(text, place):
    with pytest.raises(InputError, match=f"at character {place}:"):
        READER.coefficients(text)


def test_a_long_text_is_shown_around_the_place():
    with pytest.raises(InputError, match=r"^… '.{60}' cannot be read") as refusal:
        READER.coefficients("1 mu_a + " * 60 + "foo")
    assert "foo'" in str(refusal.value)


# -- conditions --------------------------------------------------------------------------------------------------------
ONLY_A = {"a": 0.5}


@pytest.mark.parametrize(
    ("text", "key", "lower", "upper"),
    [
        ("gamma>0", "a", -1, math.inf),
        ("γ > 0", "a", -1, math.inf),
        (r"\gamma_a \ge 0.5", "a", -0.5, math.inf),
        ("gamma_b<=1/2", "b", -math.inf, -0.5),
        ("0<gamma<2", "a", -1, 1),
        ("2>gamma>=0", "a", -1, 1),
        ("gamma > beta/40", "a", -0.5, math.inf),
        ("0 < gamma", "a", -1, math.inf),
    ],
)
def test_conditions_are_read(text, key, lower, upper):
    found = read_condition(text, ONLY_A, {"beta": Fraction(20)})
    assert (found.group, found.lower, found.upper) == (key, lower, upper)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("gamma=1", "probability zero"),
        ("gamma!=0", "probability zero or one"),
        ("2<gamma<1", "probability zero"),
        ("gamma", "compares nothing"),
        (">0", "cannot be read at character 1"),
        ("gamma>0, gamma<1", "cannot be read at character 8"),
        ("beta>0", "exactly one γ"),
        ("gamma>gamma_b", "exactly one γ"),
        ("gamma_a+gamma_b>1", "γ itself"),
        ("2gamma>1", "γ itself"),
        ("gamma>0>-1", "compares two numbers"),
        ("gamma>foo", "'foo'"),
        ("gamma>mu_a", "mu_a"),
        ("gamma>(", "cannot be read"),
        ("", "cannot be read"),
    ],
)
def test_bad_conditions_are_refused(text, complaint):
    with pytest.raises(InputError) as refusal:
        read_condition(text, ONLY_A, {"beta": Fraction(20)})
    assert complaint in str(refusal.value)


@pytest.mark.parametrize("noise", [{}, {"a": 0.5, "b": 0.5}])
def test_gamma_alone_needs_one_random_key(noise):
    with pytest.raises(InputError, match="ambiguous"):
        read_condition("gamma>0", noise, {})
