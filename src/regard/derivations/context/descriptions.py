"""What words say of symbols: "an orthogonal d×d matrix R", "x and y are unit vectors", "i.i.d. with mean 0"."""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from regard.derivations.context.formulas import Formula
from regard.derivations.judging.setting import AnyLaw, Assumption, Kind, MomentLaw
from regard.derivations.notation.parser import parse, parse_law, split_outside
from regard.derivations.notation.statements import Chain
from regard.derivations.notation.syntax import (
    Distribution,
    Expression,
    Identity,
    Norm,
    Number,
    SetOf,
    Symbol,
    describe,
    walk,
)
from regard.derivations.notation.tokens import NotUnderstood, Token, tokenize
from regard.derivations.reading.document import PLACEHOLDER, Document
from regard.derivations.reading.phrases import any_of

_ASSUMED: Mapping[str, Assumption] = {
    "orthogonal": Assumption.ORTHONORMAL_COLUMNS,
    "positive_definite": Assumption.POSITIVE_DEFINITE,
    "symmetric": Assumption.SYMMETRIC,
    "diagonal": Assumption.DIAGONAL,
    "unit_length": Assumption.UNIT,
    "positive": Assumption.POSITIVE,
    "permutation": Assumption.PERMUTATION,
    "probability_vector": Assumption.DISTRIBUTION,
    "one_hot": Assumption.ONE_HOT,
    "whole": Assumption.INTEGER,
}
_KINDS: Mapping[str, Kind] = {"matrix_noun": "matrix", "vector_noun": "column", "number_noun": "number"}
_NEARBY = 60
_F = PLACEHOLDER  # in the shortened text, one character for each formula
_AND = rf"(?:,\s*{any_of('conjunction')}|,|{any_of('conjunction')})"
_LIST = rf"{_F}(?:\s*{_AND}\s*{_F}){{0,8}}"
_NOUN = re.compile("|".join(f"(?P<{name}>{any_of(name)})" for name in _KINDS), re.IGNORECASE)
_GOES_ON = re.compile(rf"\s+(?:of\s|{'|'.join(map(any_of, _KINDS))})", re.IGNORECASE)
# What may stand beside a noun for numbers that may be anything: two positive numbers, but no nonzero ones.
_PLAIN = re.compile(any_of("plain_number"), re.IGNORECASE)
_PLAIN_ONE = rf"(?:{any_of('article')}|{any_of('plain_word')}|{any_of('positive')})"
_PLAIN_WORDS = re.compile(rf"(?:[\s,]|{_PLAIN_ONE})*", re.IGNORECASE)
_PLAIN_WORD = re.compile(rf"(?:^|\s){_PLAIN_ONE}\s*$", re.IGNORECASE)
_RESTRICTED = re.compile(rf"[\s,]*{any_of('restricted_after')}", re.IGNORECASE)
_MANY = re.compile(r"s$|ces$|en$", re.IGNORECASE)
# What stands right before a noun, right after it, and between the symbols and what they are said to be.
_WORDS_BEFORE = rf"(?P<words>[\w ,-]{{0,40}}(?P<size>{_F})?[\w -]{{0,15}})$"
_SAID = re.compile(rf"(?P<list>{_LIST})\s*,?\s*{any_of('is_a')}\s+{_WORDS_BEFORE}", re.IGNORECASE)
_BEFORE = re.compile(rf"(?P<list>){_WORDS_BEFORE}", re.IGNORECASE)
_AFTER = re.compile(rf"(?:\s+(?P<list>{_LIST}))?(?:\s+{any_of('length_of')}\s+(?P<size>{_F}))?", re.IGNORECASE)
_OF_MATRICES = "|".join(map(any_of, ("orthogonal", "positive_definite", "symmetric", "diagonal")))
_ADJECTIVES = re.compile(
    rf"(?P<list>{_LIST})\s+{any_of('is_a')}\s+(?P<words>(?:{_OF_MATRICES})(?:[\s,]*(?:{any_of('conjunction')}\s)?(?:{_OF_MATRICES}))*)",
    re.IGNORECASE,
)
_SIZED = re.compile(rf"(?P<list>{_LIST})\s+{any_of('is_a')}\s+(?:{any_of('article')}\s+)?(?P<size>{_F})", re.IGNORECASE)
_NUMBER = rf"(?:{any_of('is_a')}|=)?\s*({_F}|\d+(?:\.\d+)?|zero|one)"
_LAW = re.compile(
    rf"{any_of('zero_mean')}\W{{1,3}}(?:{any_of('conjunction')}\W)?{any_of('unit_variance')}"
    rf"|{any_of('mean_of')}\s*{_NUMBER}\W{{1,3}}(?:{any_of('conjunction')}\W)?{any_of('variance_of')}\s*{_NUMBER}"
    rf"|(?P<standard>{any_of('standard_normal')})",
    re.IGNORECASE,
)
_NAMED_LAW = re.compile(rf"{any_of('independent')}\s+(?:{any_of('drawn_from')}\s+)?(?P<law>{_F})", re.IGNORECASE)
_NORMAL = re.compile(
    rf"(?P<list>{_F})\s+{any_of('is_a')}\s+(?:{any_of('article')}\s+)?{any_of('normally')}(?:\W{{1,2}}\w+){{0,3}}\W{{1,2}}"
    rf"{any_of('mean_of')}\s*{_NUMBER}\W{{1,3}}(?:{any_of('conjunction')}\W)?{any_of('variance_of')}\s*{_NUMBER}",
    re.IGNORECASE,
)
_LET = re.compile(
    rf"\b(?:{any_of('define')}|{any_of('where')}|{any_of('introduced_by')})\s+(?P<list>{_LIST})", re.IGNORECASE
)
_SIZE_IN_LINE = re.compile(
    r"(?:\\mathbb\{?R\}?|ℝ|R)\^\{?([^}]+)\}?|(\w+\s*(?:×|x|\\times)\s*\w+)"
    rf"|{any_of('length_of')}\s+(\w+)$"
)
_INDEPENDENT = re.compile(any_of("independent"), re.IGNORECASE)
_CONJUNCTION = re.compile(rf"\b{any_of('conjunction')}\b", re.IGNORECASE)
_DOTS = ("\\dots", "\\ldots", "\\cdots", "…", "...", ".")
_WORDS = {"zero": "0", "one": "1"}


@dataclass(frozen=True, kw_only=True)
class Description:
    """What words, or a line of a declarations file, say of a symbol; the shape is open where they name no sizes."""

    symbol: Symbol
    kind: Kind | None = None
    shape: tuple[str, str] | None = None
    assume: tuple[Assumption, ...] = ()
    law: AnyLaw | None = None
    why: str = ""
    at: int | None = None


def described(document: Document, formulas: Sequence[Formula], start: int, end: int) -> list[Description]:
    """Everything that the words of a stretch say of symbols."""
    return list(_Reader(document, formulas, start, end).read())


def read_line(name: str, text: str) -> Description | None:
    """A line of a declarations file: X = "n×d matrix", v = "vector of length d", s = "number"."""
    symbol = _symbol(tokenize(name))
    size = _SIZE_IN_LINE.search(text)
    sizes = next(filter(None, size.groups())) if size else ""
    shape = _shape(tokenize(sizes.replace("×", "\\times ").replace(" x ", "\\times "))) if sizes else None
    nouns = [noun for noun in _KINDS if re.search(any_of(noun), text, re.IGNORECASE)]
    kind = _KINDS[nouns[0]] if nouns else None
    if symbol is None or (kind is None and shape is None):
        return None
    return Description(symbol=symbol, kind=kind, shape=shape, assume=_assumed(text), why=f"declared as “{text}”")


class _Reader:
    """Reads the words of a stretch around its formulas, each of which is one character of the shortened text."""

    def __init__(self, document: Document, formulas: Sequence[Formula], start: int, end: int) -> None:
        self.document = document
        self.places: dict[int, Formula] = {}
        self.offsets: list[int] = []
        pieces: list[str] = []
        for formula in (formula for formula in formulas if start <= formula.start < end):
            self._add(document.prose[start : formula.start].replace(PLACEHOLDER, ""), start, pieces)
            self.places[len(self.offsets)] = formula
            self._add(PLACEHOLDER, formula.start, pieces)
            start = max(start, formula.source.span.end)
        self._add(document.prose[start:end], start, pieces)
        self.text = "".join(pieces)

    def _add(self, text: str, offset: int, pieces: list[str]) -> None:
        pieces.append(text)
        self.offsets += range(offset, offset + len(text))

    def read(self) -> Iterator[Description]:
        """What the words say of each symbol, what stands nearest to a noun first."""
        for noun in _NOUN.finditer(self.text):
            yield from self._of_noun(noun)
        for match in _ADJECTIVES.finditer(self.text):
            yield from self._descriptions(match, match["list"], assume=_assumed(match["words"]))
        for match in _SIZED.finditer(self.text):
            shape = self._size(match)
            if shape is not None and shape[1] != "1":
                yield from self._descriptions(match, match["list"], shape=shape)
        yield from self._laws()
        for match in _LET.finditer(self.text):
            yield from self._positive(match)
        for match in _NORMAL.finditer(self.text):
            if (law := self._law(match, 2)) is not None:
                yield from self._descriptions(match, PLACEHOLDER, law=Distribution("normal", (law.mean, law.variance)))

    def _of_noun(self, noun: re.Match[str]) -> Iterator[Description]:
        kind = _KINDS[noun.lastgroup or ""]
        nearby = max(0, noun.start() - _NEARBY), noun.start()
        said = self._said_before(*nearby)
        before = said or _BEFORE.search(self.text, *nearby)
        after = _AFTER.match(self.text, noun.end())
        assert before is not None
        assert after is not None
        shape = None if kind == "number" else self._size(after) or self._size(before)
        is_fitting = shape is None or (kind == "matrix" and shape[1] != "1") or (kind == "column" and shape[1] == "1")
        listed = after if after["list"] else before
        is_part = _GOES_ON.match(self.text, noun.end()) is not None  # a number of keys, a constant vector
        if not is_fitting or not listed["list"] or (is_part and kind == "number"):
            return
        is_restricted = _RESTRICTED.match(self.text, after.end()) is not None
        words = (_PLAIN_WORDS.fullmatch if said else _PLAIN_WORD.search)(before["words"])
        if kind == "number" and _PLAIN.fullmatch(noun[0]) and words and not is_restricted:
            shape = ("1", "1")
        is_many = listed is before or _MANY.search(noun[0]) is not None
        names = listed["list"] if is_many else PLACEHOLDER
        assume = _assumed(f"{before['words']}{noun[0]}")
        yield from self._descriptions(listed, names, kind=kind, shape=shape, assume=assume)

    def _said_before(self, start: int, end: int) -> re.Match[str] | None:
        """The nearest list of symbols that is said to be what stands at the end of a stretch."""
        places = (place for place in range(start, end) if self.text[place] == PLACEHOLDER)
        found = [match for place in places if (match := _SAID.match(self.text, place, end)) is not None]
        return max(found, key=lambda match: (match.end("list"), -match.start()), default=None)

    def _descriptions(self, match: re.Match[str], names: str, **said: Any) -> Iterator[Description]:
        first = match.start("list")
        for place in (first + k for k, letter in enumerate(names) if letter == PLACEHOLDER):
            for symbol in _symbols_of(self.places[place]) if place in self.places else ():
                line = self.document.place(self.offsets[place]).line
                yield Description(symbol=symbol, why=f"the words of line {line}", at=self.offsets[place], **said)

    def _positive(self, match: re.Match[str]) -> Iterator[Description]:
        """The numbers that are let be above zero, let a, b > 0, and that no other relation lets be below it."""
        chains = [chain for formula in self.places.values() for chain in formula.chains]
        below = {_symbol(chain.sides[0]) for chain in chains if _is_at_zero(chain, "<", "≤")}
        for place in range(match.start("list"), match.end("list")):
            chains = self.places[place].chains if place in self.places else ()
            for symbol in (_symbol(chain.sides[0]) for chain in chains if _is_at_zero(chain, ">")):
                if symbol is not None and symbol not in below:
                    line = self.document.place(self.offsets[place]).line
                    why, assume = f"above zero in line {line}", (Assumption.POSITIVE,)
                    at = self.offsets[place]
                    yield Description(symbol=symbol, kind="number", shape=("1", "1"), assume=assume, why=why, at=at)

    def _size(self, match: re.Match[str]) -> tuple[str, str] | None:
        formula = self.places.get(match.start("size")) if match["size"] else None
        if _CONJUNCTION.search(self.text, match.end("size"), match.end()):  # a matrix A and vectors
            return None
        return None if formula is None or formula.chains else _shape(tokens_of(formula))

    # -- laws ----------------------------------------------------------------------------------------------------------
    def _laws(self) -> Iterator[Description]:
        """Symbols whose sentence says that their entries are independent, with a mean and a variance."""
        for match in _LAW.finditer(self.text):
            start = self._sentence(match.start())
            law = self._law(match) if _INDEPENDENT.search(self.text, start, match.end() + _NEARBY) else None
            places = self._naming(start, match.start()) or self._naming(self._sentence(start - 1), start)
            yield from self._with_law(places, law)
        for match in _NAMED_LAW.finditer(self.text):
            yield from self._with_law(self._naming(self._sentence(match.start()), match.start()), self._named(match))

    def _with_law(self, places: Iterable[int], law: AnyLaw | None) -> Iterator[Description]:
        """What the formulas at some places name has this law, if it is one."""
        for place in places if law is not None else ():
            for symbol in _symbols_of(self.places[place]):
                line = self.document.place(self.offsets[place]).line
                yield Description(symbol=symbol, law=law, why=f"the words of line {line}", at=self.offsets[place])

    def _named(self, match: re.Match[str]) -> Distribution | None:
        """The law of plain numbers that a formula after “i.i.d.” spells: N(0, 1/r), but not N(0, I)."""
        formula = self.places.get(match.start("law"))
        try:
            law = parse_law(tokens_of(formula)) if formula is not None and not formula.chains else None
        except NotUnderstood:
            return None
        is_law = isinstance(law, Distribution) and not any(map(_may_be_a_matrix, law.parameters))
        return law if is_law and isinstance(law, Distribution) else None

    def _sentence(self, place: int) -> int:
        """Where the sentence of a place in the text begins."""
        sentence = self.document.sentence_before(self.offsets[max(place, 0)])
        return bisect_left(self.offsets, sentence.start)

    def _naming(self, start: int, end: int) -> list[int]:
        """The formulas of a stretch that name symbols and no more."""
        return [place for place in range(start, end) if place in self.places and any(_symbols_of(self.places[place]))]

    def _law(self, match: re.Match[str], first: int = 1) -> MomentLaw | None:
        """The law of a match, the group of whose mean is the first."""
        if "standard" in match.re.groupindex and match["standard"]:
            return MomentLaw(mean=Number(Fraction(0)), variance=Number(Fraction(1)), is_normal=True)
        try:
            mean, variance = (self._number(match, group, first) for group in (first, first + 1))
        except NotUnderstood:
            return None
        return MomentLaw(mean=mean, variance=variance)

    def _number(self, match: re.Match[str], group: int, first: int) -> Expression:
        text = match[group] or str(group - first)
        if text == PLACEHOLDER:
            formula = self.places.get(match.start(group))
            text = formula.source.text if formula is not None and not formula.chains else ""
        found = parse(tokenize(_WORDS.get(text.lower(), text)))
        if any(isinstance(node, Norm) for node in walk(found)):
            raise NotUnderstood("A variance of entries is a plain number.")
        return found


def _may_be_a_matrix(parameter: Expression) -> bool:
    nodes = list(walk(parameter))
    return any(isinstance(node, Identity) or (isinstance(node, Symbol) and node.name[0].isupper()) for node in nodes)


def _assumed(words: str) -> tuple[Assumption, ...]:
    found = [each for name, each in _ASSUMED.items() if re.search(any_of(name), words, re.IGNORECASE)]
    return tuple(found[:1])


def _is_at_zero(chain: Chain, *signs: str) -> bool:
    """True for x > 0 and the like, with one of some signs."""
    last = [token.text for token in chain.sides[-1]]
    return len(chain.signs) == 1 and chain.signs[0].text in signs and last == ["0"]


def _symbols_of(formula: Formula) -> Iterator[Symbol]:
    """The symbols that a formula lists: x, or W_Q, W_K, or all x_i of x_1, …, x_n; those that it declares with ∈."""
    if formula.chains:
        sides = [chain.sides[0] for chain in formula.chains if chain.signs[0].text == "∈"]
    else:
        tokens = tokens_of(formula)
        if len(tokens) > 1 and (tokens[0].kind, tokens[-1].kind) == ("open", "close"):
            tokens = tokens[1:-1]  # the pairs (u_i, v_i)
        sides = split_outside(tokens, lambda token: token.text == ",")
    if (family := listed_family(sides)) is not None:
        yield family[0]
        return
    for side in sides:
        symbol = _symbol(side)
        if symbol is not None:
            yield symbol


def listed_family(parts: Sequence[Sequence[Token]]) -> tuple[Symbol, Symbol] | None:
    """The x_i and the n of x_1, …, x_n; None for any other list."""
    names = [_symbol(part) for part in parts if not all(token.text in _DOTS for token in part)]
    if len(names) == len(parts) or len(names) < 2:
        return None
    first, last = names[0], names[-1]
    match first, last:
        case Symbol(name, (Number(start),)), Symbol(other, (Symbol() as size,)) if name == other and start == 1:
            return Symbol(name, (Symbol("i"),)), size
    return None


def tokens_of(formula: Formula) -> list[Token]:
    """The tokens of a formula; none if it cannot be read."""
    try:
        return tokenize(formula.source.text)
    except NotUnderstood:
        return []


def _symbol(tokens: Sequence[Token]) -> Symbol | None:
    try:
        found = parse(tuple(tokens)) if tokens else None
    except NotUnderstood:
        return None
    return found if isinstance(found, Symbol) else None


def _shape(tokens: Sequence[Token]) -> tuple[str, str] | None:
    """The shape that d×d, ℝ^d or d spells."""
    parts = split_outside(tokens, lambda token: token.text == "\\times")
    try:
        sizes = [parse(tuple(part)) for part in parts]
    except NotUnderstood:
        return None
    if len(sizes) == 1 and isinstance(sizes[0], SetOf) and sizes[0].domain == "R":
        sizes = list(sizes[0].dimensions)
    is_named = all(isinstance(size, Symbol) or (isinstance(size, Number) and size.places == 0) for size in sizes)
    if not is_named or not 1 <= len(sizes) <= 2:
        return None
    names = [describe(size) for size in sizes]
    return (names[0], names[1]) if len(names) > 1 else (names[0], "1")
