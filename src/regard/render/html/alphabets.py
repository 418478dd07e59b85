"""Letters of the mathematical alphabets of Unicode: bold x is 𝐱, script N is 𝒩."""

import unicodedata
from collections.abc import Mapping
from functools import lru_cache

_NAMES: Mapping[str, str] = {
    "bold": "BOLD",
    "bold-italic": "BOLD ITALIC",
    "script": "SCRIPT",
    "fraktur": "FRAKTUR",
    "double-struck": "DOUBLE-STRUCK",
    "sans-serif": "SANS-SERIF",
    "monospace": "MONOSPACE",
}
_OLDER: Mapping[str, str] = {"SCRIPT": "SCRIPT", "FRAKTUR": "BLACK-LETTER", "DOUBLE-STRUCK": "DOUBLE-STRUCK"}


def in_alphabet(text: str, variant: str | None) -> str:
    """The text in the letters of a variant; letters that it lacks stay as they are.

    >>> in_alphabet("1X", "bold"), in_alphabet("L", "script"), in_alphabet("μ", "bold-italic"), in_alphabet("x", None)
    ('𝟏𝐗', 'ℒ', '𝝁', 'x')
    """
    alphabet = _NAMES.get(variant or "")
    return text if alphabet is None else "".join(_letter(sign, alphabet) for sign in text)


@lru_cache(maxsize=4096)
def _letter(sign: str, alphabet: str) -> str:
    words = unicodedata.name(sign, "").replace(" LETTER", "").removeprefix("LATIN ").removeprefix("GREEK ").split()
    kind = " ".join(words)
    for name in (f"MATHEMATICAL {alphabet} {kind}", f"{_OLDER.get(alphabet, '?')} {kind}"):
        try:
            return unicodedata.lookup(name)
        except KeyError:
            continue
    return sign
