import pytest
from hypothesis import given
from hypothesis import strategies as st

import hostile_text as hostile
from regard.render.formulas import Stretch, cut_formula, equation, equation_parts, scripted, scripted_svg


def rows(source: str, *steps: str) -> list[list[list[tuple[str, tuple[int, ...]]]]]:
    stretches = [
        Stretch(start=source.index(step), end=source.index(step) + len(step), step=number)
        for number, step in enumerate(steps)
    ]
    return [[[(piece.source, piece.steps) for piece in cell] for cell in row] for row in cut_formula(source, stretches)]


def test_a_chain_is_cut_at_its_steps():
    assert rows("a = b = c, d", "a = b", "= c") == [[[("a = b", (0,)), ("= c", (1,)), (", d", ())]]]


def test_rows_and_cells_are_kept():
    source = r"\begin{aligned} Q &= XW = PQ \\[2pt] &\approx R \end{aligned}."
    assert rows(source, "Q &= XW", "= PQ", r"\approx R") == [
        [[("Q", (0,))], [("= XW", (0,)), ("= PQ", (1,))]],
        [[], [(r"\approx R", (2,))]],
    ]


def test_environments_may_stand_in_each_other():
    source = r"\begin{equation} \begin{split} a &= b \end{split} \end{equation}"
    assert rows(source, "a &= b") == [[[("a", (0,))], [("= b", (0,))]]]


def test_a_matrix_is_not_cut():
    source = r"\begin{pmatrix} a & b \\ c & d \end{pmatrix} = M"
    assert rows(source, source) == [[[(source, (0,))]]]


def test_a_step_that_begins_in_a_group_takes_it_whole():
    assert rows(r"\mathbf{1} = I", "1} = I") == [[[(r"\mathbf{1} = I", (0,))]]]
    assert rows(r"x, \frac{a}{b} = c", "b} = c") == [[[("x,", ()), (r"\frac{a}{b} = c", (0,))]]]
    assert rows(r"y = \boxed{a = b}", "a = b") == [[[("y =", ()), (r"\boxed{a = b}", (0,))]]]


def test_steps_that_overlap_share_a_piece():
    assert rows("a = b = c", "a = b", "b = c") == [[[("a = b = c", (0, 1))]]]


def test_an_unbalanced_formula_stays_whole():
    assert rows("a = b } {", "a = b") == [[[("a = b } {", (0,))]]]


@given(st.lists(st.sampled_from([*hostile.FORMULAS, "a = b", "= c"]), max_size=14), st.data())
def test_no_step_is_lost_and_nothing_is_invented(parts, data):
    source = "a = b" + "".join(parts)
    stretches = []
    for number in range(3):
        start = data.draw(st.integers(0, len(source) - 1))
        stretches.append(Stretch(start=start, end=data.draw(st.integers(start + 1, len(source))), step=number))
    pieces = [piece for row in cut_formula(source, stretches) for cell in row for piece in cell]
    assert all(piece.source in source for piece in pieces)
    assert {step for piece in pieces for step in piece.steps} == {0, 1, 2}


def test_a_formula_is_cut_outside_braces_only():
    assert equation_parts(r"a\quad b,\qquad c") == ["a", "b,", "c"]
    assert equation_parts(r"\text{if }x\;\Rightarrow\;y") == [r"\text{if }x", r"\Rightarrow\;y"]
    matrix = r"\begin{pmatrix}a\quad b\end{pmatrix}"
    assert equation_parts(matrix) == [matrix]
    assert equation_parts(r"\left(a\quad b\right)") == [r"\left(a\quad b\right)"]


def test_a_short_formula_keeps_its_relations_and_a_long_one_is_broken_before_them():
    assert equation_parts("a=b") == ["a=b"]
    long = "a_{first}+a_{second}+a_{third}+a_{fourth}+a_{fifth}=b"
    assert equation_parts(long) == [long[:-2], "=b"]


@pytest.mark.parametrize("flawed", [r"\frac{a\quad b", "}", "", r"\left(a"])
def test_a_flawed_formula_is_left_whole(flawed):
    assert equation_parts(flawed) == [flawed]
    assert equation(flawed).startswith('<div class="equation">')


def test_scripts_are_lowered_and_raised_and_the_rest_is_text():
    assert scripted("‖v_i−v_j‖ < e^{−Δ}") == "‖v<sub>i</sub>−v<sub>j</sub>‖ &lt; e<sup>−Δ</sup>"
    assert scripted("max_i x_{2i}") == "max<sub>i</sub> x<sub>2i</sub>"
    assert scripted("float8_e4m3fn, ml_dtypes, __all__") == "float8_e4m3fn, ml_dtypes, __all__"
    assert "<script>" not in scripted("a_{<script>} ^{<script>}")
    assert "<b>" not in scripted_svg("a_{<b>}")
