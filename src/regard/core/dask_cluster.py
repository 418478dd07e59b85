"""The tasks of a worker pool, on a Dask cluster.

A Dask worker can't end one of its own tasks, so each Dask task starts a plain child process that works off a few of
ours with the same pool, and the same limits, as on one machine.
"""

import logging
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from itertools import islice
from typing import Any, TypeVar

from regard import __version__
from regard.core.errors import InputError
from regard.core.processes import Ended, die_with_parent
from regard.core.worker_pool import PoolLimits, run_tasks

Task = TypeVar("Task")
Result = TypeVar("Result")

_TASKS_PER_CHILD = 8
_PATIENCE = 10.0
_CHILD = (
    "import pickle, sys; sys.path[:] = pickle.load(sys.stdin.buffer); "
    "from regard.core.dask_cluster import work_as_child; work_as_child()"
)


def run_on_cluster(
    tasks: Iterable[Task], work: Callable[[Task], Result], limits: PoolLimits, address: str
) -> Iterator[tuple[Task, Result | Ended]]:
    """Each task with its result as they come in from the workers of the scheduler at an address."""
    waiting = iter(tasks)
    with _client(address) as client:
        from distributed import as_completed

        num_slots = 2 * sum(_ready_workers(client, address).values())
        under_way: dict[str, Sequence[Task]] = {}
        results = as_completed(loop=client.loop)
        while True:
            while len(under_way) < num_slots and (batch := tuple(islice(waiting, _TASKS_PER_CHILD))):
                future = client.submit(_work_off, pickle.dumps((batch, work, limits)), limits.seconds, pure=False)
                under_way[future.key] = batch
                results.add(future)
            if not under_way:
                break
            future = next(results)
            batch = under_way.pop(future.key)
            yield from zip(batch, _collected(future, batch, address), strict=True)


@contextmanager
def _client(address: str) -> Iterator[Any]:
    try:
        from distributed import Client
    except ImportError:
        raise InputError("--scheduler needs Dask. Install it: pip install 'regard[cluster]'.") from None
    # What it would log about a lost connection, Regard says itself. Its loggers have levels of their own.
    for name in [name for name in logging.root.manager.loggerDict if name.partition(".")[0] == "distributed"]:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    try:
        client = Client(address, timeout=_PATIENCE, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        why = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"No Dask scheduler answers at {address}: {why}. Start one with: dask scheduler") from None
    try:
        yield client
    finally:
        client.close()


def _ready_workers(client: Any, address: str) -> dict[str, int]:
    """The number of threads of each worker; workers with another version of Regard are refused."""
    workers = client.nthreads()
    if not workers:
        raise InputError(f"The scheduler at {address} has no workers. Start one: dask worker {address}")
    try:
        versions = set(client.run(_regard_version).values())
    except ImportError:
        versions = {"none"}
    if versions != {__version__}:
        raise InputError(
            f"The workers at {address} have Regard {', '.join(sorted(versions))}, not {__version__}. Install it there."
        )
    return workers


def _regard_version() -> str:
    return __version__


def _collected(future: Any, batch: Sequence[Task], address: str) -> Sequence[Any]:
    """The results of a batch; if a worker lost it, each of its tasks counts as crashed."""
    try:
        error = future.exception()
        if error is None:
            return pickle.loads(future.result())
    except (CancelledError, OSError):
        raise InputError(
            f"The Dask scheduler at {address} is gone. Start it again, then run the same command with --resume."
        ) from None
    return [Ended(outcome="crashed", reason=f"the cluster lost it: {error!r}")] * len(batch)


def _work_off(payload: bytes, seconds: float) -> bytes:
    """Runs on a worker: hands the payload to a child and returns the pickled results."""
    command = [sys.executable, "-c", _CHILD]
    patience = 60.0 + 2 * _TASKS_PER_CHILD * seconds
    done = subprocess.run(
        command, input=pickle.dumps(sys.path) + payload, capture_output=True, timeout=patience, check=False
    )
    if done.returncode:
        raise RuntimeError(done.stderr.decode("utf-8", "replace")[-500:])
    return done.stdout


def work_as_child() -> None:
    """Runs in the child: reads tasks and writes their results in the same order."""
    die_with_parent(os.getppid())
    batch, work, limits = pickle.load(sys.stdin.buffer)
    answer, sys.stdout = sys.stdout.buffer, sys.stderr
    found = {id(task): result for task, result in run_tasks(batch, work, PoolLimits(jobs=1, seconds=limits.seconds))}
    answer.write(pickle.dumps([found[id(task)] for task in batch]))
    answer.flush()
