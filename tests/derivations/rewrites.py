"""Rewrites of a document that keep its meaning, and edits of a step that change it."""

import re
import unicodedata
from collections.abc import Callable, Mapping

Rewrite = Callable[[str], str]
_MATHEMATICS = re.compile(r"\$\$.+?\$\$|\$[^$\n]+\$", re.DOTALL)


def in_mathematics(change: Rewrite) -> Rewrite:
    """The rewrite of a whole document that changes only its formulas."""
    return lambda text: _MATHEMATICS.sub(lambda found: change(found[0]), text)


def in_prose(change: Rewrite) -> Rewrite:
    """The rewrite of a whole document that changes only the words between its formulas."""

    def rewritten(text: str) -> str:
        pieces, place = [], 0
        for found in _MATHEMATICS.finditer(text):
            pieces += [change(text[place : found.start()]), found[0]]
            place = found.end()
        return "".join([*pieces, change(text[place:])])

    return rewritten


def swapped(pairs: Mapping[str, str]) -> Rewrite:
    """Replaces commands and letters in formulas, whole ones only."""
    pattern = re.compile("|".join(rf"{re.escape(old)}(?![A-Za-z])" for old in pairs))
    return in_mathematics(lambda source: pattern.sub(lambda found: pairs[found[0]], source))


REWRITES: Mapping[str, Rewrite] = {
    "an empty group on both sides of =": in_mathematics(lambda s: re.sub(r"(?<![\\<>!:=&])=(?!=)", "{}={}", s)),
    "= in braces": in_mathematics(lambda s: re.sub(r"(?<![\\<>!:=&])=(?!=)", "{=}", s)),
    "mathrel around ≈": in_mathematics(lambda s: s.replace(r"\approx", r"\mathrel{\approx}")),
    "transposes as intercal": swapped({r"\top": r"\intercal"}),
    "thin spaces": in_mathematics(lambda s: s.replace(" + ", r"\,+\,")),
    "dfrac": swapped({r"\frac": r"\dfrac"}),
    "le and ge in full": swapped({r"\le": r"\leq", r"\ge": r"\geq", r"\ne": r"\neq"}),
    "hard spaces in prose": in_prose(lambda s: re.sub(r"(?<=\w) (?=\w)", "\u00a0", s)),
    "decomposed letters in prose": in_prose(lambda s: unicodedata.normalize("NFD", s)),
    "crlf": lambda text: text.replace("\r\n", "\n").replace("\n", "\r\n"),
    "a byte-order mark": lambda text: text if text.startswith("\ufeff") else f"\ufeff{text}",
    "double blanks in prose": in_prose(lambda s: re.sub(r"(?<=\w) (?=\w)", "  ", s)),
    "display delimiters": lambda text: re.sub(r"\$\$(.+?)\$\$", r"\\[\1\\]", text, flags=re.DOTALL),
    "inline delimiters": lambda text: re.sub(r"(?<!\$)\$(?!\$)([^$\n]+)\$(?!\$)", r"\\(\1\\)", text),
    "β as κ": swapped({r"\beta": r"\kappa", "β": "κ"}),
    "β as η": swapped({r"\beta": r"\eta", "β": "η"}),
    "display style": in_mathematics(lambda s: s.replace("$$", r"$$\displaystyle ", 1) if s.startswith("$$") else s),
}
