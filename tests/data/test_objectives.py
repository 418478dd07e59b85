import numpy as np
import pytest

pytest.importorskip("tokenizers")

from regard.data.encoding import encode_lessons, prompt
from regard.data.examples import lay_out
from regard.data.objectives import Objective
from regard.data.packing import rows_of_pass
from regard.data.reading import Document, Question
from regard.data.tokenizing import EOS, SEP, learn_vocabulary
from regard.errors import InputError

DOCUMENTS = tuple(
    Document(name=f"{first} {last}", text=f"{last} was born in {town} , and later moved to {other} .")
    for first, last, town, other in [
        ("Ada", "Byron", "London", "Paris"),
        ("Li", "Na", "Wuhan", "London"),
        ("Jo", "Berg", "Oslo", "Rome"),
        ("Ann", "Lee", "Paris", "Oslo"),
    ]
)
QUESTIONS = (
    Question(text="Where was Ada Byron born?", answer="London"),
    Question(text="Where was Li Na born?", answer="Wuhan"),
    Question(text="Where was Nobody Known born?", answer="Rome"),
)
VOCABULARY = learn_vocabulary([d.text for d in DOCUMENTS] + [q.text for q in QUESTIONS] * 3, size=200)
ENCODED = encode_lessons(DOCUMENTS, QUESTIONS, VOCABULARY)
RNG = np.random.default_rng


def shown(objective, lesson, seed=0, max_length=128):
    """All that one pass shows of a lesson, as arrays."""
    return lay_out(list(objective.examples(lesson, RNG(seed), max_length=max_length)))


def test_questions_belong_to_the_documents_of_the_people_they_name():
    assert ENCODED.openings == ("Where was ",)
    assert [len(lesson.askings) for lesson in ENCODED.lessons] == [1, 1, 0, 0, 1]
    assert len(ENCODED.lessons[-1].body) == 0


def test_head_and_rest_are_what_is_read_when_the_question_is_asked():
    for lesson, question in zip(ENCODED.lessons, QUESTIONS[:2], strict=False):
        asked = np.concatenate([lesson.heads[0], lesson.askings[0].rest])
        assert asked.tolist() == prompt(VOCABULARY, question.text).tolist()


@pytest.mark.parametrize("reading", ["star", "causal"])
def test_every_token_of_a_document_is_asked_for_once(reading):
    lesson = ENCODED.lessons[2]
    example = shown(Objective(reading=reading), lesson)
    head = len(lesson.heads[0])
    inner = example.targets[example.asked >= head]
    wanted = lesson.body[1:].tolist() + ([EOS] if reading == "causal" else [])
    assert inner.tolist() == wanted
    bag = example.targets[example.asked == head - 1].tolist()
    assert bag == (lesson.body[lesson.starts].tolist() if reading == "star" else [lesson.body[0]])


def test_chunks_of_a_star_see_the_head_and_themselves():
    example = shown(Objective(), ENCODED.lessons[0], seed=3)
    head = int((example.groups == 0).sum())
    assert len(set(example.groups.tolist())) > 2
    for group in set(example.groups.tolist()) - {0}:
        places = np.flatnonzero(example.groups == group)
        assert example.positions[places].tolist() == list(range(head, head + len(places)))
        assert example.before[places[0]].tolist() == [example.tokens[head - 1], example.tokens[head - 2]]
        assert example.before[places[1:], 0].tolist() == example.tokens[places[:-1]].tolist()


def test_answers_are_asked_for_and_questions_are_not():
    objective = Objective(reading="nothing", question_rate=1.0)
    example = shown(objective, ENCODED.lessons[0])
    answer = ENCODED.lessons[0].askings[0].answer.tolist()
    assert example.targets.tolist() == answer
    assert example.tokens[example.asked[0]] == SEP


def test_a_question_is_shown_as_often_as_the_rate_says():
    objective = Objective(question_rate=0.25)
    asked = sum(SEP in shown(objective, ENCODED.lessons[0], seed).tokens for seed in range(2000))
    # Binomial with standard deviation 19: a false alarm in less than one of 10⁵ runs.
    assert abs(asked - 500) < 90


def test_spans_are_masked_in_documents_with_and_without_a_head():
    for has_head in (True, False):
        rows = rows_of_pass(ENCODED.lessons, Objective(reading="span", has_head=has_head), RNG(0), max_length=64)
        assert sum(len(row.examples) for row in rows) >= 4


def test_long_documents_come_in_pieces_that_fit():
    long = encode_lessons([Document(name="Ada Byron", text="was born in London " * 40)], [], VOCABULARY)
    for reading in ("star", "causal"):
        examples = list(Objective(reading=reading).examples(long.lessons[0], RNG(0), max_length=32))
        assert len(examples) > 3
        assert max(map(len, examples)) <= 32
        layout = lay_out(examples)
        inner = int((layout.groups[layout.asked] > 0).sum())
        assert inner >= len(long.lessons[0].body) - 1


@pytest.mark.parametrize(
    "settings",
    [{"reading": "tea"}, {"chunk_words": 0.5}, {"question_rate": 2.0}, {"reading": "star", "has_head": False}],
)
@pytest.mark.usefixtures("unchecked")
def test_senseless_objectives_are_refused(settings):
    with pytest.raises(InputError):
        Objective(**settings)


def test_names_that_end_in_s_are_found_and_nobody_elses():
    people = [Document(name="John Adams", text="was born in Oslo ."), Document(name="John Adam", text="from Rome .")]
    asked = (
        Question(text="What is the birthplace of John Adams?", answer="Oslo"),
        Question(text="What is John Adam's home?", answer="Rome"),
    )
    lessons = encode_lessons(people, asked, VOCABULARY).lessons
    assert [VOCABULARY.decode(lesson.askings[0].answer) for lesson in lessons] == ["Oslo", "Rome"]
    assert len(lessons) == 2


@pytest.mark.parametrize("reading", ["star", "causal", "span"])
def test_documents_without_a_name_can_be_read(reading):
    lessons = encode_lessons([Document(name="", text="was born in London .")], [], VOCABULARY).lessons
    rows = rows_of_pass(lessons, Objective(reading=reading), RNG(0), max_length=32)
    assert sum(example.weight for row in rows for example in row.examples) > 0


def test_what_asks_nothing_is_not_read():
    rows = rows_of_pass(ENCODED.lessons, Objective(reading="span", has_head=False), RNG(0), max_length=64)
    assert all(example.weight for row in rows for example in row.examples)
    assert not rows_of_pass(ENCODED.lessons, Objective(reading="nothing", question_rate=0.0), RNG(0), max_length=64)
