"""SARIF logs: valid, with places that hold what they say, and fingerprints that survive edits elsewhere."""

import json
from pathlib import Path

import jsonschema
import pytest

import regard
from regard.cli import main
from regard.conformance.report import reports_as_sarif as checked_as_sarif
from regard.conformance.verdict import CheckReport, Diagnosis, LawVerdict
from regard.derivations.report.sarif import reports_as_sarif
from regard.derivations.results import DocumentReport
from sarif_schema import SARIF_SCHEMA

HEAD = "1.(a) Copying in attention\n\nA large score.\n\n1.(b) An average of two\n\n"
STEPS = """Take 𝔻 $q = k_a + k_b$.

$$
k_a^\\top q
= 7
$$

<!-- regard: ignore as in the book -->
So $k_b^\\top q = 9$, and $\\mathfrak{Z}_{77} = \\heartsuit$.
"""


def run_of(text: str) -> dict:
    log = json.loads(text)
    jsonschema.validate(log, SARIF_SCHEMA)
    [run] = log["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert [rules[result["ruleIndex"]] for result in run["results"]] == [result["ruleId"] for result in run["results"]]
    return run


@pytest.fixture
def sheet(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def sheet(text: str) -> list[dict]:
        Path("my notes.md").write_text(text, encoding="utf-8")
        main(["verify", "my notes.md", "--sarif", "out.sarif"])
        return run_of(Path("out.sarif").read_text(encoding="utf-8"))["results"]

    return sheet


def test_each_result_has_its_level_its_rule_and_the_counterexample(sheet):
    design, *steps = sheet(HEAD + STEPS)
    assert (design["ruleId"], design["level"]) == ("design", "error")
    assert "Counterexample: at n = 10" in design["message"]["text"]
    assert {step["ruleId"] for step in steps} == {"step"}
    ignored = [step for step in steps if "suppressions" in step]
    assert [(step["level"], step["suppressions"]) for step in ignored] == [
        ("note", [{"kind": "inSource", "justification": "Ignored by a comment: as in the book"}])
    ] * 2


def test_a_region_holds_the_step_counted_in_code_points(sheet):
    lines = (HEAD + STEPS).split("\n")
    found = []
    for result in sheet(HEAD + STEPS):
        place = result["locations"][0]["physicalLocation"]
        assert place["artifactLocation"]["uri"] == "my%20notes.md"
        region = place["region"]
        text = "\n".join(lines[region["startLine"] - 1 : region["endLine"]])
        tail = len(lines[region["endLine"] - 1]) - (region["endColumn"] - 1)
        found.append(text[region["startColumn"] - 1 : len(text) - tail])
    assert found == ["q = k_a + k_b", "k_a^\\top q\n= 7", "k_b^\\top q = 9", "\\mathfrak{Z}_{77} = \\heartsuit"]


def test_fingerprints_differ_and_do_not_move_with_the_lines(sheet):
    text = HEAD + STEPS + "\nSo $k_b^\\top q = 9$.\n"
    before, after = sheet(text), sheet(HEAD + "A line more.\n\n" + STEPS + "\nSo $k_b^\\top q = 9$.\n")
    marks = [[tuple(result["partialFingerprints"].items()) for result in results] for results in (before, after)]
    assert marks[0] == marks[1]
    assert len(set(marks[0])) == len(before) == 5


def test_a_document_that_can_not_be_judged_is_an_error():
    report = DocumentReport.failed("a.md", "timed out", "it took too long")
    [result] = run_of(reports_as_sarif([report]))["results"]
    assert (result["ruleId"], result["level"], result["message"]["text"]) == (
        "document",
        "error",
        "timed out: it took too long",
    )


def test_a_document_without_findings_gives_an_empty_log():
    run = run_of(reports_as_sarif([regard.verify("$1 + 1 = 2$")]))
    assert (run["results"], run["tool"]["driver"]["rules"]) == ([], [])


def law(name: str, outcome: str, **more) -> LawVerdict:
    status = {"refuted": "refuted", "expected failure": "refuted", "holds": "holds"}.get(outcome, "undecided")
    return LawVerdict(id=name, statement="a law", status=status, outcome=outcome, layer="attn.py:Attention", **more)


def test_broken_laws_are_errors_and_expected_failures_are_suppressed():
    verdicts = (
        law("CAUSAL", "refuted", counterexample="x differs", diagnosis=(Diagnosis("mask", "off by one"),)),
        law("EMPTY", "expected failure", reason="our issue 12"),
        law("PAD", "holds"),
        law("JUNK", "skipped", reason="no mask"),
        law("HANGS", "timed out", reason="it took too long"),
    )
    report = CheckReport(layer="attn.py:Attention", spec={}, grade="black-box", blind_to=(), verdicts=verdicts)
    causal, empty, hangs = run_of(checked_as_sarif([report]))["results"]
    assert [each["ruleId"] for each in (causal, empty, hangs)] == ["CAUSAL", "EMPTY", "HANGS"]
    assert [each["level"] for each in (causal, empty, hangs)] == ["error", "note", "error"]
    assert causal["message"]["text"] == "attn.py:Attention: a law. x differs. Probable bug: mask: off by one"
    assert causal["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "attn.py"
    assert empty["suppressions"] == [{"kind": "external", "justification": "our issue 12"}]
    assert "suppressions" not in causal
