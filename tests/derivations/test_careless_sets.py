"""Documents as careless people write them: nearly every refutation is right, and a good part of the slips is caught."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]


@pytest.mark.parametrize(
    ("name", "least_right", "least_caught"), [("careless_homework", 0.96, 0.62), ("careless_notes", 1.0, 0.1)]
)
def test_nearly_every_refutation_is_right_and_slips_are_caught(
    python: Callable, name: str, least_right: float, least_caught: float
) -> None:
    """One document in three, in a process of its own: signatures that are executed make a judge ten times as slow."""
    run = python("-m", "derivations.careless", name, "3", PYTHONPATH=f"{TESTS.parent / 'src'}:{TESTS}")
    assert run.returncode == 0, run.stderr
    score = json.loads(run.stdout)
    num_refuted = score["num_right"] + len(score["false_alarms"])
    assert score["num_right"] >= least_right * num_refuted > 0, score["false_alarms"]
    assert len(score["missed"]) <= (1 - least_caught) * score["num_false"], score["missed"]
