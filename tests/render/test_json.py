import json
import math

import jsonschema
import pytest

from regard.claims import ClaimVerdict
from regard.core.verdict import Evidence, Place, Verdict
from regard.derivations.results import Role, StepVerdict
from regard.render.json import as_json, document, schema

EVIDENCE = Evidence(method="algebra", status="proved", detail="an identity", value=0.5, bound=math.inf)
CLAIM = ClaimVerdict(
    id="copy",
    statement="β ≥ 0",
    status="proved",
    assumes=("π is irrational",),
    value=math.nan,
    bound=-math.inf,
    seed=0,
    expected="proved",
    evidence=(EVIDENCE,),
)
STEP = StepVerdict(
    id="answers.md:3:1",
    statement="x = x",
    status="holds",
    role=Role.ASSERTION,
    source="x=x",
    question="1(a)",
    where=Place(file="answers.md", line=3, column=1),
    probability=0.999,
)


def is_valid(row: dict) -> bool:
    return jsonschema.Draft202012Validator(schema()).is_valid(row)


def test_the_schema_is_a_schema():
    jsonschema.Draft202012Validator.check_schema(schema())


@pytest.mark.parametrize(("command", "verdict"), [("claims", CLAIM), ("verify", STEP)])
def test_documents_meet_the_schema(command, verdict):
    assert is_valid(json.loads(as_json(command, [verdict, verdict])))


def test_an_empty_run_meets_the_schema():
    assert is_valid(document("claims", []))


def test_what_json_cannot_write_becomes_null():
    [row] = document("claims", [CLAIM])["verdicts"]
    assert row["value"] is None
    assert row["bound"] is None
    assert row["evidence"][0]["bound"] is None
    assert row["evidence"][0]["value"] == 0.5


def test_counts_add_up():
    assert document("claims", [CLAIM, CLAIM])["counts"] == {"proved": 2, "holds": 0, "refuted": 0, "undecided": 0}


def test_signs_are_kept_unless_ascii_is_asked_for():
    assert "β ≥ 0" in as_json("claims", [CLAIM])
    ascii_only = as_json("claims", [CLAIM], is_ascii=True)
    assert ascii_only.isascii()
    assert json.loads(ascii_only) == json.loads(as_json("claims", [CLAIM]))


@pytest.mark.parametrize(
    "spoil",
    [
        lambda doc: doc.update(schema="regard/2"),
        lambda doc: doc.update(command="guess"),
        lambda doc: doc.pop("counts"),
        lambda doc: doc["counts"].pop("holds"),
        lambda doc: doc["counts"].update(proved=-1),
        lambda doc: doc["verdicts"][0].update(status="maybe"),
        lambda doc: doc["verdicts"][0].pop("where"),
        lambda doc: doc["verdicts"][0].pop("expected"),
        lambda doc: doc["verdicts"][0].update(value="0.5"),
        lambda doc: doc["verdicts"][0].update(probability=1.5),
        lambda doc: doc["verdicts"][0].update(where={"file": "a", "line": 0, "column": 1}),
        lambda doc: doc["verdicts"][0]["evidence"][0].pop("detail"),
    ],
)
def test_the_schema_refuses_what_is_not_a_document(spoil):
    spoiled = document("claims", [CLAIM])
    spoil(spoiled)
    assert not is_valid(spoiled)


def test_a_verdict_may_have_further_fields():
    extended = document("claims", [CLAIM])
    extended["verdicts"][0]["difficulty"] = "hard"
    assert is_valid(extended)


def test_a_plain_verdict_is_no_claim():
    assert not is_valid(document("claims", [Verdict(id="a", statement="s", status="holds")]))


def test_the_schema_lists_every_role():
    assert schema()["$defs"]["verdict"]["properties"]["role"]["enum"] == [role.value for role in Role]
