"""Notes without a problem: what declares their symbols, and what is judged by it."""

from dataclasses import replace

import pytest

from regard.core.errors import InputError
from regard.derivations.context.declarations import declare_sections, symbol_rows
from regard.derivations.context.formulas import read_formulas
from regard.derivations.context.questions import infer_problem
from regard.derivations.judging.setting import Assumption, Setting
from regard.derivations.reading.files import read_text
from regard.derivations.verify import judge_document


def judged(text: str) -> list[tuple[str, str]]:
    document = read_text(text)
    verdicts = judge_document(document, infer_problem(read_formulas(document))).verdicts
    return [(verdict.role, verdict.status) for verdict in verdicts]


def claims(text: str) -> list[str]:
    return [status for role, status in judged(text) if role == "assertion"]


def settings(text: str, declarations: str = "") -> list[Setting]:
    document = replace(read_text(text), declarations=declarations)
    return [section.setting for section in declare_sections(document, read_formulas(document))]


# -- declarations ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "name", "shape", "assume"),
    [
        (r"Let $W_Q, W_K \in \mathbb{R}^{d \times m}$.", "W_K", ("d", "m"), ()),
        (r"Let $W$ be a $d \times m$ matrix. $Wx = Wx$", "W", ("d", "m"), ()),
        (r"For an orthogonal $d \times d$ matrix $R$: $Rx = Rx$", "R", ("d", "d"), (Assumption.ORTHONORMAL_COLUMNS,)),
        (r"Let $W_Q$ and $W_K$ be $d \times d$. $W_Q = W_Q$", "W_K", ("d", "d"), ()),
        (r"The vectors $x$ and $y$ of length $d$: $x + y = y + x$", "y", ("d", "1"), ()),
    ],
)
def test_formulas_and_words_declare_symbols(text, name, shape, assume):
    meaning = settings(text)[0].symbols[name]
    assert (meaning.shape, meaning.assume) == (shape, assume)


def test_words_that_name_no_sizes_leave_only_the_kind():
    setting = settings(r"Let $u$ be a unit vector. Then $u^\top u = 1$.")[0]
    assert setting.kinds["u"] == ("column",)
    assert claims(r"Let $u$ be a unit vector. Then $u^\top u = 1$.") == ["holds"]


def test_a_file_beside_the_document_and_its_front_matter_declare_symbols():
    text = "---\nsymbols:\n  R: orthogonal d×d matrix\n---\n\n$RA = RA$\n"
    symbols = settings(text, '[symbols]\nA = "d×n matrix"\n')[0].symbols
    assert (symbols["R"].shape, symbols["A"].shape) == (("d", "d"), ("d", "n"))
    declared = settings("$Xw = Xw$", '[symbols]\nX = "n×d matrix"\nw = "vector of length d"\n')[0].symbols["w"]
    assert declared.shape == ("d", "1")
    with pytest.raises(InputError, match="no TOML"):
        settings("$x = x$", "[symbols")


def test_every_symbol_has_a_reason():
    document = read_text(r"Let $x \in \mathbb{R}^d$. Then $s x = x s$.")
    rows = {row.symbol: row for row in symbol_rows(document, read_formulas(document))}
    assert rows["x"].taken_as == "vector of length d"
    assert rows["d"].taken_as == "size"
    assert "never refuted" in rows["s"].why


def test_a_section_keeps_what_it_does_not_state_again():
    text = "# One\n\nLet $x \\in \\mathbb{R}^d$ and $s = x^\\top x$.\n\n# Two\n\n$2s = x^\\top x + s$."
    assert claims(text) == ["holds"]
    assert claims(f"{text} Let $x \\in \\mathbb{{R}}$.") != ["refuted"]


# -- shapes from use ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "identity",
    [
        r"(AB)^\top = B^\top A^\top",
        r"\|x + y\|^2 = \|x\|^2 + 2x^\top y + \|y\|^2",
        r"\operatorname{tr}(AB) = \operatorname{tr}(BA)",
        r"\ln(ab) = \ln a + \ln b",
        r"\sum_{t=1}^n t = \frac{n(n+1)}{2}",
        r"(q^\top k)^2 = (q^\top k)(k^\top q)",
        r"\frac{d}{dx}\cos(3x^2) = -6x\sin(3x^2)",
    ],
)
def test_what_holds_for_every_kind_that_fits_holds(identity):
    assert claims(f"So ${identity}$.") == ["holds"]


@pytest.mark.parametrize("false", [r"AB = BA", r"(AB)^\top = A^\top B^\top", r"x^\top A y = y^\top A x"])
def test_what_nothing_declares_is_never_refuted(false):
    assert claims(f"So ${false}$.") == ["undecided"]


# -- functions and definitions -----------------------------------------------------------------------------------------
def test_a_function_is_used_by_its_definition():
    text = r"Let $R(\phi) = \begin{pmatrix}\cos\phi & -\sin\phi\\ \sin\phi & \cos\phi\end{pmatrix}$. "
    assert claims(text + r"Then $R(\alpha)R(\beta) = R(\alpha+\beta)$ and $R(\phi)^\top = R(-\phi)$.") == ["holds"] * 2
    assert claims(r"$f(x, y) = x^2 y$, so $f(2, 3) = 12$, $\frac{\partial f}{\partial x} = 2xy$.") == ["holds"] * 2


def test_values_of_an_unknown_function_are_symbols():
    text = "$P(Y) = 2p\\cdot.32 + p\\cdot.68$\n\nso $P(Y) = 1.32p$"
    assert judged(text) == [("definition", "holds"), ("assertion", "holds")]


def test_an_update_and_an_equation_claim_nothing():
    assert judged(r"$W \leftarrow W - \eta G$ with $r \ll \min(d, k)$. Solve $x^2 - 5x - 14 = 0$.") == [
        ("definition", "holds"),
        ("supposition", "holds"),
        ("supposition", "undecided"),
    ]


def test_a_recurrence_starts_where_its_first_member_is_defined():
    text = r"Let $m_0 = 0$ and $m_t = \beta m_{t-1} + (1-\beta) g_t$. Then $m_1 = (1-\beta) g_1$."
    assert "refuted" not in claims(text)


# -- calculus ----------------------------------------------------------------------------------------------------------
SOFTMAX = r"Let $z \in \mathbb{R}^K$ and $p_i = \frac{e^{z_i}}{\sum_j e^{z_j}}$. Then "
QUADRATIC = r"Let $x \in \mathbb{R}^d$ and $A \in \mathbb{R}^{d\times d}$. Then "
LOSS = r"Let $L$ be a scalar loss. "
ATTENTION = r"Let $A \in \mathbb{R}^{n\times n}$, $V \in \mathbb{R}^{n\times d}$ and $O = AV$. Then "


@pytest.mark.parametrize(
    ("text", "status"),
    [
        (SOFTMAX + r"$\frac{\partial p_i}{\partial z_j} = p_i(\delta_{ij} - p_j)$.", "holds"),
        (SOFTMAX + r"so $\frac{\partial p_i}{\partial z_j} = p_i(\delta_{ij} - 2p_j)$.", "refuted"),
        (ATTENTION + r"$\frac{\partial L}{\partial V} = A^\top \frac{\partial L}{\partial O}$.", "holds"),
        (ATTENTION + r"$\frac{\partial L}{\partial A} = \frac{\partial L}{\partial O} V^\top$.", "holds"),
        (ATTENTION + r"so $\frac{\partial L}{\partial V} = 2A^\top \frac{\partial L}{\partial O}$.", "refuted"),
        (ATTENTION + r"$\frac{\partial L}{\partial V} = A^\top G$.", "undecided"),
        (LOSS + ATTENTION + r"$\frac{\partial L}{\partial V} = A^\top \frac{\partial L}{\partial O}$.", "holds"),
        (LOSS + ATTENTION + r"so $\frac{\partial L}{\partial V} = 2A^\top \frac{\partial L}{\partial O}$.", "refuted"),
        (LOSS + ATTENTION + r"so $\frac{\partial L}{\partial V} = 0$.", "undecided"),
        (r"Let $x \in \mathbb{R}^d$. Then $\nabla_x \|x\|^2 = 2x$.", "holds"),
        (QUADRATIC + r"$\nabla_x x^\top A x = (A + A^\top) x$.", "holds"),
        (QUADRATIC + r"$\frac{\partial}{\partial x} x^\top A x = (A + A^\top) x$.", "holds"),
        (QUADRATIC + r"$\nabla_x \|x\|^2 x^\top A x = 2 x x^\top A x$.", "holds"),
    ],
)
def test_derivatives_are_judged_at_random_instances(text, status):
    assert claims(text) == [status]


# -- probability -------------------------------------------------------------------------------------------------------
SCORES = r"Let $q, k \in \mathbb{R}^d$ have i.i.d. entries with mean $0$ and variance $1$, and $s = q^\top k$. "


@pytest.mark.parametrize(
    ("text", "status"),
    [
        (SCORES + r"So $\operatorname{Var}(s) = d$.", "holds"),
        (SCORES + r"So $\operatorname{Var}(s/\sqrt d) = 1$.", "holds"),
        (SCORES + r"So $\operatorname{Var}(s) = 2d$.", "refuted"),
        (SCORES + r"So $\mathbb{E}[s^4] = 3d(d+2)$.", "undecided"),
        (r"Let $x \sim \mathcal{N}(\mu, \sigma^2)$. Then $\mathbb{E}[(x-\mu)^4] = 3\sigma^4$.", "holds"),
        (r"So $\operatorname{Var}(X - Y) = \operatorname{Var}(X) - \operatorname{Var}(Y)$.", "undecided"),
        (r"Given $q$ we have $s \mid q \sim \mathcal{N}(0, \|q\|^2)$. So $\mathbb{E}[q] = 1$.", "undecided"),
    ],
)
def test_moments_are_exact_under_the_laws_that_the_text_gives(text, status):
    assert claims(text) == [status]
