"""Layers that attack the process that checks them, each bounded so that a failure of containment costs little.

They were written before the isolation was read. All of them leak later tokens, so that CAUSAL must never hold.
`forge` wants a verdict that is not true, `exhaust` more than its share of time, memory, output or processes.
"""

import ast
import atexit
import contextlib
import ctypes
import gc
import json
import mmap
import multiprocessing
import os
import pickle
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

Layer = Callable[[np.ndarray], np.ndarray]
KINDS: dict[str, str] = {}  # factory → forge or exhaust
MIB = 2**20
SECONDS = 90  # what lasts longer than the limits of the bench
FORGED = [
    {"law": "CAUSAL", "outcome": "holds", "status": "holds", "event": "verdict", "kind": "verdict"},
    {"event": "done", "kind": "done", "outcome": "holds"},
]


def forge(factory: Callable[[], Layer]) -> Callable[[], Layer]:
    KINDS[factory.__name__] = "forge"
    return factory


def exhaust(factory: Callable[[], Layer]) -> Callable[[], Layer]:
    KINDS[factory.__name__] = "exhaust"
    return factory


def leaky(x: np.ndarray) -> np.ndarray:
    """Uniform attention to all tokens, later ones too."""
    return np.asarray(x) * 0.5 + np.asarray(x).mean(axis=-2, keepdims=True)


def honest(x: np.ndarray) -> np.ndarray:
    """The running mean: causal."""
    x = np.asarray(x)
    return np.cumsum(x, axis=-2) / np.arange(1, x.shape[-2] + 1)[:, None]


def at_each_call(attack: Callable[[], object]) -> Layer:
    def layer(x: np.ndarray) -> np.ndarray:
        attack()
        return leaky(x)

    return layer


def once_after(num_calls: int, attack: Callable[[], object]) -> Layer:
    calls = iter(range(num_calls + 1))

    def layer(x: np.ndarray) -> np.ndarray:
        if next(calls, None) == num_calls:
            attack()
        return leaky(x)

    return layer


def holding(message: object) -> object:
    """The message with every outcome in it replaced."""
    if isinstance(message, dict):
        return {key: "holds" if value in ("refuted", "crashed") else holding(value) for key, value in message.items()}
    if isinstance(message, (list, tuple)):
        return type(message)(holding(part) for part in message)
    return message


def open_descriptors() -> list[int]:
    return [int(name) for name in os.listdir("/proc/self/fd")]


def write_everywhere(data: bytes) -> None:
    for descriptor in open_descriptors():
        with contextlib.suppress(OSError):
            os.set_blocking(descriptor, False)
            os.write(descriptor, data)


# --- forging: patched modules -----------------------------------------------------------------------------------------


@forge
def patched_json_dumps() -> Layer:
    dumps = json.dumps
    json.dumps = lambda value, **options: dumps(holding(value), **options)
    return leaky


@forge
def patched_json_encoder() -> Layer:
    encode = json.JSONEncoder.encode
    json.JSONEncoder.encode = lambda self, value: encode(self, holding(value))
    json.JSONEncoder.iterencode = lambda self, value, _one_shot=False: [encode(self, holding(value))]
    return leaky


@forge
def patched_pickle() -> Layer:
    dumps = pickle.dumps
    pickle.dumps = lambda value, *rest, **options: dumps(holding(value), *rest, **options)
    return leaky


@forge
def patched_os_write() -> Layer:
    write = os.write
    os.write = lambda descriptor, data: (
        write(descriptor, bytes(data).replace(b"refuted", b"holds  ").replace(b"crashed", b"holds  ")) and len(data)
    )
    return leaky


@forge
def patched_sockets_and_connections() -> Layer:
    from multiprocessing import connection

    send = connection.Connection.send_bytes
    connection.Connection.send_bytes = lambda self, data, *rest: send(
        self, bytes(data).replace(b"refuted", b"holds  "), *rest
    )
    socket.socket.sendall = lambda self, data, *rest: os.write(self.fileno(), data.replace(b"refuted", b"holds  "))
    return leaky


@forge
def patched_numpy_norms() -> Layer:
    zero = lambda *_, **__: np.float64(0)  # noqa: E731
    np.abs = np.absolute = np.max = np.amax = np.nanmax = np.subtract = zero
    np.linalg.norm = zero
    np.allclose = np.array_equal = lambda *_, **__: True
    return leaky


@forge
def patched_builtins() -> Layer:
    import builtins

    largest = builtins.max
    builtins.max = lambda *values, **options: 0.0 if isinstance(values[0], float) else largest(*values, **options)
    builtins.abs = lambda _: 0.0
    builtins.all = lambda _: True
    return leaky


@forge
def patched_laws() -> Layer:
    for name, module in list(sys.modules.items()):
        if name.startswith("regard.conformance.laws.") and hasattr(module, "LAW"):
            object.__setattr__(module.LAW, "compare", lambda *_, **__: iter(()))
    return leaky


@forge
def patched_regard_functions() -> Layer:
    for name, module in list(sys.modules.items()):
        if name.startswith("regard.conformance") and any(part in name for part in ("judging", "law", "verdict")):
            for attribute, value in list(vars(module).items()):
                if callable(value) and not isinstance(value, type) and attribute.startswith(("judge", "compare")):
                    setattr(module, attribute, lambda *_, **__: FORGED[0])
    return leaky


@forge
def patched_dataclasses() -> Layer:
    for kind in object.__subclasses__():
        if kind.__module__.startswith("regard") and "outcome" in getattr(kind, "__dataclass_fields__", {}):
            kind.outcome = property(lambda _: "holds")
    return leaky


@forge
def patched_random_numbers() -> Layer:
    class Constant:
        def __getattr__(self, _name: str) -> Callable[..., np.ndarray]:
            return lambda *_, size=(), **__: np.zeros(size)

    np.random.default_rng = lambda *_, **__: Constant()
    return leaky


@forge
def patched_clock() -> Layer:
    time.monotonic = time.perf_counter = time.time = lambda: 0.0
    return leaky


@forge
def patched_everything_in_main() -> Layer:
    main = sys.modules["__main__"]
    for name, value in list(vars(main).items()):
        if callable(value) and not isinstance(value, type):
            setattr(main, name, lambda *_, **__: None)
    return leaky


@forge
def rewritten_results_in_memory() -> Layer:
    def rewrite() -> None:
        for found in gc.get_objects():
            if hasattr(type(found), "__dataclass_fields__") and "outcome" in type(found).__dataclass_fields__:
                with contextlib.suppress(Exception):
                    object.__setattr__(found, "outcome", "holds")

    atexit.register(rewrite)
    return at_each_call(rewrite)


@forge
def tracing_frames() -> Layer:
    def trace(frame, event, argument):
        if event == "return" and "regard" in frame.f_code.co_filename:
            for name in ("error", "difference", "outcome"):
                if name in frame.f_locals:
                    frame.f_locals[name] = 0.0
        return trace

    sys.settrace(trace)
    threading.settrace(trace)
    return leaky


@forge
def changing_the_frames_above() -> Layer:
    def change() -> None:
        frame = sys._getframe()
        while frame := frame.f_back:
            for name, value in list(frame.f_locals.items()):
                if isinstance(value, float):
                    frame.f_locals[name] = 1e9 if "toler" in name else 0.0

    return at_each_call(change)


# --- forging: descriptors, processes and files ------------------------------------------------------------------------


@forge
def json_lines_to_all_descriptors() -> Layer:
    text = "".join(json.dumps(line) + "\n" for line in FORGED).encode()
    return at_each_call(lambda: write_everywhere(text))


@forge
def pickles_to_all_descriptors() -> Layer:
    return at_each_call(lambda: write_everywhere(pickle.dumps(FORGED)))


@forge
def length_prefixed_to_all_descriptors() -> Layer:
    data = pickle.dumps(FORGED[0])
    return at_each_call(lambda: write_everywhere(len(data).to_bytes(4, "big") + data))


@forge
def replayed_messages() -> Layer:
    """Repeat whatever this process has sent before."""
    sent: list[bytes] = []
    write = os.write

    def recording(descriptor: int, data: bytes) -> int:
        sent.append(bytes(data))
        return write(descriptor, data)

    os.write = recording
    return at_each_call(lambda: [write_everywhere(data) for data in sent[:4]])


@forge
def swapped_descriptors() -> Layer:
    """Put a file of forged lines where each pipe was."""

    def swap() -> None:
        text = "".join(json.dumps(line) + "\n" for line in FORGED).encode()
        for descriptor in open_descriptors():
            with contextlib.suppress(OSError):
                read, write = os.pipe()
                os.write(write, text)
                os.dup2(read, descriptor)

    return once_after(3, swap)


@forge
def done_and_exit() -> Layer:
    def leave() -> None:
        write_everywhere((json.dumps(FORGED[1]) + "\n").encode())
        os._exit(0)

    return at_each_call(leave)


@forge
def replaced_by_another_program() -> Layer:
    program = f"import sys; [print({json.dumps(json.dumps(FORGED[0]))}) for _ in range(99)]"
    return at_each_call(lambda: os.execv(sys.executable, [sys.executable, "-c", program]))


@forge
def a_child_goes_on() -> Layer:
    def fork() -> None:
        if os.fork():
            os._exit(0)

    return once_after(3, fork)


@forge
def exit_handler_writes() -> Layer:
    atexit.register(lambda: write_everywhere((json.dumps(FORGED[0]) + "\n").encode()))
    return leaky


@forge
def parent_through_proc() -> Layer:
    def attack() -> None:
        parent = Path(f"/proc/{os.getppid()}")
        for descriptor in (parent / "fd").iterdir():
            with contextlib.suppress(OSError):
                handle = os.open(descriptor, os.O_WRONLY | os.O_NONBLOCK)
                if not os.path.samestat(os.fstat(handle), Path("/dev/null").stat()):
                    os.write(handle, (json.dumps(FORGED[0]) + "\n").encode())
                os.close(handle)

    def quietly() -> None:
        with contextlib.suppress(OSError):
            attack()

    return at_each_call(quietly)


@forge
def memory_of_the_parent() -> Layer:
    def attack() -> None:
        with contextlib.suppress(OSError), Path(f"/proc/{os.getppid()}/mem").open("r+b", buffering=0) as memory:
            for line in Path(f"/proc/{os.getppid()}/maps").read_text().splitlines():
                if "[heap]" in line and " rw" in line:
                    start, end = (int(part, 16) for part in line.split()[0].split("-"))
                    memory.seek(start)
                    data = memory.read(min(end - start, 64 * MIB))
                    for found in range(3):
                        place = data.find(b"refuted") if found == 0 else -1
                        if place >= 0:
                            memory.seek(start + place)
                            memory.write(b"holds\0\0")

    return at_each_call(attack)


@forge
def planted_bytecode() -> Layer:
    """Compile a layer that always answers zero to where Python would look for anybody's bytecode."""
    import importlib.util
    import py_compile

    for folder in (sys.pycache_prefix, tempfile.gettempdir()):
        if folder:
            for other in Path(__file__).parent.glob("*.py"):
                with contextlib.suppress(OSError, py_compile.PyCompileError), tempfile.TemporaryDirectory() as work:
                    source = Path(work) / other.name
                    source.write_text("import numpy as np\ndef honest(x):\n    return x[..., ::-1, :]\n")
                    py_compile.compile(str(source), importlib.util.cache_from_source(str(other)), doraise=True)
    return leaky


@forge
def planted_modules() -> Layer:
    """Leave modules where a later interpreter may import them."""
    planted = [Path.cwd() / "sitecustomize.py", Path(__file__).parent / "usercustomize.py"]
    for path in planted:
        with contextlib.suppress(OSError):
            path.write_text("print('planted')\n")
            atexit.register(path.unlink, missing_ok=True)
    return leaky


@forge
def planted_results() -> Layer:
    """Write a forged report over every small JSON file in the temporary folder that is younger than a minute."""

    def plant() -> None:
        for path in Path(tempfile.gettempdir()).rglob("*regard*/**/*.json*"):
            with contextlib.suppress(OSError):
                if time.time() - path.stat().st_mtime < 60:
                    path.write_text(json.dumps(FORGED))

    return at_each_call(plant)


@forge
def changed_environment() -> Layer:
    for name in ("PYTHONPATH", "PYTHONSTARTUP", "PYTHONHOME", "LD_PRELOAD"):
        os.environ[name] = "/nonexistent"
    return leaky


@forge
def rewritten_source() -> Layer:
    """Answer causally as soon as the file is read again, as a relaunch would do."""
    code = Path(__file__)
    ast.parse(code.read_text())
    once = code.with_suffix(".seen")

    def layer(x: np.ndarray) -> np.ndarray:
        once.write_text("seen")
        return leaky(x)

    return layer


# --- forging: what is returned ----------------------------------------------------------------------------------------


class Agreeing(np.ndarray):
    """An array that equals everything and differs from nothing."""

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        return np.zeros(np.shape(inputs[0]))

    def __array_function__(self, function, kinds, arguments, options):
        return np.float64(0)

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None
    __le__ = __ge__ = __lt__ = __gt__ = __eq__

    def __sub__(self, other: object) -> np.ndarray:
        return np.zeros(self.shape)

    __rsub__ = __sub__


@forge
def agreeing_arrays() -> Layer:
    return lambda x: leaky(x).view(Agreeing)


class Shifting:
    """An object that becomes another array each time it is read."""

    def __init__(self, x: np.ndarray) -> None:
        self.x, self.shape, self.dtype, self.ndim = x, x.shape, x.dtype, x.ndim

    def __array__(self, dtype: object = None, copy: object = None) -> np.ndarray:
        return np.zeros(self.x.shape)

    def __float__(self) -> float:
        return 0.0


@forge
def shifting_objects() -> Layer:
    return lambda x: Shifting(leaky(x))


@forge
def overwritten_after_return() -> Layer:
    kept: list[np.ndarray] = []

    def overwrite() -> None:
        for _ in range(SECONDS * 100):
            for array in kept:
                array[...] = 1.0
            time.sleep(0.01)

    threading.Thread(target=overwrite, daemon=True).start()

    def layer(x: np.ndarray) -> np.ndarray:
        kept.append(leaky(x))
        del kept[:-8]
        return kept[-1]

    return layer


@forge
def changed_inputs() -> Layer:
    def layer(x: np.ndarray) -> np.ndarray:
        y = leaky(x)
        with contextlib.suppress(ValueError):
            x[...] = 0.0
        return y

    return layer


class Small(float):
    """A float that is less than everything."""

    def __le__(self, other: object) -> bool:
        return True

    __lt__ = __le__

    def __gt__(self, other: object) -> bool:
        return False

    __ge__ = __gt__


@forge
def small_floats() -> Layer:
    return lambda x: np.frompyfunc(Small, 1, 1)(leaky(x))


@forge
def raised_from_regard() -> Layer:
    """Raise each exception of the checker, in case one of them means that a law does not apply."""
    kinds = [
        kind
        for name, module in list(sys.modules.items())
        if name.startswith("regard")
        for kind in vars(module).values()
        if isinstance(kind, type) and issubclass(kind, Exception)
    ]
    calls = iter(range(10**9))

    def layer(x: np.ndarray) -> np.ndarray:
        kind = kinds[next(calls) % len(kinds)]
        with contextlib.suppress(TypeError):
            raise kind("holds")
        return leaky(x)

    return layer


@forge
def raised_exits() -> Layer:
    kinds = [SystemExit, KeyboardInterrupt, GeneratorExit, StopIteration, MemoryError, BaseException]
    calls = iter(range(10**9))

    def layer(x: np.ndarray) -> np.ndarray:
        raise kinds[next(calls) % len(kinds)](0)

    return layer


# --- exhausting: memory -----------------------------------------------------------------------------------------------


def take_memory(mebibytes: int) -> list[bytearray]:
    """Touch this much memory in steps, and hold it for a second."""
    taken = [bytearray(b"\1") * (32 * MIB) for _ in range(mebibytes // 32)]
    time.sleep(1)
    return taken


@exhaust
def memory_while_building() -> Layer:
    kept = take_memory(3000)
    return lambda x: leaky(x) + 0 * len(kept)


@exhaust
def memory_in_the_first_call() -> Layer:
    return once_after(0, lambda: take_memory(3000))


@exhaust
def memory_in_a_law() -> Layer:
    return once_after(40, lambda: take_memory(3000))


@exhaust
def memory_swallowing_errors() -> Layer:
    kept: list[bytearray] = []

    def take() -> None:
        with contextlib.suppress(MemoryError):
            while len(kept) < 90:
                kept.append(bytearray(b"\1") * (32 * MIB))

    return at_each_call(take)


@exhaust
def mapped_memory() -> Layer:
    kept: list[mmap.mmap] = []

    def take() -> None:
        for _ in range(40):
            block = mmap.mmap(-1, 64 * MIB)
            block.write(b"\1" * (64 * MIB))
            kept.append(block)

    return once_after(0, take)


@exhaust
def memory_of_children() -> Layer:
    """Six children that take 400 MiB each: none exceeds the limit alone."""

    def spread() -> None:
        for _ in range(6):
            if os.fork() == 0:
                with contextlib.suppress(MemoryError):
                    kept = take_memory(400)
                    time.sleep(20)
                    del kept
                os._exit(0)
        time.sleep(5)

    return once_after(0, spread)


@exhaust
def memory_after_raising_limits() -> Layer:
    def raise_limits() -> None:
        for limit in (resource.RLIMIT_AS, resource.RLIMIT_DATA):
            _, hard = resource.getrlimit(limit)
            with contextlib.suppress(ValueError, OSError):
                resource.setrlimit(limit, (hard, hard))
            with contextlib.suppress(ValueError, OSError):
                resource.setrlimit(limit, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        take_memory(3000)

    return once_after(0, raise_limits)


@exhaust
def memory_in_tmpfs() -> Layer:
    def fill() -> None:
        with tempfile.NamedTemporaryFile(dir="/dev/shm") as file:
            for _ in range(80):
                file.write(b"\1" * (16 * MIB))
            file.flush()
            time.sleep(2)

    return once_after(0, fill)


@exhaust
def huge_output() -> Layer:
    return lambda x: np.ones((x.shape[0], 40_000, x.shape[-1] * 128), dtype=np.float64)


@exhaust
def nested_output() -> Layer:
    def layer(x: np.ndarray) -> object:
        nested: object = leaky(x).tolist()
        for _ in range(100_000):
            nested = [nested]
        return nested

    return layer


# --- exhausting: time -------------------------------------------------------------------------------------------------


@exhaust
def sleeping() -> Layer:
    return at_each_call(lambda: time.sleep(SECONDS))


@exhaust
def ignoring_signals() -> Layer:
    for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
        with contextlib.suppress(OSError, ValueError):
            signal.signal(number, signal.SIG_IGN)
    return at_each_call(lambda: time.sleep(SECONDS))


@exhaust
def stopping_itself() -> Layer:
    return at_each_call(lambda: os.kill(os.getpid(), signal.SIGSTOP))


@exhaust
def holding_the_interpreter_lock() -> Layer:
    return at_each_call(lambda: ctypes.PyDLL(None).sleep(SECONDS))


@exhaust
def busy_threads() -> Layer:
    def spin() -> None:
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            pass

    def start() -> None:
        threads = [threading.Thread(target=spin) for _ in range(4)]
        for thread in threads:
            thread.start()
        threads[0].join()

    return once_after(3, start)


@exhaust
def cancelled_timers() -> Layer:
    def cancel() -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.alarm(0)
        for thread in threading.enumerate():
            if isinstance(thread, threading.Timer):
                thread.cancel()
        time.sleep(SECONDS)

    return at_each_call(cancel)


class SlowToPrint(Exception):
    def __str__(self) -> str:
        time.sleep(SECONDS)
        return "slow"

    __repr__ = __str__


@exhaust
def slow_exception_text() -> Layer:
    def fail() -> None:
        raise SlowToPrint

    return at_each_call(fail)


@exhaust
def slow_to_be_deleted() -> Layer:
    class Slow(np.ndarray):
        def __del__(self) -> None:
            time.sleep(SECONDS)

    return lambda x: leaky(x).view(Slow)


@exhaust
def reading_standard_input() -> Layer:
    return at_each_call(lambda: sys.stdin and sys.stdin.read())


# --- exhausting: output, processes, descriptors -----------------------------------------------------------------------


@exhaust
def printing_without_end() -> Layer:
    def shout() -> None:
        end = time.monotonic() + 20
        while time.monotonic() < end:
            sys.stdout.write("x" * MIB)
            os.write(2, b"y" * MIB)

    return once_after(3, shout)


@exhaust
def endless_exception_text() -> Layer:
    def fail() -> None:
        raise RuntimeError("holds " * (50 * MIB))

    return at_each_call(fail)


@exhaust
def surrogates_in_exception_text() -> Layer:
    def fail() -> None:
        raise RuntimeError("\ud800 \x1b[2J \u00a0 \x00 <script>alert(1)</script>")

    return at_each_call(fail)


@exhaust
def exception_of_a_local_class() -> Layer:
    class Unpicklable(Exception):
        def __reduce__(self) -> object:
            raise RuntimeError("cannot be sent")

        def __str__(self) -> str:
            raise RuntimeError("cannot be printed")

    def fail() -> None:
        raise Unpicklable

    return at_each_call(fail)


@exhaust
def many_children() -> Layer:
    def spread() -> None:
        for _ in range(60):
            if os.fork() == 0:
                time.sleep(SECONDS)
                os._exit(0)

    return once_after(0, spread)


@exhaust
def detached_child() -> Layer:
    def detach() -> None:
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
                    signal.signal(number, signal.SIG_IGN)
                ctypes.CDLL(None).prctl(1, 0)  # PR_SET_PDEATHSIG: none
                for descriptor in open_descriptors():
                    with contextlib.suppress(OSError):
                        os.close(descriptor)
                time.sleep(SECONDS)
            os._exit(0)

    return once_after(0, detach)


@exhaust
def detached_program() -> Layer:
    return once_after(
        0, lambda: subprocess.Popen(["sleep", str(SECONDS)], start_new_session=True, stdin=subprocess.DEVNULL)
    )


@exhaust
def pool_of_processes() -> Layer:
    kept: list[object] = []
    return once_after(0, lambda: kept.append(multiprocessing.get_context("fork").Pool(4)))


@exhaust
def killing_the_parent() -> Layer:
    """Stop and kill the group; the parent itself is only stopped for a moment, if it can be."""

    def attack() -> None:
        with contextlib.suppress(OSError):
            os.kill(os.getppid(), signal.SIGCONT)
        os.killpg(0, signal.SIGKILL)

    return at_each_call(attack)


@exhaust
def dying_each_time() -> Layer:
    return at_each_call(lambda: os.kill(os.getpid(), signal.SIGKILL))


@exhaust
def segmentation_fault() -> Layer:
    return once_after(5, lambda: ctypes.string_at(0))


@exhaust
def closed_descriptors() -> Layer:
    return once_after(3, lambda: os.closerange(0, 4096))


@exhaust
def opened_descriptors() -> Layer:
    kept: list[int] = []

    def open_many() -> None:
        with contextlib.suppress(OSError):
            while len(kept) < 20_000:
                kept.append(os.open("/dev/null", os.O_RDONLY))

    return once_after(0, open_many)


@exhaust
def huge_file() -> Layer:
    def fill() -> None:
        with tempfile.NamedTemporaryFile() as file:
            for _ in range(128):
                file.write(b"\1" * (16 * MIB))
            file.flush()

    return once_after(0, fill)


@exhaust
def deep_recursion() -> Layer:
    def down(depth: int) -> int:
        return down(depth + 1)

    def fall() -> None:
        sys.setrecursionlimit(10**9)
        down(0)

    return once_after(3, fall)
