"""What the documentation shows works, and it leaves out no field and no option."""

import re
from pathlib import Path
from typing import get_args

import pytest

from regard.derivations.cli import verify
from regard.derivations.context.verdicts import StepOutcome
from regard.derivations.judging.setting import Assumption
from regard.derivations.problems.answers import read_answers
from regard.derivations.problems.checking import PROBLEM, ListOf, TableOf, TableShape
from regard.derivations.report.problems import check_problem
from regard.derivations.results import Role
from regard.derivations.verify import judge_document
from regard.derivations.verify import verify as judge

DOCS = Path(__file__).parents[1] / "docs"


def read(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def blocks(name: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", read(name), re.DOTALL)


def fields(shape) -> set[str]:
    if isinstance(shape, TableShape):
        return set(shape.fields).union(*map(fields, shape.fields.values()))
    inner = shape.item if isinstance(shape, ListOf) else shape.value if isinstance(shape, TableOf) else None
    return fields(inner) if inner else set()


@pytest.fixture
def example(tmp_path):
    path = tmp_path / "projections.toml"
    path.write_text(blocks("problems.md", "toml")[0], encoding="utf-8")
    return path


def test_the_worked_problem_is_sound(example):
    assert check_problem(str(example)) == []


def test_the_worked_answer_is_judged_as_the_page_says(example):
    report = judge(blocks("problems.md", "markdown")[0], str(example))
    assert [verdict.status for verdict in report.verdicts] == ["holds"] * 4 + ["refuted"]
    assert "0.8" in report.verdicts[-1].counterexample


def test_every_field_and_assumption_of_a_problem_is_explained():
    text = read("problems.md")
    assert [field for field in fields(PROBLEM) if not re.search(rf"\b{field}\b", text)] == []
    assert [assumption for assumption in Assumption if f"`{assumption}`" not in text] == []


def test_the_answers_in_fields_are_judged():
    answers = read_answers(blocks("verify.md", "toml")[0])
    assert {verdict.status for verdict in judge_document(answers.document, answers.problem).verdicts} == {"holds"}


def test_every_option_of_verify_is_explained():
    text = read("verify.md")
    options = [option for parameter in verify.params for option in parameter.opts if option.startswith("--")]
    assert len(options) > 15
    assert [option for option in options if option not in text] == []


def test_every_role_and_outcome_of_a_step_is_explained():
    assert [role.value for role in Role if f"`{role.value}`" not in read("judging.md")] == []
    assert [role.value for role in Role if f"`{role.value}`" not in read("json.md")] == []
    assert [outcome for outcome in get_args(StepOutcome) if f"`{outcome}`" not in read("json.md")] == []


def test_the_worked_step_is_judged_as_the_page_says():
    found = judge(blocks("judging.md", "markdown")[0], "cs224n-a4").verdicts
    assert [(step.role, step.standing) for step in found] == [
        (Role.WANTED, "given"),
        (Role.DESIGN, "holds"),
        (Role.ASSERTION, "holds"),
        (Role.ASSERTION, "refuted"),
        (Role.ASSERTION, "holds"),
    ]
