"""Damaged, missing and mismatched files of a run are refused in one line, and recreated where possible."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("torch")

from safetensors.numpy import load_file, save_file

from regard.core.errors import InputError
from regard.training.checkpoint import latest_checkpoint, read_tensors, write_tensors
from regard.training.data.biographies import Biographies, make_biographies
from regard.training.data.vocabulary import learn_vocabulary
from regard.training.evaluation import evaluate
from regard.training.planning import prepare_lessons
from regard.training.process_group import ProcessGroup
from regard.training.recipe import SCHEMA, load_recipe
from regard.training.run_folder import RunFolder
from regard.training.train import resume
from regard.training.worker import work
from training.conftest import SETTINGS, copied, quiet


def test_a_damaged_checkpoint_is_skipped_with_a_warning(finished, tmp_path):
    folder = copied(finished, tmp_path / "damaged")
    newest = max(folder.checkpoints.iterdir())
    content = bytearray(newest.read_bytes())
    content[-5] ^= 1
    newest.write_bytes(bytes(content))
    heard: list[str] = []
    found = latest_checkpoint(folder.checkpoints, heard.append)
    assert found is not None
    assert found[1]["step"] == 6
    assert "damaged" in heard[0]


def test_when_no_checkpoint_is_whole_that_is_said_and_the_run_begins_again(finished, tmp_path):
    folder = copied(finished, tmp_path / "damaged")
    for path in folder.checkpoints.iterdir():
        path.write_bytes(b"nonsense")
    heard: list[str] = []
    assert latest_checkpoint(folder.checkpoints, heard.append) is None
    assert ["the previous one" in text for text in heard] == [True, False]
    assert "starts again at step 1" in heard[1]
    work(folder, ProcessGroup(), quiet)
    assert folder.weights.read_bytes() == finished.weights.read_bytes()


@pytest.mark.parametrize("place", [9, 60, -5])
def test_damaged_weights_are_refused_and_made_again(place, finished, tmp_path):
    folder = copied(finished, tmp_path / "damaged")
    content = bytearray(folder.weights.read_bytes())
    content[place] ^= 1
    folder.weights.write_bytes(bytes(content))
    with pytest.raises(InputError, match=r"is damaged\. Recreate it from a checkpoint: regard train resume"):
        folder.model()
    heard: list[dict] = []
    report = resume(folder.path, heard.append)
    assert "damaged" in next(message["text"] for message in heard if message["kind"] == "warning")
    assert [message["step"] for message in heard if message["kind"] == "step"] == [10, 11, 12]
    assert report.steps == 12
    assert folder.weights.read_bytes() == finished.weights.read_bytes()


def test_weights_of_another_shape_are_refused(finished, tmp_path):
    folder = copied(finished, tmp_path / "other")
    tensors = read_tensors(folder.weights)
    name = sorted(tensors)[0]
    write_tensors(folder.weights, {**tensors, name: tensors[name][:1]})
    with pytest.raises(InputError, match=f"does not match its plan .{re.escape(name)} differs"):
        folder.model()


def test_lessons_are_read_as_they_were_written(tmp_path):
    data = make_biographies(Biographies(people=24), seed=0)
    made = prepare_lessons(data, load_recipe("fast", SETTINGS))
    folder = RunFolder(tmp_path / "run")
    folder.create(data, made)
    for written, read in zip(made.lessons, folder.lessons(), strict=True):
        assert any(written.salient) or not len(written.body)
        for name in ("body", "starts", "salient", "plain"):
            np.testing.assert_array_equal(getattr(written, name), getattr(read, name))
        assert [head.tolist() for head in written.heads] == [head.tolist() for head in read.heads]
        assert [a.answer.tolist() for a in written.questions] == [a.answer.tolist() for a in read.questions]


@pytest.mark.parametrize("damage", [lambda array: array[:-1], lambda _: None], ids=["too short", "missing"])
@pytest.mark.parametrize("name", ["salient", "num_askings"])
def test_lessons_with_incomplete_arrays_are_refused(name, damage, finished, tmp_path):
    folder = copied(finished, tmp_path / "damaged")
    path = folder.path / "lessons.safetensors"
    arrays = load_file(path)
    arrays[name] = damage(arrays[name])
    save_file({key: array for key, array in arrays.items() if array is not None}, path)
    with pytest.raises(InputError, match=r"lessons\.safetensors can't be read: .*\. Train again\."):
        folder.lessons()


def test_checkpoints_of_another_plan_are_refused(finished, tmp_path):
    folder = copied(finished, tmp_path / "other")
    wide = load_recipe("fast", [*SETTINGS, "model.hidden=32"])
    folder.write_plan(replace(folder.plan(), recipe=wide))
    with pytest.raises(InputError, match="do not match its plan"):
        work(folder, ProcessGroup(), quiet)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda text: text.replace(SCHEMA, "regard-run/0"), "regard-run/0"),
        (lambda text: text[:50], "damaged"),
        (lambda text: text.replace('"steps"', '"leaps"'), "damaged"),
        (lambda _: "[]", r"damaged: the plan is \[\], but it should be a table"),
        (lambda text: text.replace('"steps": 12', '"steps": "12"'), "steps is '12', but it should be a whole number"),
        (lambda text: text.replace('"steps": 12', '"steps": 0'), "steps is 0"),
        (lambda text: text.replace('"checkpoint_every": 3', '"checkpoint_every": 0'), "at least 1"),
        (lambda text: text.replace(' "steps": 12,', ""), "lacks the setting 'steps'"),
        (lambda text: text.replace('"recipe"', '"recipes"'), "recipe is None"),
        (lambda text: re.sub(r'"tokens": {[^}]*}', '"tokens": 5', text), "tokens is 5"),
        (lambda text: text.replace('"precision": "float32",\n "check', '"precision": "int4",\n "check'), "int4"),
    ],
)
def test_plans_of_other_versions_are_refused(change, words, finished, tmp_path):
    folder = copied(finished, tmp_path / "other")
    path = folder.path / "plan.json"
    path.write_text(change(path.read_text()))
    with pytest.raises(InputError, match=words):
        folder.plan()


def facts(**damage) -> bytes:
    """What data.json might hold, but for what is damaged."""
    whole = {
        "openings": ["Who is "],
        "endings": [],
        "answer_forms": {"first": ["▁A"], "later": []},
        "commonest_answer": "Oslo",
    }
    return json.dumps({**whole, **damage}).encode()


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("data.json", None, "data.json can't be read: No such file"),
        ("data.json", b"[]", "data.json is damaged"),
        ("data.json", facts(openings=[]), "data.json is damaged"),
        ("data.json", facts(endings=[1]), "data.json is damaged"),
        ("data.json", facts(answer_forms={"first": [1], "later": []}), "data.json is damaged"),
        ("data.json", facts(answer_forms={"first": []}), "data.json is damaged"),
        ("data.json", facts(commonest_answer=None), "data.json is damaged"),
        ("data.json", b"\xff", "data.json can't be read"),
        ("tokenizer.json", None, "tokenizer.json can't be read: No such file"),
        ("tokenizer.json", b"{}", "tokenizer.json is not a tokenizer"),
        ("plan.json", b"\xff", "plan.json can't be read"),
    ],
)
def test_files_of_a_run_that_are_missing_or_damaged(name, content, words, finished, tmp_path):
    folder = copied(finished, tmp_path / "damaged")
    if content is None:
        (folder.path / name).unlink()
    else:
        (folder.path / name).write_bytes(content)
    with pytest.raises(InputError, match=words) as caught:
        evaluate([folder], finished.held_out())
    assert "\n" not in str(caught.value)


def test_a_tokenizer_of_another_run_is_refused(finished, tmp_path):
    folder = copied(finished, tmp_path / "other")
    (folder.path / "tokenizer.json").write_text(learn_vocabulary(["Ada was born"], kind="characters").to_json())
    with pytest.raises(InputError, match="but the plan says"):
        folder.vocabulary()


def test_folders_that_hold_no_run_or_hold_one_are_refused(finished, tmp_path):
    with pytest.raises(InputError, match="not a run"):
        RunFolder(tmp_path).plan()
    data = make_biographies(Biographies(people=4), seed=0)
    with pytest.raises(InputError, match="already"):
        finished.create(data, prepare_lessons(data, load_recipe("scratch")))
    unfinished = copied(finished, tmp_path / "unfinished")
    unfinished.weights.unlink()
    with pytest.raises(InputError, match="not finished"):
        unfinished.model()
