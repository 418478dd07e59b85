import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.claims import all_claims
from regard.render.terminal import quantity, spelled

CODE_PAGES = ["ascii", "cp437", "cp850", "cp1252", "latin-1", "gbk", "utf-8"]


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("β ≥ 0, σ² = ½", "beta >= 0, sigma^2 = 1/2"),
        ("Φ(√2)Φ(−√2)", "Phi(sqrt2)Phi(-sqrt2)"),
        ("k_iᵀq, e^{−Δ}, ‖c−v‖", "k_i^Tq, e^{-Delta}, ||c-v||"),
        ("x₁ ≠ x₂ … naïve z̄", "x_1 != x_2 ... naive z"),
    ],
)
def test_signs_are_spelled_as_one_would_type_them(text, plain):
    assert spelled(text, "ascii") == plain


@given(st.text(), st.sampled_from(CODE_PAGES))
def test_whatever_comes_out_can_be_written_and_steers_nothing(text, encoding):
    plain = spelled(text, encoding)
    plain.encode(encoding)
    assert "\x1b" not in plain
    assert "\r" not in plain


@given(st.text(alphabet=st.characters(categories=["L", "N", "P", "S"])))
def test_a_terminal_that_knows_all_signs_is_given_all_signs(text):
    assert spelled(text, "utf-8") == text


def test_no_sign_of_the_catalog_is_lost():
    for claim in all_claims().values():
        for text in (claim.statement, claim.derivation, claim.domain, claim.source):
            assert spelled(text, "ascii").count("?") == text.count("?"), text


@pytest.mark.parametrize(
    ("value", "bound", "text"),
    [
        (None, None, ""),
        (0.22201862792, None, "0.222019"),
        (0.22201862792, 1e-30, "0.222019 ± 1e-30"),
        (6.0288706734e-5, 1e-7, "6.029e-5 ± 1e-7"),
        (1.5e30, None, "1.5e30"),
        (64.2, 10.0, "64 ± 10"),
        (131072.0, 2.0, "131072 ± 2"),
        (0.49691, 0.003, "0.4969 ± 0.003"),
        (13.79999, 2e-7, "13.8 ± 2e-7"),
        (0.0, 1e-9, "0 ± 1e-9"),
        (0.5, 0.0, "0.5 ± 0"),
        (710.0, 0.0, "710 ± 0"),
        (float("nan"), 1.0, "nan"),
        (1e-20, 1e-3, "1e-20 ± 0.001"),
    ],
)
def test_a_value_is_shown_to_the_digits_that_are_known(value, bound, text):
    assert quantity(value, bound) == text


@given(st.floats() | st.none(), st.floats(min_value=0) | st.none())
def test_any_numbers_can_be_shown(value, bound):
    assert len(quantity(value, bound)) <= 24
