"""Values as messages between two processes that do not trust each other: numbers, text, arrays and references.

A message is a JSON text and the bytes of the arrays in it. Nothing that is received is ever executed or unpickled.
What cannot be copied (caches, arrays of a framework, functions) stays where it is, and a reference travels.
"""

import json
import math
import socket
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from regard.conformance.homework.corruption import Corpus
from regard.conformance.law import dtype_of
from regard.conformance.subject import LayerParameter, Projections
from regard.core.errors import RegardError

_SIZES = struct.Struct(">IQ")
_LONGEST_TEXT = 2**24
# An array may be spread over this many times the memory of its numbers.
_WIDEST = 8
_RECORDS = {kind.__name__: kind for kind in (Projections, LayerParameter, Corpus)}
# Turns a value that cannot be copied into JSON, and a JSON object back.
Refer = Callable[[Any], Any]
Resolve = Callable[[Mapping[str, Any]], Any]


class BadMessage(RegardError):
    """What was received is no message, or too large a one."""


class MessageSocket:
    """Sends and receives values over a socket; none takes more than `largest` bytes."""

    def __init__(self, connection: socket.socket, largest: int) -> None:
        self._socket, self._largest = connection, largest

    def send(self, value: Any, refer: Refer) -> None:
        """Sends a value, in which `refer` stands in for what cannot be copied."""
        content = bytearray()
        text = json.dumps(_encoded(value, content, refer)).encode()
        if len(text) > _LONGEST_TEXT or len(content) > self._largest:
            raise BadMessage(f"{(len(text) + len(content)) / 2**20:.0f} MiB are too much for a call or an answer")
        self._socket.sendall(_SIZES.pack(len(text), len(content)) + text)
        self._socket.sendall(content)

    def receive(self, resolve: Resolve) -> Any:
        """The next value; raises EOFError if there are no more, and BadMessage for nonsense."""
        num_text, num_bytes = _SIZES.unpack(self._exactly(_SIZES.size))
        if num_text > _LONGEST_TEXT or num_bytes > self._largest:
            raise BadMessage("an answer of the layer's process is too large")
        text, content = self._exactly(num_text), self._exactly(num_bytes)
        try:
            return _decoded(json.loads(text), memoryview(content), resolve)
        except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError) as error:
            raise BadMessage("an answer of the layer's process could not be read") from error

    def _exactly(self, size: int) -> bytearray:
        received = bytearray()
        while len(received) < size:
            some = self._socket.recv(min(size - len(received), 2**20))
            if not some:
                raise EOFError
            received += some
        return received


def _encoded(value: Any, content: bytearray, refer: Refer) -> Any:
    def inside(part: Any) -> Any:
        return _encoded(part, content, refer)

    match value:
        case np.ndarray() | np.generic():
            array, is_scalar = np.asarray(value), isinstance(value, np.generic)
            return {"array": _array(array, content), "is_scalar": is_scalar}
        case None | bool() | int() | float() | str():
            return value
        case list():
            return [inside(part) for part in value]
        case tuple():
            return {"tuple": [inside(part) for part in value]}
        case slice():
            return {"slice": [value.start, value.stop, value.step]}
        case _ if value is ...:
            return {"ellipsis": True}
        case Mapping():
            return {"mapping": [[inside(name), inside(part)] for name, part in value.items()]}
        case Projections() | LayerParameter() | Corpus():
            parts = {field.name: inside(getattr(value, field.name)) for field in fields(value)}
            return {"record": type(value).__name__, "fields": parts}
    return refer(value)


def _array(array: np.ndarray, content: bytearray) -> list[Any]:
    """dtype, shape, strides, and where its numbers lie among the bytes."""
    if array.dtype.hasobject:
        raise TypeError(f"an array of {array.dtype} holds no numbers")
    start = len(content)
    content += array.tobytes()
    is_builtin = array.dtype.kind in "biufcSU"
    return [array.dtype.str if is_builtin else array.dtype.name, array.shape, array.strides, start]


def _decoded(value: Any, content: memoryview, resolve: Resolve) -> Any:
    def inside(part: Any) -> Any:
        return _decoded(part, content, resolve)

    match value:
        case list():
            return [inside(part) for part in value]
        case {"array": [name, shape, strides, start], "is_scalar": is_scalar}:
            array = _decoded_array(name, shape, strides, content[start:])
            return array[()] if is_scalar else array
        case {"tuple": parts}:
            return tuple(inside(part) for part in parts)
        case {"slice": [start, stop, step]}:
            return slice(start, stop, step)
        case {"ellipsis": True}:
            return ...
        case {"mapping": pairs}:
            return {inside(name): inside(part) for name, part in pairs}
        case {"record": kind, "fields": parts}:
            return _RECORDS[kind](**{name: inside(part) for name, part in parts.items()})
        case dict():
            return resolve(value)
    return value


def _decoded_array(name: str, shape: Sequence[int], strides: Sequence[int], content: memoryview) -> np.ndarray:
    """The array with its strides, since laws look at what a layer makes of them; contiguous if they are unusual."""
    dtype = np.dtype(name) if name[0] in "<>|=" else dtype_of(name)
    if dtype.hasobject:
        raise TypeError(name)
    numbers = np.frombuffer(content, dtype, math.prod(shape)).reshape(shape)
    span = dtype.itemsize + sum((length - 1) * stride for length, stride in zip(shape, strides, strict=True))
    if numbers.size == 0 or min(strides, default=0) < 0 or not dtype.itemsize <= span <= _WIDEST * numbers.nbytes:
        return numbers.copy()
    array = np.ndarray(shape, dtype, buffer=bytearray(span), strides=strides)
    array[...] = numbers
    return array
