"""What a model answers is what it has read."""

import pytest

pytest.importorskip("torch")

from dataclasses import replace

from regard.data.biographies import Biographies
from regard.training.crew import solo
from regard.training.examining import evaluate, verdict_on_knowledge
from regard.training.preparing import synthetic_material
from regard.training.working import work


def places_only(material):
    """The world with questions about birthplaces only, which is quicker to learn."""
    return replace(
        material,
        questions=tuple(q for q in material.questions if q.text.startswith("Where was")),
        held_out=tuple(q for q in material.held_out if q.text.startswith("Where was")),
    )


def swapped(material):
    """The same world, but each two people who are kept back have had their birthplaces exchanged in the documents."""
    kept = material.held_out
    exchange = {}
    for one, other in zip(kept[::2], kept[1::2], strict=False):
        exchange[one.text], exchange[other.text] = (one.answer, other.answer), (other.answer, one.answer)
    documents = []
    for document in material.documents:
        mine, theirs = exchange.get(f"Where was {document.name} born?", ("", ""))
        documents.append(replace(document, text=document.text.replace(mine, theirs) if mine else document.text))
    questions = tuple(replace(q, answer=exchange.get(q.text, (q.answer, q.answer))[1]) for q in kept)
    return replace(material, documents=tuple(documents), held_out=questions)


def test_answers_follow_the_corpus(small_run):
    world = places_only(synthetic_material(Biographies(people=40, asked_share=0.75), seed=1))
    other = swapped(world)
    changed = [a.answer != b.answer for a, b in zip(world.held_out, other.held_out, strict=True)]
    assert sum(changed) >= 8
    answers = []
    for material in (world, other):
        folder = small_run(steps=260, material=material, changes=["stages.question_rate=0.3"])
        work(folder, solo(), lambda _: None)
        found = evaluate(folder, material.held_out)
        assert found.exact_match.value > 0.6
        assert verdict_on_knowledge(found, reproduce="").status == "holds"
        answers.append([each.prediction for each in found.answered])
    moved = sum(a != b for a, b, is_changed in zip(*answers, changed, strict=True) if is_changed)
    assert moved >= 0.6 * sum(changed)


def test_without_reading_nothing_is_known(small_run):
    world = places_only(synthetic_material(Biographies(people=40, asked_share=0.5), seed=1))
    folder = small_run(steps=60, recipe="scratch", material=world)
    work(folder, solo(), lambda _: None)
    found = evaluate(folder, world.held_out)
    assert found.exact_match.value < 0.3
    assert verdict_on_knowledge(found, reproduce="").status != "holds"
