"""What is typed becomes exact coefficients, or one clear refusal; nothing is ever evaluated as Python."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.core.errors import InputError
from regard.designs.expressions import Reader

READER = Reader(vector="mu", scalars={"beta": Fraction(20), "n": Fraction(10), "s": Fraction("0.1")})


@pytest.mark.parametrize("text", [
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
])  # fmt: skip
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
        Reader(vector="mu", scalars={}).coefficients("beta*mu_a")


@settings(max_examples=300)
@given(st.text(alphabet="bmeta_uv+-*/^(){}\\0123456789. nsqrtloexp=<>γμβ\n\t'\"[];", max_size=60))
def test_any_text_is_read_or_refused(text):
    try:
        found = READER.coefficients(text)
    except InputError:
        return
    assert found


@given(st.dictionaries(st.sampled_from("abcde"), st.decimals(-1000, 1000, places=3), min_size=1))
def test_written_sums_are_read_back(parts):
    text = " + ".join(f"({factor})*mu_{key}" for key, factor in parts.items())
    assert READER.coefficients(text) == {key: float(factor) for key, factor in parts.items()}
