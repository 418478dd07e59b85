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
from regard.training.crew import Crew, join_crew
from regard.training.folder import MEASURED, RunFolder
from regard.training.launching import REFUSED, UNTIL_STDIN_ENDS
from regard.training.trainer import Trainer

Tell = Callable[[dict], None]

_ENDLESS = 10**6


def work(folder: RunFolder, crew: Crew, tell: Tell) -> None:
    """Makes the steps that are still missing, from the latest checkpoint on, and leaves the weights."""
    plan = folder.plan()
    trainer = Trainer(plan, folder.lessons(), crew, folder.read_as(plan))
    _go_back(trainer, folder, tell)
    if crew.is_first:
        folder.forget_metrics_after(trainer.step)
    crew.wait()
    while trainer.step < plan.steps:
        report = trainer.advance()
        if crew.is_first:
            folder.add_metric("step", **asdict(report))
            tell({"kind": "step", **asdict(report)})
        is_last = trainer.step == plan.steps
        if plan.evaluate_every and (trainer.step % plan.evaluate_every == 0 or is_last):
            _examine(trainer, folder, tell)
        if trainer.step % plan.checkpoint_every == 0 and not is_last:
            _keep(trainer, folder)
    if crew.is_first:
        write_tensors(folder.weights, dict(trainer.model.named_parameters()))
    crew.wait()


def measure_steps(folder: RunFolder, crew: Crew, seconds: float) -> float:
    """Seconds for a step, the first one aside, with its share of making a pass.

    A whole pass is made at once, seldom or never in the steps that are measured.
    """
    plan = folder.plan(MEASURED)
    # Without an end, and showing what a run of about its length does.
    plan = replace(plan, recipe=plan.recipe.over(plan.steps), steps=_ENDLESS)
    trainer = Trainer(plan, folder.lessons(), crew, folder.read_as(plan))
    trainer.advance()
    stream = trainer.stream
    taken: list[float] = []
    while True:
        made = stream.seconds
        taken.append(trainer.advance().seconds - (stream.seconds - made))
        # Every process must stop after the same step, so the first one's clock decides.
        if crew.sum_number(float(crew.is_first and sum(taken) >= seconds)) > 0:
            break
    return sum(taken) / len(taken) + stream.seconds / stream.num_rows * plan.recipe.batch.rows


def _go_back(trainer: Trainer, folder: RunFolder, tell: Tell) -> None:
    found = latest_checkpoint(folder.checkpoints, lambda text: tell({"kind": "warning", "text": text}))
    if found is None:
        return
    try:
        trainer.restore(*found)
    except (KeyError, RuntimeError):
        raise InputError(
            f"The checkpoints in {folder.own} do not fit its plan.json. Restore the plan, or train in another folder."
        ) from None


def _keep(trainer: Trainer, folder: RunFolder) -> None:
    """A checkpoint; the weights are the same everywhere, so one process writes it."""
    if trainer.crew.is_first:
        write_checkpoint(folder.checkpoints, trainer.tensors(), trainer.place())


def _examine(trainer: Trainer, folder: RunFolder, tell: Tell) -> None:
    """The share of held-out questions that are answered right by now."""
    questions = folder.held_out()
    if not trainer.crew.is_first or not questions:
        return
    begun = time.perf_counter()
    answers = answer_questions([trainer.model], folder.wording(), [question.text for question in questions])
    right = sum(answer.text == question.answer for answer, question in zip(answers, questions, strict=True))
    measured = {"step": trainer.step, "right": right, "asked": len(questions), "seconds": time.perf_counter() - begun}
    folder.add_metric("held out", **measured)
    tell({"kind": "held out", **measured})


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
        threading.Thread(target=_end_with_stdin, daemon=True).start()
    try:
        _serve(RunFolder(given.folder, given.member), given.seconds)
    except RegardError as error:
        _leave(str(error), REFUSED)
    except OSError as error:
        _leave(str(as_input_error(error)), REFUSED)
    except Exception as error:  # noqa: BLE001 - whatever it is, others must not fail first
        is_out = isinstance(error, MemoryError) or "can't allocate memory" in str(error)
        _leave(_NO_MEMORY if is_out else traceback.format_exc(), REFUSED if is_out else 1)


_NO_MEMORY = (
    "Memory ran out. Make the model smaller (--set model.width=…) or the batch (--set batch.rows=…), or use fewer "
    "processes or members (--members 1)."
)


def _serve(folder: RunFolder, seconds: float | None) -> None:
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
    crew = join_crew()

    def tell(message: dict) -> None:
        if crew.is_first:
            sys.stdout.write(json.dumps(message) + "\n")
            sys.stdout.flush()

    if seconds is None:
        work(folder, crew, tell)
    else:
        tell({"kind": "speed", "seconds": measure_steps(folder, crew, seconds)})
    crew.leave()


def _end_with_stdin() -> None:
    """Waits until the launcher is gone, and goes too: a run that is resumed must not meet the one before."""
    while os.read(sys.stdin.fileno(), 1):
        pass
    os._exit(1)


def _leave(why: str, code: int) -> NoReturn:
    sys.stderr.write(f"{why if code != REFUSED else ' '.join(why.split())}\n")
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    main(sys.argv[1:])
