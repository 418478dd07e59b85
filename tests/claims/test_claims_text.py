import io
import re

import pytest
from rich.cells import cell_len
from rich.console import Console

from regard.claims.claims_text import show_verdicts
from regard.core.verdict import ClaimVerdict, Evidence
from regard.render.terminal import open_console

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
    show_verdicts(console, groups, noun="claim")
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
    assert "the catalog expects proved. the routes contradict" in text
    assert "1 unexpected verdict: copy" in text
    assert "unexpected" not in shown({"1 retrieval": [FINE, MYTH]})


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
    show_verdicts(Console(file=stream, force_terminal=True, width=80, highlight=False), GROUPS, noun="claim")
    assert "\x1b[32m" in stream.getvalue()


def test_hostile_text_cannot_steer_the_terminal():
    hostile = ClaimVerdict(
        id="\x1b[2J", statement="s", status="refuted", expected="refuted", counterexample="\x1b]0;a\x07 [red]b",
        evidence=(Evidence(route="\x1b[1m", status="refuted", detail="d"),),
    )  # fmt: skip
    text = shown({"\x1b[31mtitle": [hostile]})
    assert "\x1b" not in text
    assert "[red]b" in text
