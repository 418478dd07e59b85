"""LaTeX mathematics, cut into tokens that know where they stand."""

import re
from dataclasses import dataclass, replace
from typing import Literal

from regard.core.errors import InputError
from regard.derivations.notation.vocabulary import (
    BRACED,
    CLOSING,
    FONTS,
    GREEK,
    IGNORED,
    OPENING,
    RELATIONS,
    SEPARATORS,
    STACKED,
    SWALLOWED,
    TEXT,
    UNICODE,
    UNWRAPPED,
    VARIANTS,
    WORDS,
)

MAX_SOURCE = 20_000

Kind = Literal[
    "letter", "word", "number", "symbol", "relation", "separator", "open", "close", "text", "environment", "script"
]


class NotUnderstood(InputError):
    """A piece of mathematics that cannot be read; `start` says where in the source it begins."""

    def __init__(self, message: str, start: int = 0) -> None:
        super().__init__(message)
        self.start = start


@dataclass(frozen=True, slots=True)
class Token:
    """One mark of the source: what it is, how it reads, and the offsets it covers."""

    kind: Kind
    text: str
    start: int
    end: int
    font: str = ""


_TOKEN = re.compile(
    r"(?P<space>[\s\u200b\ufeff]+)"
    r"|(?P<comment>(?<!\\)%[^\n]*)"
    r"|(?P<environment>\\(?:begin|end)\s*\{\s*[A-Za-z]+\*?\s*\})"
    r"|(?P<command>\\[A-Za-z]+\*?|\\\\(?:\[[^\]\n]{0,12}\])?|\\.)"
    r"|(?P<number>\d+(?:(?:\.|\{,\})\d+)?|\.\d+)"
    r"|(?P<define>:=)"
    r"|(?P<entity>&(?:lt|gt|amp);)"
    r"|(?P<char>.)",
    re.DOTALL,
)
_SCRIPT = re.compile(r"\s*[_^]")
_COMMAND = re.compile(r"\\[A-Za-z]+")
_GROUP_LIMIT = 2_000
_WORDS_BY_LETTER = {word[0]: tuple(other for other in WORDS if other[0] == word[0]) for word in WORDS}


def tokenize(source: str) -> list[Token]:
    """The tokens of a piece of mathematics; prose inside it becomes single `text` tokens.

    >>> [token.text for token in tokenize(r"k_a^\\top q = \\beta")]
    ['k', '_', 'a', '^', '\\\\top', 'q', '=', '\\\\beta']
    """
    if len(source) > MAX_SOURCE:
        raise NotUnderstood(f"The formula has {len(source)} characters; at most {MAX_SOURCE} are read.")
    return _Lexer(source).run()


class _Lexer:
    """Reads lexemes from `offset` on, and keeps the tokens that they give."""

    def __init__(self, source: str) -> None:
        self.source, self.offset, self.tokens = source, 0, []

    def run(self) -> list[Token]:
        """The tokens of the whole source."""
        while self.offset < len(self.source):
            self.step("")
        return _without_idle_braces(self.tokens)

    def step(self, font: str) -> None:
        """Read one lexeme, in the given font, and append its tokens."""
        match = _TOKEN.match(self.source, self.offset)
        assert match is not None
        start, self.offset, text = self.offset, match.end(), match.group()
        if match.lastgroup in ("space", "comment"):
            return
        if match.lastgroup == "environment":
            self.emit("environment", re.sub(r"\s", "", text), start)
        elif match.lastgroup == "number":
            self.emit("number", text.replace("{,}", "."), start, font)
        elif match.lastgroup == "entity":
            self.character({"&lt;": "<", "&gt;": ">", "&amp;": "&"}[text], start, font)
        elif match.lastgroup == "command":
            self.command(text, start, font)
        elif match.lastgroup == "define":
            self.classify(text, start, font)
        else:
            self.character(text, start, font)

    def emit(self, kind: Kind, text: str, start: int, font: str = "") -> None:
        """Append a token that ends at the offset."""
        self.tokens.append(Token(kind, text, start, self.offset, font))

    def command(self, text: str, start: int, font: str) -> None:
        """Read a command: it is passed over, opens a group that it treats in its own way, or is a mark like others."""
        if text.startswith("\\\\"):
            return self.emit("separator", "\\\\", start)
        text = VARIANTS.get(text, text)
        if text in IGNORED:
            if text in ("\\left", "\\right", "\\middle") and self.source[self.offset : self.offset + 1] == ".":
                self.offset += 1
            return None
        if text in TEXT:
            return self.prose(start)
        if text in FONTS:
            return self.styled(FONTS[text], start)
        if text in SWALLOWED:
            self.group()
            return None
        if text == "\\not":
            return self.negated(start)
        if text in STACKED:
            self.group()
            return self.styled("", start)
        if text in BRACED:
            self.styled("", start)
            return self.skip_script()
        if text.rstrip("*") == "\\lim":
            return self.skip_script()
        if text in UNWRAPPED:
            return self.styled("", start, is_bare=True)
        return self.classify(text, start, font)

    def classify(self, text: str, start: int, font: str) -> None:
        """Append a mark as the kind that the vocabulary says it is."""
        if text in RELATIONS:
            self.emit("relation", RELATIONS[text], start)
            if text == "\\xrightarrow":
                self.group()
            self.skip_script()
        elif text in SEPARATORS:
            self.emit("separator", text, start)
        elif text in OPENING:
            self.emit("open", OPENING[text], start)
        elif text in CLOSING:
            self.emit("close", CLOSING[text], start)
        elif text in ("^", "_"):
            self.emit("script", text, start)
        elif text[0] == "\\" and text[1:2].isalpha():
            self.emit("letter", text, start, font)
        else:
            self.emit("symbol", text, start)

    def character(self, text: str, start: int, font: str) -> None:
        """Read a single character, whatever its script."""
        if text == "~":
            return None
        if text in UNICODE:
            for piece in UNICODE[text]:
                if piece.isdigit():
                    self.emit("number", piece, start)
                elif piece.isalpha():
                    self.emit("letter", piece, start, font)
                else:
                    self.classify(VARIANTS.get(piece, piece), start, font)
            return None
        if text in GREEK:
            return self.emit("letter", GREEK[text], start, font)
        if text.isascii() and text.isalpha():
            return self.letters(text, start, font)
        if ord(text) > 0x2E80 and text not in SEPARATORS | OPENING.keys() | CLOSING.keys():
            return self.wide_prose(start)
        return self.classify(text, start, font)

    def letters(self, text: str, start: int, font: str) -> None:
        """Read a known word that is written without a backslash, or one letter."""
        for word in _WORDS_BY_LETTER.get(text, ()):
            if self.source.startswith(word, start) and not (
                start and self.source[start - 1].isalpha() and font != "roman"
            ):
                self.offset = start + len(word)
                return self.emit("word", word, start)
        if text == "R" and re.match(r"Re\s*(\\left\s*)?[\[({\\]", self.source[start : start + 12]):
            self.offset = start + 2
            return self.emit("word", "Re", start)
        return self.emit("letter", text, start, font)

    def wide_prose(self, start: int) -> None:
        """Chinese (or other wide) prose typed straight into the formula."""
        while self.offset < len(self.source) and ord(self.source[self.offset]) > 0x2E80:
            self.offset += 1
        self.emit("text", self.source[start : self.offset], start)

    def group(self) -> tuple[str, int]:
        """The brace group (or single character or command) that follows, and the offset of its inside."""
        space = re.compile(r"\s*").match(self.source, self.offset)
        assert space is not None
        begin = space.end()
        if self.source[begin : begin + 1] != "{":
            command = _COMMAND.match(self.source, begin)
            self.offset = command.end() if command else min(begin + 1, len(self.source))
            return self.source[begin : self.offset], begin
        depth = 0
        for place in range(begin, min(len(self.source), begin + _GROUP_LIMIT)):
            depth += {"{": 1, "}": -1}.get(self.source[place], 0) if self.source[place - 1] != "\\" else 0
            if depth == 0:
                self.offset = place + 1
                return self.source[begin + 1 : place], begin + 1
        raise NotUnderstood("A brace is never closed here.", begin)

    def prose(self, start: int) -> None:
        """Read the group after \\text: a letter, a word, or prose."""
        inside, _ = self.group()
        name = inside.strip()
        if re.fullmatch(r"[A-Za-z]", name):
            return self.emit("letter", name, start, "roman")
        if re.fullmatch(r"[A-Za-z]+", name):
            return self.emit("word", name, start, "text")
        return self.emit("text", inside, start)

    def styled(self, font: str, start: int, *, is_bare: bool = False) -> None:
        """Read the group that follows in a font; it stays a group unless it is bare."""
        inside, begin = self.group()
        if font == "roman" and re.fullmatch(r"\s*[A-Za-z]{2,}\s*", inside):
            return self.emit("word", inside.strip(), start, "text")
        outer = self.offset
        inner = _Lexer(self.source[: begin + len(inside)])
        inner.offset = begin
        while inner.offset < len(inner.source):
            inner.step(font)
        tokens = [replace(token, font=token.font or font) for token in inner.tokens]
        if len(tokens) > 1 and not is_bare:
            tokens = [Token("open", "}", start, begin), *tokens, Token("close", "}", outer - 1, outer)]
        elif len(tokens) == 1:
            tokens = [replace(tokens[0], start=start, end=outer)]
        self.tokens += tokens
        self.offset = outer
        return None

    def skip_script(self) -> None:
        """Pass over the script that follows: the β → ∞ below a limit or an arrow."""
        while (script := _SCRIPT.match(self.source, self.offset)) is not None:
            self.offset = script.end()
            self.group()

    def negated(self, start: int) -> None:
        """Read the relation after \\not, and append its opposite."""
        following = _TOKEN.match(self.source, self.offset)
        sign = RELATIONS.get(following.group(), "") if following else ""
        opposite = {"=": "≠", "∈": "∉"}.get(sign)
        if following is None or opposite is None:
            raise NotUnderstood("\\not is followed by something that cannot be negated.", start)
        self.offset = following.end()
        self.emit("relation", opposite, start)


def _without_idle_braces(tokens: list[Token]) -> list[Token]:
    """The tokens without braces around a single letter or word: {\\rm softmax} is softmax."""
    result: list[Token] = []
    place = 0
    while place < len(tokens):
        group = tokens[place : place + 3]
        is_idle = len(group) == 3 and group[0].kind == "open" and group[0].text == "}" and group[2].text == "}"
        is_column = place > 0 and tokens[place - 1].kind == "environment"
        if is_idle and not is_column and group[2].kind == "close" and group[1].kind in ("letter", "word"):
            result.append(replace(group[1], start=group[0].start, end=group[2].end))
            place += 3
        else:
            result.append(tokens[place])
            place += 1
    return result
