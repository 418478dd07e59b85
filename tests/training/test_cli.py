"""`regard train` as people use it, at a size for tests."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

pytest.importorskip("torch")
pytest.importorskip("safetensors")
pytest.importorskip("tokenizers")

from regard.core.errors import InputError
from regard.render.json import schema
from regard.training.data.biographies import Biographies
from regard.training.evaluation import Accuracy
from regard.training.report import compare_with_pretraining
from regard.training.run_folder import facts_digest
from regard.training.train import report_on

SMALL = [
    "--set=model.width=32",
    "--set=model.num_heads=2",
    "--set=model.hidden=64",
    "--set=model.ngram_rows=512",
    "--set=tokens.size=300",
    "--set=batch.rows=4",
    "--set=batch.length=64",
    "--processes=1",
]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    towns = ["Oslo", "Rome", "Paris", "London"]
    people = [
        (f"{first} {last}", towns[(3 * i + j) % 4])
        for i, first in enumerate(["Ada", "Jo", "Li", "Ann", "Max"])
        for j, last in enumerate(["Byron", "Berg", "Na", "Lee"])
    ]
    corpus, questions = folder / "wiki.txt", folder / "train.tsv"
    corpus.write_text("".join(f"{name}. {name} was born in {town} .\n" for name, town in people))
    questions.write_text("".join(f"Where was {name} born?\t{town}\n" for name, town in people))
    return corpus, questions


@pytest.fixture(scope="module")
def finished(files, tmp_path_factory):
    from regard.cli import main

    out = tmp_path_factory.mktemp("runs") / "a"
    corpus, questions = map(str, files)
    code = main(["train", "--corpus", corpus, "--questions", questions, "--steps", "30", "--out", str(out), *SMALL])
    assert code == 0
    return out


def test_a_run_leaves_its_page_and_can_be_asked(finished, files, run, tmp_path):
    page = (finished / "page.html").read_text(encoding="utf-8")
    assert "Held-out questions" in page
    assert "http://" not in page.replace("http://www.w3.org", "")
    code, out, _ = run("train", "predict", str(finished), "Where was Ada Byron born?")
    assert code == 0
    assert "(probability " in out
    path = tmp_path / "found.json"
    code, out, _ = run("train", "evaluate", str(finished), "--questions", str(files[1]), "--json", str(path))
    found = json.loads(path.read_text())
    jsonschema.validate(found, schema())
    assert code in (0, 1)
    assert "Exact match" in out
    assert 0 <= found["exact_match"] <= 1
    assert found["n"] == len(found["predictions"]) == 20
    assert found["interval"][0] <= found["exact_match"] <= found["interval"][1]
    right = sum(row["prediction"] == row["answer"] for row in found["predictions"])
    assert found["exact_match"] == right / 20


def test_runs_are_asked_together_if_they_have_the_same_tokens(finished, files, run, tmp_path):
    questions = str(files[1])
    alone, twice = tmp_path / "alone.json", tmp_path / "twice.json"
    run("train", "evaluate", str(finished), "--questions", questions, "--json", str(alone))
    code, _, _ = run("train", "evaluate", str(finished), str(finished), "--questions", questions, "--json", str(twice))
    assert code in (0, 1)
    one, two = (json.loads(path.read_text())["predictions"] for path in (alone, twice))
    assert [row["prediction"] for row in one] == [row["prediction"] for row in two]
    other = shutil.copytree(finished, tmp_path / "other")
    facts = json.loads((other / "data.json").read_text()) | {"endings": []}
    facts["digests"]["data.json"] = facts_digest(facts)
    (other / "data.json").write_text(json.dumps(facts))
    code, _, err = run("train", "evaluate", str(finished), str(other), "--questions", questions)
    assert code == 2
    assert "uses other tokens" in err


def test_it_is_asked_without_the_corpus(finished, run, tmp_path):
    moved = tmp_path / "moved"
    finished.rename(moved)
    try:
        code, _, _ = run("train", "predict", str(moved), "Where was Jo Berg born?")
        assert code == 0
    finally:
        moved.rename(finished)


def test_resuming_what_is_finished_changes_nothing(finished, run):
    before = (finished / "model.safetensors").read_bytes()
    code, out, _ = run("train", "resume", str(finished))
    assert code == 0
    assert "held-out questions" in out
    assert (finished / "model.safetensors").read_bytes() == before


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--recipe", "slow"], "fast"),
        (["--positions", "polar"], "rotary"),
        (["--corpus", "nowhere.txt", "--questions", "{questions}"], "can't be read"),
        (["--corpus", "{corpus}"], "--questions"),
        (["--corpus", "{corpus}", "--questions", "{corpus}"], ":1 has no tab"),
        (["--corpus", "{empty}", "--questions", "{questions}"], "no documents"),
        (["--steps", "0"], "Give at least one"),
        (["--seed", "-1"], "0 or more"),
        (["--set", "stages.matrix=nan"], "0 or more"),
        (["--set", "model.num_kv_heads=0"], "share"),
        (["--processes", "99", "--steps", "1"], "Use fewer"),
        (["--steps", "7", "resume", "{run}"], "must follow the command"),
        (["--minutes", "nan"], "Give a positive number"),
        (["--minutes", "1", "--steps", "1"], "one of them"),
        (["--set", "model.width=3000000"], "GiB"),
        (["--processes", "0"], "1 or more"),
        (["--members", "0"], "Give 1 to 64"),
        (["--set", "member_steps=-1"], "0 or more"),
        (["--people", "1"], "4 to 100,000"),
        (["--wordings", "9"], "Use 1 to 8"),
        (["--asked-share", "1"], "leaves nobody"),
        (["--set", "tokens=5"], "tokens is 5"),
        (["--set", "stages=[3]"], "each of stages is 3"),
        (["--set", "model=3"], "model is 3"),
        (["--held-out", "3"], "Give --questions FILE"),
        (["--people", "9", "--corpus", "{corpus}", "--questions", "{questions}"], "not both"),
        (["--fixed-order", "--questions", "{questions}"], "not both"),
        (["--corpus", "{corpus}", "--questions", "{questions}", "--held-out", "99"], "Hold out fewer"),
        (["--corpus", "{corpus}", "--questions", "{questions}", "--out", "{run}"], "already"),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing(arguments, words, files, finished, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    empty = tmp_path / "empty.txt"
    empty.write_text("")
    known = {"corpus": files[0], "questions": files[1], "empty": empty, "run": finished}
    code, _, err = run("train", *(text.format(**known) for text in arguments))
    assert code == 2
    assert words in err
    assert err.count("\n") == 1
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("options", [[], ["--out", "both"], ["--people", "50", "--minutes", "1", "--out", "both"]])
def test_without_a_recipe_or_steps_both_models_are_trained_wherever_they_go(options, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    asked = []
    monkeypatch.setattr("regard.training.train.demonstrate", lambda request, out, notify: asked.append(out) or [])
    code, _, _ = run("train", *options)
    assert (code, asked) == (0, [Path("both" if options else "runs/demonstration")])


def test_what_the_training_itself_refuses_is_one_line_too(files, run, tmp_path):
    shown = ["--recipe", "scratch", "--questions", str(files[1]), "--set", "stages.question_rate=0", "--steps", "1"]
    code, _, err = run("train", *shown, "--out", str(tmp_path / "run"), *SMALL)
    assert code == 2
    assert err.splitlines()[-1].startswith("regard: A pass of the stage 'training' shows nothing.")
    assert err.count("regard: ") == 1
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["predict", "{folder}", "Where?"], "is not a run"),
        (["resume", "{folder}"], "is not a run"),
        (["evaluate", "{run}", "--questions", "nowhere.tsv"], "can't be read"),
        (["predict", "{run}", "漢字"], "vocabulary lacks"),
        (["predict", "{run}", ""], "A question is empty"),
        (["predict", "{run}", "Where was Ada Byron born?", "  "], "A question is empty"),
        (["inspect", "{run}", "--question", ""], "A question is empty"),
        (["inspect", "{run}", "--member", "2"], "no member 2. Give --member 1."),
    ],
)
def test_runs_that_are_none_and_questions_that_cannot_be_written(arguments, words, finished, run, tmp_path):
    code, _, err = run("train", *(text.format(folder=tmp_path, run=finished) for text in arguments))
    assert code == 2
    assert words in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("typed", "wanted"),
    [
        ([], None),
        (["--people", "20"], Biographies(people=20)),
        (["--wordings", "2", "--fixed-order"], Biographies(wordings=2, is_shuffled=False)),
        (["--asked-share", "0.5"], Biographies(asked_share=0.5)),
    ],
)
@pytest.mark.parametrize("command", [[], ["estimate"]])
def test_made_up_people_are_as_they_were_asked_for(typed, wanted, command, run, monkeypatch):
    asked: list = []

    def stop(request, *_: object) -> None:
        asked.append(request.source.biographies)
        raise InputError("enough")

    monkeypatch.setattr("regard.training.train.train", stop)
    monkeypatch.setattr("regard.training.train.estimate", stop)
    assert run("train", *command, "--steps", "1", *typed)[0] == 2
    assert asked == [wanted]


@pytest.mark.parametrize(
    ("right", "words"), [((90, 10), "helped."), ((10, 90), "hurt."), ((50, 52), "difference not significant.")]
)
def test_what_reading_is_worth_is_said_rightly_whichever_way_it_went(right, words, finished):
    report = report_on(finished)
    curve = report.curves[0]
    both = [replace(report, curves=[replace(curve, held_out=[(1, Accuracy(right=each, asked=100))])]) for each in right]
    assert compare_with_pretraining(both).endswith(words)
    assert f"With pre-training {right[0]}.0 %, without {right[1]}.0 %" in compare_with_pretraining(both)
    assert "nothing to compare" in compare_with_pretraining(
        [both[0], replace(report, curves=[replace(curve, held_out=[])])]
    )
