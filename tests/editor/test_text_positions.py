"""Places as the protocol counts them: units of an encoding, and no line breaks but the usual three."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol.types import Position, Range

from regard.core.verdict import Extent
from regard.editor.text_positions import TextPositions, is_inside, overlap

TEXT = "a𝔻é = x\r\nb\u2028\x0cc\rlast"


@pytest.mark.parametrize(("encoding", "units"), [("utf-8", 7), ("utf-16", 4), ("utf-32", 3)])
def test_columns_count_units_of_the_encoding(encoding, units):
    positions = TextPositions(text=TEXT, encoding=encoding)
    assert positions.position(1, 4) == Position(line=0, character=units)
    assert positions.end_of_line(3) == Position(line=2, character=4)


def test_only_carriage_returns_and_line_feeds_end_a_line():
    positions = TextPositions(text=TEXT)
    assert [positions.line(number) for number in range(-1, 4)] == ["", "a𝔻é = x", "b\u2028\x0cc", "last", ""]
    extent = Extent(line=1, column=2, end_line=2, end_column=3)
    assert str(positions.range_of(extent)) == "0:1-1:2"


@given(st.text(max_size=30), st.integers(1, 5), st.integers(1, 40))
def test_a_position_is_that_of_the_text_before_it(text, line, column):
    positions = TextPositions(text=text)
    found = positions.position(line, column)
    before = positions.line(line - 1)[: column - 1]
    assert found.character == sum(1 + (character > "\uffff") for character in before)


def test_ranges_include_their_ends():
    where = Range(start=Position(line=1, character=2), end=Position(line=2, character=0))
    assert [
        is_inside(Position(line=line, character=character), where)
        for line, character in ((1, 1), (1, 2), (1, 9), (2, 0), (2, 1))
    ] == [False, True, True, True, False]
    assert overlap(where, Range(start=Position(line=2, character=0), end=Position(line=3, character=0)))
    assert not overlap(where, Range(start=Position(line=2, character=1), end=Position(line=3, character=0)))
