r"""Reads what people type: queries and targets such as `beta*(mu_a+mu_b)`, conditions such as `0 < gamma <= 2`.

    condition = sum (< | ≤ | > | ≥) sum …
    sum       = product {(+ | -) product}
    product   = signed {(* | / | nothing) signed}          products and quotients, from left to right
    signed    = {+ | -} power
    power     = atom [^ signed]
    atom      = number | name | (sum) | sqrt(sum) | log(sum) | exp(sum) | \frac{sum}{sum}

A name is a Latin or Greek letter, with or without a subscript. Values are worked out while the text is read; nothing
is ever evaluated as code.
"""

import math
import operator
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal, NoReturn

from flint import arb, ctx

from regard.analysis.engines.enclosures import exact_ball
from regard.analysis.scenarios import Deviation
from regard.core.errors import InputError

MAX_CHARACTERS = 1_000
MAX_DEPTH = 50
_MAX_SHOWN = 60
_MAX_EXPONENT = 64
_MAX_DECIMAL_EXPONENT = 300

Number = Fraction | arb
"""A number as exact as it was typed: a fraction, or a ball once a root, logarithm or exponential is taken."""

# Enough bits for equal expressions to round to the same double, however they are written.
_BITS = 400


# -- public readers ----------------------------------------------------------------------------------------------------
@dataclass(frozen=True, kw_only=True)
class ExpressionReader:
    """Reads linear combinations of one kind of vector; `scalars` are the values of the other letters.

    `only_key` is the key that the vector's name means where it has no subscript.

    >>> reader = ExpressionReader(vector="mu", scalars={"beta": Fraction(20)})
    >>> reader.coefficients("beta*(mu_a + 3 mu_b)/2")
    {'a': 10.0, 'b': 30.0}
    """

    vector: str
    scalars: Mapping[str, Fraction]
    only_key: str | None = None

    def coefficients(self, text: str) -> dict[str, float]:
        """The coefficient of every key that the text names, each rounded once."""
        example = "beta*(mu_a+mu_b)" if self.vector == "mu" else f"({self.vector}_a+{self.vector}_b)/2"
        if not text.strip():
            raise InputError(f"An expression is empty. Write for example {example}.")
        with _explaining(text, example):
            found = _ExpressionParser(text, self).expression()
        if found.constant != 0 or not found.parts:
            raise InputError(
                f"{_shown(text)} is not a sum of multiples of {self.vector}_a, {self.vector}_b, …. "
                f"Write for example {example}."
            )
        rounded = {key: _rounded(part) for key, part in found.parts.items()}
        for key, number in rounded.items():
            if not math.isfinite(number):
                raise InputError(
                    f"{_shown(text)} multiplies {self.vector}_{key} by a number beyond 1.8e308, so it is not finite in "
                    "double precision. Use smaller numbers."
                )
        return rounded


def read_condition(text: str, noise: Mapping[str, float], scalars: Mapping[str, Fraction]) -> Deviation:
    """The deviation δ that a condition on γ = 1 + δ restricts: γ > 0 is δ > −1.

    `gamma` alone is the length of the only key whose length is random.

    >>> str(read_condition("0 < gamma <= 2", {"a": 0.5}, {}))
    '0 ≤ γ_a ≤ 2'
    """
    reader = ExpressionReader(vector="gamma", scalars=scalars, only_key=next(iter(noise)) if len(noise) == 1 else None)
    with _explaining(text, "gamma>0"):
        sides, signs = _ExpressionParser(text, reader).comparison()
    if len(signs) == 0:
        raise InputError(f"The condition {_shown(text)} compares nothing. Write for example gamma>0.")
    places = [place for place, side in enumerate(sides) if not side.is_scalar]
    if len(places) != 1:
        raise InputError(f"The condition {_shown(text)} must have exactly one γ in it. Write for example gamma>0.")
    [place] = places
    key = next(iter(sides[place].parts))
    if sides[place] != Combination(parts={key: Fraction(1)}):
        raise InputError(f"The condition {_shown(text)} must bound γ itself. Write for example gamma>1/2.")
    lower, upper = -math.inf, math.inf
    for number, sign in enumerate(signs):
        if sign not in "<≤>≥":
            raise InputError(f"The condition {_shown(text)} has probability zero or one. Use <, ≤, > or ≥: gamma>0.")
        if number not in (place - 1, place):
            raise InputError(f"The condition {_shown(text)} compares two numbers. Write for example 0<gamma<2.")
        is_on_left = number < place
        bound = _rounded(sides[number if is_on_left else number + 1].constant)
        if (sign in "<≤") == is_on_left:
            lower = max(lower, bound)
        else:
            upper = min(upper, bound)
    if not lower < upper:
        raise InputError(
            f"The condition {_shown(text)} has probability zero: no γ lies above {lower:g} and below {upper:g}."
        )
    return Deviation(group=key, lower=lower - 1, upper=upper - 1)


class _Refusal(Exception):
    """Why an expression can't be read, where in it, and what to do if an example would not help."""

    def __init__(self, reason: str, start: int, remedy: str = "") -> None:
        super().__init__(reason)
        self.start = start
        self.remedy = remedy


@contextmanager
def _explaining(text: str, example: str) -> Iterator[None]:
    """Turns a refusal into the message that a user sees."""
    try:
        yield
    except _Refusal as refusal:
        where = f"{_shown(text, refusal.start)} cannot be read at character {refusal.start + 1}"
        raise InputError(f"{where}: {refusal}. {refusal.remedy or f'Write for example {example}.'}") from refusal


def _shown(text: str, place: int = 0) -> str:
    """What was typed as a message repeats it: quoted, and cut around the place where it is long."""
    if len(text) <= _MAX_SHOWN:
        return repr(text)
    start = max(0, min(place - _MAX_SHOWN // 2, len(text) - _MAX_SHOWN))
    end = start + _MAX_SHOWN
    return f"{'… ' if start else ''}{text[start:end]!r}{' …' if end < len(text) else ''}"


# -- spelling ----------------------------------------------------------------------------------------------------------
GREEK = dict(
    zip(
        "αβγδεζηθικλμνξπρστυφχψωΓΔΘΛΞΠΣΦΨΩ",
        "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau upsilon phi chi psi "
        "omega Gamma Delta Theta Lambda Xi Pi Sigma Phi Psi Omega".split(),
        strict=True,
    )
)
_GREEK_NAMES = frozenset(GREEK.values())
_CHARACTERS = {
    **{letter: f" {name} " for letter, name in GREEK.items()},
    **dict(zip("₀₁₂₃₄₅₆₇₈₉ₐᵢⱼₖₙ", (f"_{subscript}" for subscript in "0123456789aijkn"), strict=True)),
    **dict(zip("−·⋅×÷", "-***/", strict=True)),
    **dict(zip("²³½¼√≤≥≠", (r"^2 ^3 (1/2) (1/4) \sqrt <= >= !=").split(), strict=True)),
}
_FUNCTIONS = {"sqrt": arb.sqrt, "log": arb.log, "ln": arb.log, "exp": arb.exp}
_SAME_SIGN = {
    spelling: sign
    for sign, spellings in {
        "*": r"\cdot \times",
        "^": "**",
        r"\frac": r"\dfrac \tfrac",
        "<": r"\lt",
        ">": r"\gt",
        "≤": r"<= \le \leq",
        "≥": r">= \ge \geq",
        "≠": r"!= \ne \neq",
        "=": "==",
    }.items()
    for spelling in spellings.split()
}
_IGNORED = frozenset(
    r"""
    \left \right \big \bigl \bigr \Big \Bigl \Bigr \bigg \biggl \biggr \, \; \: \!
    \mathbf \boldsymbol \bm \vec \mathrm \text
    """.split()
)
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_LEXEME = re.compile(
    r"(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE](?P<exponent>[+-]?\d+))?)"
    r"|(?P<word>[A-Za-z]+\d*)"
    r"|\\[A-Za-z]+|\\.|\*\*|<=|>=|!=|==|.",
    re.DOTALL,
)


@dataclass(frozen=True, kw_only=True)
class Lexeme:
    """A number, a name, a function or a sign, in its one spelling, and where it stands in the text."""

    kind: Literal["number", "name", "function", "sign", "end"]
    text: str
    start: int


def _lexemes(text: str) -> list[Lexeme]:
    if len(text) > MAX_CHARACTERS:
        raise InputError(
            f"The expression has {len(text)} characters; at most {MAX_CHARACTERS} are read. "
            "Write a shorter one, with letters for numbers (--set s=3)."
        )
    spelled = [_CHARACTERS.get(character) or unicodedata.normalize("NFKC", character) for character in text]
    places = [place for place, plain in enumerate(spelled) for _ in plain]
    matches = _LEXEME.finditer("".join(spelled))
    found = [_classified(match, places[match.start()]) for match in matches if match.group() not in _IGNORED]
    return [*(lexeme for lexeme in found if lexeme.text.strip()), Lexeme(kind="end", text="", start=len(text))]


def _classified(match: re.Match[str], start: int) -> Lexeme:
    text = match.group()
    bare = text.removeprefix("\\").removeprefix("var")
    if match["number"]:
        if abs(int(match["exponent"] or 0)) > _MAX_DECIMAL_EXPONENT:
            raise _Refusal(f"the exponent of {text} is beyond {_MAX_DECIMAL_EXPONENT}", start)
        return Lexeme(kind="number", text=text, start=start)
    if bare.lower() in _FUNCTIONS:
        return Lexeme(kind="function", text=text.lower(), start=start)
    is_numbered = text[:1].isalpha() and text[1:].isdecimal() and match.string[: match.start()].endswith("_{")
    if bare in _GREEK_NAMES or (match["word"] and len(text) == 1) or is_numbered:
        return Lexeme(kind="name", text=bare, start=start)
    if match["word"]:
        remedy = "Use Greek letters (beta, mu_a), single letters, and sqrt, log and exp."
        raise _Refusal(f"'{text}' is not known", start, remedy)
    return Lexeme(kind="sign", text=_SAME_SIGN.get(text, text), start=start)


# -- grammar -----------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, kw_only=True)
class Combination:
    """constant + Σ_j parts[j] · (the vector of key j)."""

    constant: Number = Fraction(0)
    parts: Mapping[str, Number]

    @property
    def is_scalar(self) -> bool:
        """True if it has no vectors."""
        return not self.parts

    def times(self, factor: Number) -> "Combination":
        """The combination multiplied by a number."""
        parts = {key: _combined(operator.mul, part, factor) for key, part in self.parts.items()}
        return Combination(constant=_combined(operator.mul, self.constant, factor), parts=parts)

    def plus(self, other: "Combination") -> "Combination":
        """The sum of the two."""
        parts = dict(self.parts)
        for key, part in other.parts.items():
            parts[key] = _combined(operator.add, parts.get(key, Fraction(0)), part)
        return Combination(constant=_combined(operator.add, self.constant, other.constant), parts=parts)


class _ExpressionParser:
    """Recursive descent through one text, with one method per rule of the grammar above."""

    def __init__(self, text: str, reader: ExpressionReader) -> None:
        self.reader = reader
        self.lexemes = _lexemes(text)
        self.place = 0
        self.depth = 0

    def expression(self) -> Combination:
        """The whole text as one sum."""
        found = self._sum()
        if self._next.kind != "end":
            self._refuse_next()
        return found

    def comparison(self) -> tuple[list[Combination], list[str]]:
        """The whole text as sums with signs of comparison between them."""
        sides, signs = [self._sum()], []
        while self._next.kind != "end":
            if self._next.text not in {*"<≤>≥=≠"}:
                self._refuse_next()
            signs.append(self._take().text)
            sides.append(self._sum())
        return sides, signs

    # -- lexemes
    @property
    def _next(self) -> Lexeme:
        return self.lexemes[self.place]

    def _take(self) -> Lexeme:
        self.place += 1
        return self.lexemes[self.place - 1]

    def _signs(self, *texts: str) -> Iterator[Lexeme]:
        """Takes signs for as long as one of these is next."""
        while self._next.kind == "sign" and self._next.text in texts:
            yield self._take()

    def _refuse_next(self) -> NoReturn:
        at = self._next
        reason = "something is missing at the end" if at.kind == "end" else f"'{at.text}' has no place here"
        raise _Refusal(reason, at.start)

    # -- rules
    def _sum(self) -> Combination:
        found = self._product()
        for sign in self._signs("+", "-"):
            found = found.plus(self._product().times(Fraction(1 if sign.text == "+" else -1)))
        return found

    def _product(self) -> Combination:
        found = self._signed()
        while True:
            at = self._next
            if at.text == "/":
                self._take()
                found = _divided(found, self._signed(), at)
            elif at.text == "*":
                self._take()
                found = _multiplied(found, self._signed(), at)
            elif self._is_at_atom:
                found = _multiplied(found, self._power(), at)
            else:
                return found

    def _signed(self) -> Combination:
        minuses = sum(sign.text == "-" for sign in self._signs("+", "-"))
        found = self._power()
        return found.times(Fraction(-1)) if minuses % 2 else found

    def _power(self) -> Combination:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise _Refusal(f"it is nested more than {MAX_DEPTH} deep", self._next.start)
        found = self._atom()
        for sign in self._signs("^"):
            found = _raised(found, self._signed(), sign)
        self.depth -= 1
        return found

    @property
    def _is_at_atom(self) -> bool:
        return self._next.kind in ("number", "name", "function") or self._next.text in (*_CLOSING, r"\frac")

    def _atom(self) -> Combination:
        if not self._is_at_atom:
            self._refuse_next()
        if self._next.text in _CLOSING:
            return self._group()
        at = self._take()
        if at.kind == "number":
            return Combination(constant=Fraction(at.text), parts={})
        if at.kind == "name":
            return self._name(at)
        if at.kind == "function":
            return self._function(at)
        return _divided(self._argument(), self._argument(), at)

    def _group(self) -> Combination:
        opening = self._take()
        if self._next.kind == "name" and [each.text for each in self.lexemes[self.place + 1 :][:2]] == ["}", "_"]:
            # A letter in a font, {\mu}_a: the braces belong to the font, which is ignored.
            name = self._take()
            self._take()
            return self._name(name)
        found = self._sum()
        if self._next.kind == "end":
            raise _Refusal(f"this '{opening.text}' is never closed", opening.start)
        if self._next.text != _CLOSING[opening.text]:
            self._refuse_next()
        self._take()
        return found

    def _function(self, at: Lexeme) -> Combination:
        name = at.text.removeprefix("\\")
        if at.text == r"\sqrt" and self._next.text != "(":
            argument = self._argument()
        elif self._next.text in _CLOSING:
            argument = self._group()
        else:
            raise _Refusal(f"{name} needs brackets", at.start, f"Write {name}(…).")
        number = _scalar(argument, f"it takes the {name} of a vector", at)
        return Combination(constant=_computed(at, lambda: _applied(name, number)), parts={})

    def _argument(self) -> Combination:
        r"""The argument of a LaTeX command: a group in braces, or one letter or digit, as in \frac12."""
        if self._next.text == "{":
            return self._group()
        at = self._take()
        if at.kind == "name":
            return self._name(at)
        if at.kind != "number" or not at.text[0].isdigit():
            raise _Refusal("a group in braces is missing: {…}", at.start)
        if len(at.text) > 1:
            self.place -= 1
            self.lexemes[self.place] = replace(at, text=at.text[1:], start=at.start + 1)
        return Combination(constant=Fraction(at.text[0]), parts={})

    def _name(self, at: Lexeme) -> Combination:
        reader = self.reader
        subscript = next((self._subscript() for _ in self._signs("_")), None)
        if at.text == reader.vector and subscript is not None:
            return Combination(parts={subscript: Fraction(1)})
        name = at.text if subscript is None else f"{at.text}_{subscript}"
        if name in reader.scalars:
            return Combination(constant=reader.scalars[name], parts={})
        if name == "e" and self._next.text == "^":
            return Combination(constant=_applied("exp", Fraction(1)), parts={})
        if name == reader.vector and reader.only_key is not None:
            return Combination(parts={reader.only_key: Fraction(1)})
        raise self._unknown(name, at.start)

    def _subscript(self) -> str:
        is_braced = self._next.text == "{"
        self.place += is_braced
        if self._next.kind != "name" and not self._next.text.isdecimal():
            self._refuse_next()
        subscript = self._take().text
        if is_braced and self._take().text != "}":
            self.place -= 1
            self._refuse_next()
        return subscript

    def _unknown(self, name: str, start: int) -> _Refusal:
        vector = self.reader.vector
        if name == vector:
            return _Refusal(f"{name} without the name of a key is ambiguous", start, f"Write {name}_a.")
        known = ", ".join([f"{vector}_a", f"{vector}_b", *self.reader.scalars])
        if "_" in name:
            return _Refusal(f"{name} is not known (known: {known})", start)
        option = "--beta NUMBER" if name == "beta" else f"--set {name}=NUMBER"
        return _Refusal(f"{name} has no value (known: {known})", start, f"Give it one with {option}.")


# -- arithmetic --------------------------------------------------------------------------------------------------------
def _multiplied(left: Combination, right: Combination, at: Lexeme) -> Combination:
    if not left.is_scalar and not right.is_scalar:
        raise _Refusal("it multiplies two vectors", at.start)
    return left.times(right.constant) if right.is_scalar else right.times(left.constant)


def _divided(top: Combination, bottom: Combination, at: Lexeme) -> Combination:
    divisor = _scalar(bottom, "it divides by a vector", at)
    if divisor == 0:
        raise _Refusal("it divides by zero", at.start)
    return top.times(_combined(operator.truediv, Fraction(1), divisor))


def _raised(base: Combination, exponent: Combination, at: Lexeme) -> Combination:
    bottom, top = (_scalar(each, "it raises a vector to a power", at) for each in (base, exponent))
    return Combination(constant=_computed(at, lambda: _to_power(bottom, top)), parts={})


def _scalar(found: Combination, reason: str, at: Lexeme) -> Number:
    if not found.is_scalar:
        raise _Refusal(reason, at.start)
    return found.constant


def _computed(at: Lexeme, compute: Callable[[], Number]) -> Number:
    try:
        return compute()
    except ArithmeticError as error:
        raise _Refusal(str(error), at.start) from error


def _combined(operation: Callable[[Any, Any], Any], left: Number, right: Number) -> Number:
    if isinstance(left, Fraction) and isinstance(right, Fraction):
        return operation(left, right)
    with ctx.workprec(_BITS):
        return _settled(operation(_ball(left), _ball(right)))


def _to_power(base: Number, exponent: Number) -> Number:
    if not abs(exponent) <= _MAX_EXPONENT:
        raise ArithmeticError(f"the exponent is beyond {_MAX_EXPONENT}")
    if base == 0 and exponent < 0:
        raise ArithmeticError("it divides by zero")
    if isinstance(base, Fraction) and isinstance(exponent, Fraction):
        num_bits = max(base.numerator.bit_length(), base.denominator.bit_length())
        if exponent.denominator == 1 and num_bits < _BITS:
            return base ** int(exponent)
    with ctx.workprec(_BITS):
        return _settled(_ball(base) ** _ball(exponent))


def _applied(function: str, argument: Number) -> Number:
    """The function's value; the root of a square is exact."""
    if function == "sqrt" and isinstance(argument, Fraction) and argument >= 0:
        root = Fraction(math.isqrt(argument.numerator), math.isqrt(argument.denominator))
        if root**2 == argument:
            return root
    with ctx.workprec(_BITS):
        return _settled(_FUNCTIONS[function](_ball(argument)))


def _rounded(number: Number) -> float:
    """The nearest double; infinite beyond the range of doubles."""
    try:
        return float(number) if isinstance(number, Fraction) else float(number.mid())
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _ball(number: Number) -> arb:
    return exact_ball(number) if isinstance(number, Fraction) else number


def _settled(ball: arb) -> Number:
    """The ball, or an exact zero if it can't be told from one at this precision."""
    if not ball.is_finite():
        raise ArithmeticError("this is not a finite number")
    return Fraction(0) if ball.contains(0) else ball
