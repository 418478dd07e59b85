"""Traces that random ones rarely are: memory goes from one sequence to another, and something still refers to it."""

from collections.abc import Collection, Iterator

from regard.conformance.traces import AMOUNTS, CacheOperation, PrefixSource, TraceMove

# The amount of the largest usual chunk, 17 tokens.
_LONG = 5
_NEARLY_ALL, _HALF, _NOTHING = AMOUNTS - 1, AMOUNTS // 2 - 1, 0
# Where looked-up tokens are cut: borders of pages of 1 to 6, 8, 10, 12, 16, 20 and 32 tokens.
_CUTS = (12, 16, 20, 32)
_NUM_OTHERS = 8


def _move(operation: CacheOperation, which: int = 0, amount: int = 0) -> TraceMove:
    return TraceMove(operation=operation, which=which, amount=amount)


def _grown(which: int = 0) -> TraceMove:
    return _move(CacheOperation.APPEND, which, _LONG)


def _found_again(which: int = 0) -> TraceMove:
    return _move(CacheOperation.PREFIX, which, _NEARLY_ALL)


def _changed(cut: int) -> TraceMove:
    return TraceMove(operation=CacheOperation.PREFIX, amount=_NEARLY_ALL, source=PrefixSource.CHANGED, cut=cut)


_BEGIN = _move(CacheOperation.START, amount=_LONG)
_FILL = (_BEGIN, _grown(-1), _grown(-1), _grown(-1))
# All that others can fill: they take what has become free, in whatever order.
_OTHERS = (*_FILL, _move(CacheOperation.RELEASE, -1)) * _NUM_OTHERS
_FORK, _SWAP, _RESET, _RELEASE = map(
    _move, (CacheOperation.FORK, CacheOperation.SWAP, CacheOperation.RESET, CacheOperation.RELEASE)
)
_CROP = _move(CacheOperation.CROP, 0, _HALF)
_CROP_OTHER = _move(CacheOperation.CROP, 1, _HALF)
_EMPTY = _move(CacheOperation.CROP, 0, _NOTHING)
_REJECT = _move(CacheOperation.REJECT, 0, _HALF)
_EVICT = _move(CacheOperation.EVICT, 0, _HALF)

_TRACES: tuple[tuple[TraceMove, ...], ...] = (
    # Others take what a sequence gave back; then it goes on, and what it was is looked up.
    *(
        (*_FILL, given_back, *_OTHERS, *again, _grown(), _found_again(), _found_again(1))
        for given_back, again in (
            (_RELEASE, ()),
            (_RESET, ()),
            (_CROP, ()),
            (_EMPTY, ()),
            (_REJECT, ()),
            (_EVICT, ()),
            (_SWAP, (_SWAP,)),
        )
    ),
    # One of two that share memory goes away, and others take what has become free.
    *(
        (_BEGIN, _grown(), share, gone, *_OTHERS, _grown())
        for share in (_FORK, _found_again())
        for gone in (_RELEASE, _CROP_OTHER)
    ),
    # One of two that share memory is changed, and both go on.
    *(
        (_BEGIN, _grown(), share, change, _BEGIN, _grown(-1), _grown(0), _grown(1))
        for share in (_FORK, _found_again())
        for change in (_grown(1), _CROP, _RESET, _SWAP, _EVICT, _REJECT)
    ),
    # What is looked up is as long as what is known, and begins with other tokens.
    (_BEGIN, _grown(), _found_again(), _changed(_CUTS[0])),
    # What was overwritten or cut is looked up by its old tokens.
    (_BEGIN, _grown(), _found_again(), _CROP_OTHER, _grown(1), _found_again()),
    (_BEGIN, _grown(), _CROP, _grown(), _found_again(1)),
    (_BEGIN, _grown(), _REJECT, _grown(), _found_again(1)),
    (_BEGIN, _grown(), _RESET, _grown(), _found_again(1)),
    # Pages that are known are looked up in another place, or after other tokens.
    *(
        (
            *_FILL,
            _BEGIN,
            _grown(1),
            TraceMove(operation=CacheOperation.PREFIX, amount=_NEARLY_ALL, source=source, cut=cut),
        )
        for source in (PrefixSource.LATER, PrefixSource.SPLICED, PrefixSource.CHANGED)
        for cut in _CUTS
    ),
)


def guided_traces(operations: Collection[CacheOperation], focus: CacheOperation | None) -> Iterator[list[TraceMove]]:
    """The traces that have the focus, without the operations that the cache does not have; none twice."""
    given = set()
    for trace in _TRACES:
        usable = tuple(move for move in trace if move.operation in {CacheOperation.APPEND, *operations})
        if usable not in given and focus in {None, *(move.operation for move in usable)}:
            given.add(usable)
            yield list(usable)
