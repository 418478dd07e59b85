"""The far side of isolation: one layer in a process of its own, telling on standard output how its laws fare.

What the layer itself prints goes to standard error, so that it cannot disturb the telling. Run as `python -c` by
`regard.conformance.isolation`; each line told is a JSON object with an `event`.
"""

import json
import os
import sys
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, TextIO

from regard.conformance.requests import CheckRequest, build_subject
from regard.core.errors import RegardError

_GIB = 2**30
# Address space that numerical libraries reserve while they are loaded, most of it never used.
_LIBRARIES = 16 * _GIB
# How often it looks whether the one that asked is still there, in seconds.
_LOOK = 0.5

Tell = Callable[[dict[str, Any]], None]


def main() -> None:
    """Reads one order from standard input and works it off."""
    request = json.loads(sys.stdin.buffer.readline())
    _work_off(request, _own_channel())


def serve(request: str, channel: Connection, words: str, path: list[str]) -> None:
    """The same in a forked process: tells on the channel, and says what else it has to say into the file `words`."""
    os.setsid()
    sys.path[:] = path
    with open(words, "wb") as said:  # noqa: PTH123 - a number of a file is what is wanted
        os.dup2(said.fileno(), 2)
        os.dup2(said.fileno(), 1)
    _work_off(json.loads(request), os.fdopen(os.dup(channel.fileno()), "w", encoding="utf-8"))


def _work_off(request: dict[str, Any], channel: TextIO) -> None:
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()

    def tell(event: dict[str, Any]) -> None:
        channel.write(json.dumps(event) + "\n")
        channel.flush()

    try:
        _work(CheckRequest.from_dict(request["order"]), int(request["memory"]), tell)
    except RegardError as error:
        tell({"event": "refused", "reason": str(error)})
    except Exception as error:  # noqa: BLE001 - building a layer may raise anything
        tell({"event": "failed", "reason": _words(error)})


def _end_with(parent: int) -> None:
    """Ends this process when its parent is gone: a layer that hangs would go on for ever, with nobody to stop it."""
    while os.getppid() == parent:
        time.sleep(_LOOK)
    os._exit(1)


def _own_channel() -> TextIO:
    """Standard output as it was given to us; from now on file number 1 leads to standard error."""
    channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return channel


def _work(order: CheckRequest, memory: int, tell: Tell) -> None:
    from regard.conformance.checking import chosen_laws, expected
    from regard.conformance.reproduction import try_law

    limit_memory(memory + _LIBRARIES)
    subject, inferred = build_subject(order, lambda stage: tell({"event": "stage", "stage": stage}))
    limit_memory(memory)
    laws = chosen_laws(None if order.laws is None else ",".join(order.laws))
    spec = {name: getattr(subject.spec, name) for name in subject.spec.__dataclass_fields__}
    tell({"event": "built", "name": subject.name, "spec": spec, "inferred": inferred})
    for law in laws.values():
        tell({"event": "trying", "law": law.id})
        verdict = expected(try_law(law, subject, order), order.expect)
        tell({"event": "verdict", "verdict": verdict.to_dict()})
    tell({"event": "done"})


def limit_memory(more: int) -> None:
    """No more address space than this process has now and `more` bytes beside; without effect where none can be set."""
    try:
        import resource

        now = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
    except (ImportError, OSError):
        return
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = now + more
    resource.setrlimit(resource.RLIMIT_AS, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard))


def _words(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else 'no message'}"
