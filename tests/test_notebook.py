"""In a notebook: every report shows itself in a frame that runs nothing, and `%%regard` judges a cell."""

import html
import re

import pytest

import regard
from regard.claims.deciding import explain_claim
from regard.core.errors import InputError
from regard.derivations.results import DocumentReport

TEXT = "1.(b) An average of two\n\nTake $q = k_a + k_b$ <script>alert(1)</script>."

LAW = regard.LawVerdict(id="DET", statement="f(x) = f(x)", status="holds", outcome="holds", layer="<identity>")


@pytest.fixture(scope="module")
def reports():
    return {
        "document": regard.verify(TEXT, "cs224n-a4"),
        "verdicts": regard.decide_claims("copy*"),
        "explanation": explain_claim("copy"),
        "design": regard.Scenario(n=6).design("beta*mu_a", beta=20),
        "check": regard.CheckReport(layer="<identity>", spec={}, grade="black-box", blind_to=(), verdicts=(LAW,)),
    }


NAMES = ["document", "verdicts", "explanation", "design", "check"]


@pytest.mark.parametrize("name", NAMES)
def test_a_report_is_shown_in_a_frame_that_runs_nothing(reports, name):
    shown = reports[name]._repr_html_()
    frame = re.fullmatch(r'<iframe title="[^"]+" sandbox="" [^>]* srcdoc="([^"]*)"></iframe>', shown)
    assert frame
    page = html.unescape(frame[1])
    assert page.startswith("<!doctype html>")
    assert "<script" not in page


def test_the_frames_say_what_was_found(reports):
    shown = {name: html.unescape(report._repr_html_()) for name, report in reports.items()}
    assert "1 step refuted" in shown["document"]
    assert "copy-margin" in shown["verdicts"]
    assert "Near miss" in shown["explanation"] or "near miss" in shown["explanation"]
    assert "&lt;identity&gt;" in shown["check"]


def test_a_document_that_could_not_be_judged_is_a_line():
    failed = DocumentReport.failed("a.md", "unreadable", "<a.md> is empty.")
    assert failed._repr_html_() == "<p>&lt;a.md&gt; is empty.</p>"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_frames_and_the_notebook_leave_each_other_alone(browser, reports, scheme):
    said = []
    page = browser.new_page(color_scheme=scheme)
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    around = "<style>p { color: rgb(1, 2, 3); } .step { display: none; }</style><p id=own>x</p>"
    page.set_content(around + "".join(report._repr_html_() for report in reports.values()))
    assert page.locator("#own").evaluate("own => getComputedStyle(own).color") == "rgb(1, 2, 3)"
    inside = page.frame_locator("iframe >> nth=0")
    inside.locator(".step").first.hover()
    assert inside.locator(".card").first.is_visible()
    assert inside.locator(".theme").is_hidden(), "nothing would answer it"
    assert said == []
    page.close()


def test_links_stay_inside_their_frame(browser, reports, tmp_path):
    around = tmp_path / "notebook.html"
    around.write_text(f"<!doctype html><meta charset=utf-8>{reports['document']._repr_html_()}", encoding="utf-8")
    page = browser.new_page()
    page.goto(around.as_uri())
    page.frame_locator("iframe").locator(".questions a").first.click()
    page.frame_locator("iframe").locator("#step-1:target").wait_for()
    assert [frame.url for frame in page.frames] == [around.as_uri(), "about:srcdoc#step-1"]
    page.close()


@pytest.fixture
def ipython():
    shell = pytest.importorskip("IPython.core.interactiveshell", reason="IPython is not installed").InteractiveShell()
    shell.run_line_magic("load_ext", "regard")
    yield shell
    shell.history_manager.end_session()


def test_the_magic_judges_its_cell(ipython):
    report = ipython.run_cell_magic("regard", "--problem cs224n-a4", TEXT)
    assert [verdict.status for verdict in report.verdicts] == ["refuted"]
    assert ipython.run_cell_magic("regard", "--strict --seed 3", "$x = x$").verdicts[0].seed == 3


def test_a_single_line_that_looks_like_a_file_is_text(ipython):
    assert ipython.run_cell_magic("regard", "", "We saw $1 = 1$ in notes.md").counts["holds"] == 1


@pytest.mark.parametrize(("line", "cell"), [("--problem nothing", "$x = x$"), ("", ""), ("--nothing", "$x = x$")])
def test_what_cannot_work_is_one_line(ipython, line, cell, capsys):
    from IPython.core.error import UsageError

    with pytest.raises(UsageError) as raised:
        ipython.run_cell_magic("regard", line, cell)
    assert not isinstance(raised.value, InputError)
    assert str(raised.value).count("\n") <= 1


def test_loading_the_extension_is_what_imports_ipython(python):
    done = python("-c", "import sys, regard; regard.load_ipython_extension; print('IPython' in sys.modules)")
    assert done.stdout == "False\n"
