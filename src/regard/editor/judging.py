"""The process that judges documents, as the language server sees it: started, asked, restarted, ended."""

import asyncio
import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from regard.core.processes import GIB, Child, Ended, Inbox, Message

_WORKER = "regard.editor.worker:run_worker"
_SECONDS = 30.0
_MEMORY = 2 * GIB


@dataclass(kw_only=True)
class JudgingProcess:
    """A worker that is asked by key, the newest version of each; `on_answer` is called on the event loop.

    A worker that takes longer than `seconds` or dies is replaced when the next request comes; its requests are answered
    with the reason. A newer request with the same key takes the place of an older one, which is never answered.
    """

    on_answer: Callable[[Message], None]
    seconds: float = _SECONDS
    _child: Child | None = field(init=False, default=None)
    _open: dict[str, int] = field(init=False, default_factory=dict)
    _deadline: asyncio.TimerHandle | None = field(init=False, default=None)

    def start(self) -> None:
        """Starts the worker if it isn't running."""
        if self._child is not None:
            return
        inbox: Inbox = queue.SimpleQueue()
        self._child = Child(_WORKER, inbox=inbox)
        self._child.limit_memory(_MEMORY)
        threading.Thread(target=_forward, args=(inbox, asyncio.get_running_loop(), self._receive), daemon=True).start()

    def ask(self, key: str, version: int, **request: Any) -> None:
        """Sends a request; its answer comes later, if no newer one with the same key follows."""
        self.start()
        assert self._child is not None
        self._open[key] = version
        self._watch()
        self._child.send({"key": key, "version": version, **request})

    def withdraw(self, key: str) -> None:
        """Forgets a request: whatever is answered is dropped."""
        self._open.pop(key, None)

    def stop(self) -> None:
        """Ends the worker and whatever it has started."""
        child, self._child = self._child, None
        if self._deadline is not None:
            self._deadline.cancel()
        if child is not None:
            child.kill()

    def _watch(self) -> None:
        """The time limit starts anew with every request and answer."""
        if self._deadline is not None:
            self._deadline.cancel()
        loop = asyncio.get_running_loop()
        self._deadline = loop.call_later(self.seconds, self._give_up, Ended.timed_out(self.seconds))

    def _receive(self, child: Child, message: Message | None) -> None:
        if child is not self._child:
            return  # of a worker that was replaced
        if message is None:
            self._give_up(child.ended())
        elif self._open.get(message["key"]) == message["version"]:
            del self._open[message["key"]]
            self._watch() if self._open else self._rest()
            self.on_answer(message)

    def _rest(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()

    def _give_up(self, ended: Ended) -> None:
        self.stop()
        waiting, self._open = self._open, {}
        for key, version in waiting.items():
            self.on_answer({"key": key, "version": version, "failure": f"Not judged: {ended.reason}."})


def _forward(inbox: Inbox, loop: asyncio.AbstractEventLoop, receive: Callable[[Child, Message | None], None]) -> None:
    """Passes messages on to the event loop, the end of the worker too, until that."""
    message: Message | None = {}
    while message is not None and not loop.is_closed():
        child, message = inbox.get()
        try:
            loop.call_soon_threadsafe(receive, child, message)
        except RuntimeError:  # the loop was closed meanwhile
            return
