"""A place in a row of tokens: looking ahead, taking, and saying where nothing fits."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self

from regard.derivations.notation.syntax import Expression
from regard.derivations.notation.tokens import NotUnderstood, Token

MAX_DEPTH = 60
_NO_SCRIPT = frozenset(r"\hat \tilde \bar \overline \vec \dot \check \frac".split())


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """One way to read what the notation leaves open."""

    is_slash_wide: bool = False  # a/bc as a/(bc) instead of (a/b)c
    is_argument_wide: bool = True  # \cos t\theta as cos(tθ) instead of cos(t)·θ
    is_complex: bool = True  # a star conjugates; elsewhere it only decorates
    functions: frozenset[str] = frozenset()  # names that the problem declares as functions


PLAIN = Reading()


class Cursor:
    """Tokens and the place that has been reached in them; alignment marks are passed over."""

    def __init__(self, tokens: Sequence[Token], reading: Reading) -> None:
        self.tokens = [token for token in tokens if token.text != "&"]
        self.all_tokens = tokens
        self.reading, self.place, self.depth = reading, 0, 0
        self.bars: tuple[str, ...] = ()

    def peek(self, ahead: int = 0) -> Token | None:
        """The token that stands here, or a few places ahead; None behind the last."""
        place = self.place + ahead
        return self.tokens[place] if place < len(self.tokens) else None

    def text(self, ahead: int = 0) -> str:
        """The text of the token that stands here, or a few places ahead; empty behind the last."""
        token = self.peek(ahead)
        return "" if token is None else token.text

    def take(self) -> Token:
        """The token that stands here, which is thereby passed."""
        token = self.peek()
        if token is None:
            raise self.stuck()
        self.place += 1
        return token

    def stuck(self) -> NotUnderstood:
        """The complaint that nothing fits here, to be raised."""
        token = self.peek()
        if token is None:
            end = self.tokens[-1].end if self.tokens else 0
            return NotUnderstood("The formula ends where something should follow.", end)
        return NotUnderstood(f"'{token.text}' is not understood here.", token.start)

    def expect(self, kind: str, text: str) -> None:
        """Pass the token of this kind and text, or complain that another stands here."""
        token = self.peek()
        if token is None or token.kind != kind or token.text != text:
            raise self.stuck()
        self.place += 1

    def script_tokens(self) -> list[Token]:
        """The tokens of the script that follows: a brace group or a single token."""
        token = self.take()
        if not (token.kind == "open" and token.text == "}"):
            if token.kind == "letter" and token.text in _NO_SCRIPT or token.kind in ("close", "separator", "relation"):
                self.place -= 1
                raise self.stuck()
            return [token]
        begin, depth = self.place, 1
        while depth:
            token = self.take()
            depth += (token.kind == "open" and token.text == "}") - (token.kind == "close" and token.text == "}")
        return self.tokens[begin : self.place - 1]

    def check_depth(self, depth: int) -> None:
        """Complain about a formula that is nested too deep: trees are walked by recursion."""
        if depth > MAX_DEPTH:
            start = self.tokens[max(self.place - 1, 0)].start if self.tokens else 0
            raise NotUnderstood(f"The formula is nested more than {MAX_DEPTH} deep.", start)

    def inner(self, tokens: Sequence[Token]) -> Self:
        """A cursor over tokens that stand inside these, one level deeper."""
        parser = type(self)(tokens, self.reading)
        parser.depth = self.depth + 1
        parser.check_depth(parser.depth)
        return parser

    def whole(self, tokens: Sequence[Token]) -> Expression:
        """The expression that all of these tokens spell."""
        parser = self.inner(tokens)
        expression = parser.sum()
        if parser.peek() is not None:
            raise parser.stuck()
        return expression

    def sum(self) -> Expression:
        """The sum that begins here; the grammar fills this in."""
        raise NotImplementedError


def split_outside(tokens: Sequence[Token], is_separator: Callable[[Token], bool]) -> list[list[Token]]:
    """The pieces between separators that stand outside every bracket and environment."""
    pieces: list[list[Token]] = [[]]
    depth = 0
    for token in tokens:
        depth += (token.kind == "open") - (token.kind == "close")
        depth += token.text.startswith("\\begin") - token.text.startswith("\\end")
        if depth == 0 and is_separator(token):
            pieces.append([])
        else:
            pieces[-1].append(token)
    return pieces
