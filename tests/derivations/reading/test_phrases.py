"""The phrase lists compile, are used, and match whole words only."""

import re
from pathlib import Path

import pytest

from regard.derivations.reading import phrases

SOURCES = Path(phrases.__file__).parents[2]
PURPOSES = sorted(phrases._lists())
LANGUAGES = {"en", "de", "fr", "es", "pt", "it", "pl", "ru", "ja", "zh", "any"}


@pytest.mark.parametrize("purpose", PURPOSES)
def test_every_list_compiles_and_is_by_language(purpose: str) -> None:
    re.compile(phrases.any_of(purpose))
    assert set(phrases._lists()[purpose]) <= LANGUAGES


def test_every_list_is_used_by_the_code_or_by_another_list() -> None:
    code = "".join(path.read_text(encoding="utf-8") for path in SOURCES.rglob("*.py"))
    data = "".join(path.read_text(encoding="utf-8") for path in SOURCES.rglob("phrases/*.toml"))
    unused = [name for name in PURPOSES if not re.search(rf"['\"]{name}['\"]", code) and f"{{{name}}}" not in data]
    assert unused == []


@pytest.mark.parametrize(
    ("purpose", "text", "found"),
    [
        ("extreme", "for every key", None),
        ("extreme", "when β is very large", "very"),
        ("condition", r"\ifans{it}", None),
        ("negation", "the normal case", None),
        ("negation", "it isn't so", "isn't"),
        ("doubted", "two common\nmistakes", "mistakes"),
        ("example", "例如a同学", "例如"),
    ],
)
def test_phrases_match_whole_words_across_line_breaks(purpose: str, text: str, found: str | None) -> None:
    match = re.search(phrases.any_of(purpose), text, re.IGNORECASE)
    assert (match[0] if match else None) == found
