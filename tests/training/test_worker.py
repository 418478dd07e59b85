"""Runs: exact repetition, exact resumption, several processes."""

import random
import time
from types import SimpleNamespace

import pytest

pytest.importorskip("torch")

import torch

from regard.core.processes import Child
from regard.training.checkpoint import read_tensors, write_checkpoint
from regard.training.data.batches import make_batch
from regard.training.launching import ProcessLayout, launch
from regard.training.process_group import ProcessGroup
from regard.training.run_folder import MEASURED
from regard.training.trainer import Trainer
from regard.training.worker import measure_steps, work
from training.conftest import copied, quiet


def test_a_run_leaves_weights_metrics_and_two_checkpoints(finished):
    kinds = [line["kind"] for line in finished.read_metrics()]
    assert kinds.count("step") == 12
    assert kinds.count("held out") == 2
    assert len(list(finished.checkpoints.iterdir())) == 2
    assert set(read_tensors(finished.weights)) == set(dict(finished.model().named_parameters()))


@pytest.mark.parametrize("recipe", ["fast", "classic"])
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_a_run_that_stopped_ends_with_the_same_bits(recipe, precision, small_run, tmp_path):
    folder = small_run(steps=8, recipe=recipe, checkpoint_every=3, precision=precision)
    other = copied(folder, tmp_path / "stopped")
    work(folder, ProcessGroup(), quiet)
    plan = other.plan()
    trainer = Trainer(plan, other.lessons(), ProcessGroup(), other.embedding_ids(plan))
    for _ in range(5):
        trainer.advance()
    write_checkpoint(other.checkpoints, trainer.tensors(), trainer.position())
    work(other, ProcessGroup(), quiet)
    assert other.weights.read_bytes() == folder.weights.read_bytes()


def test_killed_at_random_moments_it_still_ends_with_the_same_bits(small_run, tmp_path):
    whole = small_run(steps=80, checkpoint_every=3, evaluate_every=20)
    killed = copied(whole, tmp_path / "killed")
    rng = random.Random(0)
    for _ in range(2):
        with Child("regard.training.worker:run_worker", environment={"OMP_NUM_THREADS": "1"}) as child:
            child.send({"folder": str(killed.path), "member": 0, "seconds": None})
            assert child.receive(60)["kind"] == "step"
            time.sleep(rng.uniform(0, 0.1))
        assert not killed.is_finished
    work(whole, ProcessGroup(), quiet)
    list(launch(killed.path, ProcessLayout(processes=1, threads=1)))
    assert killed.weights.read_bytes() == whole.weights.read_bytes()
    assert [line["step"] for line in killed.read_metrics() if line["kind"] == "step"] == list(range(1, 81))


def test_two_processes_match_one(small_run, tmp_path):
    folder = small_run(steps=20, checkpoint_every=100)
    other = copied(folder, tmp_path / "two")
    work(folder, ProcessGroup(), quiet)
    list(launch(other.path, ProcessLayout(processes=2, threads=1)))
    one, two = read_tensors(folder.weights), read_tensors(other.weights)
    # Adam's first steps divide by gradients that may be tiny, so rounding shows in rows that are hardly used.
    assert max(float((one[name] - two[name]).abs().max()) for name in one) < 1e-5


def test_bfloat16_learns_as_float32_does(small_run):
    losses = {}
    for precision in ("float32", "bfloat16"):
        folder = small_run(steps=12, precision=precision)
        plan = folder.plan()
        trainer = Trainer(plan, folder.lessons(), ProcessGroup(), folder.embedding_ids(plan))
        losses[precision] = [trainer.advance().loss for _ in range(12)]
        assert {tensor.dtype for tensor in trainer.tensors().values()} == {torch.float32}
    assert losses["bfloat16"] != losses["float32"]
    assert losses["bfloat16"] == pytest.approx(losses["float32"], rel=0.02)
    assert losses["bfloat16"][-1] < losses["bfloat16"][0] - 0.3


def test_rows_in_several_goes_give_the_same_weights_as_in_one(small_run, monkeypatch):
    folder = small_run(steps=5)
    plan, trained, goes = folder.plan(), [], []

    def noted(rows, length):
        goes.append(len(rows))
        return make_batch(rows, length)

    monkeypatch.setattr("regard.training.trainer.make_batch", noted)
    for tokens, at_once in ((1, 1), (10**6, plan.recipe.batch.rows)):
        monkeypatch.setattr("regard.training.recipe._TOKENS_AT_ONCE", tokens)
        trainer = Trainer(plan, folder.lessons(), ProcessGroup(), folder.embedding_ids(plan))
        goes.clear()
        losses = [trainer.advance().loss for _ in range(5)]
        assert set(goes) == {at_once}
        trained.append((losses, {name: p.detach() for name, p in trainer.model.named_parameters()}))
    (few, one), (many, other) = trained
    assert few == pytest.approx(many, rel=1e-5)
    assert max(float((one[name] - other[name]).abs().max()) for name in one) < 1e-5


@pytest.mark.parametrize("steps_a_pass", [2, 100])
def test_measured_steps_have_their_share_of_making_passes(steps_a_pass, small_run, monkeypatch):
    folder = small_run(steps=100)
    folder.write_plan(folder.plan(), MEASURED)
    rows = folder.plan().recipe.batch.rows

    class Clockwork:
        """Steps of 2 s; a pass is made in 5 s before each first one."""

        def __init__(self, *_):
            self.stream, self.step = SimpleNamespace(seconds=5.0, num_rows=rows * steps_a_pass), 0

        def advance(self):
            self.step += 1
            making = 5.0 if self.step % steps_a_pass == 1 and self.step > 1 else 0.0
            self.stream.seconds += making
            self.stream.num_rows += rows * steps_a_pass * bool(making)
            return SimpleNamespace(seconds=2.0 + making)

    monkeypatch.setattr("regard.training.worker.Trainer", Clockwork)
    assert measure_steps(folder, ProcessGroup(), 20.0) == pytest.approx(2.0 + 5.0 / steps_a_pass)


@pytest.mark.parametrize("steps", [1, 2])
def test_the_shortest_runs_move_the_weights(steps, small_run):
    folder = small_run(steps=steps, recipe="classic")
    plan = folder.plan()
    trainer = Trainer(plan, folder.lessons(), ProcessGroup(), folder.embedding_ids(plan))
    for _ in range(steps):
        before = {name: p.detach().clone() for name, p in trainer.model.named_parameters()}
        trainer.advance()
        assert any((p != before[name]).any() for name, p in trainer.model.named_parameters())
    work(folder, ProcessGroup(), quiet)
    assert folder.has_usable_weights(pytest.fail)


def test_a_long_run_shows_all_chunks_and_goes_on_so(small_run):
    def second_loss(*changes, is_resumed=False):
        folder = small_run(steps=2000, changes=changes)
        plan = folder.plan()
        trainer = Trainer(plan, folder.lessons(), ProcessGroup(), folder.embedding_ids(plan))
        trainer.advance()
        if is_resumed:
            kept = trainer.tensors(), trainer.position()
            trainer = Trainer(plan, folder.lessons(), ProcessGroup(), folder.embedding_ids(plan))
            trainer.restore(*kept)
        return trainer.advance().loss

    assert second_loss() == second_loss("stages.chunk_share=1.0") == second_loss(is_resumed=True)
    assert second_loss() != second_loss("stages.all_chunks_at=0")
