"""Vectors of numbers for functions that Numba compiles, as wide as the processor's registers.

LLVM finds no vectors in loops like those of `kernel`, so here they are a type, with what is done to them. Arrays are
flat and hold float32, or bfloat16 as whole numbers of 16 bits. Signatures have no types, since Numba finds them.
"""

# The first argument of an operation on vectors is Numba's own.
# pyright: reportCallIssue=false

import math
import operator
from typing import Any

import numpy as np
from llvmlite import binding, ir
from numba import types
from numba.extending import intrinsic, models, overload, register_model

LANES = 16 if binding.get_host_cpu_features().get("avx512f") else 8
"""Numbers of a vector."""

_FLOAT, _HALF, _WHOLE = ir.FloatType(), ir.IntType(16), ir.IntType(32)
_FLOATS, _HALVES, _WHOLES = (ir.VectorType(kind, LANES) for kind in (_FLOAT, _HALF, _WHOLE))
# a·b + c may be rounded once instead of twice.
_LOOSE = ["contract"]
# Below this e^x counts as 0.
_LEAST = -87.0


class _Lanes(types.Type):
    def __init__(self) -> None:
        super().__init__("Lanes")


_LANES = _Lanes()


@register_model(_Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: types.Type) -> None:
        super().__init__(manager, kind, _FLOATS)


@intrinsic
def load(_typing, array, place):
    """The vector that begins at a place."""

    def made(context, builder, signature, given):
        return _read(builder, signature.args[0], _pointer(context, builder, signature.args[0], *given))

    return _LANES(array, types.intp), made


@intrinsic
def store(_typing, array, place, vector):
    """Puts a vector at a place and those behind it."""

    def made(context, builder, signature, given):
        _write(builder, signature.args[0], _pointer(context, builder, signature.args[0], *given[:2]), given[2])
        return context.get_dummy_value()

    return types.void(array, types.intp, _LANES), made


@intrinsic
def pick(_typing, array, place):
    """One number of an array of float32, in each lane."""

    def made(context, builder, signature, given):
        assert signature.args[0].dtype is types.float32
        pointer = _pointer(context, builder, signature.args[0], *given)
        return _spread(builder, builder.load(pointer, typ=_FLOAT))

    return _LANES(array, types.intp), made


@intrinsic
def spread(_typing, number):
    """A number in each lane."""
    return _LANES(types.float32), lambda _context, builder, _signature, given: _spread(builder, given[0])


def _of_two(made):
    """An operation on two vectors, lane by lane."""

    def lane_by_lane(_context, builder, _signature, given):
        return made(builder, *given)

    return intrinsic(lambda _typing, a, b: (_LANES(_LANES, _LANES), lane_by_lane))


def _of_all(made):
    """An operation on all lanes of a vector: on its halves, then on the halves of that."""

    def by_halves(_context, builder, _signature, given):
        vector, size = given[0], LANES
        while size > 1:
            size //= 2
            kind = ir.VectorType(_WHOLE, size)
            low, high = (ir.Constant(kind, list(range(first, first + size))) for first in (0, size))
            vector = made(builder, *(builder.shuffle_vector(vector, vector, half) for half in (low, high)))
        return builder.extract_element(vector, _WHOLE(0))

    return intrinsic(lambda _typing, vector: (types.float32(_LANES), by_halves))


def _larger(builder, a, b):
    return builder.select(builder.fcmp_ordered(">", a, b), a, b)


_plus = _of_two(lambda builder, a, b: builder.fadd(a, b, flags=_LOOSE))
_minus = _of_two(lambda builder, a, b: builder.fsub(a, b, flags=_LOOSE))
_times = _of_two(lambda builder, a, b: builder.fmul(a, b, flags=_LOOSE))
larger = _of_two(_larger)
total = _of_all(lambda builder, a, b: builder.fadd(a, b))
largest = _of_all(_larger)


@overload(operator.add)
def _add(a, b):
    return (lambda a, b: _plus(a, b)) if a is _LANES and b is _LANES else None


@overload(operator.sub)
def _subtract(a, b):
    return (lambda a, b: _minus(a, b)) if a is _LANES and b is _LANES else None


@overload(operator.mul)
def _multiply(a, b):
    return (lambda a, b: _times(a, b)) if a is _LANES and b is _LANES else None


@intrinsic
def exp(_typing, vector):
    """e^x for x < 88, to the last bit or two: 2^n times a polynomial in the rest; 0 far below 0."""

    def made(_context, builder, _signature, given):
        is_seen = builder.fcmp_unordered(">", given[0], _floats(_LEAST))
        x, shift = builder.select(is_seen, given[0], _floats(_LEAST)), _floats(1.5 * 2**23)
        n = builder.fsub(builder.fadd(builder.fmul(x, _floats(1 / math.log(2))), shift), shift)
        # The first part of log 2 has so few digits that its product with n is exact.
        coarse = 0.693359375
        rest = _fused(builder, n, _floats(coarse - math.log(2)), _fused(builder, n, _floats(-coarse), x))
        power = _floats(1 / math.factorial(7))
        for degree in reversed(range(7)):
            power = _fused(builder, power, rest, _floats(1 / math.factorial(degree)))
        bits = builder.shl(builder.add(builder.fptosi(n, _WHOLES), _wholes(127)), _wholes(23))
        return builder.select(is_seen, builder.fmul(power, builder.bitcast(bits, _FLOATS)), _floats(0))

    return _LANES(_LANES), made


@intrinsic
def growths(_typing, chance, place):
    """By how much shares grow, from the one with the number `place` on; 0 for those that are dropped."""

    def made(_context, builder, _signature, given):
        seed, other_seed, limit, growth = (builder.extract_value(given[0], number) for number in range(4))
        drawn = _spread(builder, builder.trunc(given[1], _WHOLE))
        drawn = builder.add(drawn, ir.Constant(_WHOLES, list(range(LANES))))
        for key, factor, shift in ((seed, 0x85EBCA6B, 16), (other_seed, 0xC2B2AE35, 13), (seed, 0x9E3779B1, 16)):
            drawn = builder.mul(builder.xor(drawn, _spread(builder, key)), _wholes(factor))
            drawn = builder.xor(drawn, builder.lshr(drawn, _wholes(shift)))
        is_dropped = builder.icmp_unsigned("<", drawn, _spread(builder, limit))
        return builder.select(is_dropped, _floats(0), _spread(builder, growth))

    return _LANES(chance, types.intp), made


@intrinsic
def turn_square(_typing, source, target):
    """LANES rows of a matrix become columns of another: blocks of 1, then 2, then 4 … change places in pairs."""

    def made(context, builder, signature, given):
        sources, targets = (
            [_pointer(context, builder, kind[0], *place) for place in _row_places(builder, matrix)]
            for kind, matrix in zip(signature.args, given, strict=True)
        )
        rows, size = [_read(builder, signature.args[0][0], pointer) for pointer in sources], 1
        while size < LANES:
            low = ir.Constant(_WHOLES, [LANES + k - size if k & size else k for k in range(LANES)])
            high = ir.Constant(_WHOLES, [LANES + k if k & size else k + size for k in range(LANES)])
            for first in (number for number in range(LANES) if not number & size):
                pair = rows[first], rows[first + size]
                rows[first], rows[first + size] = (builder.shuffle_vector(*pair, half) for half in (low, high))
            size *= 2
        for row, pointer in zip(rows, targets, strict=True):
            _write(builder, signature.args[1][0], pointer, row)
        return context.get_dummy_value()

    return types.void(source, target), made


def _row_places(builder, matrix):
    values, start, row = (builder.extract_value(matrix, number) for number in range(3))
    return [(values, builder.add(start, builder.mul(row, row.type(number)))) for number in range(LANES)]


def _pointer(context, builder, kind, array, place):
    assert kind.dtype in (types.float32, types.int16)
    element = _FLOAT if kind.dtype is types.float32 else _HALF
    return builder.gep(context.make_array(kind)(context, builder, array).data, [place], source_etype=element)


def _read(builder, kind, pointer):
    if kind.dtype is types.float32:
        return builder.load(builder.bitcast(pointer, _FLOATS.as_pointer()), align=4, typ=_FLOATS)
    halves = builder.load(builder.bitcast(pointer, _HALVES.as_pointer()), align=2, typ=_HALVES)
    return builder.bitcast(builder.shl(builder.zext(halves, _WHOLES), _wholes(16)), _FLOATS)


def _write(builder, kind, pointer, vector):
    """As bfloat16 it is the nearest number, of two the even one."""
    if kind.dtype is types.float32:
        builder.store(vector, builder.bitcast(pointer, _FLOATS.as_pointer()), align=4)
        return
    bits = builder.bitcast(vector, _WHOLES)
    is_odd = builder.and_(builder.lshr(bits, _wholes(16)), _wholes(1))
    rounded = builder.add(builder.add(bits, _wholes(0x7FFF)), is_odd)
    is_number = builder.fcmp_ordered("ord", vector, vector)
    kept = builder.select(is_number, rounded, builder.or_(bits, _wholes(0x400000)))
    halves = builder.trunc(builder.lshr(kept, _wholes(16)), _HALVES)
    builder.store(halves, builder.bitcast(pointer, _HALVES.as_pointer()), align=2)


def _spread(builder, number):
    nothing = ir.Constant(ir.VectorType(number.type, LANES), ir.Undefined)
    return builder.shuffle_vector(builder.insert_element(nothing, number, _WHOLE(0)), nothing, _wholes(0))


def _fused(builder, a, b, c):
    return builder.fadd(builder.fmul(a, b, flags=_LOOSE), c, flags=_LOOSE)


def _wholes(value):
    return ir.Constant(_WHOLES, [value] * LANES)


def _floats(value):
    return ir.Constant(_FLOATS, [float(np.float32(value))] * LANES)
