"""The work of one training process: steps, checkpoints, measurements."""

import os
import time
from dataclasses import asdict, replace
from pathlib import Path

import torch

from regard.core.errors import InputError, RegardError, as_input_error
from regard.core.processes import Channel
from regard.training.answering import answer_questions
from regard.training.checkpoint import latest_checkpoint, write_checkpoint, write_tensors
from regard.training.launching import MessageKind, Notify
from regard.training.process_group import ProcessGroup, join_process_group
from regard.training.run_folder import MEASURED, NUM_SAMPLES, RunFolder
from regard.training.trainer import Trainer

_ENDLESS = 10**6
_NO_MEMORY = (
    "Out of memory. Make the model smaller (--set model.width=…) or the batch (--set batch.rows=…), or use fewer "
    "processes or members (--members 1)."
)


def work(folder: RunFolder, group: ProcessGroup, notify: Notify) -> None:
    """Makes the remaining steps, starting from the latest checkpoint, and writes the final weights."""
    plan = folder.plan()
    trainer = Trainer(plan, folder.lessons(), group, folder.embedding_ids(plan))
    _restore(trainer, folder, notify)
    if group.is_first:
        folder.drop_metrics_after(trainer.step)
    group.wait()
    while trainer.step < plan.steps:
        report = asdict(trainer.advance())
        if group.is_first:
            folder.add_metric(MessageKind.STEP, **report)
            notify({"kind": MessageKind.STEP, **report})
        is_last = trainer.step == plan.steps
        if plan.evaluate_every and (trainer.step % plan.evaluate_every == 0 or is_last):
            _evaluate(trainer, folder, notify)
        if trainer.step % plan.checkpoint_every == 0 and not is_last and group.is_first:
            write_checkpoint(folder.checkpoints, trainer.tensors(), trainer.position())
    if group.is_first:
        write_tensors(folder.weights, dict(trainer.model.named_parameters()))
    group.wait()


def measure_steps(folder: RunFolder, group: ProcessGroup, seconds: float) -> float:
    """Seconds per step, without the first one, including a step's share of making a pass over the data.

    A pass is made all at once, so it may not fall into the steps measured.
    """
    plan = folder.plan(MEASURED)
    # The steps are those of a run of about this length, but the run has no end.
    plan = replace(plan, recipe=plan.recipe.over(plan.steps), steps=_ENDLESS)
    trainer = Trainer(plan, folder.lessons(), group, folder.embedding_ids(plan))
    trainer.advance()
    stream = trainer.stream
    taken: list[float] = []
    while True:
        before = stream.seconds
        taken.append(trainer.advance().seconds - (stream.seconds - before))
        # All processes must stop after the same step, so the first one's clock decides.
        if group.sum_number(float(group.is_first and sum(taken) >= seconds)) > 0:
            break
    return sum(taken) / len(taken) + stream.seconds / stream.num_rows * plan.recipe.batch.rows


def _restore(trainer: Trainer, folder: RunFolder, notify: Notify) -> None:
    found = latest_checkpoint(folder.checkpoints, lambda text: notify({"kind": MessageKind.WARNING, "text": text}))
    if found is None:
        return
    try:
        trainer.restore(*found)
    except (KeyError, RuntimeError):
        raise InputError(
            f"The checkpoints in {folder.own} do not match its plan.json. Restore the plan, or train in another folder."
        ) from None


def _evaluate(trainer: Trainer, folder: RunFolder, notify: Notify) -> None:
    """Measures how many held-out questions the model answers correctly by now."""
    questions = folder.held_out()
    if not trainer.group.is_first or not questions:
        return
    begun = time.perf_counter()
    answers = answer_questions([trainer.model], folder.prompt_format(), [question.text for question in questions])
    right = sum(answer.text == question.answer for answer, question in zip(answers, questions, strict=True))
    measured = {
        "step": trainer.step,
        "right": right,
        "asked": len(questions),
        "seconds": time.perf_counter() - begun,
        "samples": [(answer.text, answer.probability) for answer in answers[:NUM_SAMPLES]],
    }
    folder.add_metric(MessageKind.HELD_OUT, **measured)
    notify({"kind": MessageKind.HELD_OUT, **measured})


def run_worker(channel: Channel) -> None:
    """Trains one member of the run in a folder or, if the request has `seconds`, only measures its steps.

    A failure ends the process at once, before other processes of the group fail because they miss this one.
    """
    request = next(iter(channel))
    try:
        _run(RunFolder(Path(request["folder"]), request["member"]), request["seconds"], channel)
    except Exception as error:  # noqa: BLE001 - whatever it is, this process must report it first
        channel.send(**_failure(error))
        os._exit(1)


def _run(folder: RunFolder, seconds: float | None, channel: Channel) -> None:
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
    group = join_process_group()

    def notify(message: dict) -> None:
        if group.is_first:
            channel.send(**message)

    if seconds is None:
        work(folder, group, notify)
    else:
        notify({"kind": MessageKind.SPEED, "seconds": measure_steps(folder, group, seconds)})
    group.leave()


def _failure(error: Exception) -> dict:
    """The message about an error that ended the work."""
    if isinstance(error, RegardError):
        return {"kind": MessageKind.REFUSED, "text": str(error)}
    if isinstance(error, OSError):
        return {"kind": MessageKind.REFUSED, "text": str(as_input_error(error))}
    # PyTorch has no exception type of its own for this.
    if isinstance(error, MemoryError) or "can't allocate memory" in str(error):
        return {"kind": MessageKind.REFUSED, "text": _NO_MEMORY}
    return {"kind": MessageKind.FAILED, "text": " ".join(f"{type(error).__name__}: {error}".split())}
