import numpy as np
import pytest

pytest.importorskip("tokenizers")

from regard.training.data.batches import (
    SHARED,
    BatchStream,
    PackedRow,
    StreamPosition,
    common_openings,
    flatten_examples,
    make_batch,
    pack,
)
from regard.training.data.biographies import Biographies, make_biographies
from regard.training.data.corpus import CorpusDocument, FactQuestion
from regard.training.data.lessons import make_lessons
from regard.training.data.objectives import Objective
from regard.training.data.vocabulary import SEP, learn_vocabulary
from regard.training.planning import prepare_lessons
from regard.training.recipe import load_recipe

NAMES = ("Ada Byron", "Li Na", "Jo Berg", "Ann Lee")
DOCUMENTS = tuple(CorpusDocument(name=name, text=f"was born in {name[:2]}land , and moved to Rome .") for name in NAMES)
QUESTIONS = (
    FactQuestion(text="Where was Ada Byron born?", answer="Adland"),
    FactQuestion(text="When was Li Na born?", answer="Liland"),
    FactQuestion(text="Who knows Nobody?", answer="Rome"),
)
VOCABULARY = learn_vocabulary([d.text for d in DOCUMENTS] + [q.text for q in QUESTIONS] * 3, size=200)
LESSONS = make_lessons(DOCUMENTS, QUESTIONS, VOCABULARY).lessons
OPENINGS = common_openings(LESSONS)


OBJECTIVE = Objective(chunk_share=0.3, later_words=4)


def examples(lessons=LESSONS, *, times=1, objective=OBJECTIVE):
    rng = np.random.default_rng(0)
    return [
        example
        for number, lesson in enumerate(times * lessons)
        for example in objective.examples(lesson, rng, max_length=64, shows_question=number % 2 == 0)
    ]


def test_openings_are_what_heads_begin_with_for_each_way_of_asking():
    assert {VOCABULARY.decode(opening) for opening in OPENINGS} == {"Where was", "When was"}
    for opening in OPENINGS:
        assert sum(head[: len(opening)].tolist() == opening.tolist() for head in LESSONS[0].heads) == 1


def test_the_last_token_of_a_head_is_never_shared():
    alike = make_lessons(2 * DOCUMENTS[:1], QUESTIONS[:1], VOCABULARY).lessons
    [opening] = common_openings(alike)
    assert len(opening) == len(alike[0].heads[0]) - 1


def test_nothing_to_read_has_no_opening():
    assert common_openings([lesson for lesson in LESSONS if not len(lesson.body)]) == ()


@pytest.mark.parametrize("openings", [(), OPENINGS], ids=["apart", "shared"])
def test_packing_loses_nothing_and_leaves_little_room(openings):
    shown = examples(times=100)
    rows = pack(shown, 64, openings)
    assert sorted(id(e) for row in rows for e in row.examples) == sorted(map(id, shown))
    assert max(map(len, rows)) <= 64
    assert sum(map(len, rows)) / (64 * len(rows)) > 0.9


def test_sharing_openings_takes_fewer_rows():
    shown = examples(times=100)
    assert len(pack(shown, 64, OPENINGS)) < 0.9 * len(pack(shown, 64))


def test_examples_that_begin_otherwise_share_nothing():
    stranger = examples(LESSONS[-1:], times=40)
    assert stranger
    assert all(not len(row.opening) for row in pack(stranger, 64, OPENINGS))


def test_a_head_that_is_an_opening_keeps_its_last_token_to_itself():
    shown = examples(LESSONS[:1], times=4)
    assert all(not len(row.opening) for row in pack(shown, 64, [shown[0].head]))


def test_a_batch_holds_each_example_in_its_place():
    shown = examples(LESSONS[:4])
    rows = pack(shown, 64)
    batch = make_batch(rows, 64)
    assert (np.diff(batch.asked) >= 0).all()
    assert batch.tokens[batch.documents > 0].size == sum(map(len, shown))
    first = flatten_examples(rows[0].examples[:1])
    assert batch.tokens[0, : len(first.tokens)].tolist() == first.tokens.tolist()
    assert batch.weights.sum() == pytest.approx(sum(example.weight for example in shown))


def test_a_shared_opening_stands_once_and_every_example_goes_on_from_it():
    shown = examples(LESSONS[:1], times=3)
    opening = shown[0].head[:2]
    batch = make_batch([PackedRow(opening=opening, examples=shown)], 128)
    assert (batch.documents == SHARED).sum() == 2
    assert batch.tokens[0, :2].tolist() == opening.tolist()
    for number, example in enumerate(shown, start=1):
        own, alone = batch.documents[0] == number, flatten_examples([example])
        assert batch.tokens[0, own].tolist() == alone.tokens[2:].tolist()
        assert batch.positions[0, own].tolist() == alone.positions[2:].tolist()
        assert batch.before[0, own].tolist() == alone.before[2:].tolist()


@pytest.mark.parametrize("code", ["none", "rotary", "alibi", "learned"])
def test_a_model_makes_the_same_of_examples_apart_and_together(code):
    torch = pytest.importorskip("torch")
    from regard.training.model import Decoder
    from regard.training.model.config import ModelConfig
    from regard.training.trainer import batch_input

    torch.manual_seed(0)
    model = Decoder(
        ModelConfig(
            vocab_size=len(VOCABULARY),
            width=32,
            num_layers=2,
            num_heads=2,
            hidden=64,
            positions=code,
            ngram_rows=64,
            max_length=64,
        )
    )
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.3)
    said = []
    for openings in ((), OPENINGS):
        rows = pack(examples(times=3), 64, openings)
        batch = make_batch(rows, 64)
        hidden = model(batch_input(batch)).flatten(0, 1)[torch.from_numpy(batch.asked)]
        losses = torch.nn.functional.cross_entropy(
            model.logits(hidden), torch.from_numpy(batch.targets), reduction="none"
        )
        said.append(np.sort(losses.detach().numpy()))
    assert any(len(row.opening) and len(row.examples) > 1 for row in rows)
    np.testing.assert_allclose(said[0], said[1], rtol=2e-5, atol=2e-6)


def count_asked(stream: BatchStream) -> int:
    """How many questions a pass shows: only in them SEP is followed by something."""
    shown = [example for row in stream._rows for example in row.examples]
    return sum(SEP in part.tokens[:-1] for example in shown for part in example.segments)


def test_in_as_many_passes_as_the_rate_says_everybody_is_asked_about_once():
    recipe = load_recipe("fast", ["stages.question_rate=0.25", "batch.length=64"])
    data = make_biographies(Biographies(people=40), seed=0)
    lessons = prepare_lessons(data, recipe).lessons
    counts = [count_asked(BatchStream(lessons, recipe, 0, StreamPosition(passed=passed))) for passed in range(8)]
    assert min(counts) > 0
    people = sum(bool(lesson.questions) for lesson in lessons)
    assert (sum(counts[:4]), sum(counts[4:])) == (people, people)
