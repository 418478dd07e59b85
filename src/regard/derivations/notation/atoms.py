"""The smallest pieces: numbers, symbols, brackets, norms, matrices, cases."""

from fractions import Fraction

from regard.derivations.notation.cursor import split_outside
from regard.derivations.notation.functions import Functions
from regard.derivations.notation.syntax import (
    Apply,
    Cases,
    Condition,
    Dots,
    Expression,
    Identity,
    Infinity,
    Inner,
    Matrix,
    Norm,
    Number,
    Ones,
    SetOf,
    Symbol,
)
from regard.derivations.notation.tokens import NotUnderstood, Token
from regard.derivations.notation.vocabulary import ACCENTS, BIG_OPERATORS, FUNCTIONS, MATRICES, UNREAD

_MAX_DIGITS = 400


class Atoms(Functions):
    """Reads one atom."""

    def atom(self) -> Expression:
        """The atom that begins here."""
        token = self.take()
        if token.kind == "number":
            return _number(token)
        if token.kind == "open":
            return self.bracketed(token)
        if token.kind == "environment" and token.text.startswith("\\begin"):
            return self.environment(token)
        if token.kind == "word":
            return self.word(token)
        if token.kind == "letter":
            return self.letter(token)
        if token.text in ("\\|", "|"):
            return self.norm(token)
        self.place -= 1
        raise self.stuck()

    def bracketed(self, token: Token) -> Expression:
        """What stands in the bracket that has just been opened; bars outside it don't close bars inside."""
        saved, self.bars = self.bars, ()
        if token.text == "\\rangle":
            result = self.inner_product()
        elif token.text == "\\}":
            result = self.members()
        elif token.text in (")", "]", "}", "\\rVert", "\\rvert"):
            result = self.sum()
            self.expect("close", token.text)
        else:
            self.place -= 1
            raise self.stuck()
        self.bars = saved
        return self.normed(result, token) if token.text in ("\\rVert", "\\rvert") else result

    def inner_product(self) -> Expression:
        """The inner product whose angle has just been opened."""
        left = self.sum()
        if self.text() not in (",", "|", "\\mid"):
            raise self.stuck()
        self.take()
        right = self.sum()
        self.expect("close", "\\rangle")
        return Inner(left, right)

    def members(self) -> Expression:
        """The set whose brace has just been opened."""
        items: list[Expression] = []
        while self.text() != "\\}":
            if self.text() == "\\dots":
                self.take()
                items.append(Dots())
            else:
                items.append(self.sum())
            token = self.peek()
            if token is not None and token.kind == "separator":
                self.take()
        self.take()
        return SetOf(tuple(items))

    def norm(self, token: Token) -> Expression:
        """The norm or absolute value whose bar has just been opened."""
        saved, self.bars = self.bars, (*self.bars, token.text)
        body = self.sum()
        self.bars = saved
        closing = self.take()
        if closing.text != token.text:
            self.place -= 1
            raise self.stuck()
        return self.normed(body, token)

    def normed(self, body: Expression, bar: Token) -> Expression:
        """The norm between double bars, the absolute value between single ones; only the 2-norm is read."""
        if bar.text not in ("\\|", "\\rVert"):
            return Norm(body, 0)
        if self.text() == "_":
            place = self.place
            self.take()
            if [token.text for token in self.script_tokens()] != ["2"]:
                self.place = place
                raise self.stuck()
        return Norm(body, 2)

    def environment(self, token: Token) -> Expression:
        """The matrix or the cases whose environment has just begun."""
        name = token.text[len("\\begin{") : -1]
        if name not in MATRICES | {"cases"}:
            self.place -= 1
            raise self.stuck()
        cells = self.cells(token, name)
        if name == "cases":
            return self.cases(cells)
        rows = [tuple(self.whole(cell) for cell in row) for row in cells]
        if len({len(row) for row in rows}) != 1:
            raise NotUnderstood("The rows of this matrix have different lengths.", token.start)
        return Matrix(tuple(rows))

    def cells(self, token: Token, name: str) -> list[list[list[Token]]]:
        """The tokens of every cell, row by row, of the environment that has just begun; it is passed."""
        source = self.all_tokens
        begin = next(k for k, item in enumerate(source) if item is token) + 1
        if name == "array" and begin < len(source) and source[begin].kind == "open":
            begin = next((k for k in range(begin, len(source)) if source[k].kind == "close"), len(source)) + 1
        end = next((k for k in range(begin, len(source)) if source[k].text == f"\\end{{{name}}}"), None)
        if end is None:
            raise NotUnderstood(f"\\begin{{{name}}} is never closed.", token.start)
        while self.take() is not source[end]:
            pass
        rows = split_outside(source[begin:end], lambda item: item.text == "\\\\")
        return [split_outside(row, lambda item: item.text == "&") for row in rows if row]

    def cases(self, rows: list[list[list[Token]]]) -> Expression:
        """The definition by cases in these rows: a value, then what it needs."""
        values = tuple(self.whole([token for token in row[0] if token.text != ","]) for row in rows)
        conditions = []
        for row in rows:
            tokens = [
                token
                for cell in row[1:]
                for token in cell
                if token.kind != "text" and not (token.kind == "word" and token.font)
            ]
            parts = self.script_parts(tokens)
            if any(not isinstance(part, Condition) for part in parts):
                raise NotUnderstood("A condition of these cases is not understood.", tokens[0].start)
            conditions.append(parts)
        return Cases(values, tuple(conditions))

    def word(self, token: Token) -> Expression:
        """What a word spells: a function of what follows, or a symbol."""
        lowered = token.text.lower()
        if token.text in self.reading.functions:
            return Symbol(token.text) if self.text() == "_" else self.apply(token.text)
        if lowered in FUNCTIONS:
            return self.apply(FUNCTIONS[lowered])
        if token.text in ("I", "R", "T"):
            return self.letter(token)
        if len(token.text) == 1 or self.text() != ")":
            return Symbol(token.text)
        raise NotUnderstood(f"'{token.text}' is not a function that is known here.", token.start)

    def letter(self, token: Token) -> Expression:
        """What a letter or command spells, together with what it is applied to."""
        text = token.text
        if text == "\\frac":
            return self.fraction()
        if text == "\\sqrt":
            return self.root()
        if text in BIG_OPERATORS and not (text in ("\\max", "\\min") and self.text() != "_"):
            return self.big(BIG_OPERATORS[text])
        if text in ACCENTS:
            return self.accent(ACCENTS[text])
        is_command = text[0] == "\\" and text[1:].lower() in FUNCTIONS
        if is_command:
            return self.apply(FUNCTIONS[text[1:].lower()])
        named = text if text in self.reading.functions else text.removeprefix("\\")
        if named in self.reading.functions and self.is_opening():
            return self.apply(named)
        if text in ("P", "\\Pr") and self.holds_event():
            return self.event()
        if text == "E" and self.text() == "]":
            return self.apply("mean")
        return self.plain_letter(token)

    def is_opening(self) -> bool:
        """True if a round bracket opens here; the mark of an opening bracket is the one that closes it."""
        token = self.peek()
        return token is not None and (token.kind, token.text) == ("open", ")")

    def plain_letter(self, token: Token) -> Expression:
        """What a letter or command spells on its own."""
        text = token.text
        if text == "\\infty":
            return Infinity()
        if text == "\\dots":
            return Dots()
        if text in ("\\R", "\\Z", "\\N", "\\C") or token.font == "blackboard" and text in "RZNCE":
            return self.domain(text[-1])
        if text in UNREAD:
            self.place -= 1
            raise self.stuck()
        if text == "I" and token.font != "script":
            return Identity()
        return Symbol(text.removeprefix("\\"))

    def holds_event(self) -> bool:
        """True if a bracket follows that holds a relation: the event of P(γ > 0)."""
        token = self.peek()
        if token is None or token.kind != "open" or token.text not in (")", "]", "\\}"):
            return False
        depth = 0
        for ahead in range(len(self.tokens) - self.place):
            token = self.tokens[self.place + ahead]
            depth += (token.kind == "open") - (token.kind == "close")
            if token.kind == "relation" and depth == 1:
                return True
            if depth == 0:
                return False
        return False

    def event(self) -> Expression:
        """The probability of one inequality."""
        closing = self.take().text
        left = self.sum()
        sign = self.take()
        if sign.text not in ("<", ">", "≤", "≥"):
            raise NotUnderstood(f"The probability of an event with '{sign.text}' is not evaluated.", sign.start)
        right = self.sum()
        self.expect("close", closing)
        return Apply("probability", (Condition(left, sign.text, (right,)),))


def _number(token: Token) -> Expression:
    if token.font in ("bold", "blackboard") and token.text == "1":
        return Ones()
    if len(token.text) > _MAX_DIGITS:
        message = f"A number of {len(token.text)} digits is not read; {_MAX_DIGITS} are the most."
        raise NotUnderstood(message, token.start)
    return Number(Fraction(token.text))
