"""Damaged, missing and mismatched files of a run are refused in one line, and recreated where possible."""

import os
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

from regard.core.errors import InputError
from regard.training.checkpoint import latest_checkpoint, read_tensors, write_tensors
from regard.training.data.biographies import Biographies, make_biographies
from regard.training.data.corpus import read_questions
from regard.training.data.vocabulary import learn_vocabulary
from regard.training.evaluation import evaluate
from regard.training.planning import prepare_lessons, read_files
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


def test_damaged_weights_are_refused_and_made_again(finished, tmp_path):
    folder = copied(finished, tmp_path / "damaged")
    whole = folder.weights.read_bytes()
    for place in (9, 60, -5):
        content = bytearray(whole)
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


@pytest.mark.parametrize("name", ["lessons.safetensors", "tokenizer.json", "held_out.tsv", "data.json"])
@pytest.mark.parametrize("place", [0.0, 0.3, 0.6, 1.0])
def test_one_flipped_bit_in_the_data_is_noticed(name, place, finished, tmp_path):
    folder = copied(finished, tmp_path / "damaged")
    path = folder.path / name
    content = bytearray(path.read_bytes())
    content[round(place * (len(content) - 1))] ^= 1
    path.write_bytes(bytes(content))
    with pytest.raises(InputError, match=rf"{re.escape(name)} (is damaged|can't be read)"):
        read_all_data(folder)


def read_all_data(folder):
    return folder.lessons(), folder.vocabulary(), folder.held_out()


@pytest.mark.parametrize("name", ["plan.json", "data.json"])
def test_deeply_nested_json_is_one_line(name, finished, tmp_path):
    folder = copied(finished, tmp_path / "damaged")
    (folder.path / name).write_text("[" * 200_000)
    with pytest.raises(InputError, match=f"{name} is damaged") as caught:
        read_all_data(folder)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["lessons.safetensors", "checkpoints", "metrics.jsonl", "member-2", ".lock"])
def test_links_in_a_run_are_not_followed(name, finished, tmp_path):
    folder = copied(finished, tmp_path / "linked")
    elsewhere = tmp_path / "elsewhere"
    path = folder.path / name
    if path.exists():
        path.rename(elsewhere)
    path.symlink_to(elsewhere)
    with pytest.raises(InputError, match=r"is a link, a pipe or a device|Cannot work in"):
        resume(folder.path, quiet)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes need POSIX")
def test_pipes_and_devices_are_refused_at_once(finished, tmp_path):
    folder = copied(finished, tmp_path / "piped")
    pipe = folder.path / "metrics.jsonl"
    pipe.unlink()
    os.mkfifo(pipe)
    with pytest.raises(InputError, match="a pipe or a device"):
        resume(folder.path, quiet)
    for path in (pipe, Path(os.devnull)):
        with pytest.raises(InputError, match="not a regular file"):
            read_questions(path)


def test_a_question_asked_in_training_is_not_held_out(tmp_path):
    questions = tmp_path / "questions.tsv"
    lines = [f"Where was N{number} born?\tLondon\n" for number in range(20)]
    questions.write_text("".join(lines), encoding="utf-8")
    assert len(read_files(None, questions).held_out) == 2
    # The same question, whatever its blanks.
    questions.write_text("".join([*lines, "Where was\u00a0N3  born?\tParis\n"]), encoding="utf-8")
    with pytest.raises(InputError, match="among the training questions and the held-out ones"):
        read_files(None, questions)


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


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("data.json", None, "data.json can't be read: No such file"),
        ("data.json", b"[]", "data.json is damaged"),
        ("data.json", b'{"openings": [], "digests": {"data.json": "0"}}', "data.json is damaged"),
        ("data.json", b"\xff", "data.json can't be read"),
        ("tokenizer.json", None, "tokenizer.json can't be read: No such file"),
        ("tokenizer.json", b"{}", "tokenizer.json is damaged"),
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
    with pytest.raises(InputError, match="but the plan says"):
        folder.vocabulary(replace(folder.plan(), vocab_size=7))
    (folder.path / "tokenizer.json").write_text(learn_vocabulary(["Ada was born"], kind="characters").to_json())
    with pytest.raises(InputError, match="its digest is not the one"):
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
