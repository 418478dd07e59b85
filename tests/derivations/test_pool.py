import os

import pytest

from derivations.hostile_jobs import own_process, twice
from regard.core.errors import InputError
from regard.derivations.pool import Limits, Lost, run_tasks


def test_a_task_that_hangs_or_crashes_costs_nobody_else_anything():
    found = dict(run_tasks(range(10, 20), twice, Limits(jobs=2, seconds=2.0)))
    assert {task: result for task, result in found.items() if not isinstance(result, Lost)} == {
        number: 2 * number for number in range(10, 20) if number not in (13, 14)
    }
    assert (found[13].outcome, found[13].reason) == ("crashed", "the process that judged it ended with code 3.")
    assert (found[14].outcome, found[14].reason) == ("timed out", "it took longer than the 2 seconds allowed.")


def test_work_is_done_elsewhere_and_processes_are_replaced():
    found = [result for _, result in run_tasks(range(6), own_process, Limits(jobs=1, tasks_a_process=2))]
    assert os.getpid() not in found
    assert len(set(found)) == 3


def test_tasks_are_taken_only_as_fast_as_they_are_worked_on():
    taken = []
    tasks = (taken.append(number) or number for number in range(1000))
    results = run_tasks(tasks, own_process, Limits(jobs=1))
    next(results)
    assert len(taken) < 20
    results.close()


def test_no_tasks_give_no_results():
    assert list(run_tasks([], twice, Limits())) == []


@pytest.mark.parametrize("limits", [{"jobs": 0}, {"seconds": 0.0}, {"seconds": float("nan")}])
def test_limits_that_leave_nothing_are_refused(limits):
    with pytest.raises(InputError):
        Limits(**limits)
