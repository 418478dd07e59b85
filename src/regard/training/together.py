"""Training under torchrun: every process comes here, and the first one does what needs doing once."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import torch

from regard.core.errors import InputError
from regard.training.calibrating import Speed
from regard.training.crew import Crew, join_crew
from regard.training.folder import MEASURED, RunFolder
from regard.training.launching import Layout, TrainingFailed
from regard.training.memory import footprint, require_memory
from regard.training.planning import CALIBRATION, Request, freeze, outline
from regard.training.working import measure_steps, work

Hear = Callable[[dict], None]


def train_together(request: Request, out: Path, hear: Hear) -> Path:
    """A run in a folder that all processes can see; the first one says which."""
    begun, crew = time.perf_counter(), join_crew()
    with ExitStack() as held:

        def prepare() -> str:
            if request.layout is not None:
                raise InputError("torchrun says how many train. Leave --processes and --threads away.")
            if request.members is not None:
                raise InputError("Under torchrun all processes train one model. Leave --members away.")
            prepared, plan = outline(request, processes=crew.size, here=crew.local_size)
            folder = RunFolder(out)
            held.enter_context(folder.hold())
            folder.create()
            folder.write_data(prepared)
            folder.write_plan(replace(plan, threads=torch.get_num_threads()), MEASURED)
            return str(out)

        folder = RunFolder(Path(crew.from_first(prepare)))
        with _loss_in_words():
            seconds = measure_steps(folder, crew, CALIBRATION)

        def fix() -> None:
            plan = folder.plan(MEASURED)
            speed = Speed(layout=Layout(processes=plan.processes, threads=plan.threads), seconds=seconds)
            folder.write_plan(freeze(request, plan, speed, spent=time.perf_counter() - begun))
            (folder.path / MEASURED).unlink()

        crew.from_first(fix)
        return _finish(folder, crew, hear)


def resume_together(out: Path, hear: Hear) -> Path:
    """The rest of a run that was stopped."""
    crew, folder = join_crew(), RunFolder(out)
    with ExitStack() as held:

        def is_done() -> bool:
            plan = folder.plan()
            if plan.members > 1:
                raise InputError(f"{out} trains {plan.members} models side by side. Resume it without torchrun.")
            if folder.is_done(lambda text: hear({"kind": "warning", "text": text})):
                return True
            held.enter_context(folder.hold())
            require_memory(footprint(plan.model_config, plan.recipe.batch, processes=crew.local_size))
            return False

        if crew.from_first(is_done):
            crew.leave()
            return out
        return _finish(folder, crew, hear)


def _finish(folder: RunFolder, crew: Crew, hear: Hear) -> Path:
    with _loss_in_words():
        work(folder, crew, hear if crew.is_first else lambda _: None)
    crew.leave()
    return folder.path


@contextmanager
def _loss_in_words() -> Iterator[None]:
    """That another process is lost, which all were waiting for, is told in a line."""
    try:
        yield
    except RuntimeError as error:
        if "gloo" not in str(error):
            raise
        raise TrainingFailed("Another process of this training ended, so this one ends too.") from None
