"""Where each formula of a document belongs: its question is found for the whole document at once.

Explicit parts weigh most, then titles, then the order of the questions and how well their symbols explain a formula.
The best sequence of places is found by dynamic programming; a place is sure if every other one is clearly worse.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from regard.derivations.context.formulas import Formula, normal_law, plain
from regard.derivations.context.questions import is_numbered, questions_of
from regard.derivations.judging.scope import CONSTANTS, Scope
from regard.derivations.judging.setting import Setting
from regard.derivations.notation.parser import parse_source
from regard.derivations.notation.statements import first_chain
from regard.derivations.notation.syntax import Expression, Symbol, children, describe, outer_symbols
from regard.derivations.problems.problem import Problem, Question
from regard.derivations.reading.document import Document
from regard.derivations.reading.outline import outline

# Costs in one unit: a symbol that a question cannot explain.
_UNKNOWN_SYMBOL = 1.0
_UNKNOWN_LETTER = 0.5  # it may be a scale that the author has not introduced
_OTHER_NAME = 0.4
_OWN_SYMBOL = 0.3
_ELSEWHERE = 0.45  # for each symbol: what explains less than about half of them explains nothing
_MOST_SYMBOLS = 4.0
_DESIGNED_HERE, _DESIGNED_OTHERWISE = -0.9, -0.2
_FOREIGN = 8.0  # a question that the heading rules out
_LATER_PART, _EARLIER_PART = 0.35, 1.5  # than the heading names: authors go on without a heading, but not back
_SKIPPED = 0.4  # a question whose heading may not have been seen; a later part of the named letter is likelier
_VARIANT = 0.3
_GIVEN_HERE = -0.7  # it repeats what only some questions give
_FORWARD, _BACKWARD, _NEXT_PART, _FORMER_PART, _PER_QUESTION = 0.5, 0.8, 0.3, 0.9, 0.02
_NEW_SECTION = 0.3  # a heading makes a change of question cheaper
_SURE = 1.2
_NEARLY = 0.3
_MISFIT = 1.75  # for symbols of two families more than another question has: the heading is not believed
_MOST_ALTERNATIVES = 3
_OF_PART = 2  # from this depth on, a path names a part and not only a question


# -- regions -----------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, kw_only=True)
class Region:
    """A stretch of the text, its words from `body` on; several questions where a heading does not say which part.

    `is_unknown` says that its heading names a part that the problem lacks, `is_answer` that it is not the assignment's
    own text. `skipped` are the questions up to the next heading that no heading names: theirs may not have been seen.
    `is_doubted` says that another question explains what stands there much better than the one that its heading names.
    """

    start: int
    body: int
    end: int
    questions: tuple[Question, ...] = ()
    skipped: tuple[Question, ...] = ()
    is_answer: bool = True
    is_unknown: bool = False
    is_doubted: bool = False

    @property
    def question(self) -> Question | None:
        """The likeliest question."""
        return self.questions[0] if self.questions else None


def regions_of(document: Document, problem: Problem) -> list[Region]:
    """The regions of a document, in reading order, without gaps."""
    found = outline(document)
    cuts = {0, len(document.text)}
    for stretch in (*found.sections, *found.restated):
        cuts |= {stretch.start, stretch.end}
    regions = []
    for start, end in pairwise(sorted(cuts)):
        section = found.section_at(start)
        holding = [section for section in reversed(found.sections) if section.holds(start) and section.title]
        above = [other for other in holding if section and other.start < section.start and len(other.path) < _OF_PART]
        chapters = [other.title for other in above]
        titles = [other.title for other in holding if other not in above]
        questions = () if section is None else questions_of(section.path, titles, problem, chapters)
        regions.append(
            Region(
                start=start,
                body=section.body if section is not None and start < section.body <= end else start,
                end=end,
                questions=questions,
                is_answer=not any(restated.holds(start) for restated in found.restated),
                is_unknown=section is not None and not questions and len([part for part in section.path if part]) > 1,
            )
        )
    return _with_skipped(regions, problem)


def _with_skipped(regions: Sequence[Region], problem: Problem) -> list[Region]:
    """The regions with the questions that headings pass over between them, or after them if there are several parts."""
    places = {question.id: place for place, question in enumerate(problem.questions)}
    named = {question.id for region in regions for question in region.questions}
    has_parts = len({question.path[:2] for region in regions for question in region.questions}) > 1
    found, following = [], len(places) if has_parts else 0
    for region in reversed(regions):
        own = sorted(places[question.id] for question in region.questions)
        between = problem.questions[own[-1] + 1 : following] if own else ()
        skipped = tuple(question for question in between if question.id not in named and is_numbered(question))
        found.append(replace(region, skipped=skipped))
        following = own[0] if own else following
    return found[::-1]


def region_at(regions: Sequence[Region], offset: int) -> Region:
    """The region that holds an offset."""
    index = bisect_right(regions, offset, key=lambda region: region.start) - 1
    if index >= 0 and regions[index].start <= offset < regions[index].end:
        return regions[index]
    return Region(start=offset, body=offset, end=offset)


def answers_to(question: Question, regions: Sequence[Region]) -> list[Region]:
    """The regions that answer a question."""
    return [region for region in regions if region.question is question and region.is_answer]


# -- places ------------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, kw_only=True)
class Placement:
    """The question of a formula, None if it stands elsewhere; `alternatives` are others that fit nearly as well.

    `possible` are further questions that a formula without its own heading may belong to, if it fails in all of these.

    A place is sure if the formula hardly stands elsewhere; what fails in all its questions fails wherever it belongs.
    """

    question: Question | None
    region: Region
    is_sure: bool = True
    alternatives: tuple[Question, ...] = ()
    possible: tuple[Question, ...] = ()


def place_formulas(formulas: Sequence[Formula], problem: Problem, regions: Sequence[Region]) -> list[Placement]:
    """The place of every formula, all found together."""
    states: list[Question | None] = [*problem.questions, None]
    regions = _believed(formulas, problem, regions)
    held = list(_held(formulas, regions))
    named = {question.id for region in regions if len(region.questions) == 1 for question in region.questions}
    if not formulas:
        return []
    costs = np.array(list(_place_costs(formulas, held, states, named)))
    moves = _move_costs(states)
    forward, backward = _accumulated(costs, moves, held), _accumulated(costs[::-1], moves.T, held[::-1])[::-1]
    totals = forward + backward - costs
    has_headings = any(region.questions for region in regions)
    return [_placement(states, *each, has_headings=has_headings) for each in zip(totals, costs, held, strict=True)]


def _held(formulas: Sequence[Formula], regions: Sequence[Region]) -> Iterator[Region]:
    """The region of each formula; what follows a heading at once belongs to it, whatever questions come unmarked."""
    first: dict[int, tuple[int, Region]] = {}
    for formula in formulas:
        region = region_at(regions, formula.start)
        paragraph, beginning = first.setdefault(region.start, (formula.paragraph, replace(region, skipped=())))
        yield beginning if region.skipped and formula.paragraph == paragraph else region


def _believed(formulas: Sequence[Formula], problem: Problem, regions: Sequence[Region]) -> list[Region]:
    """The regions, without the questions of a heading where another question explains the symbols clearly better."""
    own, used = set[Symbol](), defaultdict[tuple[str, ...], set[Symbol]](set)
    for formula in formulas:
        region = region_at(regions, formula.start)
        if region.is_answer and region.questions:
            found = {symbol for expression in formula.expressions for symbol in outer_symbols(expression)}
            used[_ids(region)] |= found - own
            own.update(_introduced(formula))
    doubted = {ids for ids, found in used.items() if _is_explained_elsewhere(found, ids, problem)}
    return [replace(region, questions=(), is_doubted=True) if _ids(region) in doubted else region for region in regions]


def _ids(region: Region) -> tuple[str, ...]:
    return tuple(question.id for question in region.questions)


def _is_explained_elsewhere(found: Iterable[Symbol], ids: Collection[str], problem: Problem) -> bool:
    """True if these symbols cannot be explained by the named questions or their neighbours, but by another one."""
    costs = {question.id: _misfit(found, question.setting) for question in problem.questions}
    parts = {q.path[:2] for q in problem.questions if q.id in ids}
    return min(costs[q.id] for q in problem.questions if q.path[:2] in parts) >= min(costs.values()) + _MISFIT


def _misfit(found: Iterable[Symbol], setting: Setting) -> float:
    """How badly a setting explains symbols; those of one family, such as μ_a and μ_b, count once."""
    costs: dict[tuple[str, bool], float] = {}
    for symbol in found:
        key = (symbol.name, bool(symbol.subscripts))
        costs[key] = max(costs.get(key, 0.0), _explaining_cost(symbol, setting))
    return sum(costs.values())


def _placement(
    states: Sequence[Question | None], total: np.ndarray, own: np.ndarray, region: Region, *, has_headings: bool
) -> Placement:
    """The best place by its `total` cost; without a heading, every question that the formula fits is possible.

    A question that only some editions have is not sure without its heading where others have theirs.
    """
    order = np.argsort(total, kind="stable")
    best = states[order[0]]
    near = [states[k] for k in order[1:] if total[k] < total[order[0]] + _SURE]
    settings = {id(best.setting)} if best is not None else set()
    others = tuple(q for q in near if q is not None and id(q.setting) not in settings)[:_MOST_ALTERNATIVES]
    is_named = len(region.questions) == 1 and not region.skipped
    fitting = () if is_named else (states[k] for k in order[1:] if own[k] <= own[order[0]] + _NEARLY)
    is_of_an_edition = best is not None and best.is_optional and has_headings
    return Placement(
        question=best,
        region=region,
        is_sure=bool(region.questions) or (None not in near and not is_of_an_edition),
        alternatives=others,
        possible=tuple(q for q in fitting if q is not None and q not in others and id(q.setting) not in settings),
    )


def _accumulated(costs: np.ndarray, moves: np.ndarray, held: Sequence[Region]) -> np.ndarray:
    """For each formula and place, the least cost of the document so far that ends there."""
    totals = costs.copy()
    for k in range(1, len(costs)):
        scale = 1.0 if held[k] is held[k - 1] else _NEW_SECTION
        totals[k] += (totals[k - 1][:, None] + scale * moves).min(axis=0)
    return totals


def _move_costs(states: Sequence[Question | None]) -> np.ndarray:
    moves = np.zeros((len(states), len(states)))
    for i, before in enumerate(states):
        for j, after in enumerate(states):
            if i == j:
                continue
            if before is None or after is None:
                moves[i, j] = _FORWARD
            elif before.path[:2] == after.path[:2]:
                moves[i, j] = _NEXT_PART if j > i or not is_numbered(after) else _FORMER_PART
            else:
                moves[i, j] = (_FORWARD if j > i else _BACKWARD) + _PER_QUESTION * abs(j - i)
    return moves


def _place_costs(
    formulas: Sequence[Formula], held: Sequence[Region], states: Sequence[Question | None], named: Collection[str]
) -> Iterator[list[float]]:
    own: set[Symbol] = set()
    for formula, region in zip(formulas, held, strict=True):
        used = {symbol for expression in formula.expressions for symbol in outer_symbols(expression)}
        settings = {id(state.setting): state.setting for state in states if state is not None}
        costs = {key: _symbol_cost(used, setting, own) for key, setting in settings.items()}
        elsewhere = min(_ELSEWHERE * len(used), _MOST_SYMBOLS)
        yield [
            _heading_cost(region, state, named)
            + (elsewhere if state is None else costs[id(state.setting)] + _content_cost(formula, state))
            for state in states
        ]
        own.update(_introduced(formula))


def _heading_cost(region: Region, state: Question | None, named: Collection[str]) -> float:
    """What a heading costs a question that it does not name; `named` are those that have headings of their own."""
    if not region.questions:
        return _FOREIGN if region.is_unknown and state is not None else 0.0
    if state is None:
        return _FOREIGN
    if state in region.questions:
        return 0.0
    if state in region.skipped:
        return _SKIPPED
    first = region.questions[0]
    if state.path[:2] != first.path[:2] or state.id in named:
        return _FOREIGN
    if not is_numbered(state):
        return _VARIANT
    return _LATER_PART if state.path > first.path else _EARLIER_PART


def _symbol_cost(used: set[Symbol], setting: Setting, own: set[Symbol]) -> float:
    costs = ((_explaining_cost(symbol, setting), symbol in own) for symbol in used)
    return min(sum(min(cost, _OWN_SYMBOL) if is_own else cost for cost, is_own in costs), _MOST_SYMBOLS)


def _content_cost(formula: Formula, question: Question) -> float:
    """What a formula says for a question by what it fills in or repeats."""
    return _design_cost(formula, question) + (_GIVEN_HERE if _repeats_given(formula, question) else 0.0)


@lru_cache(maxsize=256)
def _scope_of(setting: Setting) -> Scope:
    return Scope(setting=setting)


@lru_cache(maxsize=8192)
def _explaining_cost(symbol: Symbol, setting: Setting) -> float:
    """How badly the setting explains a symbol as it is written."""
    scope = _scope_of(setting)
    indices = {*setting.sizes, *setting.fixed, *setting.free}
    if not symbol.subscripts and symbol.name in {*indices, *CONSTANTS}:
        return 0.0
    function = setting.functions.get(symbol.name)
    if function is not None and function.is_subscripted and symbol.subscripts:
        return 0.0
    found = scope.lookup(symbol)
    if found is None:
        is_like_a_scale = not symbol.subscripts and symbol.name[0].islower()
        return _UNKNOWN_LETTER if is_like_a_scale else _UNKNOWN_SYMBOL
    if isinstance(found.member, Symbol) and found.member.name not in indices:
        return _UNKNOWN_SYMBOL
    return 0.0 if found.note is None else _OTHER_NAME


def _design_cost(formula: Formula, question: Question) -> float:
    """What speaks for a question whose open symbols a formula fills in, most of all with the solution's own symbols."""
    if question.design is None:
        return 0.0
    for chain in formula.chains:
        left, right = plain(chain.sides[0]), plain(chain.sides[1])
        if chain.signs[0].text != "=" or not isinstance(left, Symbol) or right is None:
            continue
        if describe(left) in question.design.symbols:
            sources = tuple(source for solution in question.design.solutions for source in solution.values())
            written, meant = _names(right, question.setting), _solution_names(sources, question.setting)
            return _DESIGNED_HERE if written & meant else _DESIGNED_OTHERWISE
    return 0.0


@lru_cache(maxsize=256)
def _solution_names(sources: tuple[str, ...], setting: Setting) -> frozenset[str]:
    return frozenset(name for source in sources for name in _names(parse_source(source), setting))


def _names(node: Expression, setting: Setting) -> set[str]:
    """The problem's names for the symbols of an expression that have subscripts or are matrices."""
    scope = _scope_of(setting)
    found = (scope.lookup(symbol) for symbol in outer_symbols(node))
    return {item.meaning.name for item in found if item is not None and item.meaning.tends is None}


def _repeats_given(formula: Formula, question: Question) -> bool:
    """True if a formula repeats what the question gives, or the law of its random number under any letter."""
    givens = _givens_of(question.given, question.setting)
    for chain in formula.chains:
        if chain.signs[0].text == "∼" and normal_law(chain.sides[1]) in givens:
            return True
        left, right = plain(chain.sides[0]), plain(chain.sides[1])
        if left is not None and right is not None and (type(left), chain.signs[0].text) in givens:
            scope = _scope_of(question.setting)
            if (_canonical(left, scope), chain.signs[0].text, _canonical(right, scope)) in givens:
                return True
    return False


@lru_cache(maxsize=256)
def _givens_of(given: tuple[str, ...], setting: Setting) -> frozenset[Any]:
    scope = _scope_of(setting)
    found: set[Any] = set()
    for chain in map(first_chain, given):
        left, right = plain(chain.sides[0]), plain(chain.sides[1])
        if left is not None and right is not None:
            found.add((_canonical(left, scope), chain.signs[0].text, _canonical(right, scope)))
            found.add((type(left), chain.signs[0].text))
    numbers = [meaning for meaning in setting.symbols.values() if meaning.is_random_number]
    found |= {(Fraction(meaning.mean), Fraction(meaning.variance or 0)) for meaning in numbers}
    return frozenset(found)


def _canonical(node: Expression, scope: Scope) -> Any:
    """An expression with every symbol under the name that the problem has for it."""
    if isinstance(node, Symbol):
        found = scope.lookup(node)
        name = node.name if found is None else found.meaning.name.partition("_")[0]
        return name, tuple(_canonical(script, scope) for script in node.subscripts)
    inner = tuple(_canonical(child, scope) for child in children(node))
    return (type(node).__name__, *inner) if inner else node


def _introduced(formula: Formula) -> Iterable[Symbol]:
    """Symbols that a formula defines, and the bare letters on the other side: the q and t of q = t(k_a + k_b)."""
    for chain in formula.chains:
        left, right = plain(chain.sides[0]), plain(chain.sides[1])
        if isinstance(left, Symbol) and chain.signs[0].text == "=":
            yield left
            if right is not None:
                yield from (symbol for symbol in outer_symbols(right) if not symbol.subscripts)
