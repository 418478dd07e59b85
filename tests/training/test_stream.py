"""What a stream of batches shows, and when."""

import pytest

pytest.importorskip("tokenizers")

from regard.data.biographies import Biographies
from regard.data.tokenizing import SEP
from regard.training.preparing import prepare, synthetic_material
from regard.training.recipe import load_recipe
from regard.training.stream import BatchStream, Place


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
