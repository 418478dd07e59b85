"""The gold documents: nothing true is refuted, everything false is."""

from dataclasses import replace

import pytest

from derivations.labelled import MUST_HOLD, Row, judged


@pytest.fixture(scope="module")
def rows() -> tuple[Row, ...]:
    return judged("gold").rows


def test_every_labelled_step_has_a_verdict(rows):
    assert [str(row) for row in rows if row.verdict is None] == []


def test_no_true_step_is_refuted(rows):
    assert [str(row) for row in rows if row.is_false_alarm] == []


def test_every_false_step_is_refuted(rows):
    assert [str(row) for row in rows if row.is_missed] == []


def test_every_true_step_is_confirmed(rows):
    assert [str(row) for row in rows if row.truth in MUST_HOLD and row.status != "holds"] == []


def test_both_kinds_are_there_in_numbers(rows):
    truths = [row.truth for row in rows]
    assert truths.count("false") > 100
    assert sum(truth in MUST_HOLD for truth in truths) > 200


def test_the_counts_notice_a_judge_that_says_the_opposite(rows):
    """Paired with the tests above: the same rows with their labels turned round fail them."""
    turned = {"true": "false", "false": "true"}
    wrong = [replace(row, label={**row.label, "truth": turned.get(row.truth, row.truth)}) for row in rows]
    assert any(row.is_false_alarm for row in wrong)
    assert any(row.is_missed for row in wrong)


def test_every_refutation_shows_an_instance(rows):
    refuted = [row.verdict for row in rows if row.verdict is not None and row.status == "refuted"]
    assert all(verdict.counterexample and verdict.reason for verdict in refuted)
