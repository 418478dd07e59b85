"""The formulas of a document: read into chains of relations, each with the sentence that it stands in."""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import pairwise

from regard.core.errors import InputError
from regard.derivations.context.clauses import END_OF_DISPLAY, Part
from regard.derivations.judging.findings import Finding
from regard.derivations.judging.scope import Scope
from regard.derivations.judging.setting import Setting
from regard.derivations.notation.parser import parse
from regard.derivations.notation.statements import Chain, read_chains
from regard.derivations.notation.syntax import Condition, Expression, Number, Quotient
from regard.derivations.notation.tokens import NotUnderstood, Token, tokenize
from regard.derivations.reading.document import Document, MathSpan
from regard.derivations.reading.latex import expand
from regard.derivations.reading.phrases import any_of
from regard.derivations.reading.plain_text import plain_text_as_latex
from regard.derivations.results import Role

_ON_INDICES = ("≠", "∉", "∈", "=", "<", ">")
_FOLLOWING = 60
_LONGEST_WORDS = 600  # beside a formula, what is farther away says nothing about it
_LONGEST_LINK = 30
_SPOKEN_LINK = re.compile(rf"[\s,]*{any_of('assigned_to')}\s*", re.IGNORECASE)
_SPOKEN_VERB = re.compile(rf"{any_of('define')}[\s\w]{{0,12}}$|{any_of('conjunction')}\s*$", re.IGNORECASE)
_PASSAGE = 1200
_LARGEST_PARAMETER = 10**12


# -- formulas ----------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, kw_only=True)
class FormulaSource:
    """A formula's LaTeX, macros put in, and the way back to the document's text."""

    text: str
    span: MathSpan
    offsets: tuple[int, ...] | None = None

    def raw_offset(self, offset: int) -> int:
        """The offset in the document of a character of the formula."""
        if not self.text or not self.span.source:
            return self.span.start
        inside = min(max(offset, 0), len(self.text) - 1)
        origin = inside if self.offsets is None else self.offsets[inside]
        return self.span.raw_offset(min(origin, len(self.span.source) - 1))


@dataclass(frozen=True, kw_only=True, eq=False)
class Formula:
    """A formula read into chains, or why it cannot be, and where its sentence and that one's paragraph begin."""

    source: FormulaSource
    sentence: int
    paragraph: int
    chains: tuple[Chain, ...] = ()
    error: NotUnderstood | None = None

    @property
    def start(self) -> int:
        """Where the formula begins in the document's text."""
        return self.source.span.start

    @cached_property
    def expressions(self) -> list[Expression]:
        """The sides of its chains that can be read."""
        return expressions_in(self.chains)


def read_formulas(document: Document) -> list[Formula]:
    """Every formula of a document."""
    return _with_spoken(document, list(_joined_cells(document, [_read(document, span) for span in document.spans])))


def _read(document: Document, span: MathSpan) -> Formula:
    sentence = document.sentence_before(span.start).start
    read = Formula(
        source=FormulaSource(text=span.source, span=span),
        sentence=sentence,
        paragraph=document.paragraph_start(sentence),
    )
    try:
        read = replace(read, source=_expanded(document, span))
        return replace(read, chains=tuple(read_chains(read.source.text)))
    except NotUnderstood as error:
        return replace(read, error=error)
    except InputError as error:
        return replace(read, error=NotUnderstood(str(error)))


def _expanded(document: Document, span: MathSpan) -> FormulaSource:
    """The formula with the document's macros put in; refused if they run away or lack arguments."""
    if span.is_plain_text:
        written = plain_text_as_latex(span.source)
        return FormulaSource(text=written.source, span=span, offsets=written.offsets)
    if not document.macros:
        return FormulaSource(text=span.source, span=span)
    expansion = expand(span.source, document.macros)
    return FormulaSource(text=expansion.source, span=span, offsets=expansion.offsets)


def _joined_cells(document: Document, formulas: Sequence[Formula]) -> Iterator[Formula]:
    """In a table row | α_a | → ½ | a relation continues the first cell without one, in its row or column.

    A cell that is a number is a value for the row, not what is claimed of it.
    """
    rows: dict[int, FormulaSource] = {}
    columns: dict[int, FormulaSource] = {}
    last_row = -1
    for read in formulas:
        line = document.line_at(read.start)
        if not line.text.lstrip("> ").startswith("|"):
            yield read
            continue
        if line.number > last_row + 2:
            columns.clear()
        last_row, column = line.number, line.text.count("|", 0, read.start - line.start)
        is_value = all(token.kind == "number" or token.text == "-" for token in tokenize(read.source.text))
        if not read.chains and read.error is None and not is_value:
            rows.setdefault(line.number, read.source)
            columns.setdefault(column, read.source)
        goes_on = bool(read.chains) and not read.chains[0].sides[0]
        head = rows.get(line.number) or columns.get(column)
        if goes_on and head is not None:
            left = tuple(tokenize(head.text))
            first = replace(read.chains[0], sides=(left, *read.chains[0].sides[1:]), is_moved=True)
            yield replace(read, chains=(first, *read.chains[1:]))
        else:
            yield read


def _with_spoken(document: Document, formulas: list[Formula]) -> list[Formula]:
    """The formulas with what is only said in words: set q to β k_a, where two formulas stand for one relation."""
    found = list(formulas)
    for place, (first, second) in enumerate(pairwise(formulas)):
        between = document.prose[first.source.span.end : second.start]
        if first.chains or second.chains or len(between) > _LONGEST_LINK or not _SPOKEN_LINK.fullmatch(between):
            continue
        if "\\times" in second.source.text:  # let W be d×d says how large W is
            continue
        before = document.prose[max(first.sentence, first.start - _LONGEST_LINK) : first.start]
        if _SPOKEN_VERB.search(before) and first.error is None and second.error is None:
            left, right = tuple(tokenize(first.source.text)), tuple(tokenize(second.source.text))
            sign = Token("relation", "=", 0, 0)
            if left and right:
                spoken = Chain(sides=(left, right), signs=(sign,), is_moved=True, is_spoken=True)
                found[place + 1] = replace(second, chains=(spoken,))
    return found


# -- sentences ---------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, kw_only=True, eq=False)
class Sentence:
    """The formulas of a sentence and its words between them, led by the sentence that opens its list.

    `first_chain` is the place of each formula's first relation, by the formula's identity. `passage` is the prose of
    the paragraph as far as the sentence's end, `earlier` the chains before it in the paragraph, `following` the
    beginning of the next sentence.
    """

    parts: tuple[Part, ...]
    first_chain: Mapping[int, int]
    passage: str
    earlier: tuple[Chain, ...]
    following: str

    @cached_property
    def words(self) -> str:
        """The words of the sentence, without its relations."""
        return "".join(part for part in self.parts if isinstance(part, str))

    @cached_property
    def chains(self) -> tuple[Chain, ...]:
        """The relations of the sentence."""
        return tuple(part for part in self.parts if isinstance(part, Chain))


def read_sentences(document: Document, formulas: Sequence[Formula]) -> dict[int, Sentence]:
    """The sentences that hold formulas, by where they begin."""
    members: dict[int, list[Formula]] = {}
    paragraphs: dict[int, list[Formula]] = {}
    for formula in formulas:
        members.setdefault(formula.sentence, []).append(formula)
        paragraphs.setdefault(formula.paragraph, []).append(formula)
    found = {}
    for start, own in members.items():
        lead = document.lead_in(start)
        leading = [] if lead is None else [other for other in members.get(lead.start, ()) if other.start < lead.end]
        lead_parts = [] if lead is None else _parts(document, lead.start, lead.end, leading)
        nearby = paragraphs[own[0].paragraph]
        place = bisect_left(nearby, start, key=lambda other: other.sentence)
        end = document.sentence_after(own[-1].start).end
        found[start] = Sentence(
            parts=tuple(_joined([*lead_parts, *_parts(document, start, end, own)])),
            first_chain=_first_chains(leading, own),
            passage=document.prose[own[0].paragraph : end][-_PASSAGE:],
            earlier=tuple(chain for other in nearby[max(place - 20, 0) : place] for chain in other.chains),
            following=document.prose[end : end + _FOLLOWING],
        )
    return found


def _first_chains(leading: Sequence[Formula], own: Sequence[Formula]) -> dict[int, int]:
    places, place = {}, sum(len(other.chains) for other in leading)
    for formula in own:
        places[id(formula)] = place
        place += len(formula.chains)
    return places


def _parts(document: Document, start: int, end: int, formulas: Sequence[Formula]) -> Iterator[Part]:
    """The words and relations of a stretch; a formula that relates nothing counts as a word."""
    for formula in formulas:
        span = formula.source.span
        yield document.prose[max(start, span.start - _LONGEST_WORDS) : span.start]
        start = span.end
        if not formula.chains:
            yield f" {span.source} "
        for number, chain in enumerate(formula.chains):
            yield chain.before[-_LONGEST_WORDS:]
            yield chain
            yield _separator(formula, number)
        if span.is_display:
            yield END_OF_DISPLAY
    yield document.prose[start : min(end, start + _LONGEST_WORDS)]


def _separator(formula: Formula, number: int) -> str:
    """What separates a chain from the next one: a new line or a semicolon, a comma or a wide space, or nothing."""
    after = formula.chains[number + 1 : number + 2]
    between = formula.source.text[formula.chains[number].end : after[0].start] if after else ""
    if ";" in between or "\\\\" in between:
        return "; "
    return ", " if "," in between or "\\qquad" in between else " "


def _joined(pieces: Iterable[Part]) -> list[Part]:
    """The parts with neighbouring words joined."""
    joined: list[Part] = []
    for piece in pieces:
        last = joined[-1] if joined else None
        if isinstance(piece, str) and isinstance(last, str):
            joined[-1] = last + piece
        else:
            joined.append(piece)
    return joined


# -- steps -------------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, kw_only=True, eq=False)
class StatedRelation:
    """Both sides of a step, the left one from the line above where a chain goes on, and what names mean there."""

    left: tuple[Token, ...]
    sign: str
    right: tuple[Token, ...]
    scope: Scope


@dataclass(frozen=True, kw_only=True)
class JudgedStep:
    """A step, its role, and what was found; offsets are those of the formula's source.

    `is_spoken` says that no sign is written: it changes what names mean, and is no step to be shown.
    `is_conditional` says that its clause has a condition, `is_tentative` that its clause asserts nothing,
    `is_introduced` that the words before it define something. `stated` is None for a relation that could not be read.
    """

    role: Role
    finding: Finding
    start: int
    end: int
    sign_start: int
    is_spoken: bool = False
    is_conditional: bool = False
    is_tentative: bool = False
    is_introduced: bool = False
    stated: StatedRelation | None = field(default=None, compare=False, repr=False)


def step_at(chain: Chain, place: int, role: Role, finding: Finding) -> JudgedStep:
    """The step at the chain's relation sign of that place, counted from zero; the first one begins with the chain."""
    sign, right = chain.signs[place], chain.sides[place + 1]
    return JudgedStep(
        role=role,
        finding=finding,
        start=chain.start if place == 0 and not chain.is_moved else sign.start,
        end=right[-1].end if right else sign.end,
        sign_start=sign.start,
        is_spoken=chain.is_spoken,
    )


@lru_cache(maxsize=8192)
def plain(side: tuple[Token, ...]) -> Expression | None:
    """A side read without knowing what its letters mean; None if it cannot be read."""
    try:
        return parse(side)
    except NotUnderstood:
        return None


def expressions_in(chains: Iterable[Chain]) -> list[Expression]:
    """The sides of chains that can be read."""
    sides = (plain(side) for chain in chains for side in chain.sides)
    return [side for side in sides if side is not None]


def members(tokens: Sequence[Token]) -> tuple[Expression, ...]:
    """The expressions of a list, cut at its separators: the a and b of i ≠ a, b."""
    pieces: list[list[Token]] = [[]]
    depth = 0
    for token in tokens:
        depth += (token.kind == "open") - (token.kind == "close")
        if token.kind == "separator" and depth == 0:
            pieces.append([])
        else:
            pieces[-1].append(token)
    return tuple(parse(piece) for piece in pieces if piece)


def index_conditions(chains: Iterable[Chain], setting: Setting) -> tuple[Condition, ...]:
    """The relations among chains that are conditions on free indices: i ≠ a, b."""
    found = []
    for chain in (chain for chain in chains if not chain.is_case):
        for left, sign, right in zip(chain.sides, chain.signs, chain.sides[1:], strict=False):
            is_index = len(left) == 1 and left[0].text in setting.free
            if not is_index or sign.text not in _ON_INDICES:
                continue
            try:
                found.append(Condition(parse(left), sign.text, members(right)))
            except NotUnderstood:
                continue
    return tuple(found)


def normal_law(tokens: Sequence[Token]) -> tuple[Fraction, Fraction] | None:
    """Mean and variance of N(1, ½), where both are plain numbers."""
    place = next((k for k, token in enumerate(tokens) if token.text == "N"), None)
    if place is None or len(tokens) < place + 5 or tokens[place + 1].kind != "open":
        return None
    try:
        mean, variance = (_rational(part) for part in members(tokens[place + 2 : -1]))
    except (NotUnderstood, ValueError, ZeroDivisionError):
        return None
    return (mean, variance) if max(abs(mean), abs(variance)) < _LARGEST_PARAMETER else None


def _rational(node: Expression) -> Fraction:
    if isinstance(node, Number):
        return node.value
    if isinstance(node, Quotient):
        return _rational(node.top) / _rational(node.bottom)
    raise ValueError("not a plain number")
