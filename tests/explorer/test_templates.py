import pytest

from regard.explorer.templates import fill, page_file, with_formulas

PARTS = ("copy", "swing", "shuffle", "positions", "verdicts", "sheet")


def test_formulas_are_typeset_where_they_stand_and_signs_of_html_are_read():
    assert "<mi>γ</mi><mo>&gt;</mo><mn>0</mn>" in with_formulas(r"<p>\(\gamma&gt;0\)</p>")
    assert with_formulas(r"\[a=b\]").startswith('<div class="equation">')


def test_what_is_put_in_is_not_searched_again():
    assert fill("{{a}}{{b}}", {"a": "{{b}}", "b": "2"}) == "{{b}}2"


@pytest.mark.parametrize("name", PARTS)
def test_every_formula_of_the_page_can_be_set(name):
    assert 'class="latex"' not in with_formulas(page_file(f"parts/{name}.html"))
