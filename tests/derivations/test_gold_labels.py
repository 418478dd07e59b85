"""The gold labels agree with the gold documents, and the set covers what it promises."""

import json
import re
import tomllib
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

GOLD = Path(__file__).parent / "gold"
LABEL_FILES = sorted(GOLD.glob("*.labels.toml"))

TRUTHS = {"true", "approximate", "false", "either", "unjudged"}
KINDS = {"step", "design", "definition", "given", "supposition", "choice"}
JUDGED = {"true", "approximate", "false"}

SLIPS = {
    "ReLU taken as linear",
    "additive in position",
    "coordinates for a vector",
    "dropped term",
    "exp of zero",
    "exponents added",
    "fraction split",
    "input taken for permutation",
    "invariant for equivariant",
    "key taken for value",
    "lost exponent",
    "lost factor",
    "lost isometry",
    "lost normalisation",
    "lost orthogonality",
    "lost root",
    "lost root d",
    "missing scale",
    "not an involution",
    "off by one",
    "one is identity",
    "permutation cancelled",
    "projection taken for identity",
    "sine for cosine",
    "softmax taken as linear",
    "stray gamma",
    "swapped sign",
    "undefined symbol",
    "unpermuted H",
    "wrong choice",
    "wrong conjugate",
    "wrong inequality",
    "wrong limit",
    "wrong side",
    "wrong target",
    "wrong transpose",
    "wrong variance",
}

NOTATIONS = {
    r"k_i^\top q": r"k_i^\top q",
    r"k_i^Tq": r"k_i^Tq",
    r"\intercal": r"K_a^{\intercal} q",
    r"k_i \cdot q": r"k_i \cdot q",
    r"\langle x, y\rangle": r"\langle k_a, q\rangle",
    r"\exp": r"\exp(k_j^\top q)",
    "exp without backslash": "exp(k_i^Tq)",
    "e^{x}": r"e^{\beta}",
    r"\frac": r"\frac{1}{2}",
    "slash": r"e^{\beta}/(2e^{\beta} + n - 2)",
    r"\sum_i": r"\sum_i \alpha_i",
    r"\sum_{j=1}^n": r"\sum_{j=1}^n",
    r"\sum_{i\ne j}": r"\sum_{i \ne j}",
    "sum without index": r"\sum \exp",
    r"\sum_{others}": r"\sum_{others}",
    r"\text{softmax}": r"\text{softmax}",
    "bare softmax": "= softmax(",
    r"\operatorname{softmax}": r"\operatorname{softmax}",
    r"\mathrm{ReLU}": r"\mathrm{ReLU}",
    r"\mathbf{X}": r"\mathbf{X}",
    r"X_{\text{perm}}": r"X_{\text{perm}}",
    "X_{perm}": "X_{perm}",
    "X_p": "X_p",
    "Q'": "Q'",
    "Q_{perm}": "Q_{perm}",
    "Q_1": "Q_1",
    r"\mathbf 1": r"\mathbf 1",
    r"1 \cdot b_1": r"+ 1 \cdot b_1",
    "identity": "= I",
    "norm": r"\|x\|",
    r"\sqrt d": r"\sqrt d",
    "pmatrix": r"\begin{pmatrix}",
    "bmatrix": r"\begin{bmatrix}",
    "array": r"\begin{array}",
    "i as an index": "v_i",
    "i as the imaginary unit": "x_1 + ix_2",
    r"e^{it\theta}": r"e^{it\theta}",
    r"\overline{z}": r"\overline{z_2}",
    "z^*": "z_2^*",
    r"\operatorname{Re}": r"\operatorname{Re}",
    r"\cos t\theta": r"\cos t\theta",
    r"\infty": r"\infty",
    "linear combination": r"c_1a_1 + c_2a_2 + \dots + c_ma_m",
    "scale beta": r"q = \beta(k_a + k_b)",
    "scale lambda": r"q = \lambda(k_a + k_b)",
    "scale t": "q = t(k_a + k_b)",
    "scale gamma": r"q = \gamma (k_a + k_b)",
    "mean written mu": r"q = \beta(\mu_a + \mu_b)",
    "mean written u": r"q = \lambda(u_a + u_b)",
    "mean written M": r"q = \beta(M_a + M_b)",
    "cases mixed": r"q = \beta(K_a + K_b)",
    "random symbol": r"\gamma \sim",
    "unicode relations": "≈",
    "much greater": r"\gg",
}

FORMS = {
    r"\(": r"\(",
    r"\[": r"\[",
    "display dollars": "$$",
    "math fence": "```math",
    "block quote": "\n> ",
    "list": "\n- ",
    "table": "\n| ",
    "equation": r"\begin{equation}",
    "align": r"\begin{align}",
    "gather": r"\begin{gather}",
    "aligned": r"\begin{aligned}",
    "cases": r"\begin{cases}",
    "split": r"\begin{split}",
    "restated question": "\nMy answer:",
    "arrow between statements": r"\Rightarrow",
    "semicolon between statements": "; c_2",
}

CHOICES = {"Yes", "No", "能", "不能", "是", "否"}
CONDITIONS = {"If ", "when ", "Suppose ", "In some samples", "当", "若", "如果", "设"}

COMMAND_SIGNS = r"\\(?:approx|to|gg|ll|geq?|leq?|neq?|in|perp|sim)(?![A-Za-z])"
RELATION = re.compile(COMMAND_SIGNS + "|[=<>≈→≫≪≥≤≠∈⊥]")
MARKDOWN_MATH = re.compile(
    r"```math\n(.*?)```|```.*?```|\$\$(.*?)\$\$|\\\[(.*?)\\\]|\\\((.*?)\\\)|\$([^$\n]+)\$", re.DOTALL
)
LATEX_MATH = re.compile(
    r"(?<!\\)%[^\n]*|\\begin\{(?:equation|align|gather)\*?\}(.*?)\\end\{(?:equation|align|gather)\*?\}"
    r"|\\\[(.*?)\\\]|\$([^$\n]+)\$",
    re.DOTALL,
)


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """One document with its labels."""

    name: str
    language: str
    problem: str
    raw: bytes
    text: str
    steps: tuple[dict, ...]

    @property
    def is_notebook(self) -> bool:
        return self.name.endswith(".ipynb")


def document_text(name: str, raw: bytes) -> str:
    text = raw.decode("utf-8-sig").replace("\r\n", "\n")
    if not name.endswith(".ipynb"):
        return text
    cells = json.loads(text)["cells"]
    return "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")


@cache
def read_sheet(label_file: Path) -> Sheet:
    labels = tomllib.loads(label_file.read_text("utf-8"))
    raw = (GOLD / labels["document"]).read_bytes()
    return Sheet(
        name=labels["document"],
        language=labels["language"],
        problem=labels["problem"],
        raw=raw,
        text=document_text(labels["document"], raw),
        steps=tuple(labels["step"]),
    )


SHEETS = [read_sheet(path) for path in LABEL_FILES]
STEPS = [step for sheet in SHEETS for step in sheet.steps]
ALL_TEXT = "\n".join("\n" + sheet.text for sheet in SHEETS)
by_sheet = pytest.mark.parametrize("sheet", SHEETS, ids=lambda sheet: sheet.name)


def stands_where_labelled(step: dict, sheet: Sheet) -> bool:
    place = sheet.text if sheet.is_notebook else sheet.text.split("\n")[step["line"] - 1]
    if step["kind"] == "choice":
        return step["left"] in place
    parts = (step["left"], step["sign"], step["right"])
    return re.search(r"[\s&]*".join(re.escape(part) for part in parts), place) is not None


def count_relation_signs(sheet: Sheet) -> int:
    """Signs in the mathematics outside braces; subscripts and text hold none of the steps."""
    pattern = LATEX_MATH if sheet.name.endswith(".tex") else MARKDOWN_MATH
    formulas = ["".join(filter(None, match.groups())) for match in pattern.finditer(sheet.text)]
    return sum(len(RELATION.findall(without_braces(formula))) for formula in formulas)


def without_braces(formula: str) -> str:
    formula = formula.replace(r"\{", "").replace(r"\}", "")
    while (shorter := re.sub(r"\{[^{}]*\}", "", formula)) != formula:
        formula = shorter
    return formula


def test_every_document_has_labels() -> None:
    documents = {path.name for path in GOLD.iterdir() if not path.name.endswith(".labels.toml")}
    assert documents == {sheet.name for sheet in SHEETS}
    assert len(documents) >= 14


@by_sheet
def test_labels_use_the_agreed_words(sheet: Sheet) -> None:
    assert sheet.problem == "cs224n-a4"
    assert sheet.language in {"en", "zh"}
    for step in sheet.steps:
        assert step["truth"] in TRUTHS
        assert step["kind"] in KINDS
        assert (step["truth"] == "false") == ("slip" in step)
        assert step["truth"] == "unjudged" or step["kind"] in {"step", "design", "choice"}


@by_sheet
def test_labels_stand_where_they_say(sheet: Sheet) -> None:
    astray = [step for step in sheet.steps if not stands_where_labelled(step, sheet)]
    assert not astray
    lines = [step["line"] for step in sheet.steps]
    assert lines == sorted(lines)
    assert not sheet.is_notebook or set(lines) == {0}


@by_sheet
def test_every_relation_sign_is_labelled(sheet: Sheet) -> None:
    assert count_relation_signs(sheet) == sum(step["kind"] != "choice" for step in sheet.steps)


def test_a_misplaced_label_is_noticed() -> None:
    sheet = next(sheet for sheet in SHEETS if not sheet.is_notebook)
    step = next(step for step in sheet.steps if step["kind"] != "choice")
    assert not stands_where_labelled(step | {"line": step["line"] + 1}, sheet)
    assert not stands_where_labelled(step | {"right": step["right"] + " + 1"}, sheet)


def test_enough_steps_are_judged_and_about_a_third_is_false() -> None:
    truths = Counter(step["truth"] for step in STEPS)
    num_judged = sum(truths[truth] for truth in JUDGED)
    assert num_judged >= 220
    assert 0.25 <= truths["false"] / num_judged <= 0.40
    assert set(truths) == TRUTHS


def test_both_languages_carry_about_half() -> None:
    num_steps = Counter(sheet.language for sheet in SHEETS for _ in sheet.steps)
    assert 0.35 <= num_steps["zh"] / len(STEPS) <= 0.65


def test_every_slip_family_is_present_and_known() -> None:
    assert {step["slip"] for step in STEPS if "slip" in step} == SLIPS


@pytest.mark.parametrize("notation", NOTATIONS)
def test_notation_is_present_in_a_step_that_is_not_false(notation: str) -> None:
    sources = [f"{s['left']} {s['sign']} {s['right']}" for s in STEPS if s["truth"] != "false"]
    assert any(NOTATIONS[notation] in source for source in sources)


@pytest.mark.parametrize("form", FORMS)
def test_form_is_present(form: str) -> None:
    assert FORMS[form] in ALL_TEXT


def test_choices_and_conditions_are_present() -> None:
    assert {step["left"] for step in STEPS if step["kind"] == "choice"} == CHOICES
    assert all(word in ALL_TEXT for word in CONDITIONS)


def test_file_formats_are_present() -> None:
    names = [sheet.name for sheet in SHEETS]
    assert sum(name.endswith(".tex") for name in names) >= 2
    assert sum(name.endswith(".ipynb") for name in names) >= 1
    assert any(b"\r\n" in sheet.raw for sheet in SHEETS)
    assert any(sheet.raw.startswith(b"\xef\xbb\xbf") for sheet in SHEETS)
