import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from regard.core.verdict import ClaimVerdict, Evidence
from regard.render.progress import progress
from regard.render.terminal import open_console, quantity, show_verdicts

SAMPLED = Evidence(route="brute force", status="holds", detail="d")
FINE = ClaimVerdict(
    id="average-of-two", statement="s", status="proved", expected="proved", value=0.4868, bound=1e-9,
    evidence=(SAMPLED, Evidence(route="algebra", status="proved", detail="d")),
)  # fmt: skip
MYTH = ClaimVerdict(
    id="half-sum-averages", statement="s", status="refuted", expected="refuted",
    evidence=tuple(Evidence(route=name, status="refuted", detail="d") for name in ("certified integral", "balls", "x")),
    counterexample="n = 10, β = ½: a_a = 0.1459, and the statement says that it is one half, " * 2,
)  # fmt: skip
SURPRISE = ClaimVerdict(id="copy", statement="s", status="undecided", expected="proved", reason="the routes contradict")
GROUPS = {"1 retrieval": [FINE, MYTH, SURPRISE]}


def shown(groups, *, width: int = 80, encoding: str = "utf-8") -> str:
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding, newline="\n")
    console = open_console()
    console.file, console.width = stream, width
    show_verdicts(console, groups, what="claim")
    stream.flush()
    return stream.buffer.getvalue().decode(encoding)


@pytest.mark.parametrize("encoding", ["utf-8", "cp437", "cp1252", "ascii"])
@pytest.mark.parametrize("width", [80, 60, 200])
def test_lines_fit_the_terminal_and_end_without_blanks(width, encoding):
    lines = shown(GROUPS, width=width, encoding=encoding).splitlines()
    assert max(map(cell_len, lines)) <= width
    assert not [line for line in lines if line != line.rstrip()]


def test_a_line_says_what_was_decided_how_and_how_much():
    line = next(line for line in shown(GROUPS).splitlines() if "average-of-two" in line)
    assert re.split(" {2,}", line)[1:] == ["✓ average-of-two", "proved", "0.4868 ± 1e-9", "algebra + brute force"]


def test_the_counterexample_stands_under_the_myth():
    text = " ".join(shown(GROUPS).split())
    assert "✗ half-sum-averages refuted certified integral + balls + x n = 10, β = ½: a_a = 0.1459" in text


def test_routes_that_do_not_fit_are_counted_and_then_cut():
    assert "certified integral +2" in shown(GROUPS, width=70)
    assert re.search("certified.*…", shown(GROUPS, width=60))


def test_a_surprise_is_named_with_its_reason():
    text = shown(GROUPS)
    assert "the catalogue expects proved. the routes contradict" in text
    assert "1 verdict not as it should be: copy" in text
    assert "not as it should be" not in shown({"1 retrieval": [FINE, MYTH]})


def test_the_last_line_counts():
    last = shown({"1 retrieval": [FINE, MYTH]}).splitlines()[-1]
    assert last == "2 claims: 1 proved · 0 holds · 1 refuted · 0 undecided"


def test_a_code_page_without_the_signs_gets_them_spelled():
    text = shown(GROUPS, encoding="ascii")
    assert "+ average-of-two" in text
    assert "0.4868 +- 1e-9" in text
    assert "n = 10, beta = 1/2" in text


def test_colour_appears_only_on_a_terminal():
    assert "\x1b" not in shown(GROUPS)
    stream = io.StringIO()
    show_verdicts(Console(file=stream, force_terminal=True, width=80, highlight=False), GROUPS, what="claim")
    assert "\x1b[32m" in stream.getvalue()


def test_hostile_text_cannot_steer_the_terminal():
    hostile = ClaimVerdict(
        id="\x1b[2J", statement="s", status="refuted", expected="refuted", counterexample="\x1b]0;a\x07 [red]b",
        evidence=(Evidence(route="\x1b[1m", status="refuted", detail="d"),),
    )  # fmt: skip
    text = shown({"\x1b[31mtitle": [hostile]})
    assert "\x1b" not in text
    assert "[red]b" in text


@pytest.mark.parametrize(
    ("value", "bound", "text"),
    [
        (None, None, ""),
        (0.22201862792, None, "0.222019"),
        (0.22201862792, 1e-30, "0.222019 ± 1e-30"),
        (6.0288706734e-5, 1e-7, "6.029e-5 ± 1e-7"),
        (1.5e30, None, "1.5e30"),
        (64.2, 10.0, "64 ± 10"),
        (131072.0, 2.0, "131072 ± 2"),
        (0.49691, 0.003, "0.4969 ± 0.003"),
        (13.79999, 2e-7, "13.8 ± 2e-7"),
        (0.0, 1e-9, "0 ± 1e-9"),
        (0.5, 0.0, "0.5 ± 0"),
        (710.0, 0.0, "710 ± 0"),
        (float("nan"), 1.0, "nan"),
        (1e-20, 1e-3, "1e-20 ± 0.001"),
    ],
)
def test_a_value_is_shown_to_the_digits_that_are_known(value, bound, text):
    assert quantity(value, bound) == text


@given(st.floats() | st.none(), st.floats(min_value=0) | st.none())
def test_any_numbers_can_be_shown(value, bound):
    assert len(quantity(value, bound)) <= 24


def test_progress_shows_on_a_terminal_once_patience_is_over():
    stream = io.StringIO()
    with progress(Console(file=stream, force_terminal=True), "deciding", patience=0) as report:
        report(1, 2)
        import time

        time.sleep(0.3)
        report(2, 2)
    assert "deciding" in stream.getvalue()


def test_progress_is_silent_when_all_is_quick():
    for console in (Console(file=io.StringIO(), force_terminal=True), Console(file=io.StringIO())):
        with progress(console, "deciding") as report:
            report(1, 1)
        assert "deciding" not in console.file.getvalue()


def test_progress_tells_a_log_now_and_then(monkeypatch):
    clock = iter([0.0, 1.0, 30.0, 60.0, 90.0, 180.0, 240.0])
    monkeypatch.setattr("regard.render.progress.monotonic", lambda: next(clock))
    console = Console(file=io.StringIO())
    with progress(console, "deciding") as report:
        for done in (5, 6, 7, 8, 9, 13):
            report(done, 13)
    assert console.file.getvalue().splitlines() == [
        "deciding: 7 of 13 after 1 min, about 3 min left",
        "deciding: 9 of 13 after 3 min, about 3 min left",
    ]
