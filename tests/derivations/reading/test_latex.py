"""LaTeX files: comments, code and definitions hold no mathematics, environments do.

Macros are collected when they are plain, expanded within limits, refused when they explode.
"""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.core.errors import InputError
from regard.derivations.reading.document import Macro
from regard.derivations.reading.files import read_text
from regard.derivations.reading.latex import MAX_MACROS, expand


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a $x$ % $y$\n\\verb|$z$| \\$5 $w$", ["x", "w"]),
        ("50\\% of $x$", ["x"]),
        ("\\begin{align}a % c $\n&=b\\end{align}", ["a \n&=b"]),
        ("\\begin{gather*}\na\n% comment\n\nb\n\\end{gather*}", ["\na\n\n\nb\n"]),
        ("\\newcommand{\\a}{$x$}\\def\\b#1{$#1$} $y$", ["y"]),
        ("\\documentclass{a}\n$p$\n\\begin{document}$x$\\end{document}$q$", ["x"]),
        ("\\begin{verbatim}$x$\\end{verbatim} $y$", ["y"]),
        ("\\begin{comment}$x$\\end{comment} $y$", ["y"]),
        ("\\begin{verbatim} $y$", ["y"]),
        ("\\begin{eqnarray}a&=&b\\end{eqnarray}", ["a&=&b"]),
        ("\\[\\begin{cases}a\\\\[1ex]b\\end{cases}\\]", ["\\begin{cases}a\\\\[1ex]b\\end{cases}"]),
        ("\\begin{equation}\\begin{split}a\\end{split}\\end{equation}", ["\\begin{split}a\\end{split}"]),
        ("$ x $ and $$y$$", [" x ", "y"]),
    ],
)
def test_mathematics_is_found(text, expected):
    document = read_text(text, kind="latex")
    assert [span.source for span in document.spans] == expected
    for span in document.spans:
        assert all(text[span.raw_offset(k)] == mark for k, mark in enumerate(span.source))


def test_the_layout_is_kept():
    text = (
        "\\title{T}\n\\begin{document}\n\\section*{1 (b) Average {of} two}\n"
        "\\begin{quote}q\\end{quote}\\includegraphics[w]{a.png}\n\\end{document}"
    )
    document = read_text(text, kind="latex")
    assert [heading.title for heading in document.headings] == ["1 (b) Average {of} two"]
    assert [text[item.start : item.end] for item in document.quotes] == ["q"]
    assert [text[item.start : item.end] for item in document.images] == ["\\includegraphics[w]{a.png}"]
    assert document.front_matter
    assert text[: document.front_matter.end].endswith("\\begin{document}")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r"\newcommand{\R}{\mathbb{R}}", Macro(name=r"\R", arity=0, body=r"\mathbb{R}")),
        (r"\renewcommand*\vec[1]{\mathbf{#1}}", Macro(name=r"\vec", arity=1, body=r"\mathbf{#1}")),
        (r"\def\ip#1#2{\langle #1, #2\rangle}", Macro(name=r"\ip", arity=2, body=r"\langle #1, #2\rangle")),
        (r"\DeclareMathOperator{\softmax}{softmax}", Macro(name=r"\softmax", arity=0, body=r"\operatorname{softmax}")),
        (
            r"\DeclareMathOperator*{\argmax}{arg\,max}",
            Macro(name=r"\argmax", arity=0, body=r"\operatorname*{arg\,max}"),
        ),
    ],
)
def test_plain_macros_are_collected(text, expected):
    for kind in ("markdown", "latex"):
        assert read_text(text + " $x$", kind=kind).macros == (expected,)


@pytest.mark.parametrize(
    "text",
    [
        r"\newcommand{\a}[2][x]{#1#2}",
        r"\def\a#1.#2{x}",
        r"\newcommand{\a}{#1}",
        r"\newcommand{\a}{{x}",
        r"\newcommand",
        r"\newcommands{\a}{b}",
        r"`\newcommand{\a}{b}`",
    ],
)
def test_others_are_passed_over(text):
    macros = read_text(text + " $x$").macros
    assert macros == () or text.startswith("`")


def test_there_are_not_too_many():
    text = "".join(f"\\def\\a{chr(97 + k % 26)}{{x}}" for k in range(2 * MAX_MACROS)) + "$x$"
    assert len(read_text(text).macros) == MAX_MACROS


def test_expansion_is_deep_and_leads_back():
    macros = [
        Macro(name=r"\K", arity=1, body=r"k_{#1}"),
        Macro(name=r"\dotp", arity=2, body=r"#1^\top #2"),
        Macro(name=r"\al", arity=0, body=r"\alpha"),
    ]
    source = r"\dotp{\K a}q = \al x"
    expanded = expand(source, macros)
    assert expanded.source == r"k_{a}^\top q = \alpha x"
    written = {mark: expanded.offsets[expanded.source.index(mark)] for mark in ("a}", "q", "=", "x")}
    assert written == {"a}": source.index("a}"), "q": source.index("q"), "=": source.index("="), "x": source.index("x")}
    assert expanded.offsets[0] == source.index(r"\K")


def test_a_blank_keeps_a_command_from_the_letter_after_it():
    assert expand(r"\m\beta", [Macro(name=r"\m", arity=1, body="#1x")]).source == r"\beta x"


@pytest.mark.parametrize(
    "macros",
    [
        [Macro(name=r"\a", arity=0, body=r"\a")],
        [Macro(name=r"\a", arity=0, body=r"x\a\a")],
        [Macro(name=r"\a", arity=0, body=r"\b\b"), Macro(name=r"\b", arity=0, body=r"\a")],
        [Macro(name=r"\a", arity=1, body="#1")],
        [Macro(name=r"\a", arity=0, body="x" * 30_000)],
    ],
)
def test_what_grows_without_end_or_lacks_an_argument_is_refused(macros):
    with pytest.raises(InputError):
        expand(r"{\a}", macros)


def test_billion_laughs_are_refused():
    names = "abcdefghij"
    macros = [Macro(name=f"\\{a}", arity=0, body=f"\\{b}" * 10) for a, b in itertools.pairwise(names)]
    with pytest.raises(InputError, match="expands to more than"):
        expand(r"\a", [*macros, Macro(name=r"\j", arity=0, body="lol")])


@given(st.text(alphabet="\\abx{}#12 $\n", max_size=60))
def test_without_macros_nothing_changes(source):
    expanded = expand(source, [])
    assert expanded.source == source
    assert expanded.offsets == tuple(range(len(source)))


@given(st.text(alphabet="\\ab{}#12x ", max_size=40), st.text(alphabet="\\ab{}#1x", max_size=20), st.integers(0, 2))
def test_expansion_ends_and_keeps_its_offsets(source, body, arity):
    try:
        expanded = expand(
            source, [Macro(name=r"\a", arity=arity, body=body.replace("#1", "") if arity < 1 else body)], 500
        )
    except InputError:
        return
    assert len(expanded.source) == len(expanded.offsets)
    assert all(0 <= offset < len(source) for offset in expanded.offsets)


def test_macros_may_open_mathematics_or_wrap_it():
    text = (
        r"\newcommand{\be}{\begin{equation}}\newcommand{\ee}{\end{equation}}\def\bal{\begin{aligned}}\def\eal{\end{aligned}}"
        r"\newcommand{\eq}[2]{\begin{align}\label{#1}#2\end{align}}\newcommand{\m}[1]{$#1$}"
        r"\newcommand{\note}[1]{$\star$ #1}\newcommand{\law}{$e = f$}"
        "\n\\begin{document}\nWe have \\be a = b \\ee and \\be \\bal c &= d \\eal \\ee\n\n"
        "\\eq{x}{g = h}, \\m{i = j}, \\note{k = l}, \\law and $\\m{n}$.\n\\end{document}"
    )
    document = read_text(text, kind="latex")
    assert [span.source.strip() for span in document.spans] == [
        "a = b",
        r"\bal c &= d \eal",
        r"\eq{x}{g = h}",
        r"\m{i = j}",
        r"\law",
        r"\m{n}",
    ]
    assert not document.unclosed
    assert [span.is_display for span in document.spans] == [True, True, True, False, False, False]
