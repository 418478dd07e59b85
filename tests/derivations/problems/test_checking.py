import inspect
import re
import tomllib

import pytest

from regard.derivations.problems import problem
from regard.derivations.problems.checking import PROBLEM, ListOf, TableOf, TableShape, find_faults
from regard.derivations.problems.problem import problem_source, shipped_problems

GOOD = """
schema = "regard-problem/1"
name = "p"
title = "t"
[settings.s]
[settings.s.sizes]
n = { at_least = 2 }
[settings.s.free]
i = "n"
[settings.s.symbols]
x_i = { shape = "1" }
y = { is = '\\sum_i x_i' }
M = { shape = "n×n" }
[[questions]]
id = "1"
title = "q"
setting = "s"
points = 1
given = ['y = 1']
[questions.design]
symbols = ["M"]
goal = 'M = M'
solutions = [{ M = 'I' }]
"""


def faults(source: str) -> list[str]:
    return [fault.message for fault in find_faults(tomllib.loads(source))]


@pytest.mark.parametrize("name", shipped_problems())
def test_shipped_problems_have_no_faults(name):
    assert faults(problem_source(name)) == []


def test_a_small_problem_has_none_either():
    assert faults(GOOD) == []


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('title = "t"', 'titel = "t"', "Did you mean 'title'?"),
        ('title = "t"', "", "lacks the field 'title'"),
        ('title = "t"', "title = 3", "must be a string"),
        ("points = 1", 'points = "1"', "must be a finite number"),
        ("points = 1", "points = true", "must be a finite number"),
        ("at_least = 2", "at_least = 0", "a whole number of at least 1"),
        ("given = ['y = 1']", "given = 'y = 1'", "must be a list"),
        ("given = ['y = 1']", "given = ['y']", "no relation sign"),
        ("given = ['y = 1']", "given = ['y = \\frac{1']", "cannot be read"),
        ("'\\sum_i x_i'", "'\\frac{x'", "cannot be read"),
        ('setting = "s"', 'setting = "z"', "There is no setting 'z'"),
        ('i = "n"', 'i = "m"', "'m' is not a size of this setting"),
        ('shape = "n×n"', 'shape = "n×k"', "'k' is not a size of this setting"),
        ("[settings.s]", '[settings.s]\nextends = "s"', "does not exist, or itself"),
        ("solutions = [{ M", "solutions = [{ Q", "does not leave open"),
        ("solutions = [{ M", 'without = ["w"]\nsolutions = [{ M', "'w' is not a symbol of this setting"),
        ('"regard-problem/1"', '"regard-problem/9"', "not a schema"),
        ("[questions.design]", "[questions.choice]\nanswer = 'maybe'\n[questions.design]", "neither 'yes' nor 'no'"),
        ("[settings.s.symbols]", "[settings.s.symbols]\nb = { tends = 'up' }", "neither 'zero' nor 'infinity'"),
        ('shape = "n×n"', 'assume = ["big"]', "'big' is not a known assumption"),
        ("[[questions]]", "[questions]", "must be a list"),
        ("[settings.s.sizes]\nn = { at_least = 2 }", "sizes = 3", "must be a table"),
    ],
)
def test_each_fault_is_told(old, new, said):
    assert old in GOOD
    assert any(said in message for message in faults(GOOD.replace(old, new))), faults(GOOD.replace(old, new))


def fields(shape) -> set[str]:
    if isinstance(shape, TableShape):
        return set(shape.fields).union(*map(fields, shape.fields.values()))
    return (
        fields(shape.item)
        if isinstance(shape, ListOf)
        else fields(shape.value)
        if isinstance(shape, TableOf)
        else set()
    )


def test_the_schema_has_every_field_that_is_read():
    read = re.findall(r"""(?:row|table|design|choice)(?:\.get\(|\[)"(\w+)\"""", inspect.getsource(problem))
    assert len(read) > 25
    assert set(read) <= fields(PROBLEM)


def test_an_id_given_twice_is_told():
    assert sum("given twice" in message for message in faults(GOOD + GOOD[GOOD.index("[[questions]]") :])) == 2
