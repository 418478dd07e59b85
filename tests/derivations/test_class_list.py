import io

from rich.console import Console

from regard.derivations.class_list import DocumentRow, show_rows

COUNTS = {"proved": 0, "holds": 3, "refuted": 2, "undecided": 1}


def row(file="a.md", **more) -> DocumentRow:
    usual = {"outcome": "judged", "reason": None, "problem": "p", "is_guessed": False, "counts": COUNTS}
    return DocumentRow(**{"file": file, **usual, "understood": 0.999, "score": 2.5, "max_score": 4.0, **more})


def shown(*rows: DocumentRow, is_brief=False, width=100) -> str:
    console = Console(file=io.StringIO(), width=width, highlight=False, markup=False)
    show_rows(console, rows, is_brief=is_brief)
    return console.file.getvalue()


def test_a_line_for_each_document_and_the_totals():
    text = shown(row(), row("b.md", outcome="timed out", reason="too long"))
    assert "a.md     3 holds   2 refuted   1 undecided   99 % understood  2.5 of 4 points" in text
    assert "b.md  timed out: too long" in text
    assert "2 documents: 1 judged · 1 timed out" in text
    assert "12 steps: 0 proved · 6 holds · 4 refuted · 2 undecided" in text


def test_a_guess_is_told_even_of_a_single_document():
    assert "Judged as p: a guess" in shown(row(is_guessed=True), is_brief=True)
    assert "No shipped problem fits" in shown(row(is_guessed=True, problem="inferred"), is_brief=True)
    assert shown(row(), is_brief=True) == ""


def test_hostile_names_stay_on_their_line():
    text = shown(row("a\nb\x1b[31m" + "x" * 100 + ".md"))
    assert "\x1b" not in text
    assert len(text.splitlines()) == 4
