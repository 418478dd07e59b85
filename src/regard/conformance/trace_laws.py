"""Laws of caches: guided and random traces equal full passes. Hypothesis draws the random ones.

A trace that fails is shrunk to a few operations.
"""

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from regard.conformance.guided_traces import guided_traces
from regard.conformance.law import Comparison, Comparisons, InputSize, Law, LawTrial, NotTried, distance, only_if
from regard.conformance.probing import RELATIVE
from regard.conformance.subject import CAPABILITIES, Spec, Subject
from regard.conformance.traces import FAULTS, CacheOperation, FullPasses, TraceMove, TraceRun

_MOST_MOVES = 12
# How many times as many random traces there are of all operations as of one.
_TIMES_FOR_ALL = 2
_WHICH_BITS, _AMOUNT_BITS = 2, 4
# What random traces do besides appends and the operation that a law is about.
_TRIED_WITH = {
    CacheOperation.START: (CacheOperation.RELEASE,),
    CacheOperation.FORK: (CacheOperation.RELEASE,),
    CacheOperation.PREFIX: (CacheOperation.START, CacheOperation.RELEASE),
}
# By what memory goes from one sequence to another.
_MEMORY = (CacheOperation.START, CacheOperation.RELEASE)


@dataclass(kw_only=True)
class TraceSearch:
    """Looks for the smallest failing trace that is due to one operation, or to any if there is no `focus`."""

    passes: FullPasses
    focus: CacheOperation | None
    held: list[Comparison] = field(default_factory=list)
    smallest: TraceRun | None = None
    has_other_failures: bool = False
    is_tried: bool = False

    def is_failing(self, moves: Sequence[TraceMove]) -> bool:
        """True if the trace fails, and would not without the operation."""
        run = TraceRun(self.passes, moves)
        self.is_tried |= self.focus is None or self.focus in run.performed
        if run.failure is None:
            self.held += sorted(run.reads, key=lambda each: each.error)[-1:]
            return False
        if not self._is_due(run, moves):
            self.has_other_failures = True
            return False
        if self.smallest is None or run.size < self.smallest.size:
            self.smallest = run
        return True

    def fails_alone(self, run: TraceRun) -> bool:
        """True if the same tokens, appended in the same chunks and with no other operation, fail as well."""
        sequence, subject = run.last_read, self.passes.trial.subject.new_session()
        if sequence is None or run.failure is None:
            return False
        cache, start = subject.empty_cache(len(sequence.tokens)), 0
        for end in sequence.ends:
            try:
                y, cache = subject.step(sequence.tokens[:, start:end].copy(), cache)
            except (NotImplementedError, MemoryError):
                return False
            except Exception:  # noqa: BLE001 - a cache may raise anything
                return True
            wanted = self.passes.outputs(sequence.tokens[:, :end])[:, start:]
            if not distance(y, wanted) <= self.passes.trial.cache_tolerance(wanted):
                return True
            start = end
        return False

    def _is_due(self, run: TraceRun, moves: Sequence[TraceMove]) -> bool:
        if self.focus is None or self.focus not in run.performed:
            return self.focus is None
        if self.focus is not CacheOperation.EVICT and self.fails_alone(run):
            return False
        others = [move for move in moves if move.operation is not self.focus]
        window = self.passes.trial.spec.window if self.focus is CacheOperation.EVICT else None
        return TraceRun(self.passes, others, window).failure is None


def compare_traces(trial: LawTrial, focus: CacheOperation | None) -> Comparisons:
    """Random traces of appends and one operation, or of all operations without a `focus`.

    A failure belongs to the operation only if the same trace without it does not fail. Another past must move the
    output, or the cache holds nothing that could be spoiled.
    """
    _ensure_applicable(trial.subject, focus)
    batch = min(trial.size.batch, trial.subject.cache_limits.max_batch or trial.size.batch)
    passes = FullPasses(replace(trial, size=replace(trial.size, batch=batch)))
    control = passes.control()
    search = TraceSearch(passes=passes, focus=focus)
    _search(search, trial)
    if search.smallest is not None and search.smallest.failure is not None:
        performed = set() if focus is None and search.fails_alone(search.smallest) else search.smallest.performed
        causes = [FAULTS[each] for each in FAULTS if each in performed and each is not CacheOperation.APPEND]
        yield replace(
            search.smallest.failure,
            control=control,
            suggests=tuple(causes) if focus is None and causes else (FAULTS[focus or CacheOperation.APPEND],),
        )
        return
    if search.has_other_failures:
        raise NotTried("traces without this operation fail already; see TRACE")
    if not search.is_tried:
        why = "no prefix is found again" if focus is CacheOperation.PREFIX else "the cache never does this operation"
        raise NotTried(f"{why} in any trace")
    yield from (replace(each, control=control) for each in search.held)


def _ensure_applicable(subject: Subject, focus: CacheOperation | None) -> None:
    """Raises NotTried if traces can't show anything about this operation."""
    spec = subject.spec
    if subject.cache_limits.is_single and focus in (CacheOperation.START, CacheOperation.FORK, CacheOperation.PREFIX):
        raise NotTried("only one cache can be in use at a time")
    if focus is CacheOperation.EVICT and spec.window is None:
        if not subject.has("evict"):
            raise NotTried(CAPABILITIES["evict"][1])
        if not _can_forget(spec):
            raise NotTried("only for one layer whose declared positions count distances")


def _can_forget(spec: Spec) -> bool:
    """False if what is left keeps something of evicted tokens: deeper layers, and absolute positions."""
    return spec.depth == 1 and spec.positions in RELATIVE


def _operations(subject: Subject) -> list[CacheOperation]:
    """What traces are made of besides appends."""
    has = {each for each in CacheOperation if subject.has(each)} | {CacheOperation.START}
    if not _can_forget(subject.spec):
        has.discard(CacheOperation.EVICT)
    if subject.cache_limits.is_single:
        has -= {CacheOperation.START, CacheOperation.FORK, CacheOperation.PREFIX}
    return [each for each in CacheOperation if each in has]


def _search(search: "TraceSearch", trial: LawTrial) -> None:
    """Tries guided traces and then random ones, until one fails; the one that fails is shrunk."""
    operations, focus = _operations(trial.subject), search.focus
    usual = [each for each in operations if focus is None or each in (focus, *_TRIED_WITH.get(focus, ()))]
    # What prefixes refer to can be changed by any operation; other laws name one operation.
    guided = operations if focus in (None, CacheOperation.PREFIX) else {*usual, *_MEMORY} & set(operations)
    for moves in guided_traces(guided, focus):
        if search.is_failing(moves):
            _shrink(search.is_failing, moves)
            return
    _search_at_random(search.is_failing, usual, trial)


def _shrink(is_failing: Callable[[Sequence[TraceMove]], bool], moves: list[TraceMove]) -> None:
    """Leaves out moves, and then lowers amounts and cuts, as long as the trace fails."""
    moves = _fewest(is_failing, moves)
    for place, move in enumerate(moves):
        smaller = [replace(move, cut=cut) for cut in range(move.cut)]
        smaller += [replace(move, amount=amount) for amount in range(move.amount)]
        for simpler in smaller:
            if is_failing(changed := [*moves[:place], simpler, *moves[place + 1 :]]):
                moves = changed
                break
    _fewest(is_failing, moves)


def _fewest(is_failing: Callable[[Sequence[TraceMove]], bool], moves: list[TraceMove]) -> list[TraceMove]:
    """Without the moves that the failure does not need: first many at once, then pairs, then one by one."""
    size = len(moves) // 2
    while size:
        step = size if size > 2 else 1
        for place in reversed(range(0, len(moves), step)):
            if is_failing(fewer := moves[:place] + moves[place + size :]):
                moves = fewer
        size = 2 if size == 3 else size // 2
    return moves


def _search_at_random(
    is_failing: Callable[[Sequence[TraceMove]], bool], operations: Sequence[CacheOperation], trial: LawTrial
) -> None:
    """Has hypothesis draw traces until one fails, and shrink that one."""
    try:
        from hypothesis import Phase, find, settings
        from hypothesis import strategies as st
        from hypothesis.errors import Flaky, NoSuchExample
    except ImportError as error:
        raise NotTried("needs hypothesis: pip install 'regard[torch]'") from error
    num_bits = (2 * len(operations) + 1).bit_length()

    def moves(bits: tuple[tuple[bool, ...], ...]) -> list[TraceMove]:
        """Half of the moves append. Each trace has only some of the operations, so that they meet more often."""
        off, *drawn = bits
        usable = [each for each, is_off in zip(operations, off, strict=True) if not is_off] or operations
        found = [(_number(each[:num_bits]), each) for each in drawn]
        return [
            TraceMove(
                operation=CacheOperation.APPEND if kind % 2 or not usable else usable[kind // 2 % len(usable)],
                which=_number(each[num_bits:-_AMOUNT_BITS]),
                amount=_number(each[-_AMOUNT_BITS:]),
            )
            for kind, each in found
            if kind
        ]

    # Booleans, since for numbers hypothesis reads constants from the source files around, and stores them in files.
    bits = [_bits(st, len(operations)), *[_bits(st, num_bits + _WHICH_BITS + _AMOUNT_BITS)] * _MOST_MOVES]
    chosen = settings(
        max_examples=trial.num_traces * (1 if len(operations) <= 2 else _TIMES_FOR_ALL),
        derandomize=True,
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.shrink),
    )
    errors: list[Exception] = []

    def fails(drawn: tuple[tuple[bool, ...], ...]) -> bool:
        try:
            return not errors and is_failing(moves(drawn))
        except Exception as error:  # noqa: BLE001 - a layer may raise anything, which is not for hypothesis to report
            errors.append(error)
            return False

    # Nothing may be found, or the cache may not be the same in every trace: then what was found is not the smallest.
    with contextlib.suppress(Flaky, NoSuchExample):
        find(st.tuples(*bits), fails, settings=chosen, random=Random(trial.seed))
    if errors:
        raise errors[0]


def _bits(strategies: Any, count: int) -> Any:
    return strategies.tuples(*[strategies.booleans()] * count)


def _number(bits: Sequence[bool]) -> int:
    return sum(2**place for place, bit in enumerate(reversed(bits)) if bit)


def trace_law(
    law: str, statement: str, focus: CacheOperation | None, broken_example: Callable[[], Subject], *, rank: int
) -> Law:
    """The law that traces with this operation equal full passes, or traces of all operations if there is none."""
    needs = ("cache",) if focus in (None, CacheOperation.START, CacheOperation.EVICT) else ("cache", str(focus))
    return Law(
        id=law,
        statement=statement,
        family="cache",
        rank=rank,
        follows=("CACHE",) if focus is None else (),
        needs=needs,
        applies=only_if(causal=True),
        size=InputSize(batch=2, length=16),
        compare=lambda trial: compare_traces(trial, focus),
        broken_example=broken_example,
        suspects=(FAULTS[focus or CacheOperation.APPEND],),
        shrinks_itself=True,
    )
