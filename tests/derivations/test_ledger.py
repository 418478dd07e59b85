import pytest

from regard.core.errors import InputError
from regard.core.verdict import Place, StepVerdict
from regard.derivations.ledger import Ledger
from regard.derivations.reports import DocumentReport
from regard.derivations.sheet import QuestionRow

VERDICT = StepVerdict(
    id="1b/1", statement="q = β", status="refuted", assumes=("a",), value=float("inf"), kind="design", source="q",
    question="1b", where=Place(file="a\nb.md", line=3, column=4),
)  # fmt: skip
ROW = QuestionRow(id="1b", title="t", state="judged", points=2.0, counts={"refuted": 1}, claims=("copy",))
REPORT = DocumentReport(file="a\nb.md", problem="p", verdicts=(VERDICT,), questions=(ROW,), seconds=0.5)


def test_reports_come_back_as_they_went_in(tmp_path):
    with Ledger(tmp_path / "l.jsonl", keeps_old=False) as ledger:
        ledger.add("a", REPORT)
        ledger.add("b", DocumentReport.failed("x", "crashed", "why"))
        assert ledger["a"] == REPORT
    with Ledger(tmp_path / "l.jsonl", keeps_old=True) as ledger:
        assert "a" in ledger
        assert "c" not in ledger
        assert ledger["a"] == REPORT
        assert ledger["b"].outcome == "crashed"


def test_a_torn_last_line_is_ignored_and_the_next_report_is_safe(tmp_path):
    path = tmp_path / "l.jsonl"
    with Ledger(path, keeps_old=False) as ledger:
        ledger.add("a", REPORT)
        ledger.add("b", REPORT)
    path.write_bytes(path.read_bytes()[:-30])
    with Ledger(path, keeps_old=True) as ledger:
        assert "b" not in ledger
        ledger.add("c", REPORT)
    with Ledger(path, keeps_old=True) as ledger:
        assert ledger["a"] == ledger["c"] == REPORT
        assert "b" not in ledger


@pytest.mark.parametrize(
    "foreign", [b"\xff\x00\n", b"[]\n", b"{}\n", b'{"key": 1, "report": {}}\n', b"null\n", b"{" * 5000]
)
def test_foreign_lines_are_as_good_as_none(tmp_path, foreign):
    path = tmp_path / "l.jsonl"
    path.write_bytes(foreign)
    with Ledger(path, keeps_old=True) as ledger:
        ledger.add("a", REPORT)
        assert ledger["a"] == REPORT


def test_the_last_report_of_a_key_counts(tmp_path):
    with Ledger(tmp_path / "l.jsonl", keeps_old=False) as ledger:
        ledger.add("a", DocumentReport.failed("x", "timed out", "why"))
        ledger.add("a", REPORT)
        assert ledger["a"] == REPORT


def test_a_ledger_that_cannot_be_opened_is_one_clear_line(tmp_path):
    with pytest.raises(InputError, match="Cannot write"):
        Ledger(tmp_path / "no" / "l.jsonl", keeps_old=False)


def test_starting_afresh_forgets(tmp_path):
    with Ledger(tmp_path / "l.jsonl", keeps_old=False) as ledger:
        ledger.add("a", REPORT)
    with Ledger(tmp_path / "l.jsonl", keeps_old=False) as ledger:
        assert "a" not in ledger
