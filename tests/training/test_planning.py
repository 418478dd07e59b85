"""What is asked for, before anything is trained: refused in words, or planned."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("torch")

from regard.core.errors import InputError
from regard.training import memory, planning
from regard.training.calibrating import Speed
from regard.training.data.biographies import Biographies
from regard.training.data.reading import Document, Question
from regard.training.folder import RunFolder
from regard.training.launching import Layout
from regard.training.memory import footprint
from regard.training.model.config import ModelConfig
from regard.training.planning import Length, Request, outline
from regard.training.preparing import Material, Source, prepare
from regard.training.recipe import BatchShape, load_recipe
from training.conftest import SETTINGS

FILE = Path("some.tsv")


@pytest.mark.parametrize(
    ("contradiction", "words"),
    [
        ({"corpus": FILE}, "Give --questions FILE too"),
        ({"held_out": 3}, "Give --questions FILE, or --asked-share"),
        ({"questions": FILE, "made_up": Biographies(people=9)}, "not both"),
        ({"corpus": FILE, "made_up": Biographies(people=9)}, "not both"),
    ],
)
def test_sources_that_contradict_themselves_are_refused(contradiction, words):
    with pytest.raises(InputError, match=words):
        Source(**contradiction)


def test_minutes_become_steps_by_what_is_left_of_them():
    assert Length(steps=7).steps_at(0.5, least=2) == 7
    assert Length(minutes=2).steps_at(0.5, least=2, spent=16) == 200
    assert Length(minutes=0.01).steps_at(0.5, least=2) == 2
    assert Request().length == Length(minutes=3.0)
    for wrong in ({"minutes": 1, "steps": 1}, {"minutes": -1}, {"steps": 0}):
        with pytest.raises(InputError):
            Request(**wrong)


def test_every_process_has_all_weights_and_a_part_of_the_batch():
    config, batch = ModelConfig(vocab_size=100, width=16, num_heads=2, hidden=32), BatchShape(rows=8, length=16)
    one, two = footprint(config, batch), footprint(config, batch, processes=2)
    assert two.weights == 2 * one.weights
    assert two.optimizer == 2 * one.optimizer
    # The second one has its own gradient of the scores' matrix, in several copies.
    assert two.activations == one.activations + 4 * 4 * 100 * 16
    assert footprint(config, batch, runs=2).total == 2 * one.total


@given(rows=st.integers(1, 200), length=st.integers(16, 9000), processes=st.integers(1, 9))
def test_a_go_holds_a_process_share_of_the_rows_or_what_fits(rows, length, processes):
    most = max(len(range(rows)[rank::processes]) for rank in range(processes))
    at_once = BatchShape(rows=rows, length=length).rows_at_once(processes)
    assert at_once == most or (at_once + 1) * length > 4096
    assert 1 <= at_once <= most
    assert at_once == 1 or at_once * length <= 4096


def test_what_is_kept_besides_is_counted():
    plain, batch = ModelConfig(vocab_size=100, width=16, num_heads=2, hidden=32), BatchShape(rows=8, length=16)
    for change in ({"dropout": 0.1}, {"activation": "swiglu"}, {"vocab_size": 5000}, {"num_layers": 9}):
        assert footprint(replace(plain, **change), batch).activations > footprint(plain, batch).activations
    for processes in (1, 3):
        needed = footprint(plain, batch, processes=processes)
        assert needed.total - needed.weights - needed.optimizer - needed.activations == processes * 2**29


@pytest.mark.parametrize("advice", [{"width": 64}, {"num_layers": 2}])
def test_what_a_refusal_advises_takes_less_memory(advice):
    config = ModelConfig(vocab_size=100, width=128, num_heads=2, hidden=32, num_layers=8)
    batch = BatchShape(rows=64, length=1024)
    needed = footprint(config, batch, processes=2).total
    assert footprint(replace(config, **advice), batch, processes=2).total < needed
    assert footprint(config, BatchShape(rows=64, length=512), processes=2).total < needed
    assert footprint(config, batch).total < needed


def test_memory_does_not_grow_with_rows_that_wait():
    config = ModelConfig(vocab_size=100, width=16, num_heads=2, hidden=32)
    few, many, most = (footprint(config, BatchShape(rows=rows, length=128)) for rows in (8, 64, 4096))
    assert few.activations < many.activations == most.activations
    assert footprint(config, BatchShape(rows=1, length=8192)).activations > many.activations


def test_memory_is_asked_for_all_processes(monkeypatch, tmp_path):
    request = Request(changes=SETTINGS, biographies=Biographies(people=24), steps=1)
    _, plan = outline(request)
    needed = footprint(plan.model_config, plan.recipe.batch).total
    monkeypatch.setattr(memory, "_available", lambda: needed + 1)
    both = [Layout(processes=2, threads=1), Layout(processes=1, threads=2)]
    monkeypatch.setattr(planning, "layouts_to_try", lambda _, members: both)
    monkeypatch.setattr(
        planning, "calibrate", lambda folder, plan, layouts, **_: [Speed(layout=each, seconds=1.0) for each in layouts]
    )
    measured = planning.measure_layouts(request, 0.0, RunFolder(tmp_path), plan, print)
    assert [speed.layout for speed in measured] == [Layout(processes=1, threads=2)]
    with pytest.raises(InputError, match=r"GiB \(processes: 2\)"):
        outline(Request(changes=SETTINGS, biographies=Biographies(people=24), layout=Layout(processes=2, threads=1)))


def test_who_reads_no_documents_has_their_letters_all_the_same():
    documents = (Document(name="Fiachna Ó", text="Born in Rome ."),)
    asked = (Question(text="Where was Ada born?", answer="London"),)
    material = Material(documents=documents, questions=asked, held_out=(), sources=())
    prepared = prepare(material, load_recipe("scratch"))
    assert not prepared.vocabulary.lacks("Where was Fiachna %C3%93 born?")
    assert [len(lesson.body) for lesson in prepared.encoded.lessons] == [0]
