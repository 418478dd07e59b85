"""Formulas that nobody means well: read or refused, never anything else, and within a second."""

import json
import subprocess
import sys
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.core.errors import InputError
from regard.derivations.notation.parser import parse
from regard.derivations.notation.signs import relation_signs
from regard.derivations.notation.syntax import Expression
from regard.derivations.notation.tokens import tokenize
from regard.derivations.problems.problem import load_problem
from regard.derivations.reading.files import read_text
from regard.derivations.verify import judge_document

PROBLEM = load_problem("cs224n-a4")
HEADING = "# 1b An average of two\n\n"
BOMB = "".join(
    rf"\newcommand{{\{b}}}{{\{a}\{a}\{a}\{a}\{a}\{a}\{a}\{a}}}" for a, b in zip("abcdefg", "bcdefgh", strict=True)
)
HOSTILE = {
    "functions": r"\cos" * 4000 + " x",
    "sums": r"\sum_i" * 3000 + " x",
    "powers": "x" + "^2" * 5000,
    "transposes": "x" + r"^\top" * 3000,
    "subscripts": "x" + "_i" * 5000,
    "slashes": "a" + "/b" * 5000,
    "digits": "9" * 15_000,
    "tower": "2^{2^{2^{2^{2^{2}}}}}",
    "huge": "10^{10^{10}}",
    "nothing over nothing": r"\frac{0}{0}",
    "terms": "+".join(["x_i"] * 4000),
    "factors": "x " * 9000,
    "brackets": "(" * 9000 + ")" * 9000,
    "relations in brackets": "(a=b" * 3000 + ")" * 3000,
    "bars": "|" * 9000,
    "fonts": r"\mathbf{" * 240 + "x" + "}" * 240,
    "open array": r"\begin{array}{c",
    "open cases": r"\begin{cases} a & i = a \\ " * 300,
    "wide matrix": r"\begin{pmatrix}" + " & ".join(["a"] * 4000) + r"\end{pmatrix}",
    "fractions": r"\frac{1}{" * 58 + "}" * 58,
    "columns": "&" * 15_000,
    "wide prose": "是" * 15_000,
    "too long": "x" * 25_000,
    "braces": "{" * 5000 + "a=b" + "}" * 5000,
    "nested styles": r"\bm{" * 600 + "a=b" + "}" * 600,
    "nested prose": r"\text{$" * 600 + "a=b" + "$}" * 600,
    "nested layouts": r"\begin{aligned}" * 500 + "a=b" + r"\end{aligned}" * 500,
    "half brackets": r"\left(" * 1500 + "a=b" + r"\right." * 1500,
    "columns of relations": "a=b&" * 100,
    "arrows": r"a=b\to " * 100,
    "lists": "a," * 5000 + "b",
    "tuples": "(" + "a," * 3000 + "b)",
    "gaps": "a  " * 4000,
    "dots": "." * 9000,
    "negations": r"\not" * 3000,
    "itself": "{r}(qe)/{i}({s})",
}


SLOWEST = """
import json, sys, time
from regard.derivations.problems.problem import load_problem
from regard.derivations.reading.files import read_text
from regard.derivations.verify import judge_document
from regard.core.errors import InputError

problem, times = load_problem("cs224n-a4"), []
for text in json.load(sys.stdin):
    begin = time.process_time()
    try:
        judge_document(read_text(text), problem)
    except InputError:
        pass
    times.append(time.process_time() - begin)
json.dump(times, sys.stdout)
"""


def check_judged_or_refused(text: str) -> None:
    with suppress(InputError):
        document = read_text(text)
        verdicts = judge_document(document, PROBLEM).verdicts
        assert all(verdict.where and verdict.reason for verdict in verdicts)


def check_parsed_or_refused(source: str) -> None:
    with suppress(InputError):
        assert isinstance(parse(tokenize(source)), Expression)


def test_hostile_formulas_are_judged_or_refused_within_a_second():
    """Judged by a process of its own: the checks of shapes that tests switch on take longer than the judge."""
    texts = [f"{HEADING}$$q = {source} = q$$\n" for source in HOSTILE.values()]
    done = subprocess.run(
        [sys.executable, "-c", SLOWEST], input=json.dumps(texts), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    slow = {name: spent for name, spent in zip(HOSTILE, json.loads(done.stdout), strict=True) if spent > 1}
    assert slow == {}


@pytest.mark.parametrize("source", HOSTILE.values(), ids=HOSTILE)
def test_hostile_formulas_are_parsed_or_refused(source):
    assert all(source[offset:] for offset, _ in relation_signs(source))
    check_parsed_or_refused(source)


def test_macros_that_multiply_are_survived():
    check_judged_or_refused(rf"\newcommand{{\a}}{{x}}{BOMB}" + "\n\n" + r"$\h = q$")
    check_judged_or_refused(r"\newcommand{\a}{\a\a}" + "\n\n" + r"$\a = q$")


@pytest.mark.parametrize("depth", range(24, 34))
def test_empty_scripts_at_the_limit_of_depth_are_parsed_or_refused(depth):
    for source in ("x^{" * depth + "}" * depth, "(" * 2 * depth + "x^{}" + ")" * 2 * depth):
        check_parsed_or_refused(source)


COMMANDS = (
    r"\frac \sqrt \sum_{i \prod \max_ \hat \bar \mathbf \text{ \begin{cases} \end{cases} \begin{pmatrix} \end{pmatrix} "
    r"& \\ \left( \right) \langle \rangle \| | { } ( ) [ ] ^ _ ^\top = \approx \to \neq , . ; ' * / + - \cdot \not "
    r"\exp \cos softmax P \Pr \in \R \infty \dots 0 1 2.5 k_a k_b q \beta v_a \alpha_i n c \partial x ½ ᵀ ∑ ≤ 如果 "
    r"\mathbb{E} !"
).split(" ")


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(COMMANDS), max_size=25).map(" ".join))
def test_any_row_of_commands_is_judged_or_refused(source):
    check_judged_or_refused(f"{HEADING}$${source}$$\n")


@settings(max_examples=40, deadline=None)
@given(st.text(max_size=60).filter(str.strip))
def test_any_characters_are_judged_or_refused(source):
    check_judged_or_refused(f"{HEADING}$$q = {source}$$\n")


LONG = "9" * 310
CRASHES = [  # what mutated documents brought to light
    r"$\mathbf\in^$",
    "1.(c) Drawbacks of single-headed attention\n\nii. $\\gamma \\sim N(1/0, 1)$",
    f"1.(c) Drawbacks of single-headed attention\n\nii. $\\gamma\\sim N(1,{LONG})$",
    f"1.(b) An average of two\n\n$q = {LONG}$",
    "3.(g) i. $t = \\text{ReLU}(z)$",
]


@pytest.mark.parametrize("text", CRASHES)
def test_formulas_that_once_crashed_are_not_refuted(text):
    verdicts = judge_document(read_text(text), load_problem("cs224n-a4")).verdicts
    assert verdicts
    assert all(verdict.status != "refuted" for verdict in verdicts)


def test_a_number_too_long_in_the_assignment_s_own_text():
    text = f"\\titledquestion{{A}}\n\\begin{{parts}}\n\\part b\n\\begin{{subparts}}\n\\subpart ${LONG}=j$\n"
    verdicts = judge_document(read_text(text, kind="latex"), load_problem("cs224n-a4")).verdicts
    assert [verdict.status for verdict in verdicts] == ["undecided"]
