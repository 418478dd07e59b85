"""Yes and no are found where an answer gives them, and nowhere else."""

import pytest

from regard.derivations.context.verdicts import find_choice, find_choice_by_cue
from regard.derivations.problems.problem import Choice, load_problem
from regard.derivations.reading.files import read_text
from regard.derivations.verify import judge_document

CHOICE = Choice(answer="no", yes=("yes", "can coincide", "是"), no=("no", "never coincide", "不是"), cues=("coincide",))


@pytest.mark.parametrize(
    ("prose", "answer", "words"),
    [
        ("No. They differ.", "no", "No"),
        ("**Yes**, they can.", "yes", "Yes"),
        ("Answer: no", "no", "no"),
        ("ii) My answer: Yes.", "yes", "Yes"),
        ("解：不是。", "no", "不是"),
        ("Two codes never coincide.", "no", "never coincide"),
        ("They can coincide, I think.", "yes", "can coincide"),
    ],
)
def test_the_answer_is_found(prose, answer, words):
    chosen = find_choice(prose, CHOICE)
    assert chosen is not None
    assert (chosen.answer, chosen.words) == (answer, words)
    assert prose[chosen.offset :].startswith(words)


@pytest.mark.parametrize(
    "prose", ["", "Nobody knows.", "Yesterday it rained.", "We know no codes.", "The eyes have it."]
)
def test_words_that_only_look_like_one_are_not_taken(prose):
    assert find_choice(prose, CHOICE) is None


@pytest.mark.parametrize(
    ("prose", "is_qualified"),
    [
        ("Theoretically yes, but hardly ever.", True),
        ("No two codes coincide.", True),
        ("No, they differ.", False),
        ("No they don't.", False),
        ("Yes.", False),
    ],
)
def test_a_word_beside_the_answer_may_weaken_it(prose, is_qualified):
    chosen = find_choice(prose, CHOICE)
    assert chosen is not None
    assert chosen.is_qualified == is_qualified


def test_the_question_itself_gives_no_answer():
    chosen = find_choice("Is it true that codes can coincide? No.", CHOICE)
    assert chosen is not None
    assert chosen.answer == "no"


@pytest.mark.parametrize(
    ("text", "outcome"),
    [("2.(b)\n\nNo. They cannot.\n", "doubtful"), ("2.(b)\n\ni. No. They cannot.\n", "wrong choice")],
)
def test_a_wrong_answer_may_be_the_right_one_of_the_part_beside(text, outcome):
    steps = judge_document(read_text(text), load_problem("cs224n-a4")).verdicts
    assert [step.outcome for step in steps] == [outcome]


def test_a_question_in_running_prose_is_known_by_its_cue():
    chosen = find_choice_by_cue("It is late. Can two of them coincide? Yes, at times.", CHOICE)
    assert chosen is not None
    assert chosen.answer == "yes"
    assert find_choice_by_cue("Can two of them differ? Yes.", CHOICE) is None
    assert find_choice_by_cue("Can two of them coincide? Who can say.", CHOICE) is None


@pytest.mark.parametrize(
    ("prose", "is_contradicted"),
    [
        ("No, unless they can, in which case yes, they coincide.", True),
        ("No, they can't, even if yes is what one expects.", False),
    ],
)
def test_a_plain_answer_that_stands_alone_contradicts_the_first(prose, is_contradicted):
    chosen = find_choice(prose, CHOICE)
    assert chosen is not None
    assert chosen.is_contradicted is is_contradicted
