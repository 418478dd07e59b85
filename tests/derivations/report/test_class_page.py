"""The page of a class: what is in it, that names and formulas stay text, and that it works in a browser."""

from dataclasses import replace
from pathlib import Path

import pytest

from page_checks import Page
from regard.derivations.report.class_page import render_class
from regard.derivations.results import DocumentReport, GradedPart, PersonReason, QuestionRow, Role, StepVerdict

STEP = StepVerdict(
    id="1/1",
    statement="q = k_a",
    status="refuted",
    reason="Does not reach the goal",
    role=Role.DESIGN,
    source="q = k_a",
    question="1",
)
PART = GradedPart(kind="design", asked="c = v", points=4.0, score=4.0, outcome="reached")
ROW = QuestionRow(id="1", title="", state="judged", points=4.0, score=4.0, parts=(PART,))
WORDS = replace(ROW, score=0.0, pending=4.0, reasons=(PersonReason.WORDS,))


def report(file: str, row: QuestionRow = ROW, *steps: StepVerdict) -> DocumentReport:
    return DocumentReport(file=file, problem="p", verdicts=steps, questions=(row,))


FAILED = DocumentReport.failed("in/c.md", "crashed", "why")
CLASS = [
    (report("in/a b.md"), "a b.md.html"),
    (report("in/b.md", replace(ROW, score=0.0), STEP), "b.md.html"),
    (report("in/d.md", replace(ROW, score=2.0), replace(STEP, source="q  =  k_a")), "d.md.html"),
    (report("in/e.md", WORDS), "e.md.html"),
    (FAILED, "c.md.html"),
]


def test_a_row_per_document_and_a_cell_per_question():
    page = render_class(CLASS)
    assert '<a href="a%20b.md.html" title="in/a b.md">a b.md</a>' in page
    assert '<td class="cell full" data-value="4" title="reached, 4 of 4 points">4</td>' in page
    assert "0+4?" in page
    assert "1 could not be judged" in page
    assert "2 need a person" in page


def test_a_student_goes_by_the_folder_of_the_one_document_in_it():
    files = ("ada/answers.md", "bo/one.md", "bo/two.md", "eve.md")
    text = Page(render_class([(report(f"in/{file}"), f"{file}.html") for file in files])).text
    assert [name for name in ("ada/answers.md", "bo/one.md", "bo/two.md", "eve.md") if name in text] == [*files[1:]]
    assert "ada" in text


def test_each_question_has_its_average_unless_nobody_answered_it():
    blank = replace(ROW, id="2", state="unanswered", score=0.0, parts=())
    two = [
        (replace(report(file, row), questions=(row, blank)), f"{file}.html")
        for file, row in (("a.md", ROW), ("b.md", replace(ROW, score=1.0)))
    ]
    text = " ".join(Page(render_class(two)).text.split())
    assert "average2.5" in text
    assert "Nobody answered 2." in text


def test_what_needs_a_person_comes_first_with_its_reason():
    text = Page(render_class(CLASS)).text
    assert "Needs a person (2)" in text
    assert text.index("crashed: why") < text.index("e.md, 4 points pending. 1: part of the answer is in words")
    assert text.index("Needs a person (2)") < text.index("those that lost points")


def test_wrong_steps_are_grouped_with_how_many_made_them():
    page = Page(render_class(CLASS))
    assert "2 documents 1 q=ka Does not reach the goal. b.md, d.md" in " ".join(page.text.split())
    links = {link["href"] for link in page.with_attribute("href")}
    assert links >= {"b.md.html#step-1", "d.md.html#step-1"}, "each leads to the step itself"


def test_hostile_names_and_formulas_stay_text():
    hostile = replace(STEP, source=r"\text{<img src=x onerror=alert(1)>} = \href{javascript:alert(1)}{x}", reason="<i>")
    bad = replace(FAILED, file="<b>", reason="<i>")
    source = render_class([(report('"><script>x</script>.md', ROW, hostile), '"><script>.html'), (bad, "<u>.html")])
    page = Page(source)
    assert len(page.tags("script")) == 1
    assert not page.tags("img")
    assert not page.tags("i")
    assert not [attributes for attributes in page.with_attribute("href") if "javascript" in attributes["href"]]


# -- in a browser ------------------------------------------------------------------------------------------------------
@pytest.fixture
def index(tmp_path) -> Path:
    path = tmp_path / "index.html"
    path.write_text(render_class(CLASS), encoding="utf-8")
    return path


def names(page) -> list[str]:
    return [row.inner_text() for row in page.locator(".matrix tbody tr:visible th").all()]


def test_columns_sort_and_documents_that_could_not_be_judged_stay_last(opened, index):
    with opened(index) as page:
        page.get_by_role("button", name="certain").click()
        assert names(page) == ["b.md", "e.md", "d.md", "a b.md", "c.md"]
        page.get_by_role("button", name="certain").click()
        assert names(page) == ["a b.md", "d.md", "b.md", "e.md", "c.md"]


def test_rows_are_filtered_by_name_and_by_need(opened, index):
    with opened(index) as page:
        page.locator(".find").fill("b.m")
        assert names(page) == ["a b.md", "b.md"]
        page.locator(".find").fill("")
        page.locator("#show-person").check()
        assert names(page) == ["e.md", "c.md"]
        page.locator("#show-wrong").check()
        assert names(page) == ["b.md", "d.md"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_fits_the_screen(opened, index, width, scheme):
    with opened(index, width=width, scheme=scheme) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("width", [1280, 390])
def test_many_questions_do_not_squeeze_the_names(opened, tmp_path, width):
    many = [replace(ROW, id=f"{number}.part") for number in range(40)]
    names = ("ann-with-a-name.md", "b.md")
    path = tmp_path / "index.html"
    students = [(replace(report(name), questions=tuple(many)), f"{name}.html") for name in names]
    path.write_text(render_class(students), encoding="utf-8")
    with opened(path, width=width) as page:
        links = page.locator(".matrix th a").evaluate_all("all => all.map((each) => each.getClientRects().length)")
        heights = page.locator(".matrix tbody th").evaluate_all("all => all.map((each) => each.offsetHeight)")
        assert links == [1, 1]
        assert max(heights) < 60
