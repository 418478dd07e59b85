"""Worker processes that answer requests: one that hangs, crashes or works for nobody is killed and replaced."""

import threading
from concurrent.futures import Future, ThreadPoolExecutor

from regard.core.processes import Child, Ended, Message
from regard.core.worker_pool import PoolLimits

# None is the answer to a request that was stopped.
Answer = Message | Ended | None


class WorkerProcesses:
    """As many processes as `limits` allows, each of which runs `function` ("package.module:name") with a `Channel`.

    They are forks of a server that has the function's module imported, so that a new one is ready at once.
    """

    def __init__(self, limits: PoolLimits, function: str) -> None:
        self._idle = [_Worker(limits, function) for _ in range(limits.jobs)]
        self._threads = ThreadPoolExecutor(limits.jobs)

    def submit(self, request: Message, stop: threading.Event) -> Future[Answer]:
        """The answer to come; cancelling it takes it out of the queue, and `stop` ends it while it is worked on."""
        return self._threads.submit(self._answer, request, stop)

    def close(self) -> None:
        """Ends all processes; whatever is being worked on should have been stopped."""
        self._threads.shutdown(cancel_futures=True)
        for worker in self._idle:
            worker.child.kill()

    def _answer(self, request: Message, stop: threading.Event) -> Answer:
        # There is a worker per thread. The one used last has the warmest caches.
        worker = self._idle.pop()
        try:
            return worker.answer(request, stop)
        finally:
            self._idle.append(worker)


class _Worker:
    """A process, and the next one once it fails or has answered as many requests as it may."""

    def __init__(self, limits: PoolLimits, function: str) -> None:
        self._limits = limits
        self._function = function
        self._start()

    def _start(self) -> None:
        self.child = Child(self._function, preload=[self._function.partition(":")[0]])
        self._num_answered = 0

    def answer(self, request: Message, stop: threading.Event) -> Answer:
        self.child.send(request)
        answer = self.child.receive(self._limits.seconds, stop)
        self._num_answered += 1
        is_failed = answer is None or isinstance(answer, Ended)
        if is_failed or self._num_answered >= self._limits.tasks_per_process:
            self.child.kill()
            self._start()
        return answer
