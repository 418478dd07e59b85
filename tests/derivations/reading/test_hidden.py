r"""What a reader of the finished document does not see is found by what is known to show it."""

import pytest

from regard.derivations.reading.document import DocumentKind
from regard.derivations.reading.files import read_text
from regard.derivations.reading.hidden import hidden_text

QUERY = r"$q = \beta(k_a + k_b)$"
HIDING_IN_LATEX = (
    r"\raisebox{-500cm}{§}",
    r"\setbox0=\hbox{§}",
    r"\sbox{\x}{§}",
    r"\begin{lrbox}{\x}§\end{lrbox}",
    r"\begin{tikzpicture}\node[opacity=0]{§};\end{tikzpicture}",
    r"\ifthenelse{\boolean{false}}{§}{}",
    r"\ifx\a\b §\fi",
    r"\textcolor[rgb]{1,1,1}{§}",
    r"{\color[HTML]{FFFFFF} §}",
    r"\definecolor{ink}{gray}{0.97}\textcolor{ink}{§}",
    r"\colorlet{ink}{white}\textcolor{ink}{§}",
    r"\textcolor{white!95!black}{§}",
    r"\colorbox{black}{§}",
    r"\hspace*{50cm}§",
    r"\vspace*{-90cm}§",
    r"\resizebox{0.1pt}{!}{§}",
    r"{\fontsize{0.3}{0}\selectfont §}",
    r"\transparent{0}§",
    r"\makeatletter\@gobble{§}",
    r"\pdftooltip{x}{§}",
    r"\hypersetup{pdftitle={§}}",
    r"\only<0>{§}",
    r"\newcommand{\hide}[1]{\raisebox{-500cm}{#1}}\hide{§}",
    r"\newcommand{\hide}[1]{}\hide{§}",
)
SHOWING_IN_LATEX = (
    "§",
    r"\textbf{\underline{§}}",
    r"\boxed{§}",
    r"\textcolor{blue}{§}",
    r"\definecolor{ink}{rgb}{0.1,0.2,0.7}\textcolor{ink}{§}",
    r"\definecolor{paper}{rgb}{0.95,0.95,0.92} §",
    r"\footnote{§}",
    r"\ans{§}",
    r"\newcommand{\mine}[1]{\textcolor{red}{\textbf{#1}}}\mine{§}",
    r"\vspace{2cm} § \hspace{1em}",
    r"\scalebox{0.8}{x} §",
    r"\[ \sum_{i=1}^n \alpha_i = 1 \iff \mathbf{1}_{i=j} \]",
)
HIDING_IN_MARKDOWN = (
    r"$\style{display:none}{q = k_a}$",
    r"$\class{hidden}{q = k_a}$",
    r"$\color{#ffffff}{q = k_a}$",
    r"$\hspace{500em} q = k_a$",
    "<template>§</template>",
    '<span style="position:absolute; left:-9999px">§</span>',
    '<div style="width:0;height:0;overflow:hidden">§</div>',
    '<span style="color:hsl(0,0%,100%)">§</span>',
    '<font color="#ffffff">§</font>',
    '<span class="hidden">§</span>',
    "<div hidden>\n\n§\n\n</div>",
    "[//]: # (§)",
    "![§](plot.png)",
    '[no idea](# "§")',
    '<abbr title="§">no idea</abbr>',
    "`q = k_a + k_b`",
)
SHOWING_IN_MARKDOWN = (
    "§",
    "**§**",
    '<span style="color: red">§</span>',
    '<font color="#1f4e79">§</font>',
    '<div align="center">\n\n§\n\n</div>',
    "<details><summary>Proof</summary>\n\n§\n\n</details>",
    "[notes](https://example.org) say §",
    "If $i<j$ and $k>l$, then §.",
)


def is_hidden(pattern: str, kind: DocumentKind) -> bool:
    text = f"I do not know.\n\n{pattern.replace('§', QUERY)}\n"
    return bool(hidden_text(read_text(text, kind=kind)))


@pytest.mark.parametrize("pattern", HIDING_IN_LATEX)
def test_latex_that_may_hide_a_formula_is_found(pattern):
    assert is_hidden(pattern, "latex")


@pytest.mark.parametrize("pattern", SHOWING_IN_LATEX)
def test_latex_that_shows_a_formula_is_not(pattern):
    assert not is_hidden(pattern, "latex")


@pytest.mark.parametrize("pattern", HIDING_IN_MARKDOWN)
def test_markdown_that_may_hide_a_formula_is_found(pattern):
    assert is_hidden(pattern, "markdown")


@pytest.mark.parametrize("pattern", SHOWING_IN_MARKDOWN)
def test_markdown_that_shows_a_formula_is_not(pattern):
    assert not is_hidden(pattern, "markdown")


def test_what_iffalse_leaves_out_is_a_comment():
    document = read_text(rf"A \iffalse {QUERY} \ifx\a\b $x = 1$ \fi \else $y = 2$ \fi", kind="latex")
    assert [span.source for span in document.spans] == ["y = 2"]
