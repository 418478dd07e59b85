"""How the words of a sentence mean its relations: asserted, supposed, wanted, possible, denied, and on what condition.

A sentence is read once, from left to right. A condition governs its own clause only: in "when γ > 1 we get c ≈ v_a, and
when γ < 1 …" each conclusion has one premise.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

from regard.derivations.notation.statements import Chain, read_chains
from regard.derivations.reading.document import PLACEHOLDER
from regard.derivations.reading.phrases import any_of
from regard.derivations.results import Role

Part = str | Chain
Form = Literal["condition", "regime"] | None
END_OF_DISPLAY = "\x1e"
_NEARBY = 40  # parts of a sentence; what is farther away says nothing about a relation

_CUES = (
    "where",
    "otherwise",
    "wanted",
    "uncertain",
    "possible",
    "asserting",
    "condition",
    "whether",
    "supposing",
    "condition_end",
    "extreme",
    "consequence",
)
_CUE = re.compile(
    "|".join(f"(?P<{name}>{any_of(name)})" for name in _CUES)
    + r"|(?P<value>(?<![\w\\}_^])[A-Za-zα-ω]\s?=\s?\d+(?:\.\d+)?(?![\w.,]*\d))"
    + rf"|(?P<stop>[;；。]|\.(?=\s|$))|(?P<comma>[,，:：])|(?P<end>{END_OF_DISPLAY})",
    re.IGNORECASE,
)
_NEW_CLAUSE = re.compile(rf"(?:{any_of('conjunction')}|[;；:：])[\s,，]*$", re.IGNORECASE)
_CLAUSE_START = re.compile(r"[,，。;；、:：]")
_OR = re.compile(rf"[\s,，]*{any_of('or')}[\s,，]*", re.IGNORECASE)
_EVENT = re.compile(rf"{any_of('probability_of')}\s*$", re.IGNORECASE)
_FORCES = re.compile(rf"[\s,，]*(?:{any_of('conjunction')}\s*{PLACEHOLDER}[\s,，]*)?{any_of('forces')}", re.IGNORECASE)
_DEFINE = re.compile(any_of("define"), re.IGNORECASE)
_DEFINES = re.compile(rf"{any_of('define')}[^,;，；.。{PLACEHOLDER}]{{0,25}}$", re.IGNORECASE)
_INTRODUCED = re.compile(rf"(?:{any_of('where')}|{any_of('introduced_by')})[\s,，]*$", re.IGNORECASE)
_RESTRICTED = re.compile(any_of("restricting"), re.IGNORECASE)
_CONSEQUENCE = re.compile(any_of("consequence"), re.IGNORECASE)
_CONCLUDES = re.compile(rf"{any_of('concluding')}[\s,，:：]*$", re.IGNORECASE)
_FOLLOWS = re.compile(rf"{any_of('consequence')}[\s,，:：]*$", re.IGNORECASE)
_EXAMPLE = re.compile(rf"[\s*_>(（-]*{any_of('example')}", re.IGNORECASE)
_IN_GENERAL = re.compile(any_of("in_general"), re.IGNORECASE)
_DOUBTED = re.compile(any_of("doubted"), re.IGNORECASE)
_DENIED_BEFORE = re.compile(rf"{any_of('denial_before')}[\s,，:：\"“”'‘’(*_~$]*$", re.IGNORECASE)
_DENIED_AFTER = re.compile(
    rf"[\s,，:：]*(?:{any_of('conjunction')}\s*{PLACEHOLDER}\s*)?(?:{any_of('but_this')}\s*)?{any_of('denial_after')}",
    re.IGNORECASE,
)
_LATER_IN_SENTENCE = re.compile(
    rf"[^{PLACEHOLDER}]{{0,80}}?[;,，；—–]\s*{any_of('retraction_in_sentence')}", re.IGNORECASE
)
_NEXT_SENTENCE = re.compile(rf"[^\S\n]*\n?[^\S\n]*{any_of('retraction_next_sentence')}", re.IGNORECASE)
_CALLED_FALSE = re.compile(rf"\s*[*_(]*{any_of('called_false')}[*_)]*\s*[.,;:!。，；：！]", re.IGNORECASE)
_NOTHING = re.compile(r"[\s.。!！?？)）*_]*")


@dataclass(eq=False)
class Supposition:
    """The condition of a clause: its relations, its words, and whether the words only say that something is extreme.

    `is_lasting` says that the sentence itself supposes (suppose that), so that later sentences may go on from it.
    """

    relations: list[Chain] = field(default_factory=list)
    words: str = ""
    is_extreme: bool = False
    is_lasting: bool = False

    @property
    def is_empty(self) -> bool:
        """True if nothing is supposed."""
        return not self.relations and not self.words.strip()

    @property
    def is_in_words(self) -> bool:
        """True if the condition is only spelt out in words: if the key is long."""
        return bool(self.words.strip()) and not self.relations


@dataclass(frozen=True, kw_only=True)
class Clause:
    """How one relation is meant; `before` and `after` are the words of its sentence around it."""

    role: Role = Role.ASSERTION
    condition: Supposition = field(default_factory=Supposition)
    before: str = ""
    after: str = ""

    @property
    def is_defining(self) -> bool:
        """True if the words right before introduce what follows: let, set, where, 令."""
        return _DEFINES.search(self.before) is not None or self.is_introduced

    @property
    def is_introduced(self) -> bool:
        """True if the word right before introduces it in passing: with, where, for some."""
        return _INTRODUCED.search(self.before) is not None

    @property
    def is_restricted(self) -> bool:
        """True if words near by say more of what is declared than its shape: for unit vectors u ∈ ℝ^n."""
        before, after = _DEFINE.split(self.before[-60:])[-1], _DEFINE.split(self.after[:40])[0]
        return _RESTRICTED.search(f"{before} {after}") is not None

    @property
    def is_parenthetical(self) -> bool:
        """True if it stands in parentheses that its sentence has opened."""
        return _depth(self.before) > 0

    @property
    def follows(self) -> bool:
        """True if a word right before says that this follows: so, hence."""
        return _FOLLOWS.search(self.before) is not None

    @property
    def is_deduced(self) -> bool:
        """True if a word right before says that this follows, and is no reason: then, hence, but not since."""
        return _CONCLUDES.search(self.before) is not None

    @property
    def is_concluded(self) -> bool:
        """True if a word anywhere before it in its sentence draws a conclusion."""
        return _CONSEQUENCE.search(self.before) is not None

    @property
    def is_example(self) -> bool:
        """True if the sentence opens as an example or a check."""
        return _EXAMPLE.match(self.before) is not None

    @property
    def is_in_general(self) -> bool:
        """True if the words say that a relation is meant in general."""
        return _IN_GENERAL.search(f"{self.before} {self.after}") is not None


def read_clauses(
    parts: Sequence[Part], *, form: Callable[[Chain], Form] = lambda _: None, following: str = ""
) -> list[Clause]:
    """One clause for each relation among the parts of a sentence.

    `form` tells what relations are by their form: conditions (γ > 1, i ≠ a), or the regime, which governs more than a
    clause (β ≫ 0). `following` is the text of the next sentence.
    """
    reader = _SentenceReader(form)
    for part in parts:
        if isinstance(part, str):
            reader.read_words(part)
        else:
            reader.read_relation(part)
    reader.finish()
    texts = [PLACEHOLDER if isinstance(part, Chain) else part for part in parts]
    is_question = "".join(texts).rstrip().endswith(("?", "？"))
    places = [place for place, part in enumerate(parts) if isinstance(part, Chain)]
    clauses = []
    for number, place in enumerate(places):
        role, group = reader.found[number]
        before = "".join(texts[max(place - _NEARBY, 0) : place])
        after = "".join(texts[place + 1 : place + 1 + _NEARBY])
        chain = parts[place]
        assert isinstance(chain, Chain)
        is_named = bool(chain.sides[0]) and chain.sides[0][0].text in ("P", "\\Pr")
        if chain.is_event or (_EVENT.search(before) and not is_named):
            role = Role.EVENT
        elif _is_denied(before, after, following):
            role = Role.DENIAL
        elif role is Role.ASSERTION and _FORCES.match(after) or role is Role.ASSERTION and is_question:
            role = Role.SUPPOSITION
        elif role is Role.ASSERTION and _is_one_of_several(texts, place):
            role = Role.POSSIBILITY
        clauses.append(Clause(role=role, condition=group.condition, before=before, after=after))
    return clauses


def _depth(words: str) -> int:
    """How many parentheses are open at the end; the one behind a mark such as a) opens none."""
    depth = 0
    for bracket in re.findall(r"[()（）]", words):
        depth = depth + 1 if bracket in "(（" else max(depth - 1, 0)
    return depth


def _is_one_of_several(texts: Sequence[str], place: int) -> bool:
    """True for one of the relations of "x or y"."""
    beside = [k for k in (place - 1, place + 1) if 0 < k < len(texts) - 1]
    return any(_OR.fullmatch(texts[k]) and PLACEHOLDER in (texts[k - 1], texts[k + 1]) for k in beside)


def _is_denied(before: str, after: str, following: str) -> bool:
    if _DENIED_BEFORE.search(before) or _DOUBTED.search(before):
        return True
    if _DENIED_AFTER.match(after) or _LATER_IN_SENTENCE.match(after):
        return True
    if _CALLED_FALSE.match(following):
        return True
    return _NOTHING.fullmatch(after) is not None and _NEXT_SENTENCE.match(following) is not None


# -- one sentence ------------------------------------------------------------------------------------------------------
@dataclass(eq=False)
class _ClauseGroup:
    """Clauses under one condition; `is_trailing` says that it came after them, `is_in_words` that a word opened it.

    `is_contrary` says that they hold where the relations of the condition do not: ignoring γ < 0.
    """

    condition: Supposition = field(default_factory=Supposition)
    num_conclusions: int = 0
    is_trailing: bool = False
    is_in_words: bool = False
    is_contrary: bool = False


@lru_cache(maxsize=4096)
def _cues(words: str) -> tuple[re.Match[str], ...]:
    """The cues in a stretch of words; in an editor, the same stretches come again and again."""
    return tuple(_CUE.finditer(words))


class _SentenceReader:
    """Reads a sentence from left to right and notes for each relation how it is meant and what governs it."""

    def __init__(self, form: Callable[[Chain], Form]) -> None:
        self._form = form
        self.found: list[tuple[Role, _ClauseGroup]] = []
        self.mode = Role.ASSERTION
        self.group = _ClauseGroup()
        self.groups = [self.group]
        self._is_relation_last = False
        self._last: Chain | None = None
        self._has_relation = False  # since the mode began
        self._is_new_clause = False  # a word has begun another clause since the last relation
        self._is_list = False  # "suppose that x = 1, y = 2": a comma goes on supposing
        self._is_mentioned = False  # "depending on whether γ > 1": a condition that governs nothing

    # -- words -------------------------------------------------------------------------------------------------------
    def read_words(self, words: str) -> None:
        place = 0
        for cue in _cues(words):
            if cue.lastgroup == "value":
                self.read_value(cue[0])
                continue
            self._note(words[place : cue.start()])
            self._cue(cue, words[: cue.start()])
            place = cue.end()
        self._note(words[place:])
        self._is_relation_last = self._is_relation_last and not words.strip()

    def read_value(self, words: str) -> None:
        """A value in plain words, without mathematics around it: for n = 10."""
        for chain in read_chains(words):
            self._add_condition(chain)

    def _note(self, words: str) -> None:
        if self.mode is Role.SUPPOSITION and not self._is_mentioned:
            self.group.condition.words += words

    def _cue(self, cue: re.Match[str], before: str) -> None:
        self._is_mentioned = cue.lastgroup == "whether" or (self._is_mentioned and cue.lastgroup == "comma")
        match cue.lastgroup:
            case "whether":
                self.mode, self._has_relation = Role.SUPPOSITION, False
            case "condition" | "supposing":
                self._begin_condition(before, is_list=cue.lastgroup == "supposing")
            case "extreme":
                if self.mode is Role.SUPPOSITION and not self._has_relation:
                    self.group.condition.is_extreme = True
                    self.group.condition.words += cue[0]
                    self.mode = Role.ASSERTION
            case "wanted":
                self.mode, self._has_relation = Role.WANTED, False
            case "possible":
                if self.mode is Role.ASSERTION:
                    self.mode = Role.POSSIBILITY
            case "uncertain":
                if self.mode is Role.ASSERTION:
                    self.mode = Role.DENIAL
            case "condition_end":
                self._end_condition(before)
            case "asserting" | "consequence":
                self._open_conclusion(before)
                self.mode, self._is_new_clause = Role.ASSERTION, True
            case "comma":
                if cue[0] in ":：":
                    self._open_conclusion(before)
                self._comma(cue[0], after=cue.string[cue.end() :])
            case "where":
                self._begin_group()
            case "otherwise":
                self._begin_group()
                self.group.condition.words, self.group.is_contrary = cue[0], True
            case "stop":
                self.mode = Role.ASSERTION
            case "end":
                self._end_display()

    def _begin_condition(self, before: str, *, is_list: bool) -> None:
        if self.group.num_conclusions and (not self.group.condition.is_empty or _NEW_CLAUSE.search(before)):
            self._begin_group()
        self.group.is_trailing, self.group.is_in_words = self.group.num_conclusions > 0, True
        self.mode, self._is_list, self._has_relation = Role.SUPPOSITION, is_list, False
        self.group.condition.is_lasting |= is_list

    def _end_condition(self, before: str) -> None:
        """The words of a clause that closes with its condition: γ 小时, q = k_j とき."""
        words = _CLAUSE_START.split(before)[-1]
        is_relation = not words.strip() and self._is_relation_last
        if self.mode is Role.ASSERTION and is_relation and self.found and self.found[-1][0] is Role.ASSERTION:
            assert self._last is not None
            self.group.num_conclusions -= 1
            self._add_condition(self._last)
            self.found[-1] = (Role.SUPPOSITION, self.group)
        elif self.mode is Role.ASSERTION and words.strip() and not is_relation:
            if self.group.num_conclusions:
                self._begin_group()
            self.group.condition.words += words
        self.mode, self._is_new_clause = Role.ASSERTION, True

    def _begin_group(self) -> None:
        self.group = _ClauseGroup()
        self.groups.append(self.group)
        self.mode = Role.ASSERTION

    def _end_display(self) -> None:
        """A display ends its own conditions; what words have supposed before it goes on: x ≈ 0; y ≈ 1; when γ = 0.5."""
        self.mode = Role.ASSERTION
        group = self.group
        if group.num_conclusions == 0 and not group.condition.is_empty and len(self.groups) > 1:
            before = self.groups[-2]
            if before.condition.is_empty and before.num_conclusions:
                before.condition = group.condition
                self._begin_group()
        elif group.is_trailing or not group.is_in_words:
            self._begin_group()

    def _comma(self, comma: str, after: str) -> None:
        if self.mode in (Role.POSSIBILITY, Role.DENIAL) or (self.mode is Role.WANTED and not self._has_relation):
            self.mode = Role.ASSERTION
        if self.mode is not Role.SUPPOSITION:
            self._is_new_clause |= comma in ":："
            return
        goes_on = self._is_list and self._is_relation_last and "\n" not in after
        if comma in ":：" or not goes_on:
            self.mode = Role.ASSERTION

    def _open_conclusion(self, before: str) -> None:
        """A bare condition before a colon or "so" governs what follows, not what stands before it: γ > 1: c ≈ v_a."""
        group, role = self.group, self.found[-1][0] if self.found else None
        is_bare = self._is_relation_last and not before.strip() and role is Role.SUPPOSITION
        if not (is_bare and group.is_trailing and not group.is_in_words):
            return
        premise = group.condition.relations.pop()
        group.is_trailing = bool(group.condition.relations)
        self._begin_group()
        self.group.condition.relations.append(premise)
        self.found[-1] = (Role.SUPPOSITION, self.group)

    # -- relations ---------------------------------------------------------------------------------------------------
    def read_relation(self, chain: Chain) -> None:
        form = self._form(chain)
        if form == "regime" or chain.is_event:
            self.found.append((Role.SUPPOSITION, self.group))
            self._is_relation_last = self._has_relation = True
            return
        is_condition = self.mode is Role.SUPPOSITION or form == "condition"
        if is_condition:
            if not self._is_mentioned:
                self._add_condition(chain)
        else:
            if self.group.is_trailing:
                mode = self.mode
                self._begin_group()
                self.mode = mode
            self.group.num_conclusions += 1
        self.found.append((Role.SUPPOSITION if is_condition else self.mode, self.group))
        self._is_relation_last = self._has_relation = True
        self._is_new_clause, self._last = False, chain

    def _add_condition(self, chain: Chain) -> None:
        if self.mode is not Role.SUPPOSITION and self.group.num_conclusions:
            if self._is_new_clause or (not self.group.condition.is_empty and not self.group.is_trailing):
                self._begin_group()
            self.group.is_trailing = self.group.num_conclusions > 0
        if not self.group.is_contrary:
            self.group.condition.relations.append(chain)

    def finish(self) -> None:
        """A condition with nothing to govern belongs to the clauses before it: x ≈ 0; y ≈ 1; when γ = 0.5."""
        for before, group in zip(self.groups, self.groups[1:], strict=False):
            if not group.num_conclusions and before.condition.is_empty and group.condition.relations:
                before.condition = group.condition
