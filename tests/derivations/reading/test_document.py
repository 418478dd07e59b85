"""The prose of a document: sentences around a formula, paragraphs, lists, what is struck out."""

import pytest

from regard.derivations.reading.document import PLACEHOLDER
from regard.derivations.reading.files import read, read_text


def around(text: str, formula: str) -> tuple[str, str]:
    """The raw text of the sentence before and after a formula."""
    document = read_text(text)
    (span,) = [span for span in document.spans if span.source == formula]
    before, after = document.sentence_before(span.start), document.sentence_after(span.start)
    assert document.prose[before.start : before.end] == before.text
    assert document.prose[after.start : after.end] == after.text
    assert (before.end, after.start) == (span.start, span.end)
    return text[before.start : before.end], text[after.start : after.end]


@pytest.mark.parametrize(
    ("text", "before", "after"),
    [
        ("One. Suppose that $x$ for $i$. Two.", "Suppose that ", " for $i$."),
        ("第一句。如果 $x$ ，则好！第二句。", "如果 ", " ，则好！"),
        ("We choose c. Then $x$ holds", "Then ", " holds"),
        ("So, i.e. $x$ as in e.g. Fig. 2 etc. and so on. No", "So, i.e. ", " as in e.g. Fig. 2 etc. and so on."),
        ("i. Set $x$ now.", "i. Set ", " now."),
        ("Why? Since $x$!", "Since ", "!"),
        ("He said “yes.” Then $x$.", "Then ", "."),
        ("It is 3.5 and $x$", "It is 3.5 and ", ""),
        ("One\n\nTwo $x$\n\nThree", "Two ", ""),
        ("If $a$ holds, we have:\n\n$$x$$\n\nThree", "If $a$ holds, we have:\n\n", ""),
        ("若，\n\n$$x$$\n\n然后", "若，\n\n", ""),
        ("When:\n\n- a\n- then $x$\n- b", "- then ", ""),
        ("When:\n\n- then $x$\n- b", "When:\n\n- then ", ""),
        ("Suppose:\n\n$$a$$\n\n$$x$$\n\nNow", "Suppose:\n\n$$a$$\n\n", ""),
        ("$$a.$$\n\n$$x$$\n\nwhere $b$. No", "", "\n\nwhere $b$."),
        ("$$x$$\n\n当 $b$ 时", "", ""),
        ("# If this:\n\n$x$ is", "", " is"),
        ("> if\n> $x$ holds\n> now. No", "if\n> ", " holds\n> now."),
        ("| if | b |\n|---|---|\n| c | $x$ |\n| d | e |", "| c | ", " |"),
        ("line one\nwraps $x$ and\nends. No", "line one\nwraps ", " and\nends."),
    ],
)
def test_the_sentence_around_a_formula(text, before, after):
    assert around(text, "x") == (before, after)


def test_an_offset_in_prose_works_too():
    document = read_text("One two. Three four. Five")
    assert document.sentence_before(15).text == "Three "
    assert document.sentence_after(15).text == "four."


def test_prose_keeps_offsets_and_hides_mathematics_and_comments():
    text = "a $x$ <!-- if\n --> b"
    assert read_text(text).prose == f"a {PLACEHOLDER * 3} {' ' * 7}\n{' ' * 4} b"


def test_the_contexts_of_a_real_answer(samples):
    document = read(samples / "answers-1.md")
    at = {span.source: span.start for span in document.spans}
    assert document.sentence_before(at[r"c \approx v_a"]).text == "换句话说，在某些样本中 "
    long, short = at[r"e^{\gamma \beta} \gg e^\beta"], at[r"e^{\gamma \beta} \ll e^\beta"]
    assert "由于 β 很大" in document.sentence_before(long).text
    assert document.sentence_before(short).text.startswith("- 如果 γ 稍微小于 1")
    assert document.sentence_after(at[r"t_1 - t_2 = 2k\pi"]).text == " ）。"
    other = read(samples / "answers-2.md")
    (clause,) = [span for span in other.spans if span.source == r"k_i^\top q = 0"]
    after = other.sentence_after(clause.start)
    assert other.text[after.start : after.end] == r" for $i \notin \{a, b\}$."


@pytest.mark.parametrize(
    ("text", "leading"),
    [
        ("One. Let $n$ be 2:\n\n- first\n- then $x$", "Let $n$ be 2:"),
        ("Let:\n1. first\n2. then $x$", "Let:"),
        ("Let $n$ be 2.\n\n- first\n- then $x$", None),
        ("Let:\n\nOther words.\n\n- then $x$", None),
        ("Let:\n\nthen $x$", None),
    ],
)
def test_a_sentence_with_a_colon_leads_every_item_of_its_list(text, leading):
    document = read_text(text)
    found = document.lead_in(text.index("then"))
    assert (found and text[found.start : found.end]) == leading


def test_a_paragraph_begins_after_an_empty_line():
    document = read_text("> One.\n>\n> Two.\n> Three.\n\n\nFour.")
    starts = [document.text[document.paragraph_start(document.text.index(word)) :] for word in ("One", "Three", "Four")]
    assert [start[:6] for start in starts] == ["> One.", "> Two.", "Four."]


@pytest.mark.parametrize(
    ("text", "kind", "struck"),
    [
        ("a ~~b $x$ c~~ d ~~e~~", "markdown", ["~~b $x$ c~~", "~~e~~"]),
        ("a <del>b</del> <s>c</s>", "markdown", ["<del>b</del>", "<s>c</s>"]),
        ("a ~~b\n\nc~~", "markdown", []),
        (r"a~~b~~c \sout{d $x$ e}", "latex", [r"\sout{d $x$ e}"]),
    ],
)
def test_what_is_struck_out(text, kind, struck):
    assert [text[item.start : item.end] for item in read_text(text, kind=kind).struck] == struck
