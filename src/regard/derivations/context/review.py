"""The last look at refutations, when the whole document is known: what remains of one if its reading is uncertain."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

from regard.derivations.context.formulas import Formula, JudgedStep, plain
from regard.derivations.context.placing import Placement
from regard.derivations.context.questions import DOCUMENT
from regard.derivations.judging.findings import UNEXPECTED, Finding, Note, NoteKind, OpenBecause, left_open
from regard.derivations.judging.judge import corrected
from regard.derivations.judging.relations import spell
from regard.derivations.judging.scope import CONSTANTS, Scope, UnknownSymbol
from regard.derivations.judging.setting import Assumption
from regard.derivations.judging.values import IllShaped
from regard.derivations.notation.statements import Chain, first_chain
from regard.derivations.notation.syntax import (
    Expression,
    Identity,
    Matrix,
    Number,
    Product,
    Quotient,
    Sum,
    Symbol,
    Transpose,
    describe,
    outer_symbols,
    symbols,
    walk,
)
from regard.derivations.notation.tokens import NotUnderstood, Token
from regard.derivations.problems.problem import Question
from regard.derivations.reading.delimiters import CJK
from regard.derivations.reading.document import Document
from regard.derivations.reading.phrases import any_of, by_language
from regard.derivations.results import Role

# Readings that a refutation may rest on only if the document needs them elsewhere too.
_GUESSES = (
    NoteKind.OTHER_CASE,
    NoteKind.RECOGNITION_SLIP,
    NoteKind.OTHER_QUESTION,
    NoteKind.LIKE_SIBLING,
    NoteKind.SWAPPED_NAME,
    NoteKind.PRIME_AS_TRANSPOSE,
    NoteKind.COUNT_OF_ALL,
)
_SAID = (Role.ASSERTION, Role.GIVEN, Role.DEFINITION, Role.DECLARATION)
_MANY = 3
_CLAIMS = (Role.ASSERTION, Role.DESIGN)
_LOOK_ALIKES = {"alpha": "a", "kappa": "k", "gamma": "v", "nu": "v", "omega": "w", "rho": "p", "chi": "x"}
_GARBLED = re.compile(r"(?<![A-Za-z\\(])[A-Za-z][;!](?=\s)|[A-Za-z]\d[A-Z]|\d>>")
_NOISY = 4
_WORD = re.compile(r"[^\W\d_]{1,30}")
_FEW_WORDS, _COMMON, _FEW = 25, 0.06, 2
_CONTRADICTION = re.compile(rf"[^\n]{{0,200}}(?:\n[^\n]{{1,200}})?{any_of('contradiction')}", re.IGNORECASE)
_SIGMA = "\\sigma"
_UNIT = re.compile(rf"[ \t~(\[]{{0,2}}(?:{any_of('unit')}|%)")


@dataclass(frozen=True, kw_only=True)
class ReviewedStep:
    """A judged step with its formula and place."""

    formula: Formula
    placement: Placement
    step: JudgedStep
    is_in_table: bool = False

    @property
    def is_refuted(self) -> bool:
        """True if the step claims something that comes out false."""
        return self.step.finding.is_false


def reviewed(document: Document, steps: Sequence[ReviewedStep], formulas: Sequence[Formula]) -> list[ReviewedStep]:
    """The steps, with doubtful refutations left open."""
    if not any(item.is_refuted for item in steps):
        return list(steps)
    review = _Review(document=document, steps=steps, formulas=formulas)
    return [review.settled(item) if item.is_refuted else item for item in steps]


@dataclass(frozen=True, kw_only=True)
class _Review:
    """Finds what a refutation depends on that the rest of the document does not make certain."""

    document: Document
    steps: Sequence[ReviewedStep]
    formulas: Sequence[Formula]

    def settled(self, item: ReviewedStep) -> ReviewedStep:
        """A refutation, or an open step if it depends on what is not certain.

        The small change that corrects a claim is looked for last, since it takes longest.
        """
        doubt = self._doubt(item)
        if doubt is None and item.step.role is Role.ASSERTION:
            with suppress(NotUnderstood, UnknownSymbol, IllShaped, *UNEXPECTED):
                item = replace(item, step=replace(item.step, finding=corrected(item.step.finding)))
            is_certain = _is_of_numbers(item) or item.step.finding.is_correctable
            doubt = self._doubt(item) if is_certain else "its symbols mean what they were taken to mean"
        return _left_open(item, doubt)

    def _doubt(self, item: ReviewedStep) -> str | None:
        """What a refutation depends on that is not certain; None if nothing is."""
        question, finding = item.placement.question, item.step.finding
        if self._is_foreign:
            return "the words around it do not change its meaning"
        if (not item.placement.is_sure and _has_symbols(item)) or self._fails_with_others(item):
            return f"this belongs to “{question.title}”" if question is not None else "this stands for itself"
        is_inferred = question is None or question.id == DOCUMENT
        if is_inferred and finding.kind == "ill-shaped":
            return "every symbol has the shape that it was taken to have"
        if _has_unit(self.document, item) and (is_inferred or not _has_symbols(item)):
            return "its numbers are in the same unit"
        if is_inferred and any(isinstance(node, Identity) for side in item.formula.expressions for node in walk(side)):
            return "I is the identity matrix"
        if item.step.role is Role.ASSERTION and _CONTRADICTION.match(self.document.prose, item.formula.source.span.end):
            return "it is no step on the way to a contradiction"
        if item.step.role is Role.DESIGN and self._has_other_answer(item):
            return "it is the answer, and not the other design of the same symbol"
        if item.step.is_conditional and _says_which(item) and self._contradicts_its_neighbours(item):
            return "its condition was read as it is meant"
        if item.is_in_table and not _is_of_numbers(item):
            return "it does not depend on the other cells of its row"
        is_number = question is not None and _is_declared_number(question, "sigma")
        if not is_number and self._has_plain_sigma and any(map(_takes_an_argument, _sides_of(item))):
            return "σ is the sigmoid"
        if question is not None and not is_inferred and (letter := _unexplained_part(item, question)):
            return f"{spell(letter)} was read as it is meant"
        guesses = [note for note in finding.notes if note.kind in _GUESSES and note not in self._established_notes]
        if guesses:
            return str(guesses[0])
        if question is not None and not is_inferred and (letter := self._uncertain_letter(item, question)):
            return f"{spell(letter)} means what it usually means in “{question.title}”"
        names = (*_GUESSES, NoteKind.ALIAS)
        is_exact = item.step.role is Role.DESIGN and not any(note.kind in names for note in finding.notes)
        if self._is_noisy and not is_exact:
            return "no letter was misread; this text seems to come from text recognition"
        return None

    @cached_property
    def _is_foreign(self) -> bool:
        return is_foreign(self.document.prose)

    @cached_property
    def _is_noisy(self) -> bool:
        """True if the text shows the marks of text recognition."""
        return _num_look_alikes(self.formulas) + len(_GARBLED.findall(self.document.prose)) >= _NOISY

    @cached_property
    def _has_plain_sigma(self) -> bool:
        """True if σ also stands for something that takes no argument: e^σ."""
        sides = [side for formula in self.formulas for chain in formula.chains for side in chain.sides]
        return any(_SIGMA in {token.text for token in side} and not _takes_an_argument(side) for side in sides)

    @cached_property
    def _established_notes(self) -> set[Note]:
        return {note for item in self.steps if item.step.finding.is_true for note in item.step.finding.notes}

    def _fails_with_others(self, item: ReviewedStep) -> bool:
        """True if around a claim about symbols more fails than holds, so that the place may be another one.

        Under a heading of its own a design stays, and so do claims unless they fail in many sentences.
        """
        question, is_marked = item.placement.question, bool(item.placement.region.questions)
        if question is None or question.id == DOCUMENT or item.step.role not in _CLAIMS or _is_of_numbers(item):
            return False
        failed, num_true = self._outcomes[_place_of(item)]
        num_sentences = len({other.formula.sentence for other in failed})
        is_settled = is_marked and (num_sentences < _MANY or item.step.role is Role.DESIGN)
        return len(failed) > num_true - is_marked and not is_settled

    @cached_property
    def _outcomes(self) -> dict[tuple[int, str], tuple[list[ReviewedStep], int]]:
        """The claims about symbols that fail at each place, and how many hold."""
        claims = [item for item in self.steps if item.step.role in _CLAIMS and not _is_of_numbers(item)]
        false: dict[tuple[int, str], list[ReviewedStep]] = {}
        for item in (item for item in claims if item.is_refuted):
            false.setdefault(_place_of(item), []).append(item)
        true = Counter(_place_of(item) for item in claims if item.step.finding.is_true)
        return {place: (items, true[place]) for place, items in false.items()}

    def _has_other_answer(self, item: ReviewedStep) -> bool:
        """True if the same symbol gets a design that reaches the goal later, or had one before a question."""
        own, place = _chain_of(item), self.steps.index(item)
        before = self.document.prose[item.formula.paragraph : item.formula.start]
        for other in self.steps if "?" in before or "？" in before else self.steps[place + 1 :]:
            is_design = other.step.role is Role.DESIGN and other.placement.question is item.placement.question
            chain = _chain_of(other) if is_design and other.step.finding.is_true else None
            if chain is not None and own is not None and plain(chain.sides[0]) == plain(own.sides[0]):
                return True
        return False

    def _contradicts_its_neighbours(self, item: ReviewedStep) -> bool:
        """True if other claims of the paragraph hold under their conditions: a slip swaps all of them."""
        paragraph = item.formula.paragraph
        return any(
            other.step.is_conditional and other.step.finding.is_true and other.step.role is Role.ASSERTION
            for other in self.steps
            if other.formula.paragraph == paragraph
        )

    # -- letters -----------------------------------------------------------------------------------------------------
    def _uncertain_letter(self, item: ReviewedStep, question: Question) -> str | None:
        """A letter that is neither the assignment's own nor used in anything that holds."""
        scope = Scope(setting=question.setting)
        for symbol in _symbols_of(item):
            found = scope.lookup(symbol)
            is_renamed = found is not None and symbol.name[0].lower() != found.meaning.name[0].lower()
            is_usual = found is not None and (is_renamed or Assumption.USUAL in found.meaning.assume)
            is_known = _letter(symbol) in self._established_letters and not self._is_defined_later(symbol, item)
            if is_usual and not is_known:
                return describe(symbol)
        return None

    def _is_defined_later(self, symbol: Symbol, item: ReviewedStep) -> bool:
        """True for the V of c = Vα with V = [v_1, …, v_n], which is the author's own."""
        definitions = (other for other in self.steps if other.step.role is Role.DEFINITION)
        chains = (_chain_of(other) for other in definitions if _place_in_text(other) > _place_in_text(item))
        return any(chain is not None and plain(chain.sides[0]) == symbol for chain in chains)

    @cached_property
    def _established_letters(self) -> set[tuple[str, bool]]:
        """The letters of designs, and of one side of what is said and holds: on both sides they may mean anything."""
        found: set[tuple[str, bool]] = set()
        for item in self.steps:
            if item.step.role is Role.DESIGN:
                found |= set(map(_letter, _symbols_of(item)))
            elif item.step.finding.is_true and item.step.role in _SAID and (stated := item.step.stated) is not None:
                left, right = (plain(side) for side in (stated.left, stated.right))
                found |= _letters_in(left) ^ _letters_in(right)
        return found


def _place_in_text(item: ReviewedStep) -> tuple[int, int]:
    return item.formula.start, item.step.sign_start


def _place_of(item: ReviewedStep) -> tuple[int, str]:
    question = item.placement.question
    return item.placement.region.start, question.id if question is not None else ""


def _says_which(item: ReviewedStep) -> bool:
    """True for a claim that says which value comes out, or which weight is 0 or 1: c ≈ v_a, α_a → 1."""
    chain = _chain_of(item)
    if item.step.role is not Role.ASSERTION or chain is None or chain.signs[0].text not in ("≈", "→", "="):
        return False
    left, right = plain(chain.sides[0]), plain(chain.sides[1])
    is_extreme = isinstance(right, Number) and right.value in (0, 1)
    return isinstance(left, Symbol) and (isinstance(right, Symbol) or is_extreme)


def _sides_of(item: ReviewedStep) -> tuple[tuple[Token, ...], ...]:
    chain = _chain_of(item)
    return chain.sides if chain is not None else ()


def _is_declared_number(question: Question, name: str) -> bool:
    """True for a letter that a question itself declares as a number."""
    meaning = question.setting.symbols.get(name)
    return meaning is not None and meaning.is_number and Assumption.USUAL not in meaning.assume


def _takes_an_argument(side: tuple[Token, ...]) -> bool:
    """True for σ(x)."""
    return any(token.text == _SIGMA and after.kind == "open" and after.text == ")" for token, after in pairwise(side))


def _unexplained_part(item: ReviewedStep, question: Question) -> str | None:
    """A symbol whose subscript is computed (from 0 or from 1?), or that is transposed and explained by nobody."""
    scope = Scope(setting=question.setting)
    for node in (node for side in map(plain, _sides_of(item)) if side is not None for node in walk(side)):
        inner = node.body if isinstance(node, Transpose) else node
        if not isinstance(inner, Symbol):
            continue
        parts = (part for part in inner.subscripts if isinstance(part, Sum | Product | Quotient))
        is_argument = inner.name in question.setting.functions  # the s − t of R_{s − t}, which counts from nowhere
        is_open = any(symbol.name not in question.setting.fixed for part in parts for symbol in symbols(part))
        is_computed = is_open and not is_argument and inner not in _asked_symbols(question)
        is_known = (
            inner.name in question.setting.functions or scope.lookup(inner) is not None or _is_defined(inner, item)
        )
        if is_computed or (inner is not node and not is_known):
            return describe(inner)
    return None


def _is_defined(symbol: Symbol, item: ReviewedStep) -> bool:
    """True if the author has said by a formula what a symbol is."""
    found = item.step.stated.scope.lookup(symbol) if item.step.stated is not None else None
    return found is not None and found.meaning.formula is not None


def _asked_symbols(question: Question) -> set[Symbol]:
    """The symbols of what a question gives and asks for: the m_{i-1} of its own recurrence begins where it says."""
    relations = (*question.given, *(relation for step in question.required_steps for relation in step.any_of))
    sides = (plain(side) for relation in relations for side in first_chain(relation).sides)
    return {symbol for side in sides if side is not None for symbol in symbols(side)}


def _symbols_of(item: ReviewedStep) -> Iterator[Symbol]:
    """The symbols of the chain that a step belongs to, without those that only stand in subscripts."""
    chain = _chain_of(item)
    for side in map(plain, chain.sides if chain is not None else ()):
        yield from outer_symbols(side) if side is not None else ()


def _letters_in(side: Expression | None) -> set[tuple[str, bool]]:
    return set(map(_letter, outer_symbols(side))) if side is not None else set()


def _letter(symbol: Symbol) -> tuple[str, bool]:
    return symbol.name, bool(symbol.subscripts)


def _chain_of(item: ReviewedStep) -> Chain | None:
    place = item.step.sign_start
    return next((chain for chain in item.formula.chains if chain.start <= place <= chain.end), None)


def is_foreign(prose: str) -> bool:
    """True if the words of a document are in a language whose conditions and denials are not read."""
    found = _WORD.findall(prose.lower())
    counts = Counter(found)
    if len(found) < _FEW_WORDS or len(counts) < _FEW_WORDS // 2 or CJK.search(prose):
        return False
    spoken = [
        sum(counts[word] for word in common) >= _COMMON * len(found) and sum(word in counts for word in common) > _FEW
        for common in by_language("common").values()
    ]
    return not any(spoken)


def _has_unit(document: Document, item: ReviewedStep) -> bool:
    """True if a unit stands in a formula or right after it: 7 · 8 = 56 GB."""
    span, chain = item.formula.source.span, _chain_of(item)
    last = plain(chain.sides[-1]) if chain is not None else None
    if last is None or any(isinstance(node, Symbol | Matrix) for node in walk(last)):
        return False
    return _UNIT.match(document.text, span.end) is not None or "\\text" in span.source or "\\mathrm" in span.source


def _is_of_numbers(item: ReviewedStep) -> bool:
    """True for a step between plain numbers, which need no reading: 100² · 0.5 = 500."""
    chain = _chain_of(item)
    if chain is None:
        return False
    place = next((k for k, sign in enumerate(chain.signs) if sign.start == item.step.sign_start), 0)
    sides = [plain(side) for side in chain.sides[place : place + 2]]
    return all(side is not None and all(symbol.name in CONSTANTS for symbol in symbols(side)) for side in sides)


def _has_symbols(item: ReviewedStep) -> bool:
    """True unless a step is about plain numbers, which mean the same everywhere."""
    sides = [plain(side) for chain in item.formula.chains for side in chain.sides]
    return any(side is None or any(symbol.name not in CONSTANTS for symbol in symbols(side)) for side in sides)


def _num_look_alikes(formulas: Sequence[Formula]) -> int:
    """How many symbols a document spells with different letters that look alike, as text recognition does."""
    spelt: dict[tuple[str, str], set[str]] = {}
    for expression in (side for formula in formulas for side in formula.expressions):
        for symbol in symbols(expression):
            name, script = symbol.name, describe(symbol.subscripts[0]) if len(symbol.subscripts) == 1 else ""
            if script:
                spelt.setdefault((_glyph(name), _glyph(script)), set()).add(f"{name}_{script}")
    return sum(len(names) > 1 for names in spelt.values())


def _glyph(name: str) -> str:
    return _LOOK_ALIKES.get(name, name.lower() if len(name) == 1 else name)


def _left_open(item: ReviewedStep, doubt: str | None) -> ReviewedStep:
    if doubt is None:
        return item
    return replace(item, step=replace(item.step, finding=doubtful(item.step.finding, doubt)))


def doubtful(finding: Finding, doubt: str) -> Finding:
    """A failure that is not certain: what it depends on, and what shows it."""
    shown = f" ({finding.counterexample})" if finding.counterexample else ""
    reason = f"Looks wrong if {doubt}{shown}"
    return left_open(OpenBecause.DOUBTFUL, reason, finding.notes)
