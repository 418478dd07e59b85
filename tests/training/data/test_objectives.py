import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("tokenizers")

from regard.core.errors import InputError
from regard.training.data.batches import flatten_examples, pack_pass
from regard.training.data.corpus import CorpusDocument, FactQuestion
from regard.training.data.lessons import PromptFormat, make_lessons
from regard.training.data.objectives import Objective, corrupt_span
from regard.training.data.vocabulary import BOS, EOS, MASK, SEP, learn_vocabulary

DOCUMENTS = tuple(
    CorpusDocument(name=f"{first} {last}", text=f"{last} was born in {town} , and later moved to {other} .")
    for first, last, town, other in [
        ("Ada", "Byron", "London", "Paris"),
        ("Li", "Na", "Wuhan", "London"),
        ("Jo", "Berg", "Oslo", "Rome"),
        ("Ann", "Lee", "Paris", "Oslo"),
    ]
)
QUESTIONS = (
    FactQuestion(text="Where was Ada Byron born?", answer="London"),
    FactQuestion(text="Where was Li Na born?", answer="Wuhan"),
    FactQuestion(text="Where was Nobody Known born?", answer="Rome"),
)
VOCABULARY = learn_vocabulary([d.text for d in DOCUMENTS] + [q.text for q in QUESTIONS] * 3, size=200)
LESSON_SET = make_lessons(DOCUMENTS, QUESTIONS, VOCABULARY)
LESSONS = LESSON_SET.lessons
RNG = np.random.default_rng


def shown(objective, lesson, seed=0, *, shows_question=False):
    """All that one pass shows of a lesson, as arrays."""
    return flatten_examples(list(objective.examples(lesson, RNG(seed), max_length=128, shows_question=shows_question)))


def rows_of(objective, lessons=LESSONS):
    """The rows of a pass in which nobody's question is shown."""
    rng = RNG(0)
    shown = [e for lesson in lessons for e in objective.examples(lesson, rng, max_length=64, shows_question=False)]
    return pack_pass(shown, rng, max_length=64)


def test_questions_belong_to_the_documents_of_the_people_they_name():
    assert LESSON_SET.openings == ("Where was ",)
    assert LESSON_SET.prompt_format.endings == (" born?",)
    assert [len(lesson.questions) for lesson in LESSONS] == [1, 1, 0, 0, 1]
    assert len(LESSONS[-1].body) == 0


@pytest.mark.parametrize("kind", ["pieces", "characters"])
@pytest.mark.parametrize(
    ("answers", "may", "may_not"),
    [
        (("London", "Oslo"), ("Wuhan", "McTown"), ("1919", "moved", "(Oslo", "Oslo in")),
        (("London", "1862"), ("Wuhan", "1919"), ("moved", "(1862")),
        (("New York", "Oslo"), ("New Oslo", "Wuhan"), ("moved", "New 1919", "Oslo (", "Oslo, moved")),
        (("1862", "1864"), ("1873",), ("1862)", "moved")),
        ((), ("moved", "1919", "(Oslo", "New York"), ()),
    ],
)
def test_what_may_be_said_has_the_forms_of_the_answers(kind, answers, may, may_not):
    texts = (*answers, *may, *may_not)
    vocabulary = learn_vocabulary(texts, kind=kind, size=300)
    questions = tuple(FactQuestion(text="Where?", answer=answer) for answer in answers)
    first, later = make_lessons((), questions, vocabulary).prompt_format.allowed_tokens()

    def is_sayable(text):
        tokens = [*vocabulary.encode(text), EOS]
        return first[tokens[0]] and later[tokens[1:]].all()

    assert all(is_sayable(text) for text in (*answers, *may))
    assert not any(is_sayable(text) for text in may_not)


def test_words_that_are_cut_may_be_said():
    answers = ("北京", "1862", "दिल्ली")
    vocabulary = learn_vocabulary([*answers, "18", "x成都", "x73", "Oslo", "x(Oslo"], size=300)
    first, later = make_lessons(
        (), tuple(FactQuestion(text="x", answer=answer) for answer in answers), vocabulary
    ).prompt_format.allowed_tokens()
    for text, is_sayable in (("成都", True), ("1873", True), ("दिल्ली", True), ("Oslo", False), ("(Oslo", False)):
        tokens = vocabulary.encode(text)
        assert (first[tokens[0]] and later[tokens[1:]].all()) == is_sayable, text


@pytest.mark.parametrize(("steps", "share"), [(10, 0.6), (1200, 0.6), (1500, 0.75), (2000, 1.0), (9000, 1.0)])
def test_long_runs_show_more_of_the_chunks(steps, share):
    assert Objective(chunk_share=0.6, all_chunks_at=2000).over(steps).chunk_share == share
    assert Objective(chunk_share=0.6).over(steps).chunk_share == 0.6


def test_an_escaped_question_is_about_the_same_person():
    documents = (CorpusDocument(name="Jørn Berg", text="Born in Oslo ."),)
    question = FactQuestion(text="Where was J%C3%B8rn\u00a0Berg born?", answer="Oslo")
    vocabulary = learn_vocabulary(["Where was Jørn Berg born? Oslo Born in"], size=200)
    (lesson,) = make_lessons(documents, (question,), vocabulary).lessons
    assert len(lesson.questions) == 1
    prompt = PromptFormat(vocabulary=vocabulary, endings=(" born?",)).prompt(question.text)
    assert (prompt.head.tolist(), prompt.rest.tolist()) == (lesson.heads[0].tolist(), lesson.questions[0].rest.tolist())


def test_head_and_rest_are_what_is_read_when_the_question_is_asked():
    for lesson, question in zip(LESSONS, QUESTIONS[:2], strict=False):
        prompt = PromptFormat(vocabulary=VOCABULARY, endings=LESSON_SET.prompt_format.endings).prompt(question.text)
        assert prompt.head.tolist() == lesson.heads[0].tolist()
        assert prompt.rest.tolist() == lesson.questions[0].rest.tolist()
        assert VOCABULARY.decode(prompt.tokens) == question.text


def test_an_ending_that_is_part_of_a_name_is_none():
    people = [
        CorpusDocument(name=name, text="was born in Oslo .") for name in ("John", *(f"Li {n}" for n in range(200)))
    ]
    asked = [FactQuestion(text=f"Where was {person.name} born?", answer="Oslo") for person in people[1:]]
    stranger = FactQuestion(text="Where was John Smith born?", answer="Rome")
    assert make_lessons(people, (*asked, stranger), VOCABULARY).prompt_format.endings == (" born?",)


def test_what_cannot_be_written_is_left_out_unless_it_is_all():
    characters = learn_vocabulary([QUESTIONS[0].text], kind="characters")
    prompt_format = PromptFormat(vocabulary=characters, endings=(" born?",))
    prompt = prompt_format.prompt("漢 born? ")
    assert prompt.head.tolist() == [BOS]
    assert characters.decode(prompt.rest) == "born?"
    with pytest.raises(InputError, match="none of the characters"):
        prompt_format.prompt("漢字")


def test_a_question_that_ends_otherwise_is_all_head():
    prompt_format = PromptFormat(vocabulary=VOCABULARY, endings=("?", " born?"))
    assert VOCABULARY.decode(prompt_format.prompt("Where was Li Na born?").rest) == "born?"
    assert VOCABULARY.decode(prompt_format.prompt("Where was Li Na?").rest) == "?"
    other = prompt_format.prompt("Where was Li Na born")
    assert other.rest.tolist() == [SEP]
    assert VOCABULARY.decode(other.head) == "Where was Li Na born"


@pytest.mark.parametrize("reading", ["star", "causal"])
def test_every_token_of_a_document_is_asked_for_once(reading):
    lesson = LESSONS[2]
    example = shown(Objective(reading=reading), lesson)
    head = len(lesson.heads[0])
    inner = example.targets[example.asked >= head]
    wanted = lesson.body[1:].tolist() + ([EOS] if reading == "causal" else [])
    assert inner.tolist() == wanted
    bag = example.targets[example.asked == head - 1].tolist()
    assert bag == (lesson.body[lesson.starts].tolist() if reading == "star" else [lesson.body[0]])


def test_chunks_of_a_star_see_the_head_and_themselves():
    example = shown(Objective(), LESSONS[0], seed=3)
    head = int((example.groups == 0).sum())
    assert len(set(example.groups.tolist())) > 2
    for group in set(example.groups.tolist()) - {0}:
        places = np.flatnonzero(example.groups == group)
        assert example.positions[places].tolist() == list(range(head, head + len(places)))
        assert example.before[places, 0].tolist() == [-1, *example.tokens[places[:-1]]]
        assert example.before[places, 1].tolist() == [-1, -1, *example.tokens[places[:-2]]][: len(places)]


def test_answers_are_asked_for_and_questions_are_not():
    example = shown(Objective(reading="nothing"), LESSONS[0], shows_question=True)
    answer = LESSONS[0].questions[0].answer.tolist()
    assert example.targets.tolist() == answer
    assert example.tokens[example.asked[0]] == SEP


@pytest.mark.parametrize("rate", [0.0, 0.08, 0.25, 0.6, 1.0])
def test_a_question_is_shown_as_often_as_the_rate_says_and_evenly(rate):
    objective = Objective(question_rate=rate)
    for phase in (0.0, 0.3, 0.999):
        passes = np.flatnonzero([objective.shows_question(passed, phase) for passed in range(1000)])
        assert abs(len(passes) - 1000 * rate) <= 1
        gaps = np.diff(passes)
        assert not len(gaps) or (gaps.min() >= np.floor(1 / rate) and gaps.max() <= np.ceil(1 / rate))


def test_people_are_asked_about_in_different_passes():
    objective = Objective(question_rate=0.25)
    firsts = [objective.shows_question(0, phase) for phase in np.linspace(0, 1, 100, endpoint=False)]
    assert sum(firsts) == 25


def test_a_chunk_foretells_the_words_behind_it():
    lesson = LESSONS[0]
    words = lesson.body[lesson.starts].tolist()
    example = shown(Objective(later_words=3, later_weight=0.5), lesson, seed=3)
    ends = np.flatnonzero(example.tokens == SEP)
    assert len(ends) == len(set(example.groups.tolist())) - 2, "every chunk but the last ends with SEP"
    for end in ends:
        told, weights = example.targets[example.asked == end].tolist(), example.weights[example.asked == end]
        before = example.tokens[end - 1]
        start = next(n for n in range(len(words)) if words[n : n + len(told)] == told)
        assert len(told) == min(3, len(words) - start)
        assert lesson.body.tolist().index(before) < lesson.body.tolist().index(told[0])
        np.testing.assert_allclose(weights, 0.5 * np.exp(-2 / 3 * np.arange(len(told))), rtol=1e-6)


def test_what_could_be_an_answer_is_marked_but_for_the_persons_own_name():
    for lesson, places in zip(LESSONS, (["London", "Paris"], ["Wuhan", "London"]), strict=False):
        assert [VOCABULARY.decode([token]) for token in lesson.body[lesson.salient]] == places


@pytest.mark.parametrize(("num_documents", "salient"), [(10, ["May", "Rome"]), (11, ["Rome"])])
def test_a_name_that_many_documents_have_is_no_answer_unless_it_has_been_one(num_documents, salient):
    months = [" May", " May", "(May"]
    documents = [CorpusDocument(name=f"N{n}", text=f"born in{months[n % 3]} at Rome .") for n in range(num_documents)]
    vocabulary = learn_vocabulary([d.text for d in documents], size=200)
    asked = [FactQuestion(text="Where was N1 born?", answer="Rome")]
    for lesson in make_lessons(documents, asked, vocabulary).lessons:
        assert [vocabulary.decode([token]) for token in lesson.body[lesson.salient]] == salient


@pytest.mark.parametrize(("words_between", "is_told"), [(19, True), (20, False)])
def test_only_near_words_are_foretold(words_between, is_told):
    far = CorpusDocument(name="Ada Byron", text="was" + " in" * words_between + " London")
    (lesson,) = make_lessons([far], [], VOCABULARY).lessons
    example = shown(Objective(salient_weight=0.5, chunk_words=1.0), lesson)
    first = int(np.flatnonzero(example.groups == 1)[-1])
    assert (example.tokens[first] == SEP) == is_told


def test_the_next_answer_is_foretold_beside_the_next_words():
    lesson = LESSONS[0]
    both = shown(Objective(later_words=3, salient_weight=0.5), lesson, seed=3)
    alone = shown(Objective(later_words=3), lesson, seed=3)
    assert both.tokens.tolist() == alone.tokens.tolist()
    london = lesson.body[lesson.salient][0]
    more = both.weights[both.targets == london].sum() - alone.weights[alone.targets == london].sum()
    before = int((np.flatnonzero(alone.tokens == SEP) < alone.tokens.tolist().index(london)).sum())
    assert more == pytest.approx(0.5 * before)


def test_a_chunk_foretells_the_next_word_that_could_be_an_answer():
    lesson = LESSONS[0]
    london, paris = lesson.body[lesson.salient].tolist()
    example = shown(Objective(salient_weight=0.5), lesson, seed=3)
    ends = np.flatnonzero(example.tokens == SEP)
    at = [lesson.body.tolist().index(example.tokens[end - 1]) for end in ends]
    told = [example.targets[example.asked == end].tolist() for end in ends]
    places = np.flatnonzero(lesson.salient)
    assert told == [[london] if last < places[0] else [paris] for last in at]
    assert {*map(tuple, told)} == {(london,), (paris,)}
    assert max(at) < places[1], "a chunk with none behind it has no SEP"
    assert {example.weights[example.asked == end].item() for end in ends} == {0.5}


def test_spans_are_masked_in_documents_with_and_without_a_head():
    for has_head in (True, False):
        rows = rows_of(Objective(reading="span", has_head=has_head))
        assert sum(len(row.examples) for row in rows) >= 4


def test_long_documents_come_in_pieces_that_fit():
    long = make_lessons([CorpusDocument(name="Ada Byron", text="was born in London " * 40)], [], VOCABULARY)
    for objective in (Objective(), Objective(chunk_words=30.0, later_words=3), Objective(reading="causal")):
        examples = list(objective.examples(long.lessons[0], RNG(0), max_length=32, shows_question=False))
        assert len(examples) > 3
        assert max(map(len, examples)) <= 32
        layout = flatten_examples(examples)
        inner = int((layout.groups[layout.asked] > 0).sum())
        assert inner >= len(long.lessons[0].body) - 1


@pytest.mark.parametrize(
    "settings",
    [
        {"reading": "tea"},
        {"chunk_words": 0.5},
        {"question_rate": 2.0},
        {"reading": "star", "has_head": False},
        {"chunk_share": 1.5},
        {"bag_weight": -1.0},
        {"later_words": -1},
        {"later_weight": np.inf},
        {"salient_weight": -0.5},
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_senseless_objectives_are_refused(settings):
    with pytest.raises(InputError):
        Objective(**settings)


def test_names_that_end_in_s_are_found_and_nobody_elses():
    people = [
        CorpusDocument(name="John Adams", text="was born in Oslo ."),
        CorpusDocument(name="John Adam", text="from Rome ."),
    ]
    asked = (
        FactQuestion(text="What is the birthplace of John Adams?", answer="Oslo"),
        FactQuestion(text="What is John Adam's home?", answer="Rome"),
    )
    lessons = make_lessons(people, asked, VOCABULARY).lessons
    assert [VOCABULARY.decode(lesson.questions[0].answer) for lesson in lessons] == ["Oslo", "Rome"]
    assert len(lessons) == 2


@pytest.mark.parametrize("reading", ["star", "causal", "span"])
def test_documents_without_a_name_can_be_read(reading):
    lessons = make_lessons([CorpusDocument(name="", text="was born in London .")], [], VOCABULARY).lessons
    rows = rows_of(Objective(reading=reading), lessons)
    assert sum(example.weight for row in rows for example in row.examples) > 0


def test_what_asks_nothing_is_not_read():
    rows = rows_of(Objective(reading="span", has_head=False))
    assert all(example.weight for row in rows for example in row.examples)
    assert not rows_of(Objective(reading="nothing"))


@given(st.integers(1, 300), st.integers(16, 200), st.integers(0, 2**32))
def test_prefix_masked_and_suffix_rebuild_the_truncated_text(length, block, seed):
    tokens = np.arange(10, 10 + length)
    read, masked = corrupt_span(tokens, np.random.default_rng(seed), block=block)
    first, second = np.flatnonzero(read == MASK)
    rebuilt = np.concatenate([read[:first], masked, read[first + 1 : second]])
    assert second == len(read) - 1
    assert rebuilt.tolist() == tokens[: len(rebuilt)].tolist()
    assert min(4, length) <= len(rebuilt) <= block * 7 // 8 or len(rebuilt) == min(length, 4)
    assert len(masked) >= 1


def test_a_quarter_is_masked_on_average():
    rng = np.random.default_rng(0)
    pairs = [corrupt_span(np.arange(10, 200), rng, block=128) for _ in range(4000)]
    shares = [len(masked) / (len(read) + len(masked) - 2) for read, masked in pairs]
    # 4000 draws with a standard deviation of 0.15: a false alarm in less than one of 10⁸ runs.
    assert abs(np.mean(shares) - 0.25) < 0.015
    lengths = [len(read) + len(masked) - 2 for read, masked in pairs]
    assert min(lengths) == 4
    assert max(lengths) == 112
