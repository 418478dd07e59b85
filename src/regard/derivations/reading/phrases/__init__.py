"""Words and phrases that show how a document is meant; the TOML files here list them by purpose and language.

A phrase is a regular expression in which a space matches any white space, `(…)` groups without capturing, and `{name}`
stands for any phrase of the list `name`. It matches whole words only; write `\\w*` where a word may go on.
"""

import re
import tomllib
from functools import cache
from pathlib import Path

_FOLDER = Path(__file__).parent
_WORD_EDGE = r"(?<![A-Za-zÀ-ÿа-яё](?=[A-Za-zÀ-ÿа-яё]))"  # anywhere but between two letters
_GROUP = re.compile(r"(?<!\\)\((?!\?)")
_REFERENCE = re.compile(r"\{([a-z_]+)\}")


def any_of(purpose: str) -> str:
    """A regular expression that matches any phrase of a purpose, in every language.

    >>> re.findall(any_of("condition"), "If it rains, iffy; wenn es regnet; 如果下雨", re.IGNORECASE)
    ['If', 'wenn', '如果']
    """
    return f"{_WORD_EDGE}{_alternatives(purpose)}{_WORD_EDGE}"


@cache
def words(purpose: str) -> frozenset[str]:
    """The phrases of a purpose as they are written, in every language."""
    return frozenset(phrase for phrases in _lists()[purpose].values() for phrase in phrases)


@cache
def by_language(purpose: str) -> dict[str, frozenset[str]]:
    """The phrases of a purpose as they are written, language by language."""
    return {language: frozenset(phrases) for language, phrases in _lists()[purpose].items()}


@cache
def _lists() -> dict[str, dict[str, list[str]]]:
    lists: dict[str, dict[str, list[str]]] = {}
    for path in sorted(_FOLDER.glob("*.toml")):
        for purpose, by_language in tomllib.loads(path.read_text(encoding="utf-8")).items():
            assert purpose not in lists, f"two lists of phrases are called {purpose}"
            lists[purpose] = by_language
    return lists


def _alternatives(purpose: str) -> str:
    phrases = (phrase for phrases in _lists()[purpose].values() for phrase in phrases)
    return f"(?:{'|'.join(map(_pattern, phrases))})"


def _pattern(phrase: str) -> str:
    grouped = _GROUP.sub("(?:", phrase).replace(" ", r"\s+")
    return _REFERENCE.sub(lambda found: _alternatives(found[1]), grouped)
