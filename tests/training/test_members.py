"""Runs of several members: each is what it would be alone, all are asked together, and a stop costs nobody else."""

import json
from dataclasses import replace

import pytest

pytest.importorskip("torch")

from regard.data.biographies import Biographies
from regard.errors import InputError
from regard.report.html.run_page import render_run
from regard.training import calibrating, memory, planning
from regard.training.answering import answer_questions
from regard.training.calibrating import Speed
from regard.training.crew import solo
from regard.training.folder import RunFolder
from regard.training.launching import Layout, launch
from regard.training.memory import footprint
from regard.training.planning import Request, freeze, outline
from regard.training.working import work
from regard.verbs.train import estimate, evaluate, predict, report_on, resume, train
from regard.verbs.train_inspect import inspect
from training.conftest import SETTINGS, copied, quiet

ASKED = Request(
    changes=[*SETTINGS, "precision=float32"],
    biographies=Biographies(people=24),
    steps=12,
    members=2,
    layout=Layout(processes=1, threads=1),
)


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """A run of two members, and what was told on the way."""
    out, heard = tmp_path_factory.mktemp("pair") / "run", []
    train(ASKED, out, heard.append)
    return RunFolder(out), heard


def test_each_member_is_what_it_would_be_alone(pair, tmp_path):
    folder, _ = pair
    first, second = folder.members()
    assert first.weights.read_bytes() != second.weights.read_bytes()
    for member in (first, second):
        alone = tmp_path / str(member.member)
        train(replace(ASKED, members=1), alone, quiet)
        plan = RunFolder(alone).plan()
        RunFolder(alone).write_plan(replace(plan, seed=member.plan().seed))
        (alone / "model.safetensors").unlink()
        work(RunFolder(alone), solo(), quiet)
        assert (alone / "model.safetensors").read_bytes() == member.weights.read_bytes()


def test_no_two_runs_share_a_member():
    _, plan = outline(replace(ASKED, steps=1))
    seeds = {replace(plan, seed=seed).of_member(number).seed for seed in range(20) for number in range(20)}
    assert len(seeds) == 400


def test_members_tell_who_they_are_and_are_asked_together_at_the_end(pair):
    folder, heard = pair
    steps = [(message["member"], message["step"]) for message in heard if message["kind"] == "step"]
    assert sorted(steps) == [(member, step) for member in (0, 1) for step in range(1, 13)]
    questions = folder.held_out()
    models = [member.model() for member in folder.members()]
    said = answer_questions(models, folder.wording(), [question.text for question in questions])
    right = sum(answer.text == question.answer for answer, question in zip(said, questions, strict=True))
    assert heard[-1] == {"kind": "together", "step": 12, "right": right, "asked": len(questions)}
    report = report_on(folder.path)
    assert report.knows == report.together
    assert (report.knows.right, report.knows.asked) == (right, len(questions))
    assert [len(course.losses) for course in report.courses] == [12, 12]
    assert len(report.alone) == 2
    assert predict(folder.path, [questions[0].text]) == said[:1]
    page = render_run(report)
    assert "member 1" in page
    assert "member 2" in page
    assert str(report.together) in page


def test_they_answer_by_the_mean_of_their_probabilities(pair, tmp_path):
    folder, _ = pair
    path = tmp_path / "asked.tsv"
    path.write_text("".join(f"{q.text}\t{q.answer}\n" for q in folder.held_out()), encoding="utf-8")
    both = evaluate([folder.path], path)
    again = evaluate([folder.path, folder.path], path)
    assert (both.num_models, again.num_models) == (2, 4)
    assert [each.prediction for each in both.answered] == [each.prediction for each in again.answered]
    assert both.to_dict()["models"] == 2


def test_only_who_is_missing_is_trained_again(pair, tmp_path):
    folder, _ = pair
    broken = copied(folder, tmp_path / "broken")
    first, second = broken.members()
    content = bytearray(second.weights.read_bytes())
    content[-1] ^= 1
    second.weights.write_bytes(bytes(content))
    with pytest.raises(InputError, match=f"member-2/model.safetensors is damaged.*resume {broken.path}$"):
        predict(broken.path, ["Where was Ada Byron born?"])
    heard: list[dict] = []
    resume(broken.path, heard.append)
    assert {message["member"] for message in heard if message["kind"] == "step"} == {1}
    assert any(message["kind"] == "warning" for message in heard)
    assert second.weights.read_bytes() == folder.members()[1].weights.read_bytes()
    assert sum(line["kind"] == "together" for line in first.read_metrics()) == 1


def test_a_run_that_stopped_before_it_was_asked_is_asked_when_it_is_resumed(pair, tmp_path):
    folder, _ = pair
    stopped = copied(folder, tmp_path / "stopped")
    lines = [json.dumps(line) for line in stopped.read_metrics() if line["kind"] != "together"]
    stopped.metrics.write_text("\n".join(lines) + "\n")
    assert report_on(stopped.path).knows is None
    heard: list[dict] = []
    assert resume(stopped.path, heard.append).knows == report_on(folder.path).knows
    assert not [message for message in heard if message["kind"] == "step"]


def test_when_one_fails_all_end_and_it_is_told_why(small_run):
    folder = small_run(steps=100_000, members=2)
    folder.members()[1].own.mkdir()
    folder.members()[1].checkpoints.write_text("no folder")
    with pytest.raises(InputError, match=r"^Cannot go on: .*member-2/checkpoints\)\.$"):
        list(launch(folder.path, folder.plan().layout))


def test_one_member_of_a_run_is_inspected(pair):
    folder, _ = pair
    found = inspect(folder.path, member=2)
    assert found.run.endswith("member-2")
    assert (found.verdicts[0].reproduce or "").endswith("--member 2")
    for number in (0, 3):
        with pytest.raises(InputError, match=rf"no member {number}. Give --member 1 to 2"):
            inspect(folder.path, member=number)


@pytest.fixture
def measured(monkeypatch):
    """Four cores on which every step takes a second; the layouts that are measured, one after the other."""
    tried: list[Layout] = []

    def calibrate(folder, plan, layouts, **_):
        tried.extend(layouts)
        return [Speed(layout=each, seconds=1.0) for each in layouts]

    for module in (planning, calibrating):
        monkeypatch.setattr(module, "usable_cores", lambda: 4)
    monkeypatch.setattr(planning, "calibrate", calibrate)
    return tried


def planned(request: Request, tmp_path):
    _, plan = outline(request)
    return freeze(request, plan, planning.measure_layouts(request, RunFolder(tmp_path), plan, print)[0])


def test_minutes_that_are_enough_train_a_member_on_each_core(measured, tmp_path):
    asked = Request(changes=[*SETTINGS, "member_steps=100"], biographies=Biographies(people=24), minutes=3)
    plan = planned(asked, tmp_path)
    assert measured == [Layout(processes=1, threads=1, members=4)]
    assert (plan.members, plan.processes, plan.steps) == (4, 1, 176)
    assert plan.flops == 4 * replace(plan, members=1).flops


@pytest.mark.parametrize(
    "other",
    [
        {"minutes": 1.7},
        {"minutes": None, "steps": 500},
        {"members": 1},
        {"layout": Layout(processes=2, threads=1)},
        {"changes": [*SETTINGS, "member_steps=0"]},
        {"recipe": "classic", "changes": ["model.width=32"]},
    ],
)
def test_otherwise_there_is_one_model(other, measured, tmp_path):
    given = {"changes": [*SETTINGS, "member_steps=100"], "biographies": Biographies(people=24), "minutes": 3, **other}
    assert planned(Request(**given), tmp_path).members == 1


def test_members_that_are_asked_for_share_the_cores(measured, tmp_path):
    planned(Request(changes=SETTINGS, biographies=Biographies(people=24), steps=5, members=2), tmp_path)
    assert measured == [Layout(processes=2, threads=1, members=2), Layout(processes=1, threads=2, members=2)]


def test_members_must_fit_into_memory_together(measured, monkeypatch, tmp_path):
    asked = Request(changes=[*SETTINGS, "member_steps=100"], biographies=Biographies(people=24), minutes=3)
    _, plan = outline(asked)
    needed = footprint(plan.model_config, plan.recipe.batch).total
    monkeypatch.setattr(memory, "_available", lambda: 2 * needed)
    assert planned(asked, tmp_path).members == 1
    with pytest.raises(InputError, match=r"GiB \(processes: 3\)"):
        outline(replace(asked, members=3))


def test_an_estimate_counts_all_members(tmp_path):
    outlook = estimate(ASKED, tmp_path / "scratch", quiet)
    assert (outlook.members, outlook.steps) == (2, 12)
    assert outlook.bytes_needed == 2 * estimate(replace(ASKED, members=1), tmp_path / "one", quiet).bytes_needed
