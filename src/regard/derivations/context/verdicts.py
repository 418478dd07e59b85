"""Findings turned into verdicts, with their places in the document; yes and no answers found in its prose."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from regard.core.verdict import Status
from regard.derivations.context.formulas import JudgedStep
from regard.derivations.context.placing import Region, answers_to, region_at
from regard.derivations.context.review import ReviewedStep
from regard.derivations.judging.findings import NoteKind, OpenBecause
from regard.derivations.problems.problem import Choice, Problem, Question
from regard.derivations.reading.document import Document
from regard.derivations.reading.phrases import any_of
from regard.derivations.results import Role, StepVerdict

StepOutcome = Literal[
    "holds",
    "holds in the limit",
    "≈ is meant",
    "holds with probability",
    "given",
    "definition",
    "refuted",
    "ill-shaped",
    "not understood",
    "supposition",
    "after_slip",
    "doubtful",
    "ignored",
    "depends_on_unread",
    "true with a probability",
    "right choice",
    "wrong choice",
    "both choices",
]
_LONGEST_ANSWER = 4000
_UNCLOSED = re.compile(r"\$\$?|\\")
_TO_THE_END = re.compile(r"[^\r\n]{0,400}(?:\r?\n[^\S\r\n]*[^\s][^\r\n]{0,400}){0,3}")
_RELATION = re.compile(r"[=<>≈≤≥∝∼→]|\\(?:approx|leq?|geq?|to|sim|gg|ll|propto|equiv|neq?|rightarrow)(?![A-Za-z])")
_STATUS: dict[str, Status] = {
    "true": "holds",
    "approximate": "holds",
    "false": "refuted",
    "ill-shaped": "refuted",
    "unknown": "undecided",
    "not understood": "undecided",
}
_OPEN: dict[OpenBecause | None, StepOutcome] = {
    OpenBecause.AFTER_SLIP: "after_slip",
    OpenBecause.DOUBTFUL: "doubtful",
    OpenBecause.DEPENDS_ON_UNREAD: "depends_on_unread",
    OpenBecause.UNDER_CONDITION: "supposition",
}
_OPENING = re.compile(
    r"[\s*_>#.:：\-–—\ufffc()（）]*(?:\(?(?:[ivx]+|\d)[.)]\s*)?"
    rf"(?:(?:{any_of('own')}\s*)?{any_of('answer')}|a(?=[:：]))?[\s*_.:：]*",
    re.IGNORECASE,
)
_NEGATED = re.compile(rf"{any_of('negation')}[^.?!。？！]*$", re.IGNORECASE)
_ASKED = re.compile(r"[^.?!。？！\n]{4,160}[?？]")
_SENTENCE_START = re.compile(r"(?<=[.?!。？！\n])\s*")
_JOINED = re.compile(rf"[\s,，]*(?:{any_of('conjunction')}|{any_of('or')}|/)\s*", re.IGNORECASE)
_LISTED = re.compile(r"\s*[,，;；、]\s*")
_FIRST_WORD = re.compile(r"(?:\\text\w+\{[^{}]{0,40}\}\s*)?[*_]{0,3}(?P<word>[^\W\d_]{2,20})[\s,]\s*")
_NO_ANSWER = re.compile(rf"{any_of('condition')}|{any_of('negation')}", re.IGNORECASE)
_NEXT_WORD = re.compile(r"\s+(?=[^\W\d_])")
_AFTER_NO = re.compile(any_of("after_no"), re.IGNORECASE)
_PLAIN_ANSWER = re.compile(rf"(?<=[ ,;]){any_of('yes_or_no')}", re.IGNORECASE)
_WORD_ALONE = re.compile(r"\s*(?:[.,;:!。，；：！]|$)")


# -- the words of a choice ---------------------------------------------------------------------------------------------
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e-?\d+)?(?![\w.]*\w)")


@dataclass(frozen=True, kw_only=True)
class FoundChoice:
    """The answer that was given, the words that give it, and where they stand in the prose.

    `is_contradicted` says that the other answer is given too, `is_qualified` that a word before it may weaken it.
    """

    answer: str
    words: str
    offset: int
    is_contradicted: bool = False
    is_qualified: bool = False


def find_choice(prose: str, choice: Choice) -> FoundChoice | None:
    """The choice that a passage makes: by its first word, by the second one of a sentence (so no, …), else by a phrase.

    >>> find_choice("No. The codes differ.", Choice(answer="no", yes=("yes",), no=("no",))).answer
    'no'
    """
    prose = _ASKED.sub(lambda asked: " " * len(asked.group()), prose)
    begin = _behind_opening(prose, 0)
    first = _longest(prose, begin, choice, is_opening=True)
    if first is not None:
        is_qualified = first.words.lower() == "no" and not _is_whole(prose, first)
        return replace(first, is_contradicted=_is_contradicted(prose, first, choice), is_qualified=is_qualified)
    for start in (begin, *(found.end() for found in _SENTENCE_START.finditer(prose, begin))):
        word = _FIRST_WORD.match(prose, start)
        second = None if word is None else _longest(prose, word.end(), choice, is_opening=True)
        if (
            word is not None
            and second is not None
            and _stands_alone(prose, second)
            and not _NO_ANSWER.match(word["word"])
        ):
            return replace(second, is_contradicted=_is_contradicted(prose, second, choice), is_qualified=True)
    stated = (_longest(prose, offset, choice, is_opening=False) for offset in range(begin, len(prose)))
    found = [each for each in stated if each is not None]
    is_clear = len({each.answer for each in found}) == 1
    return found[0] if is_clear and not _NEGATED.search(prose[max(0, found[0].offset - 40) : found[0].offset]) else None


def _is_contradicted(prose: str, first: FoundChoice, choice: Choice) -> bool:
    """True if the other answer is joined to the first one, or stands alone after it or in a later sentence.

    A plain yes or no that stands alone contradicts anywhere: no, unless they can, in which case yes.
    """
    end = first.offset + len(first.words)
    joined, listed = _JOINED.match(prose, end), _LISTED.match(prose, end)
    places = [(joined.end(), False)] if joined is not None else []
    places += [(listed.end(), True)] if listed is not None else []
    places += [(found.end(), True) for found in _SENTENCE_START.finditer(prose, end)]
    places += [(found.start(), True) for found in _PLAIN_ANSWER.finditer(prose, end)]
    for place, is_alone in places:
        other = _longest(prose, place, choice, is_opening=True)
        if other is not None and other.answer != first.answer and (not is_alone or _stands_alone(prose, other)):
            return True
    return False


def _is_whole(prose: str, found: FoundChoice) -> bool:
    """False for a no that belongs to the next word: no two positions coincide."""
    space = _NEXT_WORD.match(prose, found.offset + len(found.words))
    return space is None or _AFTER_NO.match(prose, space.end()) is not None


def _stands_alone(prose: str, found: FoundChoice) -> bool:
    return _WORD_ALONE.match(prose, found.offset + len(found.words)) is not None


def find_option(prose: str, choice: Choice) -> FoundChoice | None:
    """The one option whose phrases a passage uses; contradicted if it uses those of several.

    >>> options = {"A": ("the first",), "B": ("the second",)}
    >>> find_option("It is the second.", Choice(answer="B", options=options)).answer
    'B'
    """
    found = [
        FoundChoice(answer=name, words=match.group(), offset=match.start())
        for name, phrases in choice.options.items()
        if (match := re.search("|".join(rf"(?<!\w){re.escape(each)}(?!\w)" for each in phrases), prose, re.IGNORECASE))
    ]
    return replace(found[0], is_contradicted=len(found) > 1) if found else None


def find_number(text: str, choice: Choice) -> FoundChoice | None:
    """The number that a passage gives; among several, the right one if it is there, else the last, which is unsure.

    >>> find_number("It is 0.73.", Choice(value=0.729, tolerance=0.01)).answer
    ''
    """
    assert choice.value is not None
    numbers = list(_NUMBER.finditer(text))
    allowed = choice.tolerance * abs(choice.value)
    right = next((match for match in numbers if abs(float(match.group()) - choice.value) <= allowed), None)
    match = right or (numbers[-1] if numbers else None)
    if match is None:
        return None
    answer = choice.answer if right is not None else match.group()
    is_qualified = right is None and len(numbers) > 1
    return FoundChoice(answer=answer, words=match.group(), offset=match.start(), is_qualified=is_qualified)


def find_choice_by_cue(prose: str, choice: Choice) -> FoundChoice | None:
    """The answer that follows a question in running prose, if the question uses one of the choice's cues.

    >>> find_choice_by_cue("Can two codes coincide? No.", Choice(answer="no", no=("no",), cues=("coincide",))).words
    'No'
    """
    lowered = prose.lower()
    if not any(cue in lowered for cue in choice.cues):
        return None
    for asked in _ASKED.finditer(prose):
        if any(cue in asked.group().lower() for cue in choice.cues):
            found = _longest(prose, _behind_opening(prose, asked.end()), choice, is_opening=True)
            if found is not None:
                return found
    return None


def _behind_opening(prose: str, offset: int) -> int:
    """Where the words of an answer begin: behind marks, a number and the word `answer` itself."""
    opening = _OPENING.match(prose, offset)
    return offset if opening is None else opening.end()


def _longest(prose: str, offset: int, choice: Choice, *, is_opening: bool) -> FoundChoice | None:
    """The longest phrase of either side that begins here; short words count only at the opening."""
    found = []
    for answer, phrases in (("yes", choice.yes), ("no", choice.no)):
        for phrase in phrases:
            is_long = len(phrase) >= (3 if not phrase.isascii() else 5)
            if (is_opening or is_long) and _stands_at(prose, offset, phrase):
                found.append(FoundChoice(answer=answer, words=prose[offset : offset + len(phrase)], offset=offset))
    return max(found, key=lambda item: len(item.words), default=None)


def _stands_at(prose: str, offset: int, phrase: str) -> bool:
    """True if the phrase begins here and, in an alphabet, no letter touches it."""
    end = offset + len(phrase)
    if prose[offset:end].lower() != phrase:
        return False
    if not phrase.isascii():
        return True
    before, after = prose[offset - 1 : offset], prose[end : end + 1]
    return not (before.isascii() and before.isalpha()) and not (after.isascii() and after.isalpha())


# -- verdicts ----------------------------------------------------------------------------------------------------------
def numbered(verdicts: Iterable[StepVerdict]) -> tuple[StepVerdict, ...]:
    """The verdicts in reading order, counted question by question."""
    found: list[StepVerdict] = []
    counter: Counter[str] = Counter()
    for verdict in sorted(verdicts, key=lambda verdict: verdict.span[0]):
        question = verdict.question or "?"
        counter[question] += 1
        found.append(replace(verdict, id=f"{question}/{counter[question]}"))
    return tuple(found)


# -- formulas ----------------------------------------------------------------------------------------------------------
def formula_step(document: Document, item: ReviewedStep) -> StepVerdict:
    """The verdict on a step of a formula; it points to the relation sign."""
    step, question = item.step, item.placement.question
    finding, source = step.finding, item.formula.source
    status = _STATUS[finding.kind]
    start, stop = source.raw_offset(step.start), source.raw_offset(step.end - 1) + 1
    text = document.text[start:stop] if source.span.is_plain_text else source.text[step.start : step.end]
    return StepVerdict(
        id="",
        statement=" ".join(text.split()),
        status=status,
        outcome=_outcome(step, status),
        method=finding.method or "recognised",
        reason=finding.reason or None,
        notes=tuple(map(str, finding.notes)),
        value=finding.value,
        bound=finding.bound,
        probability=finding.probability,
        counterexample=finding.counterexample if status == "refuted" else None,
        where=document.place(source.raw_offset(step.sign_start)),
        role=step.role,
        source=text,
        question=question.id if question else None,
        span=(start, max(stop, start + 1)),
    )


def _outcome(step: JudgedStep, status: Status) -> StepOutcome:
    if status == "refuted":
        return "ill-shaped" if step.finding.kind == "ill-shaped" else "refuted"
    return _open_outcome(step) if status == "undecided" else _good_outcome(step)


def _open_outcome(step: JudgedStep) -> StepOutcome:
    if step.finding.probability is not None:
        return "true with a probability"
    if step.finding.open_because in _OPEN:
        return _OPEN[step.finding.open_because]
    return "supposition" if step.role.kind == "supposition" else "not understood"


def _good_outcome(step: JudgedStep) -> StepOutcome:
    finding = step.finding
    if step.role.kind in ("given", "definition"):
        return step.role.kind
    if finding.probability is not None:
        return "holds with probability"
    if finding.kind == "approximate":
        return "≈ is meant" if finding.is_approximation_meant else "holds in the limit"
    return "holds"


def unclosed_steps(document: Document, regions: Sequence[Region]) -> Iterator[StepVerdict]:
    """What a delimiter begins that nothing closes, if it relates anything: it is left open, and not left out."""
    for unclosed in document.unclosed:
        stop = min((span.start for span in document.spans if span.start > unclosed.offset), default=len(document.text))
        words = _TO_THE_END.match(document.text, unclosed.offset, stop)
        if words is None or not _UNCLOSED.match(unclosed.token) or not _RELATION.search(words[0]):
            continue
        question = region_at(regions, unclosed.offset).question
        yield StepVerdict(
            id="",
            statement=" ".join(words[0].split()),
            status="undecided",
            outcome="not understood",
            method="recognised",
            reason=f"Not read as a formula: nothing closes the {unclosed.token} it starts with",
            where=document.place(unclosed.offset),
            role=Role.ASSERTION,
            source=words[0],
            question=question.id if question else None,
            span=words.span(),
        )


# -- choices -----------------------------------------------------------------------------------------------------------
def choice_steps(document: Document, problem: Problem, regions: Sequence[Region]) -> Iterator[StepVerdict]:
    """The yes and no answers, in their own sections or in running prose, each judged against the problem's."""
    for question in problem.questions:
        if question.choice is not None:
            chosen = _chosen(document, question.choice, answers_to(question, regions))
            if chosen is not None:
                step = _choice_step(document, question, question.choice, chosen)
                is_shared = any(
                    other.choice is not None and other.choice.answer == chosen.answer
                    for other in region_at(regions, chosen.offset).questions
                )
                yield _doubtful(step, f"it answers “{question.title}”") if is_shared else step


def _chosen(document: Document, choice: Choice, own: Sequence[Region]) -> FoundChoice | None:
    for region in own:
        end = min(region.end, region.body + _LONGEST_ANSWER)
        if choice.value is not None:
            chosen = find_number(document.text[region.body : end], choice)
        elif choice.options:
            chosen = find_option(document.prose[region.body : end], choice)
        else:
            chosen = find_choice(document.prose[region.body : end], choice)
        if chosen is not None:
            return replace(chosen, offset=region.body + chosen.offset)
    is_yes_or_no = choice.value is None and not choice.options
    return find_choice_by_cue(document.prose, choice) if is_yes_or_no and not own else None


def _choice_step(document: Document, question: Question, choice: Choice, chosen: FoundChoice) -> StepVerdict:
    is_right = chosen.answer == choice.answer
    claim = question.claims[0] if question.claims else None
    step = StepVerdict(
        id="",
        statement=f"{question.title} — {chosen.words}",
        status="holds" if is_right else "refuted",
        outcome="right choice" if is_right else "wrong choice",
        method="the problem's answer, backed by its claim",
        reason=f"The answer is {choice.answer if choice.value is None else f'{choice.value:g}'}",
        notes=(str(NoteKind.CLAIM.note(claim)),) if claim else (),
        counterexample=None if is_right else choice.why or (f"regard claims --explain {claim}" if claim else None),
        where=document.place(chosen.offset),
        role=Role.CHOICE,
        source=chosen.words,
        question=question.id,
        span=(chosen.offset, chosen.offset + len(chosen.words)),
    )
    if chosen.is_contradicted:
        reason = "More than one answer is given"
        return replace(step, status="undecided", counterexample=None, outcome="both choices", reason=reason)
    return _doubtful(step, f"it is a plain {chosen.answer}") if chosen.is_qualified else step


def _doubtful(step: StepVerdict, doubt: str) -> StepVerdict:
    """A choice that is left open if it is wrong."""
    if step.status != "refuted":
        return step
    return replace(step, status="undecided", outcome="doubtful", counterexample=None, reason=f"Looks wrong if {doubt}")
