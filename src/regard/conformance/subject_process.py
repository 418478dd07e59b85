"""A layer in a process of its own that only answers calls, so that no code of the layer runs where laws are judged.

The judge forks that process before any code of the layer is loaded. All that it takes from there are values
(`value_messages`): whatever the layer patches, prints, writes or plants, it can only give other answers.
"""

import os
import re
import signal
import socket
import sys
import time
import types
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, Literal, NoReturn, get_args

import numpy as np

from regard.conformance.subject import (
    CacheLimits,
    FindingKind,
    KernelTraits,
    LayerFinding,
    LayerParameter,
    Projections,
    Spec,
    Subject,
)
from regard.conformance.value_messages import BadMessage, MessageSocket
from regard.conformance.verdict import LayerError, code_place, error_text
from regard.core.errors import InputError, RegardError
from regard.core.process_tree import ProcessTree, confine
from regard.core.processes import die_with_parent

_FLAGS = ("is_layer", "is_routed", "has_state", "is_read_off")
_ON_CACHES = tuple(f"{each}_cache" for each in "fork crop reject evict reorder reset release".split())
# What subjects may have besides the methods of the class.
_HOOKS = ("function", "mask_forms", "kept_table")
# Of the memory that a layer may take, one call or answer may take this part.
_PART_OF_A_MESSAGE = 8
_SMALLEST_LIMIT = 2**26
_LONGEST_NAME = 80
# Seconds within which a process that has closed its connection ends by itself.
_PATIENCE = 1.0

# Which part of an answer stays in the layer's process, with a reference in its place: a copy of a cache is no cache.
Kept = Literal["nothing", "all", "second"]


class LayerNotWritten(LayerError, NotImplementedError):
    """A layer raised NotImplementedError in its process."""


class LayerOutOfMemory(LayerError, MemoryError):
    """A layer raised MemoryError in its process."""


class LayerRefused(LayerError, InputError):
    """Regard refused the layer in its process; the message says why and what to do."""


# -- the judge's side --------------------------------------------------------------------------------------------------
class SubjectProcess:
    """Makes calls, one at a time. If the layer's process ends, this one ends in the same way, and all below it.

    Args:
        serve: what the layer's process does with its server; it never returns to the caller.
        memory: the bytes that the layer may take, of which one message takes only a part.
    """

    def __init__(self, serve: Callable[["SubjectServer"], None], *, memory: int) -> None:
        ours, theirs = socket.socketpair()
        largest = max(memory // _PART_OF_A_MESSAGE, _SMALLEST_LIMIT)
        judge = os.getpid()
        self._pid = os.fork()
        if self._pid == 0:
            _run_server(serve, theirs, largest, judge)
        theirs.close()
        self._messages = MessageSocket(ours, largest)
        self.released: list[int] = []
        self.is_unwritten = False

    def ask(self, number: int, name: str | None, *arguments: Any, kept: Kept = "nothing", **options: Any) -> Any:
        """What the object's method returns, or the object itself without a name; arrays changed there change here."""
        released, self.released = self.released, []
        given: list[Any] = [*arguments, *options.values()]
        self._send((number, name, list(arguments), options, kept, released))
        value, changed = self.answer()
        for place, array in changed:
            if isinstance(given[place], np.ndarray) and given[place].shape == array.shape:
                given[place][...] = array
        return value

    def answer(self) -> Any:
        """The next answer; raises what the layer raised."""
        try:
            message = self._messages.receive(self._resolved)
        except (EOFError, ConnectionError):
            self._end_alike()
        except BadMessage as error:
            _give_up(str(error))
        match message:
            case ("answer", value):
                return value
            case ("error", str(kind), str(text), str(where), bool(is_refused)):
                self.is_unwritten |= kind == NotImplementedError.__name__
                raise _as_raised(kind, text, where, is_refused=is_refused)
        return _give_up("an answer of the layer's process could not be read")

    def _send(self, request: tuple[Any, ...]) -> None:
        try:
            self._messages.send(request, _number_of)
        except ConnectionError:
            self._end_alike()

    def _resolved(self, reference: Mapping[str, Any]) -> Any:
        handle = _Handle(int(reference["object"]), self)
        if reference["kind"] == "function":
            return lambda *arguments, **options: self.ask(handle.number, None, *arguments, **options)
        return RemoteSubject(handle, reference["about"]) if reference["kind"] == "subject" else RemoteObject(handle)

    def _end_alike(self) -> NoReturn:
        ended, status, deadline = 0, 0, time.monotonic() + _PATIENCE
        while not ended and time.monotonic() < deadline:
            time.sleep(0.01)
            ended, status = os.waitpid(self._pid, os.WNOHANG)
        ProcessTree(os.getpid()).kill_descendants()
        code = os.waitstatus_to_exitcode(status) if ended else -signal.SIGKILL
        if code < 0:
            if -code not in (signal.SIGKILL, signal.SIGSTOP):
                signal.signal(-code, signal.SIG_DFL)
            os.kill(os.getpid(), -code)
        os._exit(max(code, 0))


def _give_up(reason: str) -> NoReturn:
    sys.stderr.write(f"{reason}\n")
    sys.stderr.flush()
    ProcessTree(os.getpid()).kill_descendants()
    os._exit(1)


_RAISED = {NotImplementedError.__name__: LayerNotWritten, MemoryError.__name__: LayerOutOfMemory}


def _as_raised(kind: str, text: str, where: str, *, is_refused: bool) -> LayerError:
    """An exception with the name of what was raised."""
    base = _RAISED.get(kind, LayerRefused if is_refused else LayerError)
    name = kind[:_LONGEST_NAME] if kind.isidentifier() else base.__name__
    error: LayerError = types.new_class(name, (base,))(error_text(text))
    error.where = re.sub(r"[^\w.: -]", "", where)[:_LONGEST_NAME]
    return error


class _Handle:
    """A number for an object in the layer's process, which forgets the object when nobody here needs it."""

    def __init__(self, number: int, process: SubjectProcess) -> None:
        self.number, self.process = number, process

    def __del__(self) -> None:
        self.process.released.append(self.number)


class RemoteObject:
    """Something in the layer's process that laws only pass on, index or ask for an attribute."""

    def __init__(self, handle: _Handle) -> None:
        self._handle = handle

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self._handle.process.ask(self._handle.number, "__getattribute__", name)
        except LayerError as error:
            raise AttributeError(name) from error

    def __getitem__(self, key: Any) -> Any:
        return self._handle.process.ask(self._handle.number, "__getitem__", key, kept="all")


def _number_of(value: Any) -> dict[str, Any]:
    if isinstance(value, RemoteObject | RemoteSubject):
        return {"object": value._handle.number}
    raise TypeError(f"{type(value).__name__} cannot be sent to the layer's process")


class RemoteSubject(Subject):
    """A subject in the layer's process. It says itself what it is called, what it can do and what it is meant to be."""

    def __init__(self, handle: _Handle, about: Mapping[str, Any]) -> None:
        self._handle = handle
        self.name, self.spec = str(about["name"]), Spec(**about["spec"])
        self.capabilities = frozenset(map(str, about["capabilities"]))
        for flag in _FLAGS:
            setattr(self, flag, bool(about[flag]))
        self.cache_limits = CacheLimits(**about["cache_limits"])
        self.findings = tuple(_finding(**each) for each in about["findings"])
        self.traits = KernelTraits(**about["traits"])
        for hook in set(about["hooks"]) & set(_HOOKS):
            setattr(self, hook, partial(self._ask, hook))
        # What they return stays there.
        for operation in (*_ON_CACHES, "swap_out", "swap_in"):
            setattr(self, operation, partial(self._ask, operation, kept="all"))

    def _ask(self, name: str, *arguments: Any, kept: Kept = "nothing", **options: Any) -> Any:
        return self._handle.process.ask(self._handle.number, name, *arguments, kept=kept, **options)

    def _array(self, name: str, *arguments: Any, **options: Any) -> np.ndarray:
        return _checked(self._ask(name, *arguments, **options))

    def call(self, x: np.ndarray, **options: Any) -> np.ndarray:
        """The layer's output."""
        return self._array("call", x, **options)

    def in_dtype(self, dtype: str) -> Subject:
        """The layer in another dtype; what it is meant to be stays ours to say."""
        other = self._ask("in_dtype", dtype)
        other.spec, other.capabilities = self.spec, self.capabilities & other.capabilities
        return other

    def declared(self, **changes: Any) -> Subject:
        """The layer there with some values of its spec changed, since its adapter may read them."""
        other = self._ask("declared", **changes)
        other.spec = replace(self.spec, **changes)
        other.capabilities = self.capabilities & other.capabilities
        return other

    def empty_cache(self, batch: int) -> Any:
        """A cache, which stays there."""
        return self._ask("empty_cache", batch, kept="all")

    def step(self, x: np.ndarray, cache: Any, **options: Any) -> tuple[np.ndarray, Any]:
        """The output, and a cache that stays there."""
        y, longer = self._ask("step", x, cache, kept="second", **options)
        return _checked(y), longer

    def new_session(self) -> Subject:
        """A subject there with nothing cached; what it is meant to be stays ours to say."""
        other = self._ask("new_session")
        other.spec, other.capabilities, other.cache_limits = self.spec, self.capabilities, self.cache_limits
        return other

    def prefix_cache(self, x: np.ndarray) -> tuple[int, Any]:
        """How many tokens are known, and a cache that stays there."""
        length, cache = self._ask("prefix_cache", x, kept="second")
        return int(length), cache

    def projections(self) -> Projections:
        """Copies of the matrices."""
        return self._ask("projections")

    def core(self, q: np.ndarray, k: np.ndarray, v: np.ndarray, **options: Any) -> np.ndarray:
        """The output of attention itself."""
        return self._array("core", q, k, v, **options)

    def heads_after(self, q: np.ndarray, k: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, ...]:
        """Copies of the three arrays."""
        return tuple(map(_checked, self._ask("heads_after", q, k, v)))

    def call_with_weights(self, x: np.ndarray, **options: Any) -> tuple[np.ndarray, np.ndarray]:
        """The output and the weights."""
        y, weights = self._ask("call_with_weights", x, **options)
        return _checked(y), _checked(weights)

    def gradient(self, x: np.ndarray, direction: np.ndarray, **options: Any) -> np.ndarray:
        """The gradient."""
        return self._array("gradient", x, direction, **options)

    def parameters(self) -> Mapping[str, LayerParameter]:
        """Copies of the parameters."""
        return self._ask("parameters")

    def parameter_gradients(self, x: np.ndarray, direction: np.ndarray, **options: Any) -> Mapping[str, np.ndarray]:
        """The gradients by name."""
        return {
            name: _checked(each) for name, each in self._ask("parameter_gradients", x, direction, **options).items()
        }

    def with_parameters(self, values: Mapping[str, np.ndarray]) -> Subject:
        """The layer there with other numbers; what it is meant to be stays ours to say."""
        other = self._ask("with_parameters", values)
        other.spec, other.capabilities = self.spec, self.capabilities & other.capabilities
        return other

    def paths(self) -> Mapping[str, Callable[..., np.ndarray]]:
        """Functions that call the paths there."""
        return self._ask("paths")

    def native(self, x: np.ndarray) -> Any:
        """An array of the framework, which stays there."""
        return self._ask("native", x, kept="all")

    def call_native(self, x: Any, **options: Any) -> Any:
        """The output as an array of the framework, which stays there."""
        return self._ask("call_native", x, kept="all", **options)

    def numpy(self, x: Any) -> np.ndarray:
        """A copy of an array of the framework."""
        return self._array("numpy", x)

    def run_kernel(self, operation: str, *arguments: Any) -> tuple[np.ndarray, ...]:
        """Copies of the arrays."""
        return tuple(map(_checked, self._ask("run_kernel", operation, *arguments)))


def _finding(*, name: Any, how: Any, value: Any, kind: Any) -> LayerFinding:
    """A finding of text and numbers, whatever it was made of."""
    plain = value if value is None or isinstance(value, bool | int | float) else error_text(value)
    kinds = {each: each for each in get_args(FindingKind)}
    return LayerFinding(name=error_text(name), how=error_text(how), value=plain, kind=kinds.get(kind, "unusual"))


def _checked(value: Any) -> np.ndarray:
    if not isinstance(value, np.ndarray):
        raise LayerError(f"the layer returns {type(value).__name__} instead of an array")
    return value


# -- the layer's side --------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class _Reference:
    """An object that is not to be copied."""

    value: Any


class SubjectServer:
    """Answers the judge's calls."""

    def __init__(self, messages: MessageSocket) -> None:
        self._messages = messages
        self._objects: dict[int, Any] = {}
        self._num_made = 0

    def attempt(self, work: Callable[[], Any]) -> None:
        """Sends what the work returns, or what it raises."""
        try:
            self.send(work())
        except BaseException as error:  # noqa: BLE001 - a layer may raise anything
            self._send_error(error)

    def send(self, value: Any) -> None:
        """Sends an answer that nobody has asked for, or the next one."""
        self._messages.send(("answer", value), self._refer)

    def answer_calls(self) -> None:
        """Answers until the judge is gone."""
        while True:
            try:
                number, name, arguments, options, kept, released = self._messages.receive(self._resolved)
            except (EOFError, ConnectionError):
                return
            for each in released:
                self._objects.pop(each, None)
            self.attempt(lambda: self._called(self._objects[number], name, arguments, options, kept))  # noqa: B023

    def _called(self, found: Any, name: str | None, arguments: list[Any], options: dict[str, Any], kept: Kept) -> Any:
        given = [*arguments, *options.values()]
        before = [each.copy() if isinstance(each, np.ndarray) else None for each in given]
        value = (found if name is None else getattr(found, name))(*arguments, **options)
        pairs = enumerate(zip(given, before, strict=True))
        changed = [(place, now) for place, (now, then) in pairs if then is not None and now.tobytes() != then.tobytes()]
        if kept == "all":
            value = _Reference(value)
        elif kept == "second":
            value = (value[0], _Reference(value[1]))
        return value, changed

    def _refer(self, value: Any) -> Any:
        value = value.value if isinstance(value, _Reference) else value
        # Every framework has dtypes of its own; laws compare their names.
        if type(value).__name__.lower().endswith("dtype"):
            return str(value)
        self._num_made += 1
        self._objects[self._num_made] = value
        about: dict[str, Any] = {"object": self._num_made, "kind": "function" if callable(value) else "object"}
        if isinstance(value, Subject):
            about |= {"kind": "subject", "about": _description(value)}
        return about

    def _resolved(self, reference: Mapping[str, Any]) -> Any:
        return self._objects[reference["object"]]

    def _send_error(self, error: BaseException) -> None:
        raised = (type(error).__name__, error_text(error), code_place(error), isinstance(error, RegardError))
        self._messages.send(("error", *raised), self._refer)


def _description(subject: Subject) -> dict[str, Any]:
    return {
        "name": subject.name,
        "spec": asdict(subject.spec),
        "capabilities": sorted(subject.capabilities),
        "cache_limits": asdict(subject.cache_limits),
        **{name: bool(getattr(subject, name)) for name in _FLAGS},
        "findings": [asdict(_finding(**vars(each))) for each in subject.findings],
        "traits": asdict(subject.traits),
        "hooks": [hook for hook in _HOOKS if hasattr(subject, hook)],
    }


def _run_server(serve: Callable[[SubjectServer], None], judge: socket.socket, largest: int, parent: int) -> NoReturn:
    try:
        die_with_parent(parent)
        os.setsid()
        _keep_only(judge.fileno())
        confine()
        serve(SubjectServer(MessageSocket(judge, largest)))
    finally:
        os._exit(0)


def _keep_only(descriptor: int) -> None:
    """Closes all that the judge has open but standard output and error, and this."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.closerange(3, descriptor)
    os.closerange(descriptor + 1, os.sysconf("SC_OPEN_MAX"))
