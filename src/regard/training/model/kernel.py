"""Attention as machine code that never makes a tile of the logits in which nothing may be seen.

Numba compiles these functions at their first use. A head is copied to where it lies in one piece, and the rest happens
there: all products are made by `_multiply`, ROWS × LANES numbers at a time.
"""

# The first argument of an operation on vectors is Numba's own.
# pyright: reportCallIssue=false

import zlib
from pathlib import Path

import numpy as np
from numba import njit

from regard.training.model import kernel_data, vectors
from regard.training.model.kernel_data import BackDesk, Block, Desk, Matrix, Place, Seen
from regard.training.model.vectors import (
    LANES,
    exp,
    growths,
    larger,
    largest,
    load,
    pick,
    spread,
    store,
    total,
    turn_square,
)

ROWS = 8
"""Queries of a tile."""

_ONE, _ZERO, _LOWEST = np.float32(1), np.float32(0), np.finfo(np.float32).min
_SOURCES = b"".join(Path(file).read_bytes() for file in (__file__, kernel_data.__file__, vectors.__file__))
_OPTIONS = {"nogil": True, "error_model": "numpy"}

_compiled = njit(**_OPTIONS)


def _kept(function):
    """Compiled once for all runs. The name says what from, since Numba would not notice that a source changed."""
    function.__qualname__ += f"_{LANES}_{zlib.crc32(_SOURCES):08x}"
    return njit(**_OPTIONS, cache=True)(function)


@_compiled
def _multiply(left, right, target, depth, is_fresh):
    """ROWS × LANES of a product of matrices, made in registers; added to what is there unless it is fresh."""
    here, below = target.start, target.row
    a = b = c = d = e = f = g = h = spread(_ZERO)
    if not is_fresh:
        a, b = load(target.values, here), load(target.values, here + below)
        c, d = load(target.values, here + 2 * below), load(target.values, here + 3 * below)
        e, f = load(target.values, here + 4 * below), load(target.values, here + 5 * below)
        g, h = load(target.values, here + 6 * below), load(target.values, here + 7 * below)
    for k in range(depth):
        row, place = load(right.values, right.start + k * right.row), left.start + k * left.column
        a, b = a + pick(left.values, place) * row, b + pick(left.values, place + left.row) * row
        c, d = c + pick(left.values, place + 2 * left.row) * row, d + pick(left.values, place + 3 * left.row) * row
        e, f = e + pick(left.values, place + 4 * left.row) * row, f + pick(left.values, place + 5 * left.row) * row
        g, h = g + pick(left.values, place + 6 * left.row) * row, h + pick(left.values, place + 7 * left.row) * row
    store(target.values, here, a), store(target.values, here + below, b)
    store(target.values, here + 2 * below, c), store(target.values, here + 3 * below, d)
    store(target.values, here + 4 * below, e), store(target.values, here + 5 * below, f)
    store(target.values, here + 6 * below, g), store(target.values, here + 7 * below, h)


@_compiled
def _gather(heads, row, size, scale, desk):
    """Copies the vectors of a place to the desk, where those of a head lie together."""
    by = spread(scale)
    for head in range(size.heads):
        source = row.batch * heads.batch + head * heads.head + row.place * heads.place
        target = head * size.step + row.place * size.width
        for column in range(0, size.width, LANES):
            store(desk, target + column, load(heads.values, source + column) * by)


@_compiled
def _scatter(desk, row, size, scale, heads):
    """Copies the vectors of a place from the desk to a tensor."""
    by = spread(scale)
    for head in range(size.heads):
        source = head * size.step + row.place * size.width
        target = row.batch * heads.batch + head * heads.head + row.place * heads.place
        for column in range(0, size.width, LANES):
            store(heads.values, target + column, load(desk, source + column) * by)


@_compiled
def _turn(desk, start, size, target):
    """A head with its places as columns."""
    for place in range(0, size.length, LANES):
        for column in range(0, size.width, LANES):
            source = Matrix(desk, start + place * size.width + column, size.width, 1)
            turn_square(source, Matrix(target, column * size.line + place, size.line, 1))


@_compiled
def _is_seen(seen, number):
    """Whether a tile holds anything that may be seen."""
    return seen.tiles[seen.first + number * seen.step]


@_compiled
def _dots(rows, turned, size, seen, target):
    """The dot products of ROWS vectors with the columns of `turned`, in seen tiles."""
    for number in range(seen.count):
        if _is_seen(seen, number):
            columns = Matrix(turned, number * LANES, size.line, 1)
            here = Matrix(target.values, target.start + number * LANES, size.line, 1)
            _multiply(rows, columns, here, size.width, True)


@_compiled
def _mix(shares, things, size, seen, target):
    """ROWS rows of shares times things, from seen tiles; those that follow one another are one product."""
    for column in range(0, size.width, LANES):
        sums, is_fresh, first = Matrix(target.values, target.start + column, size.width, 1), True, 0
        while first < seen.count:
            last = first + 1
            while last < seen.count and _is_seen(seen, last) == _is_seen(seen, first):
                last += 1
            if _is_seen(seen, first):
                place = first * seen.places
                left = Matrix(shares.values, shares.start + place * shares.column, shares.row, shares.column)
                right = Matrix(things.values, things.start + place * size.width + column, size.width, 1)
                _multiply(left, right, sums, (last - first) * seen.places, is_fresh)
                is_fresh = False
            first = last
        if is_fresh:
            _multiply(shares, things, sums, 0, True)


@_compiled
def _mix_back(shares, things, size, tiles, target):
    """What keys gather from all queries: the shares that those had in them, of things."""
    count, blocks = size.length // LANES, size.length // ROWS
    for key in range(0, size.length, ROWS):
        sums = Matrix(target.values, target.start + key * size.width, size.width, 1)
        seen = Seen(tiles, key // LANES, count, blocks, ROWS)
        _mix(Matrix(shares, key, 1, size.line), things, size, seen, sums)


@_compiled
def _softmax(task, size, block, shares, logs):
    """The logits of ROWS queries become shares, as they are after dropout."""
    for row in range(ROWS):
        bias, query, start = block.bias + row * task.bias.place, block.query + row, row * size.line
        tops, sums = spread(np.float32(-np.inf)), spread(_ZERO)
        for number in range(block.seen.count):
            if _is_seen(block.seen, number):
                place = start + number * LANES
                logits = load(shares, place) + load(task.bias.values, bias + number * LANES)
                store(shares, place, logits)
                tops = larger(tops, logits)
        # A query that sees nothing gathers nothing, and its logits have no gradients.
        top = max(largest(tops), _LOWEST)
        for number in range(block.seen.count):
            if _is_seen(block.seen, number):
                powers = exp(load(shares, start + number * LANES) - spread(top))
                store(shares, start + number * LANES, powers)
                sums = sums + powers
        whole = total(sums)
        logs[query] = top + np.log(whole) if whole != _ZERO else np.inf
        by = spread(_ONE / whole if whole != _ZERO else _ZERO)
        for number in range(block.seen.count):
            if _is_seen(block.seen, number):
                kept = load(shares, start + number * LANES) * by
                if task.chance.limit:
                    kept = kept * growths(task.chance, query * size.length + number * LANES)
                store(shares, start + number * LANES, kept)


@_compiled
def _blame(task, size, block, logs, desk):
    """Shares from the logits of ROWS queries, and the gradients of logits from those of shares."""
    for row in range(ROWS):
        bias, query = block.bias + row * task.bias.place, block.query + row
        log, mean = pick(logs, query), pick(desk.means, query % size.length)
        for number in range(block.seen.count):
            if _is_seen(block.seen, number):
                place = query % size.length * size.line + number * LANES
                share = exp(load(desk.shares, place) + load(task.bias.values, bias + number * LANES) - log)
                error, kept = load(desk.errors, place), share
                if task.chance.limit:
                    growth = growths(task.chance, query * size.length + number * LANES)
                    error, kept = error * growth, kept * growth
                store(desk.shares, place, kept)
                store(desk.errors, place, share * (error - mean))


@_compiled
def _find_means(gradient, made, start, size, means):
    """The mean gradient of each query's shares is the product of what it gathered and the gradient of that."""
    for place in range(size.length):
        sums, first = spread(_ZERO), start + place * size.width
        for column in range(0, size.width, LANES):
            sums = sums + load(gradient, first + column) * load(made, first + column)
        means[place] = total(sums)


@_compiled
def _block(task, size, batch, head, first):
    """The ROWS queries of a head from `first` on."""
    count = size.length // LANES
    return Block(
        batch * task.bias.batch + head * task.bias.head + first * task.bias.place,
        (batch * size.heads + head) * size.length + first,
        Seen(task.tiles, (batch * size.length + first) // ROWS * count, 1, count, LANES),
    )


@_compiled
def _rows(values, head, first, size):
    """The vectors of a head on a desk, from `first` on."""
    return Matrix(values, head * size.step + first * size.width, size.width, 1)


@_compiled
def _desk(size):
    """An empty desk."""
    room = size.heads * size.step
    queries, keys, values = np.empty(room, np.float32), np.empty(room, np.float32), np.empty(room, np.float32)
    return Desk(queries, keys, values, np.empty(size.width * size.line, np.float32))


@_compiled
def _back_desk(size):
    """An empty desk for gradients."""
    room, square = size.heads * size.step, size.length * size.line
    made, gradient = np.empty(room, np.float32), np.empty(room, np.float32)
    turned, means = np.empty(size.width * size.line, np.float32), np.empty(size.length, np.float32)
    return BackDesk(made, gradient, turned, np.empty(square, np.float32), np.empty(square, np.float32), means)


@_compiled
def _lay_out(task, size, place, desk):
    """Copies a place's queries, already scaled, keys and values to the desk."""
    _gather(task.queries, place, size, task.scale, desk.queries)
    _gather(task.keys, place, size, _ONE, desk.keys)
    _gather(task.values, place, size, _ONE, desk.values)


@_kept
def attend(task, size, target, logs):
    """softmax(scale·QKᵀ + B)V of each head, and the logarithm of each softmax's denominator."""
    desk, shares = _desk(size), np.empty(ROWS * size.line, np.float32)
    for batch in range(size.batch):
        for place in range(size.length):
            _lay_out(task, size, Place(batch, place), desk)
        for head in range(size.heads):
            _turn(desk.keys, head * size.step, size, desk.turned_keys)
            for first in range(0, size.length, ROWS):
                block, rows = _block(task, size, batch, head, first), _rows(desk.queries, head, first, size)
                _dots(rows, desk.turned_keys, size, block.seen, Matrix(shares, 0, size.line, 1))
                _softmax(task, size, block, shares, logs)
                _mix(Matrix(shares, 0, size.line, 1), _rows(desk.values, head, 0, size), size, block.seen, rows)
        for place in range(size.length):
            _scatter(desk.queries, Place(batch, place), size, _ONE, target)


@_kept
def find_gradients(task, size, outcome, targets):
    """The gradients of queries, keys and values, which come to lie where values, keys and what was made did."""
    desk, back, per_row = _desk(size), _back_desk(size), size.length // ROWS * (size.length // LANES)
    for batch in range(size.batch):
        for number in range(size.length):
            place = Place(batch, number)
            _lay_out(task, size, place, desk)
            _gather(outcome.made, place, size, _ONE, back.made)
            _gather(outcome.gradient, place, size, _ONE, back.gradient)
        tiles = task.tiles[batch * per_row : (batch + 1) * per_row]
        for head in range(size.heads):
            _turn(desk.keys, head * size.step, size, desk.turned_keys)
            _turn(desk.values, head * size.step, size, back.turned_values)
            _find_means(back.gradient, back.made, head * size.step, size, back.means)
            keys, queries = _rows(desk.keys, head, 0, size), _rows(desk.queries, head, 0, size)
            for first in range(0, size.length, ROWS):
                block = _block(task, size, batch, head, first)
                shares = Matrix(back.shares, first * size.line, size.line, 1)
                errors = Matrix(back.errors, first * size.line, size.line, 1)
                _dots(_rows(desk.queries, head, first, size), desk.turned_keys, size, block.seen, shares)
                _dots(_rows(back.gradient, head, first, size), back.turned_values, size, block.seen, errors)
                _blame(task, size, block, outcome.logs, back)
                _mix(errors, keys, size, block.seen, _rows(desk.values, head, first, size))
            _mix_back(back.errors, queries, size, tiles, keys)
            _mix_back(back.shares, _rows(back.gradient, head, 0, size), size, tiles, _rows(back.made, head, 0, size))
        for number in range(size.length):
            place = Place(batch, number)
            _scatter(desk.values, place, size, task.scale, targets[0])
            _scatter(desk.keys, place, size, _ONE, targets[1])
            _scatter(back.made, place, size, _ONE, targets[2])
