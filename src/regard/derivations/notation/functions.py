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


class Functions(Scripts):
    """Reads a function and what it is applied to."""

    def fraction(self) -> Expression:
        """The quotient after \\frac, or the derivative if both parts begin with the same d."""
        top, bottom = self.fraction_part(), self.fraction_part()
        is_derivative = len(top) > 1 and len(bottom) > 1 and top[0].text in ("\\partial", "d")
        if is_derivative and bottom[0].text == top[0].text:
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
        """The square root of what follows; a root of another order is not read."""
        if self.text() == "]":
            raise self.stuck()
        return Apply("sqrt", (self.whole(self.script_tokens()),))

    def accent(self, kind: str) -> Expression:
        """What follows under an accent: conjugated by a bar, renamed by any other, unchanged by an arrow."""
        body = self.whole(self.script_tokens())
        if not kind:
            return body
        if kind == "bar":
            return Accent("bar", body)
        return renamed(body, "^" + kind)

    def apply(self, function: str) -> Expression:
        """The function of what follows; a script below it is passed over, one above it is a power."""
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
            self.depth += 1
            self.check_depth(self.depth)
            result = Apply(function, (self.bare_argument(),))
            self.depth -= 1
        return result if power is None else Power(result, power)

    def arguments(self) -> tuple[Expression, ...]:
        """The arguments in the bracket that opens here."""
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
        """The sum, product or maximum of the product that follows its scripts."""
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
        self.depth += 1
        self.check_depth(self.depth)
        body = self.product()
        self.depth -= 1
        return big_operator(operator, parts, upper, body)

    def domain(self, name: str) -> Expression:
        """The number domain of a blackboard letter, with its dimensions; 𝔼 is the mean of what follows."""
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
    """The product of the factors, or the only one."""
    return factors[0] if len(factors) == 1 else Product(tuple(factors), tuple(dots))
