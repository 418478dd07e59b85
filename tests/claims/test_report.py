"""The terminal's table of verdicts, and its explanation of a claim."""

import io
import re
from dataclasses import replace

import pytest
from rich.cells import cell_len
from rich.console import Console

from regard.claims import ClaimVerdict, all_claims
from regard.claims.deciding import Explanation
from regard.claims.report import show_explanation, show_verdicts
from regard.core.verdict import Evidence
from regard.render.figures import Axis, HeatMap
from regard.render.terminal import open_console

SAMPLED = Evidence(method="brute force", status="holds", detail="d")
FINE = ClaimVerdict(
    id="average-of-two",
    statement="s",
    status="proved",
    expected="proved",
    value=0.4868,
    bound=1e-9,
    evidence=(SAMPLED, Evidence(method="algebra", status="proved", detail="d")),
)
MISCONCEPTION = ClaimVerdict(
    id="half-sum-averages",
    statement="s",
    status="refuted",
    expected="refuted",
    evidence=tuple(
        Evidence(method=name, status="refuted", detail="d") for name in ("certified integral", "balls", "x")
    ),
    counterexample="n = 10, β = ½: a_a = 0.1459, and the statement says that it is one half, " * 2,
)
SURPRISE = ClaimVerdict(
    id="copy", statement="s", status="undecided", expected="proved", reason="the methods contradict"
)
GROUPS = {"1 retrieval": [FINE, MISCONCEPTION, SURPRISE]}


def table(groups, *, width: int = 80, encoding: str = "utf-8") -> str:
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding, newline="\n")
    console = open_console()
    console.file, console.width = stream, width
    show_verdicts(console, groups)
    stream.flush()
    return stream.buffer.getvalue().decode(encoding)


@pytest.mark.parametrize("encoding", ["utf-8", "cp437", "cp1252", "ascii"])
@pytest.mark.parametrize("width", [80, 60, 200])
def test_lines_fit_the_terminal_and_end_without_blanks(width, encoding):
    lines = table(GROUPS, width=width, encoding=encoding).splitlines()
    assert max(map(cell_len, lines)) <= width
    assert not [line for line in lines if line != line.rstrip()]


def test_a_line_says_what_was_decided_how_and_how_much():
    line = next(line for line in table(GROUPS).splitlines() if "average-of-two" in line)
    assert re.split(" {2,}", line)[1:] == ["✓ average-of-two", "proved", "0.4868 ± 1e-9", "algebra + brute force"]


def test_the_counterexample_stands_under_the_misconception():
    text = " ".join(table(GROUPS).split())
    assert "✗ half-sum-averages refuted certified integral + balls + x n = 10, β = ½: a_a = 0.1459" in text


def test_methods_that_do_not_fit_are_counted_and_then_cut():
    assert "certified integral +2" in table(GROUPS, width=70)
    assert re.search("certified.*…", table(GROUPS, width=60))


def test_a_surprise_is_named_with_its_reason():
    text = table(GROUPS)
    assert "the catalog expects proved. the methods contradict" in text
    assert "1 unexpected verdict: copy" in text
    assert "unexpected" not in table({"1 retrieval": [FINE, MISCONCEPTION]})


def test_the_last_line_counts():
    last = table({"1 retrieval": [FINE, MISCONCEPTION]}).splitlines()[-1]
    assert last == "2 claims: 1 proved · 0 holds · 1 refuted · 0 undecided"


def test_a_code_page_without_the_signs_gets_them_spelled():
    text = table(GROUPS, encoding="ascii")
    assert "+ average-of-two" in text
    assert "0.4868 +- 1e-9" in text
    assert "n = 10, beta = 1/2" in text


def test_colour_appears_only_on_a_terminal():
    assert "\x1b" not in table(GROUPS)
    stream = io.StringIO()
    show_verdicts(Console(file=stream, force_terminal=True, width=80, highlight=False), GROUPS)
    assert "\x1b[32m" in stream.getvalue()


def test_hostile_text_cannot_steer_the_terminal():
    hostile = ClaimVerdict(
        id="\x1b[2J",
        statement="s",
        status="refuted",
        expected="refuted",
        counterexample="\x1b]0;a\x07 [red]b",
        evidence=(Evidence(method="\x1b[1m", status="refuted", detail="d"),),
    )
    text = table({"\x1b[31mtitle": [hostile]})
    assert "\x1b" not in text
    assert "[red]b" in text


FIGURE = HeatMap(title="t", caption="c", x=Axis(label="x"), y=Axis(label="y"), values=[[1.0]])
VERDICT = ClaimVerdict(
    id="copy",
    statement="a_j ≥ 1/(1+(n−1)e^{−Δ})",
    status="proved",
    expected="proved",
    domain="n ≥ 3",
    assumes=("exp is increasing",),
    value=0.5,
    bound=1e-9,
    reproduce="regard claims copy --seed 0 " + "--set n=3 " * 9,
    evidence=(Evidence(method="algebra", status="proved", detail="an identity", value=0.5),),
)
REFUTED = ClaimVerdict(id="copy", statement="s", status="refuted", expected="proved", counterexample="n = 4")


def explained(verdict: ClaimVerdict = VERDICT, becomes="refuted") -> str:
    stream = io.StringIO()
    opened = Explanation(
        verdict=verdict,
        settings={"n": 3, "beta": 2.5},
        figure=FIGURE,
        near_misses=(replace(REFUTED, statement="n instead of n−1", expected=becomes),),
    )
    show_explanation(Console(file=stream, width=80, highlight=False), opened)
    return stream.getvalue()


def test_everything_there_is_to_say_is_said():
    text = explained()
    for part in (
        "copy  ✓ proved",
        VERDICT.statement,
        "n ≥ 3",
        "n = 3, beta = 2.5",
        "exp is increasing",
        "0.5 ± 1e-9",
        "Since Σ a_i = 1",
        "algebra",
        "an identity; value 0.5",
        "n instead of n−1",
        "n = 4",
        "CS224N assignment 4, question 1(a)",
        all_claims()["copy"].latex,
    ):
        assert part in text


def test_the_command_can_be_copied_whole():
    assert VERDICT.reproduce in explained()


def test_a_near_miss_that_is_not_refuted_is_named():
    assert "should be" not in explained()
    assert "n instead of n−1, but it should be holds" in explained(becomes="holds")


def test_a_misconception_and_an_unexpected_verdict_are_named():
    misconception = replace(REFUTED, expected="refuted")
    assert "as expected of a misconception" in explained(misconception)
    assert "but the catalog expects proved" in explained(REFUTED)
