import io
import unicodedata
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from regard.core.verdict import Place
from regard.derivations.report.terminal import show_class, show_document, show_guesses
from regard.derivations.results import DocumentReport, QuestionRow, Role, StepVerdict
from regard.render.terminal import open_console

TEXT = """# 1.(b)

取 $q = k_a + k_b$ ，其中 $x = 1$ holds.

$$a = b = c$$
"""


def printed(show: Callable, *, width: int = 80, encoding: str = "utf-8", has_color: bool = False) -> str:
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding, newline="\n")
    console = open_console()
    console.file, console.width = stream, width
    if has_color:
        console._color_system = 1
    show(console)
    stream.flush()
    return stream.buffer.getvalue().decode(encoding)


def shown(report: DocumentReport, *, what="refuted", **more) -> str:
    return printed(lambda console: show_document(console, report, shown=what), **more)


def test_a_refuted_step_is_shown_as_a_compiler_would(judged):
    text = shown(judged(TEXT, refuted=["q = k_a + k_b"], holds=["x = 1"]))
    assert text.startswith(
        "refuted[1b/1]: a scale is missing\n"
        " --> answers.md:3:4\n"
        "  |\n"
        "3 | 取 $q = k_a + k_b$ ，其中 $x = 1$ holds.\n"
        "  |     ^^^^^^^^^^^^^\n"
        "  = counterexample: n = 10: 0.2023, not 0.5\n"
        "  = note: it is read so\n"
        "  = help: regard claims --explain average-scale\n"
        "  = reproduce: regard verify answers.md --line 3\n"
        "\n"
    )


def test_questions_and_counts_come_last(judged):
    text = shown(judged(TEXT, refuted=["= c"], holds=["x = 1"], undecided=["a = b"], extra={"probability": 0.921}))
    assert text.endswith(
        "\n"
        "✗ 1b  An average of two           1 holds · 1 refuted · 1 undecided\n"
        "· 2b  Can two codes be the same?  prose, not judged\n"
        "      see sinusoid-unique\n"
        "· 3   Rotary codes                unanswered\n"
        "\n"
        "3 steps: 1 holds, 1 refuted, 1 undecided (100 % understood)\n"
    )
    assert "= note: holds with probability 0.921" in text


def test_what_is_only_given_is_not_said_to_hold(judged):
    text = shown(judged(TEXT, holds=["x = 1"], extra={"role": Role.GIVEN}))
    assert text.endswith("\n1 step: 1 taken as given\n")


def test_a_doubtful_step_is_listed_with_the_undecided_ones_and_not_with_the_refuted(judged):
    said = {"outcome": "doubtful", "reason": "Looks wrong if K is k"}
    document = judged(TEXT, undecided=["x = 1"], extra=said)
    assert "Looks wrong" not in shown(document)
    assert shown(document, what="undecided").startswith(
        "Undecided in answers.md:\n? 3:24  x = 1                             Looks wrong if K is k; it is read so\n\n"
    )


def test_undecided_steps_that_look_wrong_come_first_and_the_list_stays_short():
    step = StepVerdict(id="1", statement="", status="undecided", outcome="", role=Role.ASSERTION, source="a = b")
    steps = (*[replace(step, reason="Not read")] * 20, replace(step, outcome="doubtful", reason="Looks wrong if b"))
    text = shown(DocumentReport(file="a.md", verdicts=steps), what="undecided")
    lines = text.splitlines()
    assert lines[1].endswith("Looks wrong if b")
    assert [line.endswith("Not read") for line in lines[2:13]] == [True] * 11
    assert lines[13] == "9 more steps undecided. Use --all to see every step."
    assert "more step" not in shown(DocumentReport(file="a.md", verdicts=steps[-3:]), what="undecided")


def test_steps_that_were_not_read_lower_the_share():
    step = StepVerdict(
        id="1", statement="", status="undecided", outcome="not understood", role=Role.ASSERTION, source=""
    )
    steps = (step, *[replace(step, outcome="refuted", status="refuted")] * 2)
    assert shown(DocumentReport(file="a.md", verdicts=steps)).endswith("(66 % understood)\n")


def test_a_document_without_steps_says_so(judged):
    assert shown(judged("Words only.")).endswith("\nNo formulas found\n")
    assert shown(judged("Let $x$ be.")).endswith("\nNo steps found\n")


def test_a_class_says_so_of_each_document_without_steps(judged):
    line = printed(lambda console: show_class(console, [judged("Words only.")])).splitlines()[0]
    assert "  No formulas found  0 of" in line
    assert "understood" not in line


@pytest.mark.parametrize(("what", "found"), [("refuted", "r"), ("undecided", "r"), ("all", "hru")])
def test_more_is_shown_when_asked_for(judged, what, found):
    document = judged(TEXT, refuted=["= c"], holds=["x = 1"], undecided=["a = b"])
    text = shown(document, what=what)
    heads = [line[0] for line in text.splitlines() if "[1b/" in line]
    assert sorted(heads) == sorted(found)
    assert ("Undecided in" in text) == (what == "undecided")


def test_help_is_given_once_per_question(judged):
    text = shown(judged(TEXT, refuted=["q = k_a + k_b", "a = b"]))
    assert text.count("refuted[") == 2
    assert text.count("= help:") == 1


def test_a_notebook_shows_the_line_of_the_stored_file(judged):
    stored = {"stored_lines": (0, 40)}
    report = judged("Take $x = 1$.", path="a.ipynb", kind="notebook", refuted=["x = 1"], document=stored)
    moved = replace(report.verdicts[0], where=Place(file="a.ipynb", line=17, column=3))
    assert "17 | Take $x = 1$." in shown(replace(report, verdicts=(moved,)))


@pytest.mark.parametrize("encoding", ["utf-8", "cp437", "ascii"])
@pytest.mark.parametrize("width", [80, 50, 200])
def test_lines_fit_and_end_without_blanks(judged, width, encoding):
    long = "设 " * 60 + "$q = k_a + k_b$" + " 因此 " * 60
    reason = {"reason": "a long reason " * 12, "notes": ("a long note " * 12,)}
    document = judged(long, refuted=["q = k_a + k_b"], extra=reason)
    lines = shown(document, width=width, encoding=encoding).splitlines()
    commands = ("= help", "= reproduce")
    assert max(cell_len(line) for line in lines if not line.lstrip().startswith(commands)) <= width
    assert not [line for line in lines if line != line.rstrip()]


def test_color_is_only_added(judged):
    document = judged(TEXT, refuted=["q = k_a + k_b"])
    colored = shown(document, has_color=True)
    assert "\x1b[1;31mrefuted[1b/1]" in colored
    assert "\x1b" not in shown(document)


def test_markup_of_rich_is_plain_text(judged):
    document = judged("[bold red]x = 1[/] :smile:", refuted=["x = 1"], extra={"reason": "[/] [link=x]y[/link]"})
    text = shown(document)
    assert "[bold red]x = 1[/] :smile:" in text
    assert "[/] [link=x]y[/link]" in text


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(st.text(st.characters(codec="utf-8"), max_size=40), st.text(st.characters(codec="utf-8"), max_size=40))
def test_hostile_text_and_names_cannot_steer_the_terminal(judged, prose, name):
    path = f"{name}\x1b[2J.md"
    document = judged(f"{prose.replace('$', '')}\x1b]0;x\x07$x = 1$", path=path, refuted=["x = 1"])
    text = shown(document)
    assert not {unicodedata.category(sign) for sign in text if sign != "\n"} & {"Cc", "Cf", "Cs", "Zl", "Zp"}


# -- many documents ----------------------------------------------------------------------------------------------------
def report(file="a.md", **more) -> DocumentReport:
    step = StepVerdict(id="1", statement="", status="holds", role=Role.ASSERTION, source="")
    statuses = ["holds"] * 3 + ["refuted"] * 2 + ["undecided"]
    steps = tuple(replace(step, status=status) for status in statuses)
    row = QuestionRow(id="1", title="", state="judged", points=4.0, score=2.5)
    return DocumentReport(**{"file": file, "problem": "p", "verdicts": steps, "questions": (row,), **more})


def listed(*reports: DocumentReport) -> str:
    return printed(lambda console: show_class(console, iter(reports)), width=100)


def test_a_line_per_document_and_the_totals():
    text = listed(report(), DocumentReport.failed("b.md", "timed out", "too long"))
    assert "a.md     3 holds   2 refuted   1 undecided  100 % understood  2.5 of 4 points" in text
    assert "b.md  timed out: too long" in text
    assert "2 documents: 1 judged · 1 timed out" in text
    assert "6 steps: 0 proved · 3 holds · 2 refuted · 1 undecided" in text


def test_a_guess_is_announced():
    def guessed(*problems: str) -> str:
        return printed(lambda console: show_guesses(console, problems))

    assert guessed("b", "a") == "Guessed the assignment: a, b. Use --problem NAME to set it.\n"
    assert "No shipped problem fits" in guessed("inferred")
    assert guessed() == ""


def test_hostile_names_stay_on_their_line():
    text = listed(report("a\nb\x1b[31m" + "x" * 100 + ".md"))
    assert "\x1b" not in text
    assert len(text.splitlines()) == 4
