"""Worker processes and the answers they give: shared, kept, given up, and replaced when they fail."""

import asyncio
import threading
from concurrent.futures import Future
from pathlib import Path

import pytest

from regard.core.processes import Ended
from regard.core.worker_pool import PoolLimits
from regard.serve.answers import AnswerCache
from regard.serve.workers import WorkerProcesses


@pytest.fixture
def workers(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1]))
    workers = WorkerProcesses(PoolLimits(jobs=1, seconds=1.0, tasks_per_process=3), "core.children:obey")
    yield workers
    workers.close()


def ask(workers, request):
    return workers.submit(request, threading.Event()).result(timeout=30)


def test_a_worker_is_used_again_until_it_has_answered_enough(workers):
    pids = [ask(workers, {"pid": None})["pid"] for _ in range(7)]
    assert len(set(pids)) == 3
    assert pids[:3] == [pids[0]] * 3


@pytest.mark.parametrize(
    ("order", "outcome"), [({"sleep": 60}, "timed out"), ({"exit": 3}, "crashed"), ({"hold_the_gil": 0}, "timed out")]
)
def test_a_worker_that_fails_is_replaced(workers, order, outcome):
    first = ask(workers, {"pid": None})["pid"]
    ended = ask(workers, order)
    assert isinstance(ended, Ended)
    assert ended.outcome == outcome
    assert ask(workers, {"pid": None})["pid"] != first
    assert not Path(f"/proc/{first}").exists()


def test_work_can_be_stopped(workers):
    stop = threading.Event()
    stopped = workers.submit({"sleep": 60}, stop)
    stop.set()
    assert stopped.result(timeout=0.9) is None
    assert ask(workers, {"echo": 1}) == {"echo": 1}


class RecordedWorkers:
    """Workers that answer when they are told to, and remember what they were asked."""

    def __init__(self) -> None:
        self.asked = []

    def submit(self, request, stop):
        future = Future()
        if request.get("starts", True):
            future.set_running_or_notify_cancel()
        self.asked.append((request, stop, future))
        return future


PAGE = {"page": "x" * 40}


def test_equal_requests_share_their_work_and_its_answer_is_kept():
    async def scenario() -> None:
        workers = RecordedWorkers()
        cache = AnswerCache(workers.submit)
        both = asyncio.gather(cache.answer("k", {}), cache.answer("k", {}))
        await asyncio.sleep(0)
        [(_, _, future)] = workers.asked
        future.set_result(PAGE)
        assert await both == [PAGE, PAGE]
        assert await cache.answer("k", {}) is PAGE
        assert len(workers.asked) == 1

    asyncio.run(scenario())


def test_what_ended_without_a_result_is_tried_again():
    async def scenario() -> None:
        workers = RecordedWorkers()
        cache = AnswerCache(workers.submit)
        for number in range(2):
            waiting = asyncio.ensure_future(cache.answer("k", {}))
            await asyncio.sleep(0)
            workers.asked[number][2].set_result(Ended.timed_out(1))
            assert (await waiting).outcome == "timed out"
        assert len(workers.asked) == 2

    asyncio.run(scenario())


def test_the_least_recently_used_answers_go_first():
    async def scenario() -> None:
        workers = RecordedWorkers()
        cache = AnswerCache(workers.submit, max_characters=100)
        for key in "abac":
            waiting = asyncio.ensure_future(cache.answer(key, {}))
            await asyncio.sleep(0)
            if not waiting.done():
                workers.asked[-1][2].set_result(PAGE)
            await waiting
        assert [key for key in "abc" if cache.kept(key)] == ["a", "c"]

    asyncio.run(scenario())


def test_queued_work_that_nobody_waits_for_is_taken_out_of_the_queue():
    async def scenario() -> None:
        workers = RecordedWorkers()
        cache = AnswerCache(workers.submit)
        waiting = asyncio.ensure_future(cache.answer("k", {"starts": False}))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.sleep(0.01)
        assert workers.asked[0][2].cancelled()

    asyncio.run(scenario())


def test_running_work_that_nobody_waits_for_is_stopped_after_a_while(monkeypatch):
    monkeypatch.setattr("regard.serve.answers._SECONDS_UNTIL_STOPPED", 0.02)

    async def scenario() -> None:
        workers = RecordedWorkers()
        cache = AnswerCache(workers.submit)
        first, second = (asyncio.ensure_future(cache.answer("k", {})) for _ in range(2))
        await asyncio.sleep(0)
        [(_, stop, future)] = workers.asked
        first.cancel()
        await asyncio.sleep(0.05)
        assert not stop.is_set(), "the second still waits"
        second.cancel()
        await asyncio.sleep(0.05)
        assert stop.is_set()
        future.set_result(None)
        await asyncio.sleep(0)

    asyncio.run(scenario())
