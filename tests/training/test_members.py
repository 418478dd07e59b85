"""Runs of several members: each is what it would be alone, all are asked together, and a stop costs nobody else."""

import html
import io
import json
import re
import time
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

pytest.importorskip("torch")

from regard.core.errors import InputError
from regard.training import planning
from regard.training.answering import answer_questions
from regard.training.data.biographies import Biographies
from regard.training.inspection import inspect
from regard.training.launching import ProcessLayout, launch
from regard.training.page import render_runs
from regard.training.planning import DataSource, LayoutSpeed, RunLength, TrainRequest, bytes_needed, freeze, outline
from regard.training.process_group import ProcessGroup
from regard.training.report import TrainingDisplay, show_estimate
from regard.training.run_folder import RunFolder
from regard.training.train import demonstrate, estimate, evaluate, predict, report_on, resume, train
from regard.training.worker import work
from training.conftest import SETTINGS, copied, quiet

PEOPLE = DataSource(biographies=Biographies(people=24))
ASKED = TrainRequest(
    changes=[*SETTINGS, "precision=float32"],
    source=PEOPLE,
    length=RunLength(steps=12),
    members=2,
    layout=ProcessLayout(processes=1, threads=1),
)


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """A run of two members, and what was told on the way."""
    out, heard = tmp_path_factory.mktemp("pair") / "run", []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(planning, "CALIBRATION_SECONDS", 0.01)
        train(ASKED, out, heard.append)
    return RunFolder(out), heard


def test_each_member_is_what_it_would_be_alone(pair, tmp_path):
    folder, _ = pair
    first, second = folder.members()
    assert first.weights.read_bytes() != second.weights.read_bytes()
    for member in (first, second):
        alone = copied(folder, tmp_path / str(member.member))
        alone.write_plan(replace(member.plan(), members=1))
        alone.weights.unlink()
        work(alone, ProcessGroup(), quiet)
        assert alone.weights.read_bytes() == member.weights.read_bytes()


def test_no_two_runs_share_a_member():
    *_, plan = outline(replace(ASKED, length=RunLength(steps=1)))
    seeds = {replace(plan, seed=seed).for_member(number).seed for seed in range(20) for number in range(20)}
    assert len(seeds) == 400


def test_members_tell_who_they_are_and_are_asked_together_at_the_end(pair):
    folder, heard = pair
    steps = [(message["member"], message["step"]) for message in heard if message["kind"] == "step"]
    assert sorted(steps) == [(member, step) for member in (0, 1) for step in range(1, 13)]
    questions = folder.held_out()
    models = [member.model() for member in folder.members()]
    said = answer_questions(models, folder.prompt_format(), [question.text for question in questions])
    right = sum(answer.text == question.answer for answer, question in zip(said, questions, strict=True))
    samples = [(answer.text, answer.probability) for answer in said[:8]]
    told = {"kind": "together", "step": 12, "right": right, "asked": len(questions), "samples": samples}
    assert heard[-1] == told
    report = report_on(folder.path)
    assert report.accuracy == report.together
    assert (report.accuracy.right, report.accuracy.asked) == (right, len(questions))
    assert [len(course.losses) for course in report.curves] == [12, 12]
    assert len(report.alone) == 2
    assert predict(folder.path, [questions[0].text]) == said[:1]
    page = render_runs([report])
    assert report._repr_html_().startswith("<iframe")
    assert "member 1" in page
    assert "member 2" in page
    assert str(report.together) in page


def test_all_members_of_all_runs_answer_together(pair, finished, tmp_path):
    folder, _ = pair
    path = folder.path / "held_out.tsv"
    both = evaluate([folder.path], path)
    models = [member.model() for member in folder.members()]
    said = answer_questions(models, folder.prompt_format(), [each.question for each in both.answered])
    assert [(each.prediction, each.probability) for each in both.answered] == [(a.text, a.probability) for a in said]
    assert both.to_dict()["models"] == 2
    assert evaluate([folder.path, finished.path], path).num_models == 3
    frame = both._repr_html_()
    assert all(html.escape(html.escape(each.question)) in frame for each in both.answered)


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
    assert report_on(stopped.path).accuracy is None
    heard: list[dict] = []
    assert resume(stopped.path, heard.append).accuracy == report_on(folder.path).accuracy
    assert not [message for message in heard if message["kind"] == "step"]


def test_when_one_fails_all_end_and_it_is_told_why(small_run):
    folder = small_run(steps=100_000, members=2)
    folder.members()[1].own.mkdir()
    folder.members()[1].checkpoints.write_text("no folder")
    with pytest.raises(InputError, match=r"^Cannot continue: .*member-2/checkpoints\)\.$"):
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
    tried: list[ProcessLayout] = []

    def calibrate(folder, plan, layouts, **_):
        tried.extend(layouts)
        return [LayoutSpeed(layout=each, seconds=1.0) for each in layouts]

    monkeypatch.setattr(planning, "usable_cores", lambda: 4)
    monkeypatch.setattr(planning, "calibrate", calibrate)
    return tried


def planned(request: TrainRequest, tmp_path):
    """The plan of a run that was begun five seconds ago."""
    *_, plan = outline(request)
    begun = time.perf_counter() - 5
    return freeze(request, plan, planning.measure_layouts(request, begun, RunFolder(tmp_path), plan, print)[0])


def test_minutes_that_are_enough_train_a_member_on_each_core(measured, tmp_path):
    asked = TrainRequest(changes=[*SETTINGS, "member_steps=100"], source=PEOPLE, length=RunLength(minutes=3))
    plan = planned(asked, tmp_path)
    assert measured == [ProcessLayout(processes=1, threads=1, members=4)]
    assert (plan.members, plan.processes, plan.steps) == (4, 1, 176)
    assert plan.flops == 4 * replace(plan, members=1).flops


@pytest.mark.parametrize(
    "other",
    [
        {"length": RunLength(minutes=1.7)},
        # Enough for 101 steps of a second, were no time spent before.
        {"length": RunLength(minutes=1.75)},
        {"length": RunLength(steps=500)},
        {"members": 1},
        {"layout": ProcessLayout(processes=2, threads=1)},
        {"changes": [*SETTINGS, "member_steps=0"]},
        {"recipe": "classic", "changes": ["model.width=32"]},
    ],
)
def test_otherwise_there_is_one_model(other, measured, tmp_path):
    given = {"changes": [*SETTINGS, "member_steps=100"], "source": PEOPLE, "length": RunLength(minutes=3), **other}
    assert planned(TrainRequest(**given), tmp_path).members == 1


def test_members_that_are_asked_for_share_the_cores(measured, tmp_path):
    planned(TrainRequest(changes=SETTINGS, source=PEOPLE, length=RunLength(steps=5), members=2), tmp_path)
    assert measured == [ProcessLayout(processes=p, threads=t, members=2) for p, t in ((2, 1), (1, 2))]


def test_members_must_fit_into_memory_together(measured, monkeypatch, tmp_path):
    asked = TrainRequest(changes=[*SETTINGS, "member_steps=100"], source=PEOPLE, length=RunLength(minutes=3))
    *_, plan = outline(asked)
    needed = bytes_needed(plan.model_config, plan.recipe.batch)
    monkeypatch.setattr(planning, "_available", lambda: 2 * needed)
    assert planned(asked, tmp_path).members == 1
    with pytest.raises(InputError, match=r"GiB \(processes: 3\)"):
        outline(replace(asked, members=3))


def test_an_estimate_counts_all_members(measured, tmp_path):
    found = estimate(ASKED, tmp_path / "scratch", quiet)
    assert (found.plan.members, found.plan.steps) == (2, 12)
    assert found.bytes_needed == 2 * estimate(replace(ASKED, members=1), tmp_path / "one", quiet).bytes_needed
    console = Console(file=io.StringIO(), width=100)
    show_estimate(console, found)
    assert "2, side by side" in console.file.getvalue()


@pytest.fixture
def fast_steps(monkeypatch):
    """A step of every layout takes 0.2 seconds, and the faster precision changes from one look to the next."""
    found = iter(["bfloat16", "float32", "bfloat16", "float32"])
    monkeypatch.setattr("regard.training.train.pick_precision", lambda: next(found))
    monkeypatch.setattr("regard.training.planning.pick_precision", lambda: next(found))
    monkeypatch.setattr(planning, "calibrate", lambda *given, **_: [LayoutSpeed(layout=given[2][-1], seconds=0.2)])


def test_a_demonstration_compares_one_model_with_one_in_one_precision(fast_steps, pair, monkeypatch, tmp_path):
    ran, report = [], report_on(pair[0].path)

    def run(folder, plan, *_, later=0.0):
        assert all((tmp_path / arm / "plan.json").exists() for arm in ("fast", "scratch")), "both are planned before"
        ran.append((plan, later))
        return report

    monkeypatch.setattr("regard.training.train._run", run)
    demonstrate(TrainRequest(changes=SETTINGS, source=PEOPLE, length=RunLength(minutes=3)), tmp_path, quiet)
    (first, later), (second, nothing) = ran
    assert [first.members, second.members] == [1, 1]
    assert first.precision == second.precision
    assert first.steps > 3 * second.steps
    assert (later, nothing) == (pytest.approx(0.2 * second.steps), 0.0)


def test_a_demonstration_that_is_too_short_for_one_trains_neither_and_leaves_nothing(fast_steps, tmp_path):
    asked = TrainRequest(changes=SETTINGS, source=PEOPLE, length=RunLength(minutes=0.6))
    with pytest.raises(InputError, match=r"0.6 minutes leave time for \d+ steps .* Give at least --minutes"):
        demonstrate(asked, tmp_path / "out", quiet)
    assert not (tmp_path / "out").exists()


def test_lost_metrics_leave_a_page_without_them(pair, tmp_path):
    folder, _ = pair
    lost = copied(folder, tmp_path / "lost")
    lost.members()[1].metrics.unlink()
    report = report_on(lost.path)
    assert report.accuracy == report_on(folder.path).accuracy
    assert "member 2" not in render_runs([report])
    lost.metrics.unlink()
    assert "<svg" not in render_runs([report_on(lost.path)]).partition("<main")[2]


def test_half_a_line_does_not_swallow_what_is_told_next(pair, tmp_path):
    folder, _ = pair
    torn = copied(folder, tmp_path / "torn")
    torn.metrics.write_text(torn.metrics.read_text()[:-20])
    assert resume(torn.path, quiet).accuracy == report_on(folder.path).accuracy


def test_both_members_stopped_at_a_checkpoint_end_with_the_same_bits(pair, tmp_path):
    folder, _ = pair
    stopped = copied(folder, tmp_path / "stopped")
    stopped.write_plan(replace(stopped.plan(), checkpoint_every=3))
    for member in stopped.members():
        member.weights.unlink()
        member.metrics.unlink()
    messages = launch(stopped.path, stopped.plan().layout)
    made = [0, 0]
    while min(made) < 6:
        message = next(messages)
        made[message["member"]] = max(made[message["member"]], message.get("step", 0))
    messages.close()
    assert all(list(member.checkpoints.iterdir()) for member in stopped.members())
    if all(member.is_finished for member in stopped.members()):
        stopped.weights.unlink()
    resume(stopped.path, quiet)
    for one, other in zip(stopped.members(), folder.members(), strict=True):
        assert one.weights.read_bytes() == other.weights.read_bytes()


def test_the_display_says_which_member_tells_and_forgets_the_run_before():
    console = Console(file=io.StringIO(), width=100)
    display = TrainingDisplay(console)
    step = {"kind": "step", "step": 1, "stage": "training", "loss": 1.0, "tokens": 10, "seconds": 0.1}
    told = {"kind": "held out", "step": 1, "right": 3, "asked": 4}
    plan = {"kind": "plan", "recipe": "fast", "steps": 1, "later": 0.0}
    display.show({**plan, "members": 2, "layout": "2 × 1 × 1"})
    display.show({**step, "member": 1})
    display.show({**told, "member": 1})
    display.show({**plan, "members": 1, "layout": "1 × 1"})
    display.show({**step, "member": 0})
    display.show({**told, "member": 0})
    lines = console.file.getvalue().splitlines()
    assert "step 1, member 2: 3 of 4 held-out questions right (0:00 elapsed)" in lines
    assert "step 1: 3 of 4 held-out questions right (0:00 elapsed)" in lines


def test_the_display_knows_how_long_this_run_and_the_next_still_take(monkeypatch):
    now = 100.0
    monkeypatch.setattr("regard.training.report.time.monotonic", lambda: now)
    console = Console(file=io.StringIO(), width=100)
    display = TrainingDisplay(console, Path("runs/a/page.html"))
    now = 120.0  # measured
    display.show({"kind": "plan", "recipe": "fast", "steps": 21, "members": 1, "layout": "1 × 1", "later": 60.0})
    for number in range(1, 12):
        now = 125.0 + 2.0 * number  # the first step takes longer
        display.show({"kind": "step", "step": number, "stage": "training", "loss": 1.0, "tokens": 1, "seconds": 1.9})
    display.show({"kind": "held out", "step": 11, "right": 1, "asked": 2, "member": 0})
    assert "(0:47 elapsed, about 1:20 left)" in console.file.getvalue()
    assert console.file.getvalue().count("Watch it in a browser: runs/a/page.html") == 1


def test_the_bar_fits_into_a_line_of_eighty_characters():
    console = Console(file=io.StringIO(), width=80, force_terminal=True)
    with TrainingDisplay(console) as display:
        plan = {"kind": "plan", "recipe": "fast", "steps": 1999, "members": 1, "layout": "1 × 1", "later": 5000.0}
        display.show(plan)
        for number in range(1, 1500, 500):
            display.show({"kind": "step", "step": number, "stage": "fine-tuning", "loss": 1.0})
    shown = re.sub(r"\x1b\[[?\d;]*\w", "", console.file.getvalue())
    assert re.search(r"fine-tuning [━╸╺]+ 1001/1999 loss 1.000 0:00 elapsed about 1:23:20 left\s*\n", shown)


def test_what_else_is_printed_by_a_process_is_left_out(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1]))
    monkeypatch.setattr("regard.training.launching._WORKER", "training.stand_ins:print_and_send")
    told = list(launch(Path("-strange"), ProcessLayout(processes=1, threads=1, members=2)))
    assert sorted(message["member"] for message in told) == [0, 1]
    assert {message["kind"] for message in told} == {"step"}
