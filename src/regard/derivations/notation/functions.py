"""Functions and their arguments, with and without brackets; fractions, roots, accents and sums."""

from regard.derivations.notation.cursor import split_outside
from regard.derivations.notation.scripts import Scripts, big_operator, renamed
from regard.derivations.notation.syntax import (
    Accent,
    Apply,
    Derivative,
    Expression,
    Label,
    Power,
    Product,
    Quotient,
    SetOf,
)
from regard.derivations.notation.tokens import Token
from regard.derivations.notation.vocabulary import BIG_OPERATORS, FUNCTIONS

__all__ = ["Functions", "product_of"]


class Functions(Scripts):
    """Reads a function and what it is applied to."""

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
        return renamed(body, "^" + kind)

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
            if (
                token.kind in ("open", "word", "environment")
                or token.text[1:] in FUNCTIONS
                or token.text in BIG_OPERATORS
            ):
                break
            dots.append(False)
            factors.append(self.power())
        if self.reading.is_argument_wide and self.text() == "/":
            self.take()
            return Quotient(product_of(factors, dots), self.power())
        return product_of(factors, dots)

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
        return big_operator(operator, parts, upper, body)

    def domain(self, name: str) -> Expression:
        dimensions: tuple[Expression, ...] = ()
        if name == "E":
            return self.apply("mean")
        if self.text() == "^":
            self.take()
            tokens = self.script_tokens()
            dimensions = tuple(self.whole(part) for part in split_outside(tokens, lambda item: item.text == "\\times"))
        return SetOf((), name, dimensions)

    def starts_factor(self) -> bool:
        """True if another factor begins here; the grammar fills this in."""
        raise NotImplementedError

    def power(self) -> Expression:
        """The factor that begins here; the grammar fills this in."""
        raise NotImplementedError

    def product(self) -> Expression:
        """The product that begins here; the grammar fills this in."""
        raise NotImplementedError


def product_of(factors: list[Expression], dots: list[bool]) -> Expression:
    return factors[0] if len(factors) == 1 else Product(tuple(factors), tuple(dots))
