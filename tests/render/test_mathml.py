import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hostile_text as hostile
from regard.render.mathml import in_alphabet, typeset


def inner(latex: str, *, is_display: bool = False) -> str:
    return re.sub("^<math[^>]*>|</math>$", "", typeset(latex, is_display=is_display))


@pytest.mark.parametrize(
    ("latex", "mathml"),
    [
        (r"\beta", "<mi>β</mi>"),
        (r"k_a^\top", '<msubsup><mi>k</mi><mi>a</mi><mi mathvariant="normal">⊤</mi></msubsup>'),
        (r"\frac12", "<mfrac><mn>1</mn><mn>2</mn></mfrac>"),
        (r"\mathbf{1}", "<mn>𝟏</mn>"),
        (r"\mathrm{ReLU}", "<mrow><mi>ReLU</mi></mrow>"),
        ("softmax", "<mrow><mi>softmax</mi></mrow>"),
        (r"\text{softmax}", "<mi>softmax</mi>"),
        (r"\cos t", '<mrow><mi>cos</mi><mspace width="0.167em"></mspace><mi>t</mi></mrow>'),
        (r"\overline{z}", '<mrow class="overline"><mi>z</mi></mrow>'),
        (r"\langle", '<mo stretchy="false">⟨</mo>'),
        ("a∈b", "<mrow><mi>a</mi><mo>∈</mo><mi>b</mi></mrow>"),
        (r"\Sigma", '<mi mathvariant="normal">Σ</mi>'),
        (r"\not= x", "<mrow><mo>≠</mo><mi>x</mi></mrow>"),
        (r"x \label{eq:1} \tag{3}", "<mi>x</mi>"),
        (r"\text{<b>}", "<mtext>&lt;b&gt;</mtext>"),
    ],
)
def test_formulas_are_set_as_browsers_lay_them_out(latex, mathml):
    assert inner(latex) == mathml


def test_limits_stand_below_in_a_display():
    assert inner(r"\lim_{x} y", is_display=True).startswith('<mrow><munder><mo movablelimits="true">lim</mo>')
    assert "<munderover><mo>∑</mo>" in inner(r"\sum_{i=1}^n", is_display=True)


def test_a_transposed_matrix_can_be_set():
    assert "<code" not in inner(r"\begin{bmatrix} a & b \\ c & d \end{bmatrix}^\top")


def test_every_letter_of_an_alphabet_has_its_own_sign():
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    for variant in ("bold", "bold-italic", "script", "fraktur", "double-struck", "sans-serif", "monospace"):
        assert not set(in_alphabet(letters, variant)) & set(letters), variant
    assert in_alphabet("x设1", "script") == "𝓍设1"


@pytest.mark.parametrize("latex", [r"\frac{", "a_", r"\left(", r"\def\a{\a}\a", r"\href{x}{y}", "{" * 200 + "}" * 200])
def test_what_cannot_be_set_is_shown_as_written(latex):
    assert typeset(latex, is_display=False).startswith('<code class="latex">')


def test_a_huge_formula_takes_no_time():
    start = time.perf_counter()
    for source in ("x+" * 50_000, "{" * 50_000, r"\sqrt" * 20_000, "^" * 20_000, r"\left(" * 20_000):
        assert typeset(source, is_display=True).startswith("<code")
    assert time.perf_counter() - start < 2


@given(st.lists(st.sampled_from(hostile.FORMULAS), max_size=12), st.booleans())
def test_only_mathematics_comes_out(pieces, is_display):
    shown = typeset("".join(pieces), is_display=is_display)
    tags = set(re.findall(r"<\s*/?\s*([^\s>/]*)", shown))
    assert all(re.fullmatch("m[a-z]+|code", tag) for tag in tags), tags
    assert not re.search(
        r'<[^>]*\s(?!class="(?:latex|align-\w+|boxed|overline)")(?:on\w+|href|src|style|class)=', shown
    )
