"""The work of one training process: steps, checkpoints, measurements."""

import argparse
import json
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import NoReturn

import torch

from regard.core.errors import InputError, RegardError, as_input_error
from regard.training.answering import answer_questions
from regard.training.checkpoint import latest_checkpoint, write_checkpoint, write_tensors
from regard.training.launching import REFUSED, UNTIL_STDIN_ENDS, MessageKind
from regard.training.process_group import ProcessGroup, join_process_group
from regard.training.run_folder import MEASURED, RunFolder
from regard.training.trainer import Trainer

Notify = Callable[[dict], None]

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
    # The steps are those of a run of about this length, but they don't end.
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
    measured = {"step": trainer.step, "right": right, "asked": len(questions), "seconds": time.perf_counter() - begun}
    folder.add_metric(MessageKind.HELD_OUT, **measured)
    notify({"kind": MessageKind.HELD_OUT, **measured})


def main(arguments: list[str]) -> None:
    """`[--until-stdin-ends] [--member N] FOLDER [SECONDS]`: train the run in the folder, or only measure its steps.

    Failures end the process at once, before others fail because it is gone.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument(UNTIL_STDIN_ENDS, action="store_true")
    parser.add_argument("--member", type=int, default=0)
    parser.add_argument("folder", type=Path)
    parser.add_argument("seconds", type=float, nargs="?")
    given = parser.parse_args(arguments)
    if given.until_stdin_ends:
        threading.Thread(target=_exit_with_stdin, daemon=True).start()
    try:
        _run(RunFolder(given.folder, given.member), given.seconds)
    except RegardError as error:
        _exit(str(error), REFUSED)
    except OSError as error:
        _exit(str(as_input_error(error)), REFUSED)
    except Exception as error:  # noqa: BLE001 - whatever it is, others must not fail first
        is_out = isinstance(error, MemoryError) or "can't allocate memory" in str(error)
        _exit(_NO_MEMORY if is_out else traceback.format_exc(), REFUSED if is_out else 1)


def _run(folder: RunFolder, seconds: float | None) -> None:
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
    group = join_process_group()

    def notify(message: dict) -> None:
        if group.is_first:
            sys.stdout.write(json.dumps(message) + "\n")
            sys.stdout.flush()

    if seconds is None:
        work(folder, group, notify)
    else:
        notify({"kind": MessageKind.SPEED, "seconds": measure_steps(folder, group, seconds)})
    group.leave()


def _exit_with_stdin() -> None:
    """Exits once the launcher is gone: a resumed run must not meet the previous one."""
    while os.read(sys.stdin.fileno(), 1):
        pass
    os._exit(1)


def _exit(message: str, code: int) -> NoReturn:
    sys.stderr.write(f"{message if code != REFUSED else ' '.join(message.split())}\n")
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    main(sys.argv[1:])
