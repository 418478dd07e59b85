import logging
import sys
from concurrent.futures import CancelledError

import pytest

from core.hostile_tasks import twice
from regard.core import dask_cluster
from regard.core.dask_cluster import run_on_cluster
from regard.core.errors import InputError
from regard.core.processes import Ended
from regard.core.worker_pool import PoolLimits


@pytest.fixture(scope="module")
def address():
    """A real scheduler with two workers, each a process of its own, on this machine."""
    distributed = pytest.importorskip("distributed", reason="Dask is not installed: pip install 'regard[cluster]'")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50, host="127.0.0.1"
    ) as local:
        yield local.scheduler_address


@pytest.mark.filterwarnings("ignore")
def test_the_same_tasks_give_the_same_results_on_a_cluster(address):
    found = dict(run_on_cluster(range(5, 25), twice, PoolLimits(seconds=3.0), address))
    assert {task: result for task, result in found.items() if not isinstance(result, Ended)} == {
        number: 2 * number for number in range(5, 25) if number not in (13, 14)
    }
    assert found[13].outcome == "crashed"
    assert found[14].outcome == "timed out"


@pytest.mark.filterwarnings("ignore")
def test_workers_with_another_regard_are_refused(address, monkeypatch):
    monkeypatch.setattr(dask_cluster, "__version__", "0.0.0")
    with pytest.raises(InputError, match=r"not 0\.0\.0"):
        list(run_on_cluster([1], twice, PoolLimits(), address))


@pytest.mark.filterwarnings("ignore")
def test_an_address_where_nobody_answers_is_one_clear_line(monkeypatch):
    pytest.importorskip("distributed", reason="Dask is not installed: pip install 'regard[cluster]'")
    monkeypatch.setattr(dask_cluster, "_PATIENCE", 0.5)
    for nowhere in ("tcp://127.0.0.1:1", "nonsense://x"):
        with pytest.raises(InputError, match="No Dask scheduler answers") as caught:
            list(run_on_cluster([1], twice, PoolLimits(), nowhere))
        assert "\n" not in str(caught.value)
    # A connection that is lost later would be logged with its traceback.
    assert not logging.getLogger("distributed.client").isEnabledFor(logging.CRITICAL)


def test_without_dask_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InputError, match=r"regard\[cluster\]"):
        list(run_on_cluster([1], twice, PoolLimits(), "tcp://127.0.0.1:8786"))


def test_a_scheduler_that_is_lost_is_one_clear_line():
    class Cancelled:
        def exception(self):
            raise CancelledError("scheduler-connection-lost")

    with pytest.raises(InputError, match=r"The Dask scheduler at tcp://x is gone\. Start it again, .* --resume"):
        dask_cluster._collected(Cancelled(), [1, 2], "tcp://x")
