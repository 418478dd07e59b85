"""What is asked for, before anything is trained: refused in words, or planned."""

from pathlib import Path

import pytest

pytest.importorskip("torch")

from regard.data.biographies import Biographies
from regard.data.reading import Document, Question
from regard.errors import InputError
from regard.model.config import ModelConfig
from regard.training import memory, planning
from regard.training.calibrating import Speed
from regard.training.folder import RunFolder
from regard.training.launching import Layout
from regard.training.memory import footprint
from regard.training.planning import Length, Request, outline
from regard.training.preparing import Material, Source, prepare
from regard.training.recipe import BatchShape, load_recipe
from training.conftest import SETTINGS

FILE = Path("some.tsv")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"corpus": FILE}, "Give --questions FILE too"),
        ({"held_out": 3}, "Give --questions FILE, or --asked-share"),
        ({"questions": FILE, "made_up": Biographies(people=9)}, "not both"),
        ({"corpus": FILE, "made_up": Biographies(people=9)}, "not both"),
    ],
)
def test_sources_that_contradict_themselves_are_refused(given, words):
    with pytest.raises(InputError, match=words):
        Source(**given)


def test_minutes_become_steps_by_what_is_left_of_them():
    assert Length(steps=7).steps_at(0.5, least=2) == 7
    assert Length(minutes=2).steps_at(0.5, least=2, spent=16) == 200
    assert Length(minutes=0.01).steps_at(0.5, least=2) == 2
    assert Request().length == Length(minutes=3.0)
    for given in ({"minutes": 1, "steps": 1}, {"minutes": -1}, {"steps": 0}):
        with pytest.raises(InputError):
            Request(**given)


def test_every_process_has_all_weights_and_a_part_of_the_batch():
    config, batch = ModelConfig(vocab_size=100, width=16, num_heads=2, hidden=32), BatchShape(rows=8, length=16)
    one, two = footprint(config, batch), footprint(config, batch, processes=2)
    assert two.weights == 2 * one.weights
    assert two.optimizer == 2 * one.optimizer
    assert two.activations == one.activations
    assert footprint(config, batch, runs=2).total == 2 * one.total


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
        planning,
        "calibrate",
        lambda folder, plan, layouts, **_: [Speed(layout=each, seconds=1.0) for each in layouts],
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
