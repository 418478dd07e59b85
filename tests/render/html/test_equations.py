import pytest

from regard.render.html.equations import equation, parts
from regard.render.html.scripts import scripted, scripted_svg


def test_a_formula_is_cut_outside_braces_only():
    assert parts(r"a\quad b,\qquad c") == ["a", "b,", "c"]
    assert parts(r"\text{if }x\;\Rightarrow\;y") == [r"\text{if }x", r"\Rightarrow\;y"]
    matrix = r"\begin{pmatrix}a\quad b\end{pmatrix}"
    assert parts(matrix) == [matrix]
    assert parts(r"\left(a\quad b\right)") == [r"\left(a\quad b\right)"]


def test_a_short_formula_keeps_its_relations_and_a_long_one_is_broken_before_them():
    assert parts("a=b") == ["a=b"]
    long = "a_{first}+a_{second}+a_{third}+a_{fourth}+a_{fifth}=b"
    assert parts(long) == [long[:-2], "=b"]


@pytest.mark.parametrize("flawed", [r"\frac{a\quad b", "}", "", r"\left(a"])
def test_a_flawed_formula_is_left_whole(flawed):
    assert parts(flawed) == [flawed]
    assert equation(flawed).startswith('<div class="equation">')


def test_scripts_are_lowered_and_raised_and_the_rest_is_text():
    assert scripted("‖v_i−v_j‖ < e^{−Δ}") == "‖v<sub>i</sub>−v<sub>j</sub>‖ &lt; e<sup>−Δ</sup>"
    assert scripted("max_i x_{2i}") == "max<sub>i</sub> x<sub>2i</sub>"
    assert scripted("float8_e4m3fn, ml_dtypes, __all__") == "float8_e4m3fn, ml_dtypes, __all__"
    assert "<script>" not in scripted("a_{<script>} ^{<script>}")
    assert "<b>" not in scripted_svg("a_{<b>}")
