"""Relation signs are counted without the parser, and it finds as many."""

from pathlib import Path

import pytest

from regard.derivations.notation.signs import relation_signs, unread_signs
from regard.derivations.notation.statements import read_chains
from regard.derivations.reading.files import read

HERE = Path(__file__).parents[1]
SAMPLES = HERE.parents[2] / "shared" / "samples"
DOCUMENTS = sorted(
    path
    for folder in (HERE / "set_1", HERE / "set_2", HERE / "set_3", SAMPLES)
    for path in folder.glob("*")
    if path.suffix in (".md", ".tex", ".ipynb")
)


def counted(source: str) -> list[str]:
    return [sign for _, sign in relation_signs(source)]


def read_by_the_parser(source: str) -> list[str]:
    return [sign.text for chain in read_chains(source) for sign in chain.signs]


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_the_parser_leaves_out_no_sign_of_any_formula(path):
    spans = read(path).spans
    assert spans
    assert [span.source for span in spans if unread_signs(span.source, read_chains(span.source))] == []


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (r"a = b \approx c", ["=", "≈"]),
        (r"a \not= b \not \in c \ne d", ["≠", "∉", "≠"]),
        ("a &lt; b ＝ c", ["<", "="]),
        (r"a := b", ["="]),
        (r"a \xrightarrow{n = 1} b = c", ["→", "="]),
        (r"\sum_{i = 1}^{n = 2} x", []),
        (r"\text{so } a \text{ where } b = c", ["="]),
        (r"\text{a = b}", []),
        (r"\tag{a = b} \label{eq:a=b}", []),
        ("a % = b {\n= c", ["="]),
        (r"\information \leqs", []),
        ("", []),
    ],
)
def test_signs_outside_scripts_and_prose_are_counted(source, expected):
    assert counted(source) == expected


def test_offsets_point_at_the_signs():
    source = r"a_{i=j} \le b = c"
    assert [source[offset : offset + 3].strip() for offset, _ in relation_signs(source)] == [r"\le", "= c"]


def test_a_relation_that_the_parser_leaves_out_is_still_counted():
    source = r"\{x = 1\}"
    assert (counted(source), read_by_the_parser(source)) == (["="], [])


@pytest.mark.parametrize("source", ["{" * 9000 + "=", "_{" * 4000 + "=", "\\text{" * 2000, "\\"])
def test_braces_that_never_close_are_survived(source):
    assert counted(source) in ([], ["="])
