"""What is asked for, before anything is trained: refused in words, or planned."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("torch")

from regard.core.errors import InputError
from regard.training import planning
from regard.training.data.biographies import Biographies
from regard.training.data.corpus import CorpusDocument, FactQuestion, TrainingData
from regard.training.launching import ProcessLayout
from regard.training.model.config import ModelConfig
from regard.training.planning import (
    DataSource,
    LayoutSpeed,
    RunLength,
    TrainRequest,
    bytes_needed,
    outline,
    prepare_lessons,
)
from regard.training.recipe import BatchShape, load_recipe
from regard.training.run_folder import RunFolder
from training.conftest import SETTINGS

FILE = Path("some.tsv")
PEOPLE = DataSource(biographies=Biographies(people=24))


@pytest.mark.parametrize(
    ("contradiction", "words"),
    [
        ({"corpus": FILE}, "Give --questions FILE too"),
        ({"held_out": 3}, "Give --questions FILE, or --asked-share"),
        ({"questions": FILE, "biographies": Biographies(people=9)}, "not both"),
        ({"corpus": FILE, "biographies": Biographies(people=9)}, "not both"),
    ],
)
def test_sources_that_contradict_themselves_are_refused(contradiction, words):
    with pytest.raises(InputError, match=words):
        DataSource(**contradiction)


def test_minutes_become_steps_by_what_is_left_of_them():
    assert RunLength(steps=7).enough_steps_at(0.5) == 7
    assert RunLength(minutes=2).enough_steps_at(0.5, spent=16) == 200
    assert RunLength(minutes=2, share=0.5).enough_steps_at(0.5, spent=16) == 96
    assert RunLength(minutes=0.01).steps_at(0.5) == 0
    assert TrainRequest().length == RunLength(minutes=3.0)
    for wrong in ({"minutes": 1, "steps": 1}, {"minutes": -1}, {"steps": 0}):
        with pytest.raises(InputError):
            RunLength(**wrong)


@pytest.mark.parametrize("share", [1.0, 0.2])
def test_minutes_that_are_too_few_are_refused_with_a_number_that_is_enough(share):
    with pytest.raises(InputError, match=r"0.5 minutes leave time for \d+ steps .*, too few to learn") as refusal:
        RunLength(minutes=0.5, share=share).enough_steps_at(0.9, spent=11)
    advised = float(re.search(r"--minutes ([\d.]+)\.$", str(refusal.value))[1])
    assert RunLength(minutes=advised, share=share).enough_steps_at(0.9, spent=11) >= 50


def test_every_process_has_all_weights_and_a_part_of_the_batch():
    config, batch = ModelConfig(vocab_size=100, width=16, num_heads=2, hidden=32), BatchShape(rows=8, length=16)
    one, two = bytes_needed(config, batch), bytes_needed(config, batch, processes=2)
    # The second process has its own program, weights, gradients and moments, and copies of the output matrix.
    assert two == one + 2**29 + 4 * 4 * config.num_parameters + 4 * 4 * 100 * 16
    assert bytes_needed(config, batch, runs=2) == 2 * one


@given(rows=st.integers(1, 200), length=st.integers(16, 9000), processes=st.integers(1, 9))
def test_a_go_holds_a_process_share_of_the_rows_or_what_fits(rows, length, processes):
    most = max(len(range(rows)[rank::processes]) for rank in range(processes))
    at_once = BatchShape(rows=rows, length=length).rows_at_once(processes)
    assert at_once == most or (at_once + 1) * length > 4096
    assert 1 <= at_once <= most
    assert at_once == 1 or at_once * length <= 4096


def test_everything_kept_is_counted():
    plain, batch = ModelConfig(vocab_size=100, width=16, num_heads=2, hidden=32), BatchShape(rows=8, length=16)
    for change in ({"dropout": 0.1}, {"activation": "swiglu"}, {"vocab_size": 5000}, {"num_layers": 9}):
        changed = replace(plain, **change)
        more_weights = 4 * 4 * (changed.num_parameters - plain.num_parameters)
        assert bytes_needed(changed, batch) - more_weights > bytes_needed(plain, batch)


@pytest.mark.parametrize("advice", [{"width": 64}, {"num_layers": 2}])
def test_what_a_refusal_advises_takes_less_memory(advice):
    config = ModelConfig(vocab_size=100, width=128, num_heads=2, hidden=32, num_layers=8)
    batch = BatchShape(rows=64, length=1024)
    needed = bytes_needed(config, batch, processes=2)
    assert bytes_needed(replace(config, **advice), batch, processes=2) < needed
    assert bytes_needed(config, BatchShape(rows=64, length=512), processes=2) < needed
    assert bytes_needed(config, batch) < needed


def test_memory_does_not_grow_with_rows_that_wait():
    config = ModelConfig(vocab_size=100, width=16, num_heads=2, hidden=32)
    few, many, most = (bytes_needed(config, BatchShape(rows=rows, length=128)) for rows in (8, 64, 4096))
    assert few < many == most
    assert bytes_needed(config, BatchShape(rows=1, length=8192)) > many


def test_memory_is_asked_for_all_processes(monkeypatch, tmp_path):
    request = TrainRequest(changes=SETTINGS, source=PEOPLE, length=RunLength(steps=1))
    *_, plan = outline(request)
    needed = bytes_needed(plan.model_config, plan.recipe.batch)
    monkeypatch.setattr(planning, "_available", lambda: needed + 1)
    both = [ProcessLayout(processes=2, threads=1), ProcessLayout(processes=1, threads=2)]
    monkeypatch.setattr(planning, "layouts_to_try", lambda _, members: both)
    monkeypatch.setattr(
        planning,
        "calibrate",
        lambda _folder, _plan, layouts, **_: [LayoutSpeed(layout=each, seconds=1) for each in layouts],
    )
    measured = planning.measure_layouts(request, 0.0, RunFolder(tmp_path), plan, print)
    assert [speed.layout for speed in measured] == [ProcessLayout(processes=1, threads=2)]
    with pytest.raises(InputError, match=r"GiB \(processes: 2\)"):
        outline(replace(request, layout=ProcessLayout(processes=2, threads=1)))


def test_who_reads_no_documents_has_their_letters_all_the_same():
    documents = (CorpusDocument(name="Fiachna Ó", text="Born in Rome ."),)
    asked = (FactQuestion(text="Where was Ada born?", answer="London"),)
    data = TrainingData(documents=documents, questions=asked, held_out=(), sources=())
    lesson_set = prepare_lessons(data, load_recipe("scratch"))
    assert not lesson_set.vocabulary.missing_characters("Where was Fiachna %C3%93 born?")
    assert [len(lesson.body) for lesson in lesson_set.lessons] == [0]
