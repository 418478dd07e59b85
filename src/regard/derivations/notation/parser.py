"""A grammar for the mathematics that answers are written in.

    sum      = [±] product {± product}
    product  = power {[· × /] power}            juxtaposition multiplies
    power    = atom {' | _script | ^script}
    atom     = number | symbol | (sum) | ‖sum‖ | ⟨sum, sum⟩ | \\frac | \\sqrt | function [power] argument
             | Σ script body | matrix | \\{members\\}

Where a formula can be read in several ways, `Reading` says which way is taken; the judge tries them all.
"""

from collections.abc import Sequence
from functools import lru_cache

from regard.derivations.notation.atoms import Atoms
from regard.derivations.notation.cursor import PLAIN, Reading
from regard.derivations.notation.functions import product_of
from regard.derivations.notation.scripts import renamed, with_subscripts
from regard.derivations.notation.syntax import Expression, Negative, Quotient, Sum
from regard.derivations.notation.tokens import NotUnderstood, Token, tokenize

MAX_TOKENS = 3_000
_TIMES = frozenset({"\\cdot", "\\times", "*"})
_UNREAD_PRODUCTS = frozenset({"\\odot", "\\otimes", "\\circ"})
_NO_FACTOR = _TIMES | _UNREAD_PRODUCTS | {"\\pm", "\\top", "\\mid"}


def parse(tokens: Sequence[Token], reading: Reading = PLAIN) -> Expression:
    """The expression that the tokens spell, or NotUnderstood with the place of the first token that doesn't fit."""
    return _parse(tuple(tokens), reading)


@lru_cache(maxsize=1024)
def parse_source(source: str) -> Expression:
    """The expression in a formula of the problem's own, which every document asks for again."""
    return parse(tokenize(source))


@lru_cache(maxsize=8192)
def _parse(tokens: tuple[Token, ...], reading: Reading) -> Expression:
    if len(tokens) > MAX_TOKENS:
        message = f"The expression has {len(tokens)} marks; at most {MAX_TOKENS} are read."
        raise NotUnderstood(message, tokens[0].start)
    parser = _Parser(tokens, reading)
    expression = parser.sum()
    if parser.peek() is not None:
        raise parser.stuck()
    return expression


class _Parser(Atoms):
    """The grammar itself: sums of products of powers of atoms."""

    def sum(self) -> Expression:
        """The sum that begins here."""
        self.depth += 1
        self.check_depth(self.depth)
        terms = []
        sign = 1
        if self.text() in ("+", "-", "\\pm"):
            sign = -1 if self.take().text == "-" else 1
        while True:
            term = self.product()
            terms.append(Negative(term) if sign < 0 else term)
            if self.text() not in ("+", "-"):
                break
            sign = -1 if self.take().text == "-" else 1
            if self.text() in ("+", "-"):
                sign = -sign if self.take().text == "-" else sign
        self.depth -= 1
        return terms[0] if len(terms) == 1 else Sum(tuple(terms))

    def product(self) -> Expression:
        """The product that begins here; a slash divides all that stands before it."""
        factors: list[Expression] = [self.power()]
        dots: list[bool] = []
        num_slashes = 0
        while True:
            text = self.text()
            if text == "/":
                num_slashes += 1
                self.check_depth(num_slashes)
                self.take()
                bottom = self.slash_bottom()
                factors, dots = [Quotient(product_of(factors, dots), bottom)], []
            elif text in _TIMES:
                self.take()
                dots.append(text == "\\cdot")
                factors.append(self.signed_power())
            elif text in _UNREAD_PRODUCTS:
                raise self.stuck()
            elif self.starts_factor():
                dots.append(False)
                factors.append(self.power())
            else:
                return product_of(factors, dots)

    def signed_power(self) -> Expression:
        """The factor behind a multiplication sign, which may carry a minus of its own."""
        if self.text() != "-":
            return self.power()
        self.take()
        return Negative(self.power())

    def slash_bottom(self) -> Expression:
        """What a slash divides by: one factor, or all that follow if the reading says so."""
        bottoms, dots = [self.power()], []
        while self.reading.is_slash_wide and self.starts_factor():
            dots.append(False)
            bottoms.append(self.power())
        return product_of(bottoms, dots)

    def starts_factor(self) -> bool:
        """True if another factor begins here."""
        token = self.peek()
        if token is None:
            return False
        if token.kind in ("letter", "word", "number", "open"):
            return token.text not in _NO_FACTOR
        if token.kind == "environment":
            return token.text.startswith("\\begin")
        return token.text in ("\\|", "|") and not self.is_closing_bar()

    def is_closing_bar(self) -> bool:
        """True if the bar that stands here closes the one opened last."""
        return self.bars[-1:] == (self.text(),)

    def power(self) -> Expression:
        """The atom that begins here, with its primes and scripts."""
        base = self.atom()
        num_scripts = 0
        while (token := self.peek()) is not None:
            num_scripts += token.kind == "script"
            self.check_depth(num_scripts)
            if token.text == "'" and token.kind == "symbol":
                self.take()
                base = renamed(base, "'")
            elif token.kind == "script" and token.text == "_":
                self.take()
                base = with_subscripts(base, self.subscript())
            elif token.kind == "script":
                self.take()
                base = self.superscript(base)
            elif token.text == "!":
                raise self.stuck()
            else:
                break
        return base
