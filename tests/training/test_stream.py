"""What a stream of batches shows, and when."""

import pytest

pytest.importorskip("tokenizers")
pytest.importorskip("torch")

from regard.training.crew import solo
from regard.training.data.biographies import Biographies
from regard.training.data.tokenizing import SEP
from regard.training.preparing import prepare, synthetic_material
from regard.training.recipe import load_recipe
from regard.training.stream import BatchStream, Place
from regard.training.trainer import Trainer


def count_asked(stream: BatchStream) -> int:
    """How many questions a pass shows: only in them SEP is followed by something."""
    shown = [example for row in stream._rows for example in row.examples]
    return sum(SEP in part.tokens[:-1] for example in shown for part in example.parts)


def test_in_as_many_passes_as_the_rate_says_everybody_is_asked_about_once():
    recipe = load_recipe("fast", ["stages.question_rate=0.25", "batch.length=64"])
    material = synthetic_material(Biographies(people=40), seed=0)
    lessons = prepare(material, recipe).encoded.lessons
    counts = [count_asked(BatchStream(lessons, recipe, 0, Place(passed=passed))) for passed in range(8)]
    assert min(counts) > 0
    people = sum(bool(lesson.askings) for lesson in lessons)
    assert (sum(counts[:4]), sum(counts[4:])) == (people, people)


def test_a_long_run_shows_all_chunks_and_goes_on_so(small_run):
    def second_loss(*changes, is_resumed=False):
        folder = small_run(steps=2000, changes=changes)
        plan = folder.plan()
        trainer = Trainer(plan, folder.lessons(), solo(), folder.read_as(plan))
        trainer.advance()
        if is_resumed:
            kept = trainer.tensors(), trainer.place()
            trainer = Trainer(plan, folder.lessons(), solo(), folder.read_as(plan))
            trainer.restore(*kept)
        return trainer.advance().loss

    assert second_loss() == second_loss("stages.chunk_share=1.0") == second_loss(is_resumed=True)
    assert second_loss() != second_loss("stages.all_chunks_at=0")


def test_each_stage_shows_what_its_own_length_wants():
    recipe = load_recipe("classic", ["stages.chunk_share=0.6", "stages.all_chunks_at=2000"])
    assert [stage.objective.chunk_share for stage in recipe.over(2000).stages] == [0.95, 0.6]
