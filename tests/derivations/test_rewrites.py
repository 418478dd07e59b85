"""Rewriting a document without changing its meaning changes no verdict."""

from functools import cache
from pathlib import Path

import pytest

from derivations.rewrites import REWRITES
from regard.derivations.problems.problem import load_problem
from regard.derivations.reading.files import read_text
from regard.derivations.verify import judge_document

HERE = Path(__file__).parent
SHEETS = ("set_3/adam-numbered.md", "set_1/zh-parts.md", "set_2/es-subespacios.md")


def statuses(text: str) -> list[str]:
    return [verdict.status for verdict in judge_document(read_text(text), load_problem("cs224n-a4")).verdicts]


@cache
def sheet(name: str) -> tuple[str, tuple[str, ...]]:
    text = (HERE / name).read_text(encoding="utf-8-sig")
    return text, tuple(statuses(text))


@pytest.mark.parametrize("rewrite", REWRITES)
@pytest.mark.parametrize("name", SHEETS)
def test_a_rewrite_changes_no_verdict(rewrite, name):
    text, expected = sheet(name)
    assert statuses(REWRITES[rewrite](text)) == list(expected)


def test_every_rewrite_changes_some_sheet():
    texts = [sheet(name)[0] for name in SHEETS]
    idle = [name for name, rewrite in REWRITES.items() if all(rewrite(text) == text for text in texts)]
    assert idle == []


def test_an_edit_that_changes_the_meaning_changes_a_verdict():
    text, expected = sheet(SHEETS[0])
    assert statuses(text.replace("n - 2", "n + 2").replace("n-2", "n+2")) != list(expected)
