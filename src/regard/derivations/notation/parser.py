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
from regard.derivations.notation.cursor import MAX_DEPTH, PLAIN, Reading
from regard.derivations.notation.functions import product_of
from regard.derivations.notation.scripts import renamed, with_subscripts
from regard.derivations.notation.syntax import Expression, Negative, Quotient, Sum
from regard.derivations.notation.tokens import NotUnderstood, Token

__all__ = ["MAX_DEPTH", "PLAIN", "Reading", "parse"]


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


class _Parser(Atoms):
    """The grammar itself: sums of products of powers of atoms."""

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
                top = product_of(factors, dots)
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
                return product_of(factors, dots)

    def slash_bottom(self) -> Expression:
        bottoms, dots = [self.power()], []
        while self.reading.is_slash_wide and self.starts_factor():
            dots.append(False)
            bottoms.append(self.power())
        return product_of(bottoms, dots)

    def starts_factor(self) -> bool:
        token = self.peek()
        if token is None:
            return False
        if token.kind in ("letter", "word", "number", "open"):
            return token.text not in (
                "\\cdot",
                "\\times",
                "\\pm",
                "\\odot",
                "\\otimes",
                "\\circ",
                "\\top",
                "*",
                "\\mid",
            )
        if token.kind == "environment":
            return token.text.startswith("\\begin")
        return token.text in ("\\|", "|") and not self.is_closing_bar()

    def is_closing_bar(self) -> bool:
        return self.bars[-1:] == (self.text(),)

    def power(self) -> Expression:
        base = self.atom()
        while (token := self.peek()) is not None:
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
