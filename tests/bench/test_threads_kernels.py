"""Every bug of a thread about kernels is caught and its family named; the kernel without it is clean."""

import pytest

torch = pytest.importorskip("torch")
torch.set_num_threads(1)

from threads_kernels import THREADS, ThreadBug, tried  # noqa: E402


@pytest.mark.parametrize("bug", THREADS, ids=[bug.thread for bug in THREADS])
def test_a_bug_is_caught_before_and_gone_after(bug: ThreadBug):
    trial = tried(bug)
    assert trial.caught_by
    assert trial.named == bug.family
    assert trial.false_alarms == ()
