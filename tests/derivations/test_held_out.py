"""Documents that were written before anyone saw how the judge does on them: zero false alarms, at least 90 % caught."""

import pytest

from derivations.labelled import MUST_HOLD, Judged, judged, paired

FOLDERS = ("held_out", "fresh", "unseen", "fifth")
each_folder = pytest.mark.parametrize("folder", FOLDERS)


def caught(result: Judged) -> float:
    return result.count(("false",), "refuted") / sum(row.truth == "false" for row in result.rows)


@each_folder
def test_no_true_step_is_refuted(folder):
    assert [str(row) for row in judged(folder).rows if row.is_false_alarm] == []


@each_folder
def test_at_least_nine_in_ten_slips_are_caught(folder, record_property):
    result = judged(folder)
    counts = {
        "confirmed": result.count(MUST_HOLD, "holds"),
        "caught": result.count(("false",), "refuted"),
        "missed": sum(row.is_missed for row in result.rows),
        "false alarms": sum(row.is_false_alarm for row in result.rows),
    }
    record_property("counts", counts)
    assert caught(result) >= 0.9, counts


@each_folder
def test_at_least_nine_in_ten_steps_are_understood(folder):
    assert judged(folder).understood >= 0.9


@each_folder
def test_nearly_every_true_step_is_confirmed(folder):
    result = judged(folder)
    assert result.count(MUST_HOLD, "holds") >= 0.95 * sum(row.truth in MUST_HOLD for row in result.rows)


def test_a_judge_of_shuffled_documents_would_be_noticed():
    """Paired with the tests above: the verdicts on one document, held against the labels of another, fail them."""
    first, second = judged("held_out"), judged("fresh")
    labels = [row.label for row in first.rows if row.label["kind"] != "choice"]
    verdicts = [row.verdict for row in second.rows if row.verdict is not None and row.verdict.kind != "choice"]
    pairs = list(zip(labels, verdicts, strict=False))
    assert any(label["truth"] == "true" and verdict.status == "refuted" for label, verdict in pairs)
    num_caught = sum(label["truth"] == "false" and verdict.status == "refuted" for label, verdict in pairs)
    assert num_caught < 0.9 * len(labels)


def test_a_step_that_the_judge_has_not_seen_counts_as_missed():
    labels = [{"line": 1, "left": "a", "sign": "=", "right": "b", "truth": "false", "kind": "step"}]
    assert paired(labels, ()) == [(labels[0], None)]
