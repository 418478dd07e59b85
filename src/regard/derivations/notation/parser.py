"""A grammar for the mathematics that answers are written in.

    sum      = [±] product {± product}
    product  = power {[· × /] power}            juxtaposition multiplies
    power    = atom {' | _script | ^script}
    atom     = number | symbol | (sum) | ‖sum‖ | ⟨sum, sum⟩ | \\frac | \\sqrt | function [power] argument
             | Σ script body | matrix | \\{members\\}

Where a formula can be read in several ways, `Reading` says which way is taken; the judge tries them all.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from regard.derivations.notation.syntax import (
    Accent, Apply, BigOperator, Cases, Condition, Derivative, Dots, Expression, Identity, Infinity, Inner, Label, Matrix, Negative, Norm,
    Number, Ones, Power, Product, Quotient, Scripted, SetOf, Sum, Symbol, Transpose,
)  # fmt: skip
from regard.derivations.notation.tokens import NotUnderstood, Token

__all__ = ["PLAIN", "Reading", "parse"]

MAX_DEPTH = 60
_FUNCTIONS = {"exp": "exp", "softmax": "softmax", "relu": "relu", "log": "log", "ln": "log", "sin": "sin", "cos": "cos", "tan": "tan",
              "tanh": "tanh", "sqrt": "sqrt", "diag": "diag", "re": "re", "im": "im", "var": "var", "cov": "cov", "sigmoid": "sigmoid",
              "max": "max", "min": "min", "mean": "mean", "tr": "trace", "trace": "trace", "span": "span", "rank": "rank",
              "det": "det", "attention": "attention"}  # fmt: skip
_ACCENTS = {"\\hat": "hat", "\\tilde": "tilde", "\\bar": "bar", "\\overline": "bar", "\\vec": "", "\\dot": "dot", "\\check": "check"}
_BIG = {"\\sum": "sum", "\\prod": "product", "\\max": "max", "\\min": "min"}
_MATRICES = {"matrix", "pmatrix", "bmatrix", "Bmatrix", "vmatrix", "smallmatrix", "array"}
_INDEX_LETTERS = frozenset("abijklmnpqrstuv")


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """One way to read what the notation leaves open."""

    is_slash_wide: bool = False  # a/bc as a/(bc) instead of (a/b)c
    is_argument_wide: bool = True  # \cos t\theta as cos(tθ) instead of cos(t)·θ
    is_one_a_vector: bool = False  # the literal 1 as a vector of ones
    functions: frozenset[str] = frozenset()  # names that the problem declares as functions


PLAIN = Reading()


def parse(tokens: Sequence[Token], reading: Reading = PLAIN) -> Expression:
    """The expression that the tokens spell, or NotUnderstood with the place of the first token that doesn't fit."""
    return _parse(tuple(tokens), reading)


@lru_cache(maxsize=8192)
def _parse(tokens: tuple[Token, ...], reading: Reading) -> Expression:
    parser = _Parser(tokens, reading)
    expression = parser.sum()
    if parser.peek() is not None:
        raise parser.stuck()
    return expression


class _Parser:
    def __init__(self, tokens: Sequence[Token], reading: Reading) -> None:
        self.tokens = [token for token in tokens if token.text != "&"]
        self.all_tokens = tokens
        self.reading, self.place, self.depth = reading, 0, 0

    # -- moving about ------------------------------------------------------------------------------------------------
    def peek(self, ahead: int = 0) -> Token | None:
        place = self.place + ahead
        return self.tokens[place] if place < len(self.tokens) else None

    def text(self, ahead: int = 0) -> str:
        token = self.peek(ahead)
        return "" if token is None else token.text

    def take(self) -> Token:
        token = self.peek()
        if token is None:
            raise self.stuck()
        self.place += 1
        return token

    def stuck(self) -> NotUnderstood:
        token = self.peek()
        if token is None:
            end = self.tokens[-1].end if self.tokens else 0
            return NotUnderstood("The formula ends where something should follow.", end)
        return NotUnderstood(f"'{token.text}' is not understood here.", token.start)

    def expect(self, kind: str, text: str) -> None:
        token = self.peek()
        if token is None or token.kind != kind or token.text != text:
            raise self.stuck()
        self.place += 1

    # -- sums and products -------------------------------------------------------------------------------------------
    def sum(self) -> Expression:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise NotUnderstood(f"The formula is nested more than {MAX_DEPTH} deep.", self.tokens[self.place - 1].start)
        terms = []
        sign = 1
        if self.text() in ("+", "-", "\\pm"):
            sign = -1 if self.take().text == "-" else 1
        while True:
            term = self.product()
            terms.append(Negative(term) if sign < 0 else term)
            if self.text() not in ("+", "-") or self.peek() is None:
                break
            sign = -1 if self.take().text == "-" else 1
            if self.text() in ("+", "-"):
                sign = -sign if self.take().text == "-" else sign
        self.depth -= 1
        return terms[0] if len(terms) == 1 else Sum(tuple(terms))

    def product(self) -> Expression:
        factors: list[Expression] = [self.power()]
        dots: list[bool] = []
        while True:
            text = self.text()
            if text == "/":
                self.take()
                bottom = self.slash_bottom()
                top = _product(factors, dots)
                factors, dots = [Quotient(top, bottom)], []
            elif text in ("\\cdot", "\\times", "*", "\\odot", "\\circ", "\\otimes"):
                if text in ("\\odot", "\\otimes", "\\circ"):
                    raise self.stuck()
                self.take()
                sign = -1 if self.text() == "-" else 1
                if sign < 0:
                    self.take()
                dots.append(text == "\\cdot")
                factor = self.power()
                factors.append(Negative(factor) if sign < 0 else factor)
            elif self.starts_factor():
                dots.append(False)
                factors.append(self.power())
            else:
                return _product(factors, dots)

    def slash_bottom(self) -> Expression:
        bottoms, dots = [self.power()], []
        while self.reading.is_slash_wide and self.starts_factor():
            dots.append(False)
            bottoms.append(self.power())
        return _product(bottoms, dots)

    def starts_factor(self) -> bool:
        token = self.peek()
        if token is None:
            return False
        if token.kind in ("letter", "word", "number", "open"):
            return token.text not in ("\\cdot", "\\times", "\\pm", "\\odot", "\\otimes", "\\circ", "\\top", "*", "\\mid")
        if token.kind == "environment":
            return token.text.startswith("\\begin")
        return token.text in ("\\|", "|") and not self.is_closing_bar()

    def is_closing_bar(self) -> bool:
        return self.bars[-1:] == (self.text(),)

    bars: tuple[str, ...] = ()

    # -- powers and scripts ------------------------------------------------------------------------------------------
    def power(self) -> Expression:
        base = self.atom()
        while (token := self.peek()) is not None:
            if token.text == "'" and token.kind == "symbol":
                self.take()
                base = _renamed(base, "'")
            elif token.kind == "script" and token.text == "_":
                self.take()
                base = _with_subscripts(base, self.subscript())
            elif token.kind == "script":
                self.take()
                base = self.superscript(base)
            elif token.text == "!":
                raise self.stuck()
            else:
                break
        return base

    def script_tokens(self) -> list[Token]:
        """The tokens of the script that follows: a brace group or a single token."""
        token = self.take()
        if not (token.kind == "open" and token.text == "}"):
            if token.kind == "letter" and token.text in _ACCENTS | {"\\frac": ""} or token.kind in ("close", "separator", "relation"):
                self.place -= 1
                raise self.stuck()
            return [token]
        begin, depth = self.place, 1
        while depth:
            token = self.take()
            depth += (token.kind == "open" and token.text == "}") - (token.kind == "close" and token.text == "}")
        return self.tokens[begin : self.place - 1]

    def inner(self, tokens: Sequence[Token]) -> "_Parser":
        parser = _Parser(tokens, self.reading)
        parser.depth = self.depth + 1
        if parser.depth > MAX_DEPTH:
            raise NotUnderstood(f"The formula is nested more than {MAX_DEPTH} deep.", tokens[0].start if tokens else 0)
        return parser

    def whole(self, tokens: Sequence[Token]) -> Expression:
        parser = self.inner(tokens)
        expression = parser.sum()
        if parser.peek() is not None:
            raise parser.stuck()
        return expression

    def superscript(self, base: Expression) -> Expression:
        tokens = self.script_tokens()
        texts = [token.text for token in tokens]
        if not tokens:
            return base
        if texts in (["\\top"], ["T"]):
            return Transpose(base)
        if texts == ["\\dagger"] or texts == ["H"]:
            return Transpose(base, is_conjugate=True)
        if texts == ["*"]:
            return Accent("bar", base)
        if all(text == "'" for text in texts):
            return _renamed(base, "'" * len(texts))
        if texts[0] == ")" and texts[-1] == ")" and isinstance(base, Symbol):
            return _renamed(base, "^(" + "".join(texts[1:-1]) + ")")
        if isinstance(base, Symbol) and base.name == "e" and not base.subscripts:
            return Apply("exp", (self.whole(tokens),))
        if len(tokens) == 1 and tokens[0].kind == "word":
            return _renamed(base, "^" + texts[0])
        return Power(base, self.whole(tokens))

    def subscript(self) -> tuple[Expression, ...]:
        tokens = self.script_tokens()
        if len(tokens) == 1 and tokens[0].kind in ("word", "text"):
            return (Label(tokens[0].text.strip()),)
        if tokens and all(token.kind == "letter" and len(token.text) == 1 for token in tokens) and len(tokens) > 1:
            letters = "".join(token.text for token in tokens)
            if len(letters) > 2 or not set(letters) <= _INDEX_LETTERS:
                return (Label(letters),)
            return tuple(Symbol(letter) for letter in letters)
        return self.script_parts(tokens)

    def script_parts(self, tokens: Sequence[Token]) -> tuple[Expression, ...]:
        """The comma-separated parts of a script: expressions, labels, conditions."""
        parts: list[Expression] = []
        for piece in _split(tokens, lambda token: token.kind == "separator"):
            if not piece:
                continue
            signs = [k for k, token in enumerate(piece) if token.kind == "relation"]
            if signs:
                left = self.whole(piece[: signs[0]])
                parts.append(Condition(left, piece[signs[0]].text, (self.whole(piece[signs[0] + 1 :]),)))
            elif parts and isinstance(parts[-1], Condition):
                last = parts.pop()
                assert isinstance(last, Condition)
                parts.append(Condition(last.left, last.sign, (*last.right, self.whole(piece))))
            elif any(token.kind in ("text",) for token in piece):
                parts.append(Label(" ".join(token.text for token in piece)))
            else:
                parts.append(self.whole(piece))
        return tuple(parts)

    # -- atoms -------------------------------------------------------------------------------------------------------
    def atom(self) -> Expression:
        token = self.take()
        if token.kind == "number":
            if token.font in ("bold", "blackboard") and token.text == "1":
                return Ones()
            return Number(Fraction(token.text))
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
        saved, self.bars = self.bars, ()
        try:
            if token.text == "\\rangle":
                left = self.sum()
                if self.text() not in (",", "|", "\\mid"):
                    raise self.stuck()
                self.take()
                right = self.sum()
                self.expect("close", "\\rangle")
                return Inner(left, right)
            if token.text == "\\}":
                return self.members()
            if token.text in ("\\rVert", "\\rvert"):
                body = self.sum()
                self.expect("close", token.text)
                return Norm(body, 2 if token.text == "\\rVert" else 0)
            if token.text not in (")", "]", "}"):
                self.place -= 1
                raise self.stuck()
            body = self.sum()
            self.expect("close", token.text)
            return body
        finally:
            self.bars = saved

    def members(self) -> Expression:
        items: list[Expression] = []
        while self.text() != "\\}":
            if self.text() in ("\\dots",):
                self.take()
                items.append(Dots())
            else:
                items.append(self.sum())
            if self.peek() is not None and self.peek().kind == "separator":  # type: ignore[union-attr]
                self.take()
        self.take()
        return SetOf(tuple(items))

    def norm(self, token: Token) -> Expression:
        saved, self.bars = self.bars, (*self.bars, token.text)
        body = self.sum()
        self.bars = saved
        closing = self.take()
        if closing.text != token.text:
            self.place -= 1
            raise self.stuck()
        if token.text == "\\|" and self.peek() is not None and self.text() == "_" and self.text(1) == "2":
            self.place += 2
        return Norm(body, 2 if token.text == "\\|" else 0)

    def environment(self, token: Token) -> Expression:
        name = token.text[len("\\begin{") : -1]
        if name not in _MATRICES | {"cases"}:
            self.place -= 1
            raise self.stuck()
        source = self.all_tokens
        begin = next(k for k, item in enumerate(source) if item is token) + 1
        if name == "array" and begin < len(source) and source[begin].kind == "open":
            while source[begin].kind != "close":
                begin += 1
            begin += 1
        end = next((k for k in range(begin, len(source)) if source[k].text == f"\\end{{{name}}}"), None)
        if end is None:
            raise NotUnderstood(f"\\begin{{{name}}} is never closed.", token.start)
        cells = [_split(row, lambda item: item.text == "&")
                 for row in _split(source[begin:end], lambda item: item.text == "\\\\") if row]
        while self.take() is not source[end]:
            pass
        if name == "cases":
            return self.cases(cells)
        rows = [tuple(self.whole(cell) for cell in row) for row in cells]
        if len({len(row) for row in rows}) != 1:
            raise NotUnderstood("The rows of this matrix have different lengths.", token.start)
        return Matrix(tuple(rows))

    def cases(self, rows: list[list[list[Token]]]) -> Expression:
        values = tuple(self.whole([token for token in row[0] if token.text != ","]) for row in rows)
        conditions = []
        for row in rows:
            tokens = [token for cell in row[1:] for token in cell if token.kind != "text" and not (token.kind == "word" and token.font)]
            parts = self.script_parts(tokens)
            if any(not isinstance(part, Condition) for part in parts):
                raise NotUnderstood("A condition of these cases is not understood.", tokens[0].start)
            conditions.append(parts)
        return Cases(values, tuple(conditions))

    def word(self, token: Token) -> Expression:
        lowered = token.text.lower()
        if token.text in self.reading.functions:
            return self.apply(token.text)
        if lowered in _FUNCTIONS:
            return self.apply(_FUNCTIONS[lowered])
        if token.text in ("I", "R", "T"):
            return self.letter(token)
        if len(token.text) == 1 or self.text() not in ("(", ")"):
            return Symbol(token.text)
        raise NotUnderstood(f"'{token.text}' is not a function that is known here.", token.start)

    def letter(self, token: Token) -> Expression:
        text = token.text
        if text == "\\frac":
            return self.fraction()
        if text == "\\sqrt":
            return self.root()
        if text in _BIG and not (text in ("\\max", "\\min") and self.text() != "_"):
            return self.big(_BIG[text])
        if text in _ACCENTS:
            return self.accent(_ACCENTS[text])
        if text[1:].lower() in _FUNCTIONS and text[0] == "\\" or text in self.reading.functions and self.text() == ")":
            return self.apply(_FUNCTIONS.get(text[1:].lower(), text))
        if text == "\\infty":
            return Infinity()
        if text == "\\dots":
            return Dots()
        if text in ("\\R", "\\Z", "\\N", "\\C") or token.font == "blackboard" and text in "RZNCE":
            return self.domain(text[-1])
        if text in ("\\underbrace", "\\overbrace", "\\underset", "\\overset", "\\stackrel", "\\partial", "\\nabla", "\\int", "\\lim"):
            self.place -= 1
            raise self.stuck()
        if text == "I" and token.font != "script":
            return Identity()
        return Symbol(text.removeprefix("\\"))

    def domain(self, name: str) -> Expression:
        dimensions: tuple[Expression, ...] = ()
        if name == "E":
            return self.apply("mean")
        if self.text() == "^":
            self.take()
            tokens = self.script_tokens()
            dimensions = tuple(self.whole(part) for part in _split(tokens, lambda item: item.text == "\\times"))
        return SetOf((), name, dimensions)

    def fraction(self) -> Expression:
        top, bottom = self.fraction_part(), self.fraction_part()
        if top and bottom and top[0].text in ("\\partial", "d") and bottom[0].text == top[0].text:
            if len(top) > 1 and len(bottom) > 1:
                return Derivative(self.whole(top[1:]), self.whole(bottom[1:]))
        return Quotient(self.whole(top), self.whole(bottom))

    def fraction_part(self) -> list[Token]:
        """One argument of \\frac; \\frac12 takes a digit each."""
        token = self.peek()
        if token is not None and token.kind == "number" and len(token.text) > 1 and "." not in token.text:
            first = Token("number", token.text[0], token.start, token.start + 1)
            self.tokens[self.place] = Token("number", token.text[1:], token.start + 1, token.end)
            return [first]
        return self.script_tokens()

    def root(self) -> Expression:
        if self.text() == "]":
            raise self.stuck()
        return Apply("sqrt", (self.whole(self.script_tokens()),))

    def accent(self, kind: str) -> Expression:
        body = self.whole(self.script_tokens())
        if not kind:
            return body
        if kind == "bar":
            return Accent("bar", body)
        return _renamed(body, "^" + kind)

    def apply(self, function: str) -> Expression:
        if self.text() == "_":
            self.take()
            self.script_tokens()
        power: Expression | None = None
        if self.text() == "^":
            self.take()
            power = self.whole(self.script_tokens())
        token = self.peek()
        if token is not None and token.kind == "open" and token.text in (")", "]", "\\}", "}"):
            result = Apply(function, self.arguments())
        elif token is not None and token.text == "_":
            raise self.stuck()
        else:
            result = Apply(function, (self.bare_argument(),))
        return result if power is None else Power(result, power)

    def arguments(self) -> tuple[Expression, ...]:
        closing = self.take().text
        saved, self.bars = self.bars, ()
        items = [self.sum()]
        while self.text() in (",", ";"):
            self.take()
            items.append(self.sum())
        self.expect("close", closing)
        self.bars = saved
        return tuple(items)

    def bare_argument(self) -> Expression:
        """The argument of a function written without brackets: \\cos t\\theta."""
        factors, dots = [self.power()], []
        while self.reading.is_argument_wide and self.starts_factor():
            token = self.peek()
            assert token is not None
            if token.kind in ("open", "word", "environment") or token.text[1:] in _FUNCTIONS or token.text in _BIG:
                break
            dots.append(False)
            factors.append(self.power())
        if self.reading.is_argument_wide and self.text() == "/":
            self.take()
            return Quotient(_product(factors, dots), self.power())
        return _product(factors, dots)

    def big(self, operator: str) -> Expression:
        parts: tuple[Expression, ...] = ()
        upper: Expression | None = None
        for _ in range(2):
            if self.text() == "_":
                self.take()
                tokens = self.script_tokens()
                word = len(tokens) == 1 and tokens[0].kind in ("word", "text")
                parts = (Label(tokens[0].text.strip()),) if word else self.big_parts(tokens)
            elif self.text() == "^":
                self.take()
                upper = self.whole(self.script_tokens())
        body = self.product()
        return _big(operator, parts, upper, body)

    def big_parts(self, tokens: Sequence[Token]) -> tuple[Expression, ...]:
        letters = "".join(token.text for token in tokens if token.kind == "letter" and len(token.text) == 1)
        if len(letters) == len(tokens) and len(letters) > 2:
            return (Label(letters),)
        return self.script_parts(tokens)


def _big(operator: str, parts: tuple[Expression, ...], upper: Expression | None, body: Expression) -> Expression:
    index, lower, conditions = "", None, []
    for part in parts:
        if isinstance(part, Symbol) and not index:
            index = part.name
        elif isinstance(part, Condition) and isinstance(part.left, Symbol):
            index = index or part.left.name
            if part.sign == "=" and part.left.name == index:
                lower = part.right[0]
            else:
                conditions.append(part)
        else:
            conditions.append(part)
    return BigOperator(operator, index, tuple(conditions), lower, upper, body)


def _split(tokens: Sequence[Token], is_separator) -> list[list[Token]]:  # noqa: ANN001
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


def _product(factors: list[Expression], dots: list[bool]) -> Expression:
    return factors[0] if len(factors) == 1 else Product(tuple(factors), tuple(dots))


def _renamed(base: Expression, suffix: str) -> Expression:
    if isinstance(base, Symbol):
        return Symbol(base.name + suffix, base.subscripts)
    if isinstance(base, Transpose):
        return Transpose(_renamed(base.body, suffix))
    return Accent(suffix.strip("^"), base)


def _with_subscripts(base: Expression, scripts: tuple[Expression, ...]) -> Expression:
    if isinstance(base, Symbol):
        return Symbol(base.name, base.subscripts + scripts)
    if isinstance(base, Identity) and len(scripts) == 1:
        return Identity(scripts[0])
    if isinstance(base, Ones):
        return base
    if isinstance(base, Transpose) and isinstance(base.body, Symbol):
        return Transpose(Symbol(base.body.name, base.body.subscripts + scripts))
    return Scripted(base, scripts)
