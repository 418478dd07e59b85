import tomllib

import pytest

from regard.core.errors import InputError
from regard.derivations.context.questions import opened_by
from regard.derivations.problems.answers import answers_template, heading, latex_name, read_answers
from regard.derivations.problems.problem import load_problem, shipped_problems
from regard.derivations.verify import judge_document

HEAD = 'schema = "regard-answers/1"\nproblem = "cs224n-a4"\n'
FILLED = (
    HEAD
    + r"""
["1b"]
design.q = '\beta(k_a + k_b)'
answer = '''
k_a^\top q = \beta
c \approx \frac12(v_a + v_b)
  = \frac12 v_a + \frac12 v_b
'''

["1c.i"]
design = { q = '\mu_a + \mu_b' }

["1d.i"]
design.q_1 = "\\beta\\mu_a"
design.q_2 = '\beta\mu_b'

["2a.i"]
answer = "We have $Z_{perm} = PZ$ and $P^\\top P = -I$."

["2b.i"]
choice = "no"

["2b.ii"]
choice = "No"
prose = '''
For $\pi$ is irrational.
'''
"""
)


def judged(source: str):
    answers = read_answers(source, path="a.toml")
    return judge_document(answers.document, answers.problem)


def test_fields_are_judged_like_prose():
    sheet = judged(FILLED)
    found = {(v.question, v.kind, v.statement): v.status for v in sheet.verdicts}
    assert found[("1b", "design", r"q = \beta(k_a + k_b)")] == "holds"
    assert found[("1b", "step", r"= \frac12 v_a + \frac12 v_b")] == "holds"
    assert found[("1c.i", "design", r"q = \mu_a + \mu_b")] == "refuted"
    assert [v.status for v in sheet.verdicts if v.kind == "choice"] == ["refuted", "holds"]
    assert [v.status for v in sheet.verdicts if v.question == "2a.i"] == ["holds", "refuted"]


def test_places_are_lines_of_the_file():
    lines = FILLED.splitlines()
    for verdict in judged(FILLED).verdicts:
        assert verdict.where is not None
        assert verdict.where.file == "a.toml"
        line = lines[verdict.where.line - 1]
        if verdict.kind == "step" and "=" in verdict.statement:
            assert line[verdict.where.column - 1] in "=\\"
        sought = "choice" if verdict.kind == "choice" else verdict.statement.split("=")[-1].split()[-1].lstrip("\\")
        assert sought in line.replace("\\\\", "\\")


def test_what_is_left_empty_is_unanswered():
    sheet = judged(FILLED)
    states = {row.id: row.state for row in sheet.questions}
    assert states["1b"] == states["2b.i"] == "judged"
    assert states["1a"] == "unanswered"


@pytest.mark.parametrize("name", shipped_problems())
def test_a_template_reads_back_as_no_answers(name):
    template = answers_template(load_problem(name))
    assert set(tomllib.loads(template)) >= {question.id for question in load_problem(name).questions}
    sheet = judged(template)
    assert sheet.verdicts == ()
    assert {row.state for row in sheet.questions} == {"unanswered"}


@pytest.mark.parametrize("name", shipped_problems())
def test_every_question_is_heard_under_its_heading(name):
    problem = load_problem(name)
    for question in problem.questions:
        assert opened_by(heading(question), problem) is question


def test_symbols_become_latex():
    assert [latex_name(name) for name in ("q", "q_1", "mu_a", "X_perm")] == ["q", "q_1", r"\mu_a", "X_{perm}"]


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("schema = ", "not valid TOML"),
        ("x = 1", "not an answers file"),
        ('schema = "regard-answers/1"\nproblem = "/etc/passwd"', "not a shipped one"),
        (HEAD + '["9z"]\nanswer = "x"', "a.toml:3 answers '9z'"),
        (HEAD + '["1b"]\nanwser = "x"', "a.toml:4 'anwser' is not a field"),
        (HEAD + '["1b"]\nanswer = 3', "a.toml:4 'answer' must be a string"),
        (HEAD + '["1b"]\ndesign = "q"', "must be a table"),
        (HEAD + '["1b"]\ndesign.M = "q"', "It leaves q open"),
        (HEAD + '["1b"]\ndesign.q = 3', "must be a string of LaTeX"),
        (HEAD + '["1b"]\nchoice = "yes"', "asks for no choice"),
        (HEAD + '["2b.i"]\nchoice = "maybe"', "neither 'yes' nor 'no'"),
        (HEAD + '"1b" = 3', "must be a table"),
        (HEAD + "x = " + "[" * 5000, "not valid TOML"),
    ],
)
def test_what_cannot_work_is_one_clear_line(source, said):
    with pytest.raises(InputError, match=said) as caught:
        read_answers(source, path="a.toml")
    assert "\n" not in str(caught.value)


def test_a_given_problem_goes_before_the_named_one():
    problem = load_problem("layer-norm")
    answers = read_answers(HEAD + "[\"1a\"]\ndesign.M = 'I - \\frac1d\\mathbf 1\\mathbf 1^\\top'", problem=problem)
    assert answers.problem is problem
    [verdict] = judge_document(answers.document, problem).verdicts
    assert (verdict.kind, verdict.status) == ("design", "holds")
