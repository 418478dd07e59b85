"""Training under torchrun: all processes run this code, and the first one does the work that is needed once."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import torch

from regard.core.errors import InputError
from regard.training.launching import MessageKind, ProcessLayout, TrainingFailed
from regard.training.memory import require_memory
from regard.training.planning import CALIBRATION_SECONDS, LayoutSpeed, TrainRequest, freeze, outline
from regard.training.process_group import ProcessGroup, join_process_group
from regard.training.run_folder import MEASURED, RunFolder
from regard.training.worker import measure_steps, work

Notify = Callable[[dict], None]


def train_distributed(request: TrainRequest, out: Path, notify: Notify) -> Path:
    """Trains a run in a folder that all processes can access; the first one chooses it."""
    begun, group = time.perf_counter(), join_process_group()
    with ExitStack() as stack:

        def prepare() -> str:
            if request.layout is not None:
                raise InputError("torchrun sets the number of processes. Leave out --processes and --threads.")
            if request.members is not None:
                raise InputError("Under torchrun, all processes train one model. Leave out --members.")
            data, lessons, plan = outline(request, processes=group.size, local_processes=group.local_size)
            folder = RunFolder(out)
            stack.enter_context(folder.lock())
            folder.create()
            folder.write_data(data, lessons)
            folder.write_plan(replace(plan, threads=torch.get_num_threads()), MEASURED)
            return str(out)

        folder = RunFolder(Path(group.from_first(prepare)))
        with _lost_process_reported():
            seconds = measure_steps(folder, group, CALIBRATION_SECONDS)

        def fix_plan() -> None:
            plan = folder.plan(MEASURED)
            speed = LayoutSpeed(layout=ProcessLayout(processes=plan.processes, threads=plan.threads), seconds=seconds)
            folder.write_plan(freeze(request, plan, speed, spent=time.perf_counter() - begun))
            (folder.path / MEASURED).unlink()

        group.from_first(fix_plan)
        return _finish(folder, group, notify)


def resume_distributed(out: Path, notify: Notify) -> Path:
    """Makes the remaining steps of a run."""
    group, folder = join_process_group(), RunFolder(out)
    with ExitStack() as stack:

        def is_done() -> bool:
            plan = folder.plan()
            if plan.members > 1:
                raise InputError(f"{out} trains {plan.members} models side by side. Resume it without torchrun.")
            if folder.has_usable_weights(lambda text: notify({"kind": MessageKind.WARNING, "text": text})):
                return True
            stack.enter_context(folder.lock())
            require_memory(plan.model_config, plan.recipe.batch, processes=group.local_size)
            return False

        if group.from_first(is_done):
            group.leave()
            return out
        return _finish(folder, group, notify)


def _finish(folder: RunFolder, group: ProcessGroup, notify: Notify) -> Path:
    with _lost_process_reported():
        work(folder, group, notify if group.is_first else lambda _: None)
    group.leave()
    return folder.path


@contextmanager
def _lost_process_reported() -> Iterator[None]:
    """Turns PyTorch's error about a lost process into one line."""
    try:
        yield
    except RuntimeError as error:
        if "gloo" not in str(error):
            raise
        raise TrainingFailed("Another process of this training ended, so this one ends too.") from None
