"""Every way of delimiting mathematics in Markdown, and everything that only looks like one."""

import pytest

from regard.derivations.problems.problem import load_problem
from regard.derivations.reading.document import MathSpan
from regard.derivations.reading.files import read_text
from regard.derivations.verify import judge_document


def sources(text: str) -> list[str]:
    return [span.source for span in read_text(text).spans]


def only(text: str) -> MathSpan:
    (span,) = read_text(text).spans
    return span


@pytest.mark.parametrize(
    ("text", "source", "delimiter", "is_display"),
    [
        ("$x$", "x", "$", False),
        ("$$x$$", "x", "$$", True),
        (r"\(x\)", "x", r"\(", False),
        (r"\[x\]", "x", r"\[", True),
        (r"\\(x\\)", "x", r"\\(", False),
        ("$`x`$", "x", "$`", False),
        ("```math\nx\n```", "x\n", "```math", True),
        ("~~~~ math\nx\n~~~~", "x\n", "~~~~math", True),
        (r"\begin{equation}x\end{equation}", "x", "equation", True),
        (r"\begin{align*}x&=y\\[2pt]&=z\end{align*}", r"x&=y\\[2pt]&=z", "align*", True),
        (r"\begin{alignat}{2}x\end{alignat}", "x", "alignat", True),
        (r"\begin{math}x\end{math}", "x", "math", False),
        (r"\begin{pmatrix}x\end{pmatrix}", r"\begin{pmatrix}x\end{pmatrix}", "pmatrix", True),
        (r"$$\begin{aligned}x\end{aligned}$$", r"\begin{aligned}x\end{aligned}", "$$", True),
    ],
)
def test_each_delimiter_is_found(text, source, delimiter, is_display):
    span = only(f"so {text}" if "\n" not in text else text)
    assert (span.source, span.delimiter, span.is_display) == (source, delimiter, is_display)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It costs $5 and $10.", []),
        ("US$5 and CA$10, or $1,000", []),
        ("$5-$10", []),
        ("costs 5$ and 10$", []),
        ("$5 and $x$ and $10", ["x"]),
        ("between $5 and $10, so $x$ wins", ["x"]),
        ("$n=5$ keys at $3 each", ["n=5"]),
        ("$20$ for $x$", ["20", "x"]),
        ("near $0.5$, the others near $0$.", ["0.5", "0"]),
        (r"\$5 and $x$", ["x"]),
        (r"\\$x$", ["x"]),
        ("$HOME and $PATH", []),
    ],
)
def test_prices_are_no_mathematics(text, expected):
    assert sources(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$ x $ and $ y $", [" x ", " y "]),
        ("$x $ and $ y$", ["x ", " y"]),
        ("$x $和$y $", ["x ", "y "]),
        ("所以$a$，$b$；$c$。", ["a", "b", "c"]),
        (r"$\alpha_a 与 \alpha_b$ 相同", [r"\alpha_a 与 \alpha_b"]),
        ("$x for all i$ and $y$", ["x for all i", "y"]),
        ("$a$$b$", ["a", "b"]),
        ("$a$ $$b$$", ["a", "b"]),
        ("$$a$$$$b$$", ["a", "b"]),
        (r"$f = \text{if $x$ is big}$", [r"f = \text{if $x$ is big}"]),
        (r"$$f = \text{if $x$}$$ $y$", [r"f = \text{if $x$}", "y"]),
        ("Let $x = 1 and $y = 2$ hold", ["y = 2"]),
        ("cost $ of $x$ and $y$", ["x", "y"]),
        ("$i$-th and $x$2", ["i", "x"]),
        ("**$x$** _$y$_ ($z$)", ["x", "y", "z"]),
        ("$\n x \n$", ["\n x \n"]),
        ("$x\n\ny$", []),
        (r"foo \( a" + "\n\n" + r"b \)", []),
    ],
)
def test_dollars_pair_as_they_were_meant(text, expected):
    assert sources(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("`$x$` and $y$", ["y"]),
        ("``a ` $x$`` $y$", ["y"]),
        ("`C:\\` $x$ `b`", ["x"]),
        ("``quoted'' $x$ ``again''", ["x"]),
        ("```python\n$x$\n```\n$y$", ["y"]),
        ("````\n```math\n$x$\n```\n````\n$y$", ["y"]),
        ("~~~\n$x$\n~~~\n$y$", ["y"]),
        ("<!-- $x$\n\n--> $y$", ["y"]),
        ("<code>$x$</code> $y$", ["y"]),
        ("---\ntitle: $x$\n---\n$y$", ["y"]),
        (r"\newcommand{\a}{$x$} $y$", ["y"]),
        ("$\\newcommand{\\R}{x}y$", ["y"]),
    ],
)
def test_code_comments_and_settings_hold_no_mathematics(text, expected):
    assert sources(text) == expected


@pytest.mark.parametrize(
    "text",
    ["    $x$", "- a\n\n      $x$", "1. a\n   - $x$", "```\n$x$ is never closed", "<!-- $x$", "---\n\n$x$\n\n---"],
)
def test_what_only_looks_like_code_keeps_its_mathematics(text):
    assert sources(text) == ["x"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$$\na\n- b\n> 0\n= c\n$$", ["\na\n- b\n> 0\n= c\n"]),
        ("$$\na = b\n\nc = d\n$$\nfoo $x$", ["\na = b\n\nc = d\n", "x"]),
        (r"\[ a" + "\n\n" + r"b \]", [" a\n\nb "]),
        ("$$\nx=1\n\nthis is plain prose\n\n$$\ny=2\n$$", ["\ny=2\n"]),
        ("- item\n  $$\n  x\n  $$", ["\n  x\n  "]),
    ],
)
def test_displays_run_over_lines(text, expected):
    assert sources(text) == expected


def test_quote_marks_are_cut_out_and_offsets_lead_back():
    text = "> Note:\n> $$\n> a\n> > b\n> $$\n> so $c\n> + d$."
    document = read_text(text)
    assert [span.source for span in document.spans] == ["\na\n> b\n", "c\n+ d"]
    for span in document.spans:
        assert all(text[span.raw_offset(k)] == mark for k, mark in enumerate(span.source))
    assert text[document.spans[1].start : document.spans[1].end] == "$c\n> + d$"


def test_a_fence_in_a_quote_ends_with_the_quote():
    assert sources("> ```math\n> x\n\n$y$") == ["x", "y"]


def test_a_bar_in_a_table_cell_is_escaped():
    text = "| a | b |\n|---|---|\n| $\\|x\\|$ | $y$ |\n| $5 | $z$ |\n| $|w|$ | v |"
    assert sources(text) == ["|x|", "y", "z", "|w|"]
    assert sources("no table: $\\|x\\|$") == ["\\|x\\|"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a $x", [(2, "$")]),
        ("$$\nx", [(0, "$$")]),
        (r"\(x", [(0, r"\(")]),
        (r"\[x \[y\]", [(0, r"\[")]),
        (r"\begin{align}x", [(0, r"\begin{align}")]),
        ("```python\nx", [(0, "```")]),
        ("a $5 fee", []),
        (r"$a \( b$", []),
        ("$x$ and $$y$$", []),
    ],
)
def test_what_is_never_closed_is_reported(text, expected):
    assert [(item.offset, item.token) for item in read_text(text).unclosed] == expected


def test_the_layout_is_kept():
    text = (
        "---\ntitle: x\n---\n# One #\n##Two\n\nThree\n=====\n\n> quote\n> more\n\n"
        "`code`\n\n![plot](a.png) ![[b.png]] <img src='c'>"
    )
    document = read_text(text)
    assert [(heading.level, heading.title) for heading in document.headings] == [(1, "One"), (2, "Two"), (1, "Three")]
    assert [text[item.start : item.end] for item in document.quotes] == ["> quote\n> more"]
    assert [text[item.start : item.end] for item in document.code] == ["`code`"]
    assert [text[item.start : item.end] for item in document.images] == [
        "![plot](a.png)",
        "![[b.png]]",
        "<img src='c'>",
    ]
    assert document.front_matter
    assert text[: document.front_matter.end] == "---\ntitle: x\n---"


def test_a_rule_under_a_sentence_is_no_heading():
    assert read_text("This is the end of it.\n---\n\nNext").headings == ()
    assert read_text("---\nnot a setting\n---").front_matter is None


def test_formulas_in_fenced_blocks_are_read_and_programs_are_not():
    text = (
        "```text\nα_a = exp(β)/(2exp(β)+n-2)\n  k_a^T q = β\nand so it goes = on\nx += 1\n```\n\n"
        "```\nx = 5\nβ ≫ 0\n```\n\n```python\nα = 1\n```\n\n```latex\na = b\n```\n\n"
        "```latex\nThen we have found that $c = d$ as well.\n```\n"
    )
    document = read_text(text)
    sources = [span.source.strip() for span in document.spans]
    assert sources == ["α_a = exp(β)/(2exp(β)+n-2)", "k_a^T q = β", "β ≫ 0", "a = b", "c = d"]
    assert all(document.text[span.raw_offset(0)] == span.source[0] for span in document.spans)


def test_formulas_in_list_items_and_environments():
    text = "- \\(a = b\\)\n  - so \\(c = d\\)\n\n1. \\[e = f\\]\n\n\\begin{equation*}\ng = h\n\\end{equation*}\n"
    assert [span.source.strip() for span in read_text(text).spans] == ["a = b", "c = d", "e = f", "g = h"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("So\n\n     k_aᵀq = β·k_aᵀk_a = β\n\nfor both.", ["k_aᵀq = β·k_aᵀk_a = β"]),
        ("(ii) c₁ ≈ v_a      c₂ ≈ v_b", ["c₁ ≈ v_a", "c₂ ≈ v_b"]),
        ("Notation:  zᵢ = kᵢᵀq,  c = Σᵢ αᵢ vᵢ", ["zᵢ = kᵢᵀq,  c = Σᵢ αᵢ vᵢ"]),
        ("H' = P√d\n   = PH", ["H' = P√d\n   = PH"]),
        ("k_a ≈ γ μ_a\n\n= β", ["k_a ≈ γ μ_a", "= β"]),
        ("The logit of a is γβ = 3 as long as the noise is small.", []),
        ("total = 5", []),
        ("for i in x_1: α = 3;", []),
        ("Here $x$ is fine.\n\n     α = β²\n", ["x"]),
    ],
)
def test_a_text_file_without_delimiters_has_its_formulas_on_lines_of_their_own(text, found):
    assert [span.source for span in read_text(text, kind="text").spans] == found
    assert not any(span.is_plain_text for span in read_text(text).spans)


def test_an_exponent_in_round_brackets_is_all_of_the_exponent():
    text = "q = β(k_a + k_b), β ≫ 1\n\nα_a = e^(β) / (2e^(β) + n − 2)\n\nα_b = e^(2β) / (2e^(β) + n − 2)\n"
    problem = load_problem("cs224n-a4")
    verdicts = judge_document(read_text(f"1.(b)\n\n{text}", kind="text"), problem).verdicts
    assert [verdict.status for verdict in verdicts if verdict.kind == "step"] == ["holds", "refuted"]
