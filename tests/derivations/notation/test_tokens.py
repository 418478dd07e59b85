"""Tokens know what they are and where they stand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.derivations.notation.tokens import MAX_SOURCE, NotUnderstood, tokenize


def texts(source: str) -> list[str]:
    return [token.text for token in tokenize(source)]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (r"k_a^\top q", ["k", "_", "a", "^", "\\top", "q"]),
        ("α_a ≈ ½", ["\\alpha", "_", "a", "≈", "\\frac", "1", "2"]),
        (r"exp(x) + softmax(y)", ["exp", ")", "x", ")", "+", "softmax", ")", "y", ")"]),
        (r"x \not= y", ["x", "≠", "y"]),
        (r"\left( x \right)", [")", "x", ")"]),
        (r"a \\[2pt] b", ["a", "\\\\", "b"]),
        (r"x % a remark" + "\n= y", ["x", "=", "y"]),
        (r"K^{\intercal}", ["K", "^", "\\top"]),
    ],
)
def test_sources_are_cut_where_a_reader_would(source, expected):
    assert texts(source) == expected


def test_prose_inside_a_formula_is_one_token():
    kinds = [(token.kind, token.text) for token in tokenize(r"\text{所以 } c")]
    assert kinds == [("text", "所以 "), ("letter", "c")]


def test_the_bold_one_keeps_its_font():
    assert tokenize(r"\mathbf{1}")[0].font == "bold"
    assert tokenize("1")[0].font == ""


def test_an_unclosed_brace_is_placed():
    with pytest.raises(NotUnderstood) as caught:
        tokenize(r"x = \text{so")
    assert caught.value.start == 9


def test_a_formula_that_is_too_long_is_refused():
    with pytest.raises(NotUnderstood, match="at most"):
        tokenize("x" * (MAX_SOURCE + 1))


@given(st.text(alphabet=r"\{}_^&=<>()[]|$%abcβ12 ,;.'" + "\n", max_size=120))
def test_any_text_gives_tokens_in_order_or_is_refused(source):
    try:
        tokens = tokenize(source)
    except NotUnderstood:
        return
    starts = [token.start for token in tokens]
    assert starts == sorted(starts)
    assert all(0 <= token.start <= token.end <= len(source) for token in tokens)
