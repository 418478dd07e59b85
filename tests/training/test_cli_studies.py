"""`regard train compare`, `inspect` and `average` as a user runs them."""

import html
import json
import os
import re
import shlex
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest
import torch

from regard.render.json import schema
from regard.training.average import LAYOUTS, AveragingTask, average, evaluate_queries, judge, learn_queries, prescribe
from regard.training.checkpoint import write_tensors
from regard.training.data.biographies import Biographies, make_biographies
from regard.training.model import Decoder
from regard.training.planning import prepare_lessons
from regard.training.recipe import RunPlan, load_recipe
from regard.training.run_folder import RunFolder
from waiting import comes_true

TINY = [
    "model.width=16",
    "model.hidden=16",
    "model.num_heads=2",
    "model.ngram_rows=64",
    "batch.rows=2",
    "tokens.size=300",
]
SETTINGS = [word for change in TINY for word in ("--set", change)]
COMPARE = ["train", "compare", "--people", "16", "--steps", "2", *SETTINGS]


def read(path, command):
    found = json.loads(Path(path).read_text(encoding="utf-8"))
    assert found["command"] == command
    row = {"$ref": "#/$defs/verdict", "$defs": schema()["$defs"]}
    for verdict in found["verdicts"]:
        jsonschema.validate(verdict, row)
    assert sum(found["counts"].values()) == len(found["verdicts"])
    return found


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A run whose weights are random: what is tested here is the command, not the model."""
    folder = RunFolder(tmp_path_factory.mktemp("runs") / "a")
    recipe = load_recipe("fast", TINY)
    data = make_biographies(Biographies(people=16), seed=0)
    lessons = prepare_lessons(data, recipe)
    folder.create(data, lessons)
    plan = RunPlan(recipe=recipe, steps=1, seed=0, vocab_size=len(lessons.vocabulary))
    folder.write_plan(plan)
    torch.manual_seed(0)
    write_tensors(folder.weights, dict(Decoder(plan.model_config).named_parameters()))
    return folder


def test_a_comparison_trains_tells_and_keeps_what_is_finished(run, tmp_path):
    out, page, result = tmp_path / "runs", tmp_path / "cmp.html", tmp_path / "cmp.json"
    wanted = [*COMPARE, "--positions", "none,rotary", "--seeds", "1", "--out", str(out)]
    code, shown, errors = run(*wanted, "--html", str(page), "--json", str(result))
    assert (code, errors) == (0, "")
    assert "can't tell how other seeds would do" in " ".join(shown.split())
    assert "1 comparison on the same" in shown
    found = read(result, "train compare")
    assert [variant["name"] for variant in found["train"]["variants"]] == ["none", "rotary"]
    assert found["train"]["num_questions"] == 16
    assert found["train"]["false_alarm_rate"] == 0.05
    command = found["verdicts"][0]["reproduce"]
    assert command.startswith("regard train compare ")
    for part in ("--positions none,rotary", "--steps 2", "--people 16", "--seeds 1", "--set model.width=16"):
        assert part in command
    assert "Trainings compared" in page.read_text(encoding="utf-8")

    weights = {path.parent.name: path.stat().st_mtime_ns for path in out.glob("*/model.safetensors")}
    assert set(weights) == {"fast-none-seed0", "fast-rotary-seed0"}
    again = tmp_path / "again.json"
    assert run(*wanted, "--json", str(again), "--strict")[0] == 3
    assert read(again, "train compare")["train"]["variants"] == found["train"]["variants"]
    assert weights == {path.parent.name: path.stat().st_mtime_ns for path in out.glob("*/model.safetensors")}

    code, _, errors = run(*wanted, "--people", "20")
    assert code == 2
    assert "contains a comparison with other data" in errors


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (["--seeds", "0"], "Can't compare 0 seeds"),
        (["--positions", "rotary,rotary"], "has a name twice"),
        (["--positions", "rope"], "No position code is called 'rope'"),
        (["--recipes", "quick"], "No recipe is called 'quick'"),
        (["--minutes", "1"], "Give one of them"),
        (["--jobs", "0"], "Give --jobs 1 or more"),
        (["--corpus", "wiki.txt"], "not both"),
        (["--held-out", "3"], "Give --questions FILE"),
        (["--recipes", "fast,{same}/fast.toml"], "are both called 'fast'. Rename one"),
        (["--html", "-"], "Name a file"),
    ],
)
def test_a_senseless_comparison_is_one_line_and_nothing_is_made(run, tmp_path, wrong, why):
    (tmp_path / "same").mkdir()
    (tmp_path / "same" / "fast.toml").write_text('about = "another"')
    wrong = [word.format(same=tmp_path / "same") for word in wrong]
    code, _, errors = run(*COMPARE, "--out", str(tmp_path / "runs"), *wrong)
    assert code == 2
    assert why in errors
    assert len(errors.splitlines()) == 1
    assert not (tmp_path / "runs").exists()


def test_a_comparison_that_is_stopped_keeps_what_is_finished_and_goes_on(python, tmp_path):
    out = tmp_path / "runs"
    wanted = ["-m", "regard", *COMPARE, "--seeds", "2", "--jobs", "1", "--out", str(out)]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src")}
    process = subprocess.Popen([sys.executable, *wanted], env=environment, stderr=subprocess.PIPE, text=True)
    first = out / "fast-none-seed0" / "model.safetensors"
    assert comes_true(first.exists, seconds=100)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    finished = sorted(path.parent.name for path in out.glob("*/model.safetensors"))
    assert f"Stopped. 1 of 2 runs are finished and kept in {out}" in " ".join(errors.split())
    assert "Traceback" not in errors
    assert finished == ["fast-none-seed0"]
    made = first.stat().st_mtime_ns
    again = python(*wanted)
    assert again.returncode == 0, again.stderr
    assert len(list(out.glob("*/model.safetensors"))) == 2
    assert first.stat().st_mtime_ns == made


def test_inspection_draws_every_head_and_judges_it(run, finished, tmp_path):
    page, result = tmp_path / "inspect.html", tmp_path / "inspect.json"
    question = finished.held_out()[0].text
    code, shown, errors = run(
        "train", "inspect", str(finished.path), "--question", question, "--html", str(page), "--json", str(result)
    )
    assert (code, errors) == (0, "")
    found = read(result, "train inspect")
    config = finished.plan().model_config
    num_heads = config.num_layers * config.num_heads
    assert len(found["verdicts"]) == num_heads
    assert {row["status"] for row in found["train"]["heads"]} <= {"holds", "refuted", "undecided"}
    told = found["train"]["shown"]
    assert told["question"] == question
    assert told["name"] in question
    first, end = told["name_tokens"]
    assert "".join(told["tokens"][first:end]).replace("▁", " ").strip() == told["name"]
    drawn = page.read_text(encoding="utf-8")
    for head in ("layer 1 head 1", "layer 2 head 2"):
        assert f"<b>{head}</b>" in drawn
        assert head in shown
    assert drawn.count('class="chart map"') == num_heads


def test_heads_of_an_untrained_model_read_nothing(run, finished):
    # The output head of this model is zero, so no cut can change an answer.
    code, text, _ = run("train", "inspect", str(finished.path), "--json", "-")
    assert code == 0
    assert {verdict["status"] for verdict in json.loads(text)["verdicts"]} == {"refuted"}


@pytest.mark.parametrize(
    ("more", "why"),
    [
        (["nowhere"], "is not a run"),
        (["RUN", "--question", "Ŵhere was Æthel born?"], "vocabulary lacks"),
        (["RUN", "--questions", "missing.tsv"], "can't be read"),
    ],
)
def test_what_cannot_be_inspected_is_one_line(run, finished, more, why):
    code, _, errors = run("train", "inspect", *(str(finished.path) if word == "RUN" else word for word in more))
    assert code == 2
    assert why in errors
    assert len(errors.splitlines()) == 1


def test_an_unfinished_run_is_refused(run, finished, tmp_path):
    folder = RunFolder(tmp_path / "b")
    folder.path.mkdir()
    folder.write_plan(replace(finished.plan(), steps=5))
    code, _, errors = run("train", "inspect", str(folder.path))
    assert code == 2
    assert "is not finished" in errors


def test_averaging_tells_theory_training_and_findings(run, tmp_path):
    result = tmp_path / "average.json"
    code, shown, errors = run("train", "average", "--n", "4", "--seeds", "2", "--steps", "5", "--json", str(result))
    assert code in (0, 1)
    assert errors == ""
    found = read(result, "train average")
    assert len(found["verdicts"]) == 3 + 1 + 6
    assert (code == 1) == (found["counts"]["refuted"] > 0)
    assert [row["layout"] for row in found["train"]["prescriptions"]] == [
        "one head",
        "two heads",
        "one head, normalized keys",
    ]
    assert found["train"]["prescriptions"][1]["beta"] is None
    for part in ("theory", "β alone", "any query"):
        assert part in shown


def test_a_finding_can_be_evaluated_again(run):
    task = AveragingTask(n=4, num_seeds=2, steps=3)
    scales = [evaluate_queries(task, each, "scale", learn_queries(task, each, "scale")) for each in LAYOUTS]
    theory = [prescribe(task, each) for each in LAYOUTS]
    for layout in LAYOUTS[1:]:
        learned = evaluate_queries(task, layout, "free", learn_queries(task, layout, "free"))
        best = min(learned.errors)
        command = judge(task, theory, [*scales, learned])[-1].reproduce
        _, text, _ = run(*shlex.split(command)[1:], "--json", "-")
        # The command has four digits of each number.
        assert json.loads(text)["output"]["squared_error"] == pytest.approx(best, rel=0.01)


def test_averaging_shows_itself_in_a_notebook():
    found = average(AveragingTask(n=4, num_seeds=2, steps=3), lambda *_: None)
    page = html.unescape(re.search(r'sandbox="" .* srcdoc="([^"]*)"', found._repr_html_())[1])
    assert all(text in page for text in ("Heads that average", "one head, normalized keys", "any query"))
    assert page.count("<li class=") == len(found.verdicts)


def test_a_senseless_task_is_refused(run):
    code, _, errors = run("train", "average", "--n", "2")
    assert code == 2
    assert "Give 3 to 1,000" in errors
