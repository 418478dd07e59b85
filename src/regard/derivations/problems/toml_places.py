"""Where the keys and strings of a TOML file stand; the reader of the standard library keeps no places."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from regard.derivations.reading.document import MappedText, line_starts

KeyPath = tuple[str | int, ...]

_TOKEN = re.compile(
    r"#[^\n]*"
    r'|"""(?:[^\\]|\\.)*?"""(?:"{0,2})'
    r"|'''.*?'''(?:'{0,2})"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'[^'\n]*'"
    r"|[\[\]{}=,.]|\n|[^\s\[\]{}=,.#'\"]+",
    re.DOTALL,
)
_PIECE = re.compile(
    r"\\[ \t]*\r?\n\s*|\\u[0-9a-fA-F]{4}|\\U[0-9a-fA-F]{8}|\\x[0-9a-fA-F]{2}|\\.|\r\n|[^\\\r]+|\r", re.DOTALL
)
_LITERAL_PIECE = re.compile(r"\r\n|[^\r]+|\r")
_TomlToken = re.Match[str]


@dataclass(frozen=True, kw_only=True)
class TomlPlaces:
    """The offset of every key and the value of every string, by the path that leads to it."""

    keys: Mapping[KeyPath, int]
    strings: Mapping[KeyPath, MappedText]
    line_starts: tuple[int, ...]

    def line(self, path: KeyPath) -> int | None:
        """The line of a key or of an array's string; of the nearest table around it if it is not written itself."""
        for length in range(len(path), 0, -1):
            place = self.keys.get(path[:length])
            if place is None and path[:length] in self.strings:
                place = self.strings[path[:length]].origin.targets[0]
            if place is not None:
                return sum(start <= place for start in self.line_starts)
        return None


def find_places(source: str) -> TomlPlaces:
    """The places in a text that is valid TOML.

    >>> places = find_places("title = 'x'\\n[a]\\nb = { c = 'y' }")
    >>> places.keys[("a", "b", "c")], places.strings[("a", "b", "c")].text
    (22, 'y')
    """
    walk = _TomlWalk(tokens=[token for token in _TOKEN.finditer(source) if not token[0].startswith("#")])
    walk.file()
    return TomlPlaces(keys=walk.keys, strings=walk.strings, line_starts=line_starts(source))


class _TomlWalk:
    """One pass over the tokens, which are those of valid TOML."""

    def __init__(self, tokens: list[_TomlToken]) -> None:
        self.tokens = tokens
        self.at = 0
        self.keys: dict[KeyPath, int] = {}
        self.strings: dict[KeyPath, MappedText] = {}
        self.lengths: dict[KeyPath, int] = {}

    def file(self) -> None:
        table: KeyPath = ()
        while self.at < len(self.tokens):
            if self.mark == "\n":
                self.at += 1
            elif self.mark == "[":
                table = self._header()
            else:
                self._pair(table)

    @property
    def mark(self) -> str:
        return self.tokens[self.at][0] if self.at < len(self.tokens) else ""

    def _header(self) -> KeyPath:
        start = self.tokens[self.at].start()
        self.at += 1
        is_array = self.mark == "[" and self.tokens[self.at].start() == start + 1
        self.at += is_array
        path: KeyPath = ()
        names = list(self._names("]"))
        self.at += is_array
        for place, (name, _) in enumerate(names):
            path = (*path, name)
            if is_array and place == len(names) - 1:
                self.keys.setdefault(path, start)
                self.lengths[path] = self.lengths.get(path, 0) + 1
            if path in self.lengths:
                path = (*path, self.lengths[path] - 1)
        self.keys.setdefault(path, start)
        return path

    def _pair(self, table: KeyPath) -> None:
        names = list(self._names("="))
        path = (*table, *(name for name, _ in names))
        for length in range(len(names)):
            self.keys.setdefault((*table, *(name for name, _ in names[: length + 1])), names[0][1])
        self._value(path)

    def _names(self, end: str) -> Iterator[tuple[str, int]]:
        """The parts of a dotted key, each with its offset, up to the mark that ends it."""
        while self.mark != end:
            if self.mark != ".":
                token = self.tokens[self.at]
                yield (_decoded(token).text if token[0][0] in "'\"" else token[0]), token.start()
            self.at += 1
        self.at += 1

    def _value(self, path: KeyPath) -> None:
        token = self.tokens[self.at]
        self.at += 1
        if token[0][0] in "'\"":
            self.strings[path] = _decoded(token)
        elif token[0] == "[":
            self._array(path)
        elif token[0] == "{":
            self._inline(path)
        else:
            while self.mark == "." or (self.at < len(self.tokens) and self.mark not in "\n,]}"):
                self.at += 1

    def _array(self, path: KeyPath) -> None:
        index = 0
        while self.mark != "]":
            if self.mark in "\n,":
                self.at += 1
            else:
                self._value((*path, index))
                index += 1
        self.at += 1

    def _inline(self, path: KeyPath) -> None:
        while self.mark != "}":
            if self.mark in "\n,":
                self.at += 1
            else:
                self._pair(path)
        self.at += 1


def _decoded(token: _TomlToken) -> MappedText:
    """The value of a string token."""
    raw, quote = token[0], token[0][0]
    width = 3 if raw[:3] == quote * 3 and len(raw) >= 6 else 1
    begin = width
    if width == 3:
        begin += 2 if raw.startswith("\r\n", width) else 1 if raw.startswith("\n", width) else 0
    pieces = (_LITERAL_PIECE if quote == "'" else _PIECE).finditer(raw, begin, len(raw) - width)
    return MappedText.joined(
        ((_plain(piece[0], quote), token.start() + piece.start()) for piece in pieces), empty_at=token.start() + begin
    )


def _plain(piece: str, quote: str) -> str:
    if piece[0] == "\\" and quote == '"':
        return "" if piece[1] in " \t\r\n" else tomllib.loads(f'x = "{piece}"')["x"]
    return piece.replace("\r\n", "\n")
