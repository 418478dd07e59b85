"""Answers kept by key: equal requests share one piece of work, and work that nobody waits for is given up."""

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass

from regard.core.processes import Ended, Message
from regard.serve.workers import Answer

_MAX_CHARACTERS = 50_000_000
# Most work is over sooner than a new process would be warm, so it may finish although nobody waits any more.
_SECONDS_UNTIL_STOPPED = 2.0


@dataclass(kw_only=True, eq=False)
class _Work:
    key: str
    stop: threading.Event
    future: Future[Answer]
    answer: asyncio.Future[Answer]
    num_waiting: int = 0


class AnswerCache:
    """The answers to submitted requests; the least recently used go when their pages exceed `max_characters`.

    `submit` starts work on a request that an event stops, as `WorkerProcesses.submit` does.
    """

    def __init__(
        self, submit: Callable[[Message, threading.Event], Future[Answer]], *, max_characters: int = _MAX_CHARACTERS
    ) -> None:
        self._submit = submit
        self._max_characters = max_characters
        self._num_characters = 0
        self._kept: OrderedDict[str, Message] = OrderedDict()
        self._running: dict[str, _Work] = {}

    def kept(self, key: str) -> Message | None:
        """The answer with this key, if there still is one."""
        if key in self._kept:
            self._kept.move_to_end(key)
        return self._kept.get(key)

    async def answer(self, key: str, request: Message) -> Message | Ended:
        """The answer to a request, worked out now unless it is kept or on its way; cancelling it gives it up."""
        known = self.kept(key)
        if known is not None:
            return known
        work = self._running.get(key) or self._start(key, request)
        work.num_waiting += 1
        try:
            answer = await asyncio.shield(work.answer)
            assert answer is not None, "work is stopped only when nobody waits for it"
            return answer
        finally:
            work.num_waiting -= 1
            if not work.num_waiting and not work.answer.done():
                self._give_up(work)

    def close(self) -> None:
        """Stops all work."""
        for work in list(self._running.values()):
            self._stop(work)

    def _start(self, key: str, request: Message) -> _Work:
        stop = threading.Event()
        future = self._submit(request, stop)
        work = _Work(key=key, stop=stop, future=future, answer=asyncio.wrap_future(future))
        work.answer.add_done_callback(lambda _: self._finish(work))
        self._running[key] = work
        return work

    def _give_up(self, work: _Work) -> None:
        if work.future.cancel():
            self._stop(work)
        else:
            asyncio.get_running_loop().call_later(_SECONDS_UNTIL_STOPPED, self._stop_unless_waited_for, work)

    def _stop_unless_waited_for(self, work: _Work) -> None:
        if not work.num_waiting:
            self._stop(work)

    def _stop(self, work: _Work) -> None:
        """From here on, an equal request is new work."""
        work.stop.set()
        if self._running.get(work.key) is work:
            del self._running[work.key]

    def _finish(self, work: _Work) -> None:
        self._stop(work)
        if work.answer.cancelled() or work.answer.exception() is not None:
            return
        answer = work.answer.result()
        if answer is None or isinstance(answer, Ended) or work.key in self._kept:
            return
        self._kept[work.key] = answer
        self._num_characters += _size(answer)
        while self._num_characters > self._max_characters:
            _, oldest = self._kept.popitem(last=False)
            self._num_characters -= _size(oldest)


def _size(answer: Message) -> int:
    return len(answer["page"] or "")
