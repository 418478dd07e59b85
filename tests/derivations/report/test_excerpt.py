import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len

from regard.derivations.report.excerpt import excerpt


def under(text: str, step: str, *, width: int = 76, encoding: str = "utf-8") -> list[tuple[int | None, str, str]]:
    start = text.index(step)
    lines = excerpt(text, start, start + len(step), width=width, encoding=encoding)
    return [(line.number, line.text, line.carets) for line in lines]


def pointed_at(text: str, carets: str) -> str:
    """The part of a line that stands above the carets, measured in cells."""
    first, cells = carets.index("^"), carets.count("^")
    places = [cell_len(text[:k]) for k in range(len(text) + 1)]
    return text[places.index(first) : len(places) - 1 - places[::-1].index(first + cells)]


def test_carets_are_exactly_under_the_step():
    assert under("one\nTake $q = k_a + k_b$ here\n", "q = k_a + k_b") == [
        (2, "Take $q = k_a + k_b$ here", "      ^^^^^^^^^^^^^")
    ]


def test_a_chinese_sign_is_two_cells_wide():
    assert under("取 $q = k_a$ ，其中", "q = k_a") == [(1, "取 $q = k_a$ ，其中", "    ^^^^^^^")]
    assert under("编码可以重复。", "可以重复") == [(1, "编码可以重复。", "    ^^^^^^^^")]


def test_combining_marks_take_no_room():
    assert under("na\u0308he: x = y", "x = y") == [(1, "na\u0308he: x = y", "      ^^^^^")]


def test_a_tab_reaches_to_the_next_stop():
    assert under("a\tx = y", "x = y") == [(1, "a   x = y", "    ^^^^^")]
    assert under("\t\tx\t= y", "x\t= y") == [(1, "        x   = y", "        ^^^^^^^")]


def test_a_long_line_is_windowed_around_the_step():
    ((number, text, carets),) = under("before " * 30 + "q = k_a" + " after" * 30, "q = k_a", width=40)
    assert number == 1
    assert text.startswith("…")
    assert text.endswith("…")
    assert pointed_at(text, carets) == "q = k_a"
    assert cell_len(text) <= 40


def test_a_step_wider_than_the_window_is_shown_from_its_beginning():
    ((_, text, carets),) = under("so " + "x" * 100 + " end", "x" * 100, width=30)
    assert text == "…" + "x" * 28 + "…"
    assert carets == " " + "^" * 28


def test_a_step_over_several_lines_has_carets_on_each():
    assert under("$$\r\n  a\r\n\r\n  = b\r\n$$", "a\r\n\r\n  = b") == [(2, "  a", "  ^"), (4, "  = b", "  ^^^")]


def test_of_a_very_long_step_the_middle_is_left_out():
    lines = under("\n".join(f"line {k}" for k in range(20)), "\n".join(f"line {k}" for k in range(20)))
    assert [number for number, _, _ in lines] == [1, 2, 3, None, 18, 19, 20]


def test_signs_that_the_encoding_lacks_are_spelled_and_the_carets_follow():
    assert under("β ≥ 1, so x = y", "x = y", encoding="ascii") == [(1, "beta >= 1, so x = y", "              ^^^^^")]


@pytest.mark.parametrize("hostile", ["\x1b[31m", "\x07", "\u202e", "\x9b31m", "\u2028", "\x00", "\r\x1b[2K"])
def test_nothing_in_the_source_steers_the_terminal(hostile):
    ((_, text, _),) = under(f"a {hostile.replace(chr(13), '')} x = y", "x = y")
    assert text.isprintable()


@given(st.text(max_size=60), st.text(min_size=1, max_size=30), st.text(max_size=60), st.integers(20, 90))
@example("设\t", "q = 设", "\u0301" * 5, 24)
@example("\t", "\n", "", 20)
def test_every_line_fits_and_carets_never_leave_it(before, step, after, width):
    for line in excerpt(before + step + after, len(before), len(before) + len(step), width=width):
        assert cell_len(line.text) <= width
        assert len(line.carets) <= max(cell_len(line.text), 1) + 1
        assert "\n" not in line.text


@given(
    st.text("ab 设é$\\", max_size=200), st.text("xyz=设", min_size=1, max_size=12), st.text("ab 设é$\\", max_size=200)
)
def test_the_carets_point_at_the_step_wherever_it_is(before, step, after):
    ((_, text, carets),) = under(f"{before}[{step}]{after}", f"[{step}]", width=60)
    assert pointed_at(text, carets) == f"[{step}]"
