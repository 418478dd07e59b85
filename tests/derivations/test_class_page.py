from regard.derivations.class_list import DocumentRow
from regard.derivations.class_page import render_class

COUNTS = {"proved": 1, "holds": 3, "refuted": 2, "undecided": 0}


def row(file: str, outcome="judged", reason=None) -> DocumentRow:
    return DocumentRow(
        file=file, outcome=outcome, reason=reason, problem="p", is_guessed=False, counts=COUNTS, understood=0.999,
        score=2.5, max_score=4.0,
    )  # fmt: skip


def test_a_row_and_a_link_for_each_document():
    page = render_class([(row("in/a b.md"), "a b.md.html"), (row("in/c.md", "crashed", "why"), "c.md.html")])
    assert '<a href="a%20b.md.html" title="in/a b.md">a b.md</a>' in page
    assert "<td>2</td><td>0</td><td>4</td><td>99 %</td><td>2.5 of 4</td>" in page
    assert "crashed: why" in page
    assert "1 could not be judged" in page


def test_hostile_names_stay_text():
    page = render_class(
        [(row('"><script>x</script>.md'), '"><script>.html'), (row("<b>", "crashed", "<i>"), "<u>.html")]
    )
    assert "<script>x" not in page
    assert "<i>" not in page
    assert "<u>" not in page
