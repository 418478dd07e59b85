import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.derivations.problems.problem import problem_source, shipped_problems
from regard.derivations.problems.toml_places import find_places

AWKWARD = (
    "a.b = \"\"\"\r\n x\\\r\n   y\\u00e9\"\"\" # c\r\n\"q.r\" = '''it'''''\r\nd = 1.5\ne=[[1,2],['z', {f=\"g\"}]]\n"
    '[[t]]\nx=\'1\'\n[t.u]\ny=2020-01-01T00:00:00Z\nz="k"\n[[t]]\n[[t.w]]\nx="m # no comment"'
)


def strings(value: Any, path: tuple = ()):
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from strings(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from strings(item, (*path, index))


def agree(source: str) -> None:
    found = {path: written.text for path, written in find_places(source).strings.items()}
    assert found == dict(strings(tomllib.loads(source)))


@pytest.mark.parametrize("name", shipped_problems())
def test_the_strings_are_those_of_the_standard_library(name):
    agree(problem_source(name))


def test_so_are_awkward_ones():
    agree(AWKWARD)


def escaped(text: str) -> str:
    return "".join(sign if sign.isalnum() else f"\\U{ord(sign):08x}" for sign in text)


@given(st.dictionaries(st.text("abc_", min_size=1), st.text(max_size=20), max_size=5))
def test_so_are_any_that_are_escaped(table):
    agree("\n".join(f'{key} = "{escaped(text)}"' for key, text in table.items()))


def test_every_piece_stands_where_it_says():
    for written in find_places(AWKWARD).strings.values():
        starts = written.origin.starts
        for start, end, target in zip(starts, (*starts[1:], len(written.text)), written.origin.targets, strict=True):
            is_as_written = written.text[start:end] not in ("", "\n", "é")
            assert not is_as_written or AWKWARD[target] == written.text[start]


def test_lines_of_keys_and_of_tables_around_what_is_not_written():
    places = find_places("a = 1\n[t]\n\nb = ['x',\n'y']\n")
    assert places.line(("t", "b")) == 4
    assert places.line(("t", "b", 1)) == 5
    assert places.line(("t", "missing")) == 2
    assert places.line(("nothing",)) is None
