"""A problem file that is wrong is refused in one line that names the question or symbol, and the key."""

import pytest

from regard.core.errors import InputError
from regard.derivations.problems.problem import load_problem, parse_problem, shipped_problems

GOOD = """
schema = "regard-problem/1"
name = "small"
title = "A small problem"

[settings.keys.sizes]
n = { at_least = 3 }
[settings.keys.free]
i = "n"
[settings.keys.symbols]
k_i = { shape = "n", assume = ["orthonormal"] }
q = { shape = "n" }
z_i = { is = 'k_i^\\top q' }
[settings.keys.functions]
F = { arguments = ["x"], is = 'x^2' }
[settings.keys.aliases]
q = ["Q"]

[settings.other]
extends = "keys"
[settings.other.symbols]
q = { is = 'k_i' }

[[questions]]
id = "1b.ii"
title = "The query"
titles = ["Queries"]
setting = "keys"
points = 2
given = ['q = q']
[questions.design]
symbols = ["q"]
goal = 'z_i = 1'
[questions.choice]
answer = "no"
"""


def refusal(source: str) -> str:
    with pytest.raises(InputError) as caught:
        parse_problem(source, "mine.toml")
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_problem_is_loaded():
    (question,) = parse_problem(GOOD).questions
    assert question.path == ("1", "b", "ii")
    assert question.titles == ("the query", "queries")
    meaning = question.setting.symbols["k_i"]
    assert (meaning.name, meaning.index, meaning.over, meaning.shape) == ("k", "i", "n", ("n", "1"))


def test_a_setting_fills_in_what_it_extends():
    (question,) = parse_problem(GOOD.replace('setting = "keys"', 'setting = "other"')).questions
    assert question.setting.symbols["q"].formula is not None
    assert question.setting.symbols["k_i"].assume == ("orthonormal",)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("points = 2", "pionts = 2", ["question '1b.ii'", "'pionts'", "'points'"]),
        ("points = 2", 'points = "two"', ["question '1b.ii'", "'points' must be a finite number"]),
        ("points = 2", "points = nan", ["question '1b.ii'", "'points' must be a finite number"]),
        ('titles = ["Queries"]', "titles = [3]", ["question '1b.ii'", "item 1 of 'titles' must be a string"]),
        ('titles = ["Queries"]', 'titles = "Queries"', ["question '1b.ii'", "'titles' must be a list"]),
        ('setting = "keys"', 'setting = "kyes"', ["question '1b.ii'", "no setting 'kyes'"]),
        ("given = ['q = q']", "given = ['q']", ["question '1b.ii'", "no relation sign"]),
        ("goal = 'z_i = 1'", "", ["question '1b.ii'", "lacks the field 'goal'"]),
        ('answer = "no"', 'answer = "perhaps"', ["question '1b.ii'", "'perhaps'"]),
        ('id = "1b.ii"', "", ["question number 1", "lacks the field 'id'"]),
        ('q = { shape = "n" }', 'q = { shap = "n" }', ["setting 'keys', symbol 'q'", "'shap'", "'shape'"]),
        ('q = { shape = "n" }', "q = { shape = 3 }", ["setting 'keys', symbol 'q'", "'shape' must be a string"]),
        ('q = { shape = "n" }', 'q = "n"', ["setting 'keys', symbol 'q'", "must be a table"]),
        ('q = { shape = "n" }', 'q = { shape = "m" }', ["setting 'keys', symbol 'q'", "'m' is not a size"]),
        ('["orthonormal"]', '["orthonormul"]', ["setting 'keys', symbol 'k_i'", "'orthonormul'"]),
        ("'k_i^\\top q'", "'k_i^'", ["setting 'keys', symbol 'z_i'", "cannot be read"]),
        ("at_least = 3", "atleast = 3", ["setting 'keys', size 'n'", "'atleast'", "'at_least'"]),
        ("'x^2'", "7", ["setting 'keys', function 'F'", "'is' must be a string"]),
        ('q = ["Q"]', 'q = "Q"', ["setting 'keys', alias of 'q'", "must be a list"]),
        ('extends = "keys"', 'extends = "key"', ["setting 'other'", "does not exist"]),
        ('title = "A small problem"', "title = true", ["field 'title'", "must be a string"]),
        ('title = "A small problem"', "colour = 1", ["'title'"]),
        ("regard-problem/1", "regard-problem/2", ["field 'schema'", "regard-problem/2"]),
    ],
)
def test_what_is_wrong_is_named(old, new, said):
    assert GOOD.count(old) == 1
    message = refusal(GOOD.replace(old, new))
    assert message.startswith("The problem 'mine.toml', ")
    assert [part for part in said if part not in message] == []


def test_further_faults_are_counted():
    assert "lists 1 more" in refusal(GOOD.replace("points = 2", "pionts = 2\nponits = 2"))


def test_a_function_of_another_setting_is_not_known():
    source = GOOD.replace("F = {", "foo = {") + "\n[settings.third.symbols]\ny = { is = '\\text{foo}(2)' }\n"
    assert "of 'y' cannot be read in its setting: 'foo' is not a known function" in refusal(source)


@pytest.mark.parametrize(
    "source", ["", "x = ", "[", "a" * 5000, "schema = 1", "questions = 1\nsettings = 2", "[[settings]]"]
)
def test_other_texts_are_refused(source):
    assert refusal(source).startswith("The problem 'mine.toml'")


def test_a_name_that_is_no_file_is_refused():
    with pytest.raises(InputError, match="neither a shipped problem"):
        load_problem("no-such-problem")


@pytest.mark.parametrize("name", shipped_problems())
def test_shipped_problems_load(name):
    problem = load_problem(name)
    assert problem.name == name
    assert len({question.id for question in problem.questions}) == len(problem.questions)
    assert load_problem(name) is problem
