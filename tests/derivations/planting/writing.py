"""Terms as LaTeX in the hand of one writer: which transpose, which exponential, which letter for the scale."""

import re
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Self, TypeGuard

import numpy as np

from derivations.planting.terms import (
    Apply,
    Dot,
    Grid,
    Group,
    Number,
    Over,
    Plus,
    Power,
    Symbol,
    Term,
    Times,
    Total,
    Transposed,
)

HANDS = {
    "scale": (r"\beta", r"\lambda", "t", "C"),
    "transpose": (r"^\top", "^T", r"^{\top}", r"^{\intercal}", r"^{T}"),
    "dot": ("transpose", "transpose", "cdot", "angle"),
    "exponential": ("power", "exp", "power", "bare"),
    "fraction": ("frac", "frac", "slash"),
    "one_half": (r"\frac{1}{2}", r"\frac12", r"\tfrac{1}{2}", "0.5"),
    "shuffled": ("_{perm}", r"_{\text{perm}}", "_p", "'"),
    "word": (r"\text", r"\operatorname", r"\mathrm", ""),
    "ones": (r"\mathbf{1}", r"\mathbf 1"),
    "bias": ("", r" \cdot "),
    "conjugate": ("star", "overline", "bar"),
    "angle": ("bare", "brackets"),
    "total": ("full", "index", "braces"),
    "brackets": ("sized", "plain"),
    "approximately": (r"\approx", "≈", r"\approx"),
    "tends": (r"\to", r"\rightarrow", "→"),
    "is_bold": (False, False, True),
    "is_tight": (True, False),
    "matrix": ("pmatrix", "bmatrix"),
}

_LETTERS = {
    "mu": r"\mu",
    "gamma": r"\gamma",
    "noise": r"\alpha",
    "w": r"\alpha",
    "Sigma": r"\Sigma",
    "omega": r"\omega",
    "theta": r"\theta",
    "imaginary": "i",
    "coefficient": "c",
    "axis": "a",
    "codes": r"\Phi",
}
_MATRICES = {*"XPQKVHZWAI"}


@dataclass(frozen=True, kw_only=True)
class Hand:
    """One writer's habits; `Hand.draw(rng)` picks each of them."""

    scale: str = r"\beta"
    transpose: str = r"^\top"
    dot: str = "transpose"
    exponential: str = "power"
    fraction: str = "frac"
    one_half: str = r"\frac{1}{2}"
    shuffled: str = "_{perm}"
    word: str = r"\text"
    ones: str = r"\mathbf{1}"
    bias: str = ""
    conjugate: str = "star"
    angle: str = "bare"
    total: str = "full"
    brackets: str = "sized"
    approximately: str = r"\approx"
    tends: str = r"\to"
    is_bold: bool = False
    is_tight: bool = True
    matrix: str = "pmatrix"

    @classmethod
    def draw(cls, rng: np.random.Generator) -> Self:
        return cls(**{field.name: HANDS[field.name][rng.integers(len(HANDS[field.name]))] for field in fields(cls)})

    def sign(self, sign: str) -> str:
        return {"≈": self.approximately, "→": self.tends}.get(sign, sign)

    def named(self, word: str) -> str:
        return f"{self.word}{{{word}}}" if self.word else word


def write(term: Term, hand: Hand) -> str:
    """The term in LaTeX."""
    match term:
        case Number(value):
            return hand.one_half if value * 2 == 1 else _number(value)
        case Symbol():
            return _symbol(term, hand)
        case Plus(summands):
            return _sum(summands, hand)
        case Times(factors):
            return _product(factors, hand)
        case Over(top, bottom):
            return _over(top, bottom, hand)
        case Transposed(body):
            return _atom(body, hand) + hand.transpose
        case Group(body):
            return f"({write(body, hand)})"
        case Power(body, exponent):
            return _power(body, exponent, hand)
        case Dot(left, right):
            return _dot(left, right, hand)
        case Total():
            return _total(term, hand)
        case Grid(rows):
            inside = r" \\ ".join(" & ".join(write(entry, hand) for entry in row) for row in rows)
            return f"\\begin{{{hand.matrix}}} {inside} \\end{{{hand.matrix}}}"
        case Apply(name, arguments):
            return _applied(name, arguments, hand)
    raise TypeError(f"{term!r} is no term.")


def _number(value: Fraction) -> str:
    return str(value) if value.denominator == 1 else f"\\frac{{{value.numerator}}}{{{value.denominator}}}"


def _symbol(symbol: Symbol, hand: Hand) -> str:
    if symbol.name in ("scale", "ones"):
        return hand.scale if symbol.name == "scale" else hand.ones
    letter = _LETTERS.get(symbol.name, symbol.name)
    if hand.is_bold and symbol.name in _MATRICES:
        letter = f"\\mathbf{{{letter}}}"
    if symbol.is_shuffled:
        letter += hand.shuffled
    return letter if symbol.index is None else f"{letter}_{symbol.index}"


def _sum(summands: tuple[tuple[int, Term], ...], hand: Hand) -> str:
    text = ""
    for place, (sign, part) in enumerate(summands):
        written = write(part, hand)
        is_bracketed = isinstance(part, Plus) and (sign < 0 or part.summands[0][0] < 0)
        if place == 0:
            text = "-" * (sign < 0) + (f"({written})" if is_bracketed else written)
        else:
            text += (" - " if sign < 0 else " + ") + (f"({written})" if is_bracketed else written)
    return text


def _product(factors: tuple[Term, ...], hand: Hand) -> str:
    text = ""
    for place, factor in enumerate(factors):
        after = factors[place + 1] if place + 1 < len(factors) else None
        written = _factor(factor, after, hand)
        text = written if not place else text + _between(factors[place - 1], text, factor, written, hand) + written
    return text


def _factor(factor: Term, after: Term | None, hand: Hand) -> str:
    """A factor in brackets where its neighbours would tear it apart."""
    match factor:
        case Plus():
            is_bracketed = True
        case Dot():
            is_bracketed = hand.dot == "cdot"
        case Over():
            is_bracketed = hand.fraction == "slash"
        case Total():
            is_bracketed = after is not None
        case _ if _is_circular(factor) and after is not None and not _is_circular(after):
            return _circular(factor.name, factor.arguments[0], hand, is_bracketed=True)
        case _:
            is_bracketed = False
    return f"({write(factor, hand)})" if is_bracketed else write(factor, hand)


def _is_circular(term: Term) -> TypeGuard[Apply]:
    return isinstance(term, Apply) and term.name in ("sin", "cos")


def _between(before: Term, left: str, factor: Term, right: str, hand: Hand) -> str:
    if before == Symbol("ones") and isinstance(factor, Symbol) and factor.name == "b":
        return hand.bias or " "
    if right[0].isdigit() or (re.match(r"\\t?frac", right) and left[-1].isdigit()):
        return r" \cdot "
    is_run_on = re.search(r"\\[A-Za-z]+$", left) and right[0].isalpha()
    if is_run_on or re.match(r"[A-Za-z]{2}", right) or re.search(r"\\mathbf 1$", left):
        return " "
    return "" if hand.is_tight else " "


def _over(top: Term, bottom: Term, hand: Hand) -> str:
    if hand.fraction == "frac":
        return f"\\frac{{{write(top, hand)}}}{{{write(bottom, hand)}}}"
    is_simple = isinstance(bottom, Symbol | Number | Apply | Group)
    above = f"({write(top, hand)})" if isinstance(top, Plus | Over | Total | Dot) else write(top, hand)
    return f"{above}/{write(bottom, hand) if is_simple else f'({write(bottom, hand)})'}"


def _atom(term: Term, hand: Hand) -> str:
    """A term that can carry a superscript."""
    is_whole = isinstance(term, Symbol | Number | Group | Grid) or isinstance(term, Apply) and term.name in ("R", "Phi")
    return write(term, hand) if is_whole else f"({write(term, hand)})"


def _power(body: Term, exponent: int, hand: Hand) -> str:
    if _is_circular(body):
        return _circular(body.name, body.arguments[0], hand, exponent=f"^{exponent}")
    if isinstance(body, Apply) and body.name == "norm":
        return f"{write(body, hand)}^{exponent}"
    return f"{_atom(body, hand)}^{exponent}"


def _dot(left: Term, right: Term, hand: Hand) -> str:
    if hand.dot == "angle":
        return f"\\langle {write(left, hand)}, {write(right, hand)}\\rangle"
    factors = [f"({write(side, hand)})" if isinstance(side, Plus) else write(side, hand) for side in (left, right)]
    if hand.dot == "cdot":
        return r" \cdot ".join(factors)
    return f"{_atom(left, hand)}{hand.transpose} {factors[1]}"


def _total(total: Total, hand: Hand) -> str:
    index, written = total.index, write(total.body, hand)
    limits = {"full": f"_{{{index}=1}}^{total.upper}", "index": f"_{index}", "braces": f"_{{{index}}}"}
    where = limits[hand.total] if total.upper else limits["index"]
    if total.without:
        where = f"_{{{index} \\neq {', '.join(total.without)}}}"
    return f"\\sum{where} {f'({written})' if isinstance(total.body, Plus) else written}"


def _applied(name: str, arguments: tuple[Term, ...], hand: Hand) -> str:
    inside = ", ".join(write(argument, hand) for argument in arguments)
    if name in ("sin", "cos"):
        return _circular(name, arguments[0], hand)
    if name in ("R", "Phi"):
        letter = {"R": "R", "Phi": r"\Phi"}[name]
        return f"{letter}_{inside}" if len(inside) == 1 else f"{letter}_{{{inside}}}"
    if name == "conj":
        return _conjugate(arguments[0], hand)
    if name == "exp":
        return {"power": f"e^{{{inside}}}", "exp": rf"\exp({inside})", "bare": f"exp({inside})"}[hand.exponential]
    if name == "sqrt":
        return f"\\sqrt{{{inside}}}"
    if name == "inner":
        return f"\\langle {inside}\\rangle"
    if name == "norm":
        return f"\\|{inside}\\|"
    is_sized = hand.brackets == "sized" and "frac" in inside
    return hand.named(name) + (rf"\left({inside}\right)" if is_sized else f"({inside})")


def _conjugate(number: Term, hand: Hand) -> str:
    if hand.conjugate == "star":
        return f"{_atom(number, hand)}^*"
    is_short = hand.conjugate == "bar" and isinstance(number, Symbol)
    return f"\\{'bar' if is_short else 'overline'}{{{write(number, hand)}}}"


def _circular(name: str, angle: Term, hand: Hand, *, exponent: str = "", is_bracketed: bool = False) -> str:
    written = write(angle, hand)
    is_composed = any(isinstance(part, Plus | Group) for part in (angle, *angle.children))
    if is_composed or is_bracketed or hand.angle == "brackets":
        return f"\\{name}{exponent}({written})"
    return f"\\{name}{exponent} {written}"
