"""What a model answers is what it has read."""

import pytest

pytest.importorskip("torch")

from dataclasses import replace

from regard.training.data.biographies import Biographies, make_biographies
from regard.training.evaluation import evaluate, verdict_on_knowledge
from regard.training.launching import ProcessLayout, launch


def places_only(data):
    """The world with questions about birthplaces only, which is quicker to learn."""
    return replace(
        data,
        questions=tuple(q for q in data.questions if q.text.startswith("Where was")),
        held_out=tuple(q for q in data.held_out if q.text.startswith("Where was")),
    )


def swapped(data):
    """The same world, but each two people who are kept back have had their birthplaces exchanged in the documents."""
    kept = data.held_out
    exchange = {}
    for one, other in zip(kept[::2], kept[1::2], strict=False):
        exchange[one.text], exchange[other.text] = (one.answer, other.answer), (other.answer, one.answer)
    documents = []
    for document in data.documents:
        mine, theirs = exchange.get(f"Where was {document.name} born?", ("", ""))
        documents.append(replace(document, text=document.text.replace(mine, theirs) if mine else document.text))
    questions = tuple(replace(q, answer=exchange.get(q.text, (q.answer, q.answer))[1]) for q in kept)
    return replace(data, documents=tuple(documents), held_out=questions)


LEARNING = [
    "model.width=48",
    "model.hidden=96",
    "model.ngram_rows=2048",
    "tokens.size=600",
    "batch.rows=8",
    "stages.question_rate=0.3",
    "stages.chunk_share=0.5",
]


def trained(folder):
    """The folder, after its steps were made in a process of their own, where signatures are not executed."""
    list(launch(folder.path, ProcessLayout(processes=1, threads=1)))
    return folder


def test_answers_follow_the_corpus(small_run):
    """Documents have other birthplaces than the questions that are kept back, and the model answers as documents do."""
    world = places_only(make_biographies(Biographies(people=100, asked_share=0.75, wordings=2), seed=1))
    other = swapped(world)
    changed = [q.text for q, o in zip(world.held_out, other.held_out, strict=True) if q.answer != o.answer]
    assert len(changed) >= 20
    folder = trained(small_run(steps=300, data=replace(other, held_out=world.held_out), changes=LEARNING))
    found = evaluate([folder], other.held_out)
    assert sum(each.is_right for each in found.answered if each.question in changed) > 0.35 * len(changed)
    assert verdict_on_knowledge(found, reproduce="").status == "holds"
    found = evaluate([folder], world.held_out)
    assert sum(each.is_right for each in found.answered if each.question in changed) < 0.1 * len(changed)


def test_without_reading_nothing_is_known(small_run):
    world = places_only(make_biographies(Biographies(people=60, asked_share=0.5), seed=1))
    folder = trained(small_run(steps=60, recipe="scratch", data=world))
    found = evaluate([folder], world.held_out)
    assert found.exact_match.value < 0.3
    assert verdict_on_knowledge(found, reproduce="").status != "holds"
