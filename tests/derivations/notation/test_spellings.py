"""Ordinary ways to write a relation: none is lost, and all read the same."""

import pytest

from regard.derivations.notation.parser import parse
from regard.derivations.notation.signs import relation_signs, unread_signs
from regard.derivations.notation.statements import read_chains
from regard.derivations.notation.syntax import Expression
from regard.derivations.notation.tokens import tokenize


def steps(source: str) -> list[tuple[Expression | None, str, Expression | None]]:
    """Left side, sign and right side of every step."""
    found = []
    for chain in read_chains(source):
        sides = [parse(side) if side else None for side in chain.sides]
        found += [(sides[k], sign.text, sides[k + 1]) for k, sign in enumerate(chain.signs)]
    return found


def plain(source: str) -> Expression:
    return parse(tokenize(source))


EQUATIONS = r"""
a = b
{a = b}
{{a = b}}
a {=} b
a {}={} b
a\,=\,b
a\;=\;b
a~=~b
a\ =\ b
a =b.
\displaystyle a = b
{\displaystyle a = b}
{\displaystyle {a = b}}
{\textstyle a = b}
\color{red} a = b
{\color{red} a = b}
\color{red}{a = b}
\textcolor{red}{a = b}
\textcolor[rgb]{1,0,0}{a = b}
\mathcolor{red}{a = b}
a \textcolor{red}{= b}
{\color{blue} a} = {\color{red} b}
\begin{array}{rcl} a & = & b\end{array}
\begin{array}{l} a = b \end{array}
\begin{array}{@{}r@{}l} a & {}= b \end{array}
\left.\begin{array}{l} a = b \end{array}\right\}
\left\{\begin{array}{l} a = b \end{array}\right.
\left\{\begin{aligned} a &= b \end{aligned}\right.
\begin{cases} a = b \end{cases}
\begin{dcases} a = b \end{dcases}
\begin{aligned} a &= b \end{aligned}
\begin{aligned}[t] a &= b \end{aligned}
\begin{alignedat}{2} a &= b \end{alignedat}
\begin{split} a &= b \end{split}
\begin{gathered} a = b \end{gathered}
\begin{multlined} a = b \end{multlined}
\begin{eqnarray} a &=& b \end{eqnarray}
\begin{equation} a = b \end{equation}
\begin{equation*}\begin{aligned} a &= b \end{aligned}\end{equation*}
\begin{IEEEeqnarray}{rCl} a &=& b \end{IEEEeqnarray}
\begin{matrix} a = b \end{matrix}
a &= b
a =& b
a & = & b
a \mathrel{=} b
a \mathop{=} b
a \mathop{=}\limits_{x} b
a \mathbin{=} b
a \overset{(1)}{=} b
a \overset{\text{by }x = y}{=} b
a \underset{x \to 0}{=} b
a \stackrel{!}{=} b
a \stackrel{\text{def}}{=} b
a \stackrel{\Delta}{=} b
a \overset{!}{\;=\;} b
a \xlongequal{x} b
a \xlongequal[y]{x} b
a \coloneqq b
a \colonequals b
a \triangleq b
a := b
a \vcentcolon= b
a \mathrel{\mathop:}= b
a \equiv b
a == b
a \eqqcolon b
a =: b
a \doteqdot b
\underbrace{a = b}_{\text{by (1)}}
\overbrace{a = b}^{x = y}
\underline{a = b}
\boxed{a = b}
\fbox{$a = b$}
\fbox{a = b}
\framebox{$a = b$}
\colorbox{yellow}{$a = b$}
\fcolorbox{red}{white}{$a = b$}
\bbox[5px]{a = b}
\ensuremath{a = b}
\mbox{$a = b$}
\hbox{$a = b$}
\scalebox{0.9}{$a = b$}
\resizebox{3cm}{!}{$a = b$}
\raisebox{1pt}{$a = b$}
\rlap{$a = b$}
\mathrlap{a = b}
\smash{a = b}
\smash[b]{a = b}
\phantom{x = y} a = b
a \hphantom{x}= b
a = b \tag{1}
a = b \tag*{(x = y)}
a = b \label{eq:x=y}
a = b \nonumber
a = b \quad (1)
a = b \hspace{1cm}
\hspace*{1cm} a = b
a \mspace{3mu}= b
a \kern3pt = b
a \hskip 1em = b
\intertext{so} a = b
\shortintertext{where x = y is wrong} a = b
\text{so } a = b
\text{Since $a = b$, done}
a = b \text{ for } i
\big( a = b \big)
( a = b )
\Big[ a = b \Big]
\left( a = b \right)
\small a = b
\large a = b
\footnotesize a = b
\mathbf{a} = b
\therefore a = b
\because a = b
\Rightarrow a = b
\implies a = b
\rightarrow a = b
=> a = b
==> a = b
\iff a = b
\Leftrightarrow a = b
\bullet\ a = b
\unknowncommand{a = b}
\href{https://example.org/?x=y}{a = b}
a = b \footnotemark
a = b \footnote{as x = y}
a = b % x = y
a \text{ }=\text{ } b
a \phantom{} = b
\hline a = b
a = b \hline
\\ a = b \\
\\[2pt] a = b \\[2pt]
\newline a = b
\notag a = b
\begin{aligned} & \\ a &= b \end{aligned}
\begin{aligned}\begin{aligned} a &= b \end{aligned}\end{aligned}
\begin{subequations} a = b \end{subequations}
\begin{empheq}{align} a &= b \end{empheq}
\begin{center} a = b \end{center}
\begin{gather*} a = b \end{gather*}
\begin{flalign} && a &= b && \end{flalign}
\centerline{$a = b$}
\class{x}{a = b}
\cssId{x}{a = b}
\style{color:red}{a = b}
""".strip().splitlines()


@pytest.mark.parametrize("source", EQUATIONS)
def test_each_spelling_of_an_equation_is_one_step(source):
    found = steps(source)
    expected = {(plain("a"), plain("b")), (plain(r"\mathbf a"), plain("b"))}
    assert [sign for _, sign, _ in found] == ["="]
    assert (found[0][0], found[0][2]) in expected
    assert unread_signs(source, read_chains(source)) == []


@pytest.mark.parametrize(
    ("meaning", "spellings"),
    [
        ("≈", r"\approx \simeq \cong \doteq \approxeq \thickapprox \fallingdotseq \backsimeq ≈ ≃ ≅ ≒ ≐"),
        ("≤", r"\le \leq \leqslant \leqq <= ≤ ⩽ ≦ &lt;="),
        ("≥", r"\ge \geq \geqslant \geqq >= ≥ ⩾ ≧ &gt;="),
        ("≲", r"\lesssim ≲ \lessapprox"),
        ("≳", r"\gtrsim ≳ \gtrapprox"),
        ("<", r"< \lt &lt; ＜"),
        (">", r"> \gt &gt; ＞"),
        ("≪", r"\ll << \lll ≪ &lt;&lt;"),
        ("≫", r"\gg >> \ggg ≫ &gt;&gt;"),
        ("≠", r"\ne \neq ≠ \not= \not\equiv \not{=} \nequiv"),
        ("≉", r"\not\approx ≉ \napprox"),
        ("≮", r"\not< \nless ≮"),
        ("≯", r"\not> \ngtr ≯"),
        ("≰", r"\not\le \not\leq \nleq ≰"),
        ("≱", r"\not\ge \not\geq \ngeq ≱"),
        ("∈", r"\in ∈"),
        ("∉", r"\notin \not\in ∉"),
        ("∋", r"\ni ∋"),
        ("⊂", r"\subset ⊂ \subseteq ⊆ \subsetneq"),
        ("⊃", r"\supset ⊃ \supseteq ⊇"),
        ("⊥", r"\perp \bot ⊥"),
        ("∼", r"\sim ∼ \thicksim"),
        ("∝", r"\propto ∝ \varpropto"),
        ("→", r"\to \rightarrow \longrightarrow → ⟶ \xrightarrow{x=y} \xrightarrow[y]{x} -> \rightsquigarrow"),
        ("←", r"\gets \leftarrow ←"),
        ("↦", r"\mapsto ↦ \longmapsto"),
        ("⪯", r"\preceq \prec ⪯ ≺"),
        ("⪰", r"\succeq \succ ⪰ ≻"),
    ],
)
def test_each_sign_in_all_its_spellings(meaning, spellings):
    for spelling in spellings.split():
        for source in (f"a {spelling} b", f"a \\mathrel{{{spelling}}} b", f"{{a {spelling} b}}"):
            assert steps(source) == [(plain("a"), meaning, plain("b"))], source
            assert [sign for _, sign in relation_signs(source)] == [meaning], source


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a = b = c", ["a = b", "b = c"]),
        (r"{a = b} = c", ["a = b", "b = c"]),
        (r"\underbrace{a = b}_{x} = c", ["a = b", "b = c"]),
        (r"\begin{array}{rcl} a & = & b \\ & = & c \end{array}", ["a = b", "? = c"]),
        (r"\left\{\begin{aligned} a &= b \\ c &= d\end{aligned}\right.", ["a = b", "c = d"]),
        (r"\begin{cases} a = b \\ c = d, & x > 0 \end{cases}", ["a = b", "c = d", "x > 0"]),
        (
            r"\left\{ \begin{array}{ll} a = b \\ c = d \end{array} \right. \Rightarrow e = f",
            ["a = b", "c = d", "e = f"],
        ),
        (r"a = b \rightarrow c = d", ["a = b", "c = d"]),
        (r"a = b → c \approx d \to e = f", ["a = b", "c ≈ d", "e = f"]),
        (r"a = b \to c", ["a = b", "b → c"]),
        (r"a \to c", ["a → c"]),
        (r"a &= b \\ &\to c = d", ["a = b", "? → c", "c = d"]),
        (r"a = b \because c = d", ["a = b", "c = d"]),
        (r"\because c = d \therefore a = b", ["c = d", "a = b"]),
        (r"a = b \qquad c = d", ["a = b", "c = d"]),
        ("a = b  c = d", ["a = b", "c = d"]),
        (r"a = b \ \ c = d", ["a = b", "c = d"]),
        ("a = b\n  + c", ["a = b + c"]),
        ("a  =  b  =  c", ["a = b", "b = c"]),
        ("a = b; c = d", ["a = b", "c = d"]),
        ("a = b => c = d", ["a = b", "c = d"]),
        ("a = b <=> c = d", ["a = b", "c = d"]),
        ("a = b --> c = d", ["a = b", "c = d"]),
        (r"(a, b) = (c, d)", ["a = c", "b = d"]),
        (r"\left(a, b\right) \approx \left(c, d\right) = (x, y)", ["a ≈ c", "c = x", "b ≈ d", "d = y"]),
        (r"a, b = c, d", ["a = c", "b = d"]),
        (r"a_1, a_2 \approx \frac12", [r"a_1 ≈ \frac12", r"a_2 ≈ \frac12"]),
        (r"a, b \sim N", ["a ∼ N", "b ∼ N"]),
        (r"a_1, \dots, a_n > 0", ["a_1 > 0", "a_n > 0"]),
        (r"\{a, b\}, c = d", ["c = d"]),
        (r"\exp(a) = b, c = d", [r"\exp(a) = b", "c = d"]),
        ("a + ... + b = c", [r"a + \dots + b = c"]),
        ("a + . . . + b = c", [r"a + \dots + b = c"]),
        (r"\exp{(a)} = b", [r"\exp(a) = b"]),
        (r"\exp^{a} = b", [r"\exp(a) = b"]),
        (r"\micro_a = µ_b", [r"\mu_a = \mu_b"]),
        ("alpha = beta", [r"\alpha = \beta"]),
        (r"a^\intercal b = c", ["a^T b = c"]),
        (r"f = \left\{\begin{array}{ll} 1 & x > 0 \\ 0 & x = 0 \end{array}\right.", None),
    ],
)
def test_where_statements_begin_and_end(source, expected):
    if expected is None:
        (step,) = [step for step in steps(source) if step[1] == "="][:1]
        assert step == (plain("f"), "=", plain(r"\begin{cases} 1 & x > 0 \\ 0 & x = 0 \end{cases}"))
        return
    written = [step.split(" ") for step in expected]
    signs = [next(k for k, word in enumerate(words) if word in "=≈→∼>") for words in written]
    parts = [(" ".join(w[:k]), w[k], " ".join(w[k + 1 :])) for w, k in zip(written, signs, strict=True)]
    assert steps(source) == [(None if left == "?" else plain(left), sign, plain(right)) for left, sign, right in parts]
    assert unread_signs(source, read_chains(source)) == []


@pytest.mark.parametrize(
    "source",
    [
        r"\sum_{i \ne j} a",
        r"a_{i = j}",
        r"\text{x = y}",
        r"\left. a \right|_{x = 0}",
        r"\max_{x \in X} a",
        r"\mathbb{1}_{i = j}",
        r"\lim_{x \to 0} a",
        r"\tag{a = b} x",
        r"\operatorname*{arg\,max}_{x > 0} f",
        r"\substack{a = b \\ c = d}",
        r"\xrightarrow{}",
    ],
)
def test_signs_that_claim_nothing_are_not_counted(source):
    assert unread_signs(source, read_chains(source)) == []


@pytest.mark.parametrize(
    ("source", "signs"),
    [
        (r"\frac{a = b}{c}", ["="]),
        (r"\sqrt{a = b} + c = d", ["="]),
        (r"a, b = 1, 2, 3", ["="]),
        (r"\begin{tikzcd} a \arrow{r} = b \end{tikzcd} x", ["="]),
    ],
)
def test_signs_that_no_chain_holds_are_listed(source, signs):
    found = unread_signs(source, read_chains(source))
    written = dict(relation_signs(source))
    assert [written[offset] for offset in found] == signs


def test_conditions_on_indices_are_relations_of_their_own():
    assert steps(r"a = b \quad \forall i \neq j")[1] == (plain("i"), "≠", plain("j"))
    (chain,) = read_chains(r"i = 1, \dots, n")
    assert (chain.signs[0].text, [token.text for token in chain.sides[1]]) == ("∈", ["1", ",", "\\dots", ",", "n"])
    (chain,) = read_chains(r"\forall i \in {1..n}")
    assert parse(chain.sides[1]) == plain(r"\{1, \dots, n\}")
