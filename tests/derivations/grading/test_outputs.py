import csv
import io
from contextlib import closing
from pathlib import Path

import pytest

from regard.core.errors import InputError
from regard.core.verdict import Place
from regard.derivations.grading.outputs import OutputPaths, ResultsFile, csv_lines
from regard.derivations.results import (
    DocumentReport,
    GradedPart,
    PersonReason,
    Placed,
    QuestionRow,
    Role,
    StepVerdict,
    SubmittedFile,
)

VERDICT = StepVerdict(
    id="1b/1",
    statement="q = β",
    status="refuted",
    assumes=("a",),
    value=float("inf"),
    role=Role.DESIGN,
    source="q",
    question="1b",
    where=Place(file="a\nb.md", line=3, column=4),
)
ROW = QuestionRow(
    id="1b",
    title="t",
    state="judged",
    points=4.0,
    score=2.5,
    pending=1.5,
    parts=(GradedPart(kind="design", asked="c = v", points=4.0, score=2.5, pending=1.5, outcome="open"),),
    reasons=(PersonReason.WORDS,),
    placed=Placed.BY_HEADING,
    counts={"refuted": 1},
    claims=("copy",),
)
FILES = (SubmittedFile(name="a.pdf", outcome="unreadable", reason="It is a PDF."),)
REPORT = DocumentReport(file="a\nb.md", problem="p", verdicts=(VERDICT,), questions=(ROW,), seconds=0.5, files=FILES)


# -- results file ------------------------------------------------------------------------------------------------------
def opened(path: Path, *, keeps_old: bool) -> closing[ResultsFile]:
    return closing(ResultsFile(path, keeps_old=keeps_old))


def test_reports_come_back_as_they_went_in(tmp_path):
    with opened(tmp_path / "l.jsonl", keeps_old=False) as results:
        results["a"] = REPORT
        results["b"] = DocumentReport.failed("x", "crashed", "why")
        assert results["a"] == REPORT
    with opened(tmp_path / "l.jsonl", keeps_old=True) as results:
        assert "a" in results
        assert "c" not in results
        assert results["a"] == REPORT
        assert results["b"].outcome == "crashed"


def test_a_torn_last_line_is_ignored_and_the_next_report_is_safe(tmp_path):
    path = tmp_path / "l.jsonl"
    with opened(path, keeps_old=False) as results:
        results["a"] = REPORT
        results["b"] = REPORT
    path.write_bytes(path.read_bytes()[:-30])
    with opened(path, keeps_old=True) as results:
        assert "b" not in results
        results["c"] = REPORT
    with opened(path, keeps_old=True) as results:
        assert results["a"] == results["c"] == REPORT
        assert "b" not in results


@pytest.mark.parametrize(
    "foreign", [b"\xff\x00\n", b"[]\n", b"{}\n", b'{"key": 1, "report": {}}\n', b"null\n", b"{" * 5000]
)
def test_foreign_lines_are_ignored(tmp_path, foreign):
    path = tmp_path / "l.jsonl"
    path.write_bytes(foreign)
    with opened(path, keeps_old=True) as results:
        results["a"] = REPORT
        assert results["a"] == REPORT


def test_the_last_report_of_a_key_counts(tmp_path):
    with opened(tmp_path / "l.jsonl", keeps_old=False) as results:
        results["a"] = DocumentReport.failed("x", "timed out", "why")
        results["a"] = REPORT
        assert results["a"] == REPORT


def test_a_results_file_that_cannot_be_opened_is_one_clear_line(tmp_path):
    with pytest.raises(InputError, match="Cannot write"):
        ResultsFile(tmp_path / "no" / "l.jsonl", keeps_old=False)


def test_a_new_run_forgets_the_old_results(tmp_path):
    with opened(tmp_path / "l.jsonl", keeps_old=False) as results:
        results["a"] = REPORT
    with opened(tmp_path / "l.jsonl", keeps_old=False) as results:
        assert "a" not in results


# -- paths -------------------------------------------------------------------------------------------------------------
def test_html_goes_to_a_file_or_a_folder(tmp_path):
    assert OutputPaths(html=tmp_path / "a.html").page == tmp_path / "a.html"
    assert OutputPaths(html=tmp_path / "a").pages == tmp_path / "a"
    assert OutputPaths(html=tmp_path).pages == tmp_path
    (tmp_path / "file").write_text("")
    assert OutputPaths(html=tmp_path / "file").page == tmp_path / "file"
    assert OutputPaths().pages is None


def test_the_results_file_is_beside_the_outputs(tmp_path):
    assert OutputPaths(gradescope=tmp_path, csv=tmp_path / "c.csv").results == tmp_path / "regard-results.jsonl"
    assert OutputPaths(csv=tmp_path / "c.csv").results == tmp_path / "c.csv.regard-results.jsonl"
    assert OutputPaths().results is None


# -- CSV ---------------------------------------------------------------------------------------------------------------
def table(reports, questions) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO("".join(csv_lines(reports, questions)), newline="")))


def named(file: str) -> DocumentReport:
    return DocumentReport(file=file)


def test_a_row_per_submission_and_four_columns_per_question():
    [row] = table([REPORT], ["1b", "2"])
    assert (row["file"], row["holds"], row["refuted"], row["understood"]) == ("a b.md", "0", "1", "1.0")
    assert (row["score"], row["max_score"]) == ("2.5", "4.0")
    assert (row["1b state"], row["1b score"], row["2 state"], row["2 score"]) == ("judged", "2.5", "", "")
    assert (row["pending"], row["person"], row["1b pending"], row["1b person"]) == ("1.5", "words", "1.5", "words")


@pytest.mark.parametrize("name", ["=1+1.md", "+x.md", "-x.md", "@x.md", "\t=x.md", "\r=x.md", "=cmd|' /C calc'!A0.md"])
def test_no_cell_is_a_formula(name):
    [row] = table([named(name)], [])
    assert row["file"].startswith("'")


def test_names_with_quotes_commas_and_breaks_stay_in_their_cell():
    names = ['a",b.md', "a\nb.md", "名字.md", "a\udcffb.md"]
    found = [row["file"] for row in table(map(named, names), [])]
    assert found == [names[0], "a b.md", names[2], "a?b.md"]


def test_a_document_that_could_not_be_judged_has_a_reason():
    [row] = table([DocumentReport.failed("a.md", "unreadable", "it is empty.")], ["1b"])
    assert (row["outcome"], row["reason"], row["1b state"]) == ("unreadable", "it is empty.", "")
    assert row["person"] == "unreadable file"
