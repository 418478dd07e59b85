"""Refutations say as what symbols were read, and what would have been right where that is plain."""

import pytest

from derivations.judging.small import found
from regard.derivations.judging.findings import Note, NoteKind
from regard.derivations.judging.judge import corrected

FACTOR, CONSTANT = NoteKind.WRONG_FACTOR, NoteKind.WRONG_CONSTANT


def corrections(source: str) -> list[Note]:
    finding = corrected(found(source))
    assert finding.is_false
    return [note for note in finding.notes if note.kind is not NoteKind.READ_AS]


@pytest.mark.parametrize(
    ("source", "note"),
    [
        ("x + y = 2x + 2y", FACTOR.note("2")),
        (r"\|u\|^2 = \frac12 u^\top u", FACTOR.note("1/2")),
        ("A u = -A u", NoteKind.WRONG_SIGN.note()),
        (r"u w^\top = w u^\top", NoteKind.TRANSPOSED.note()),
        (r"u = u^\top", NoteKind.TRANSPOSED.note()),
        ("x^2 + 1 = x^2 + 3", CONSTANT.note("2", "large")),
        ("y = y - 3", CONSTANT.note("3", "small")),
        ("x < 0", NoteKind.CORRECTED.note("the opposite relation sign")),
    ],
)
def test_what_would_have_been_right(source, note):
    assert corrections(source) == [note]


@pytest.mark.parametrize("source", ["x = y", "u = w", "u = x", "x = x + n"])
def test_nothing_is_said_where_nothing_is_plain(source):
    assert corrections(source) == []


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("u = x", "read u as a vector; x as a number"),
        ("A u = w + k_i", "read A as a matrix; u, w, k_i as vectors"),
        (r"k_a^\top k_a = \beta", "read k_a as a vector; β as a number"),
    ],
)
def test_what_symbols_were_read_as(source, words):
    assert words in map(str, found(source).notes)


def test_the_sides_of_a_mismatch_are_named():
    assert found("u = x").reason == "The shapes do not match: the left side is 5×1, the right side a number"


def test_a_step_that_holds_needs_no_explanation():
    assert found("x + y = y + x").notes == ()
