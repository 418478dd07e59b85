"""From a request to a plan: load the data, measure some steps, and fix the number of steps."""

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from regard.core.errors import InputError
from regard.training.data.corpus import TrainingData
from regard.training.data.lessons import LessonSet
from regard.training.dataset import DataSource, prepare_lessons
from regard.training.launching import MessageKind, ProcessLayout, launch
from regard.training.memory import fits_memory
from regard.training.plan import RunPlan
from regard.training.recipe import load_recipe
from regard.training.run_folder import MEASURED, RunFolder

CALIBRATION_SECONDS = 4.0
_START_UP, _BETWEEN_CHECKPOINTS = 4.0, 20.0
_STEPS_PER_MINUTE = 200
_MOST_MEMBERS = 8


@dataclass(frozen=True, kw_only=True)
class RunLength:
    """How long a run is: a time budget in minutes, or a number of steps."""

    minutes: float | None = None
    steps: int | None = None

    def __post_init__(self) -> None:
        if (self.minutes is None) == (self.steps is None):
            raise InputError("--minutes and --steps both set the length of a run. Give one of them.")
        if self.minutes is not None and not 0 < self.minutes < 1e5:
            raise InputError(f"Can't train for {self.minutes:g} minutes. Give a positive number.")
        if self.steps is not None and self.steps < 1:
            raise InputError(f"Can't train for {self.steps} steps. Give at least one.")

    @property
    def guess(self) -> int:
        """About how many steps it has, before any is measured."""
        return self.steps or max(1, round(_STEPS_PER_MINUTE * (self.minutes or 0.0)))

    def steps_at(self, seconds: float, *, least: int, spent: float = 0.0) -> int:
        """The number of steps if each takes this long and some seconds are spent already; at least `least`."""
        if self.minutes is None:
            return self.steps or least
        return max(least, int((60 * self.minutes - spent - _START_UP) / seconds))


@dataclass(frozen=True, kw_only=True)
class TrainRequest:
    """What to train, on which data and for how long.

    Without `members`, a run trains one model, or one per core if there is enough time.
    """

    recipe: str = "fast"
    changes: Sequence[str] = ()
    source: DataSource = field(default_factory=DataSource)
    length: RunLength = field(default_factory=lambda: RunLength(minutes=3.0))
    seed: int = 0
    layout: ProcessLayout | None = None
    members: int | None = None

    def __post_init__(self) -> None:
        if self.seed < 0:
            raise InputError(f"The seed is {self.seed}. Give 0 or more.")
        if self.members is not None and not 1 <= self.members <= 64:
            raise InputError(f"Can't train {self.members} members side by side. Give 1 to 64.")


@dataclass(frozen=True, kw_only=True)
class LayoutSpeed:
    """Seconds per step with a layout of processes, while all members train."""

    layout: ProcessLayout
    seconds: float


def outline(
    request: TrainRequest, *, processes: int | None = None, local_processes: int | None = None
) -> tuple[TrainingData, LessonSet, RunPlan]:
    """The data of a run, its lessons, and the plan as far as it is known before measuring.

    `processes` train, `local_processes` of them on this machine; by default, the request says how many.
    """
    recipe = load_recipe(request.recipe, request.changes)
    processes = processes or (request.layout.processes if request.layout else 1)
    if processes > recipe.batch.rows:
        raise InputError(f"{processes} processes can't share the {recipe.batch.rows} rows of a step. Use fewer.")
    data = request.source.load(seed=request.seed)
    lessons = prepare_lessons(data, recipe, processes=local_processes or processes, members=request.members or 1)
    plan = RunPlan(
        recipe=recipe,
        steps=request.length.guess,
        seed=request.seed,
        vocab_size=len(lessons.vocabulary),
        processes=processes,
        precision=pick_precision() if recipe.precision == "auto" else recipe.precision,
        sources=data.sources,
    )
    return data, lessons, plan


def measure_layouts(
    request: TrainRequest, begun: float, folder: RunFolder, plan: RunPlan, announce: Callable[[str], None]
) -> list[LayoutSpeed]:
    """The speed of the layout requested, or of all that fit into memory, the fastest first.

    One member per core is preferred if the minutes since `begun` (of `time.perf_counter`) leave each enough time for
    the recipe's `member_steps`.
    """
    side_by_side = _one_member_per_core(request, plan)
    if side_by_side is not None:
        found = calibrate(folder, plan, [side_by_side], seconds=CALIBRATION_SECONDS, announce=announce)
        spent = time.perf_counter() - begun
        if request.length.steps_at(found[0].seconds, least=1, spent=spent) >= plan.recipe.member_steps:
            return found
    return calibrate(folder, plan, _layouts(request, plan), seconds=CALIBRATION_SECONDS, announce=announce)


def freeze(request: TrainRequest, plan: RunPlan, speed: LayoutSpeed, *, spent: float = 0.0) -> RunPlan:
    """The plan with the layout measured and the number of steps that follows from its speed."""
    steps = request.length.steps_at(speed.seconds, least=len(plan.recipe.stages), spent=spent)
    return replace(
        plan,
        steps=steps,
        processes=speed.layout.processes,
        threads=speed.layout.threads,
        members=speed.layout.members,
        checkpoint_every=max(1, round(_BETWEEN_CHECKPOINTS / speed.seconds)),
        evaluate_every=max(1, -(-steps // 4)),
    )


def calibrate(
    folder: RunFolder, plan: RunPlan, layouts: list[ProcessLayout], *, seconds: float, announce: Callable[[str], None]
) -> list[LayoutSpeed]:
    """The speed of each layout on the run's own data, the fastest first."""
    speeds = []
    for layout in layouts:
        announce(f"measuring steps with {layout.in_words}")
        folder.write_plan(replace(plan, processes=layout.processes, threads=layout.threads), MEASURED)
        messages = list(launch(folder.path, layout, seconds=seconds))
        slowest = max(message["seconds"] for message in messages if message["kind"] == MessageKind.SPEED)
        speeds.append(LayoutSpeed(layout=layout, seconds=slowest))
    (folder.path / MEASURED).unlink()
    return sorted(speeds, key=lambda speed: speed.seconds)


def layouts_to_try(rows: int, *, members: int = 1) -> list[ProcessLayout]:
    """One process per core, or one process with all cores: which is faster depends on the machine."""
    cores = max(1, usable_cores() // members)
    processes = min(cores, rows, 8)
    many = ProcessLayout(processes=processes, threads=max(1, cores // processes), members=members)
    one = ProcessLayout(processes=1, threads=cores, members=members)
    return [many, one] if processes > 1 else [one]


def usable_cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def pick_precision() -> str:
    """The faster of float32 and bfloat16 for a typical matrix product."""
    import torch

    from regard.training.model.layers import Dense

    matrix = Dense(256, 1024)

    def fastest(dtype: torch.dtype) -> float:
        given, times = torch.ones(1024, 256, dtype=dtype), []
        for _ in range(5):
            begun = time.perf_counter()
            matrix(given)
            times.append(time.perf_counter() - begun)
        return min(times)

    return "bfloat16" if fastest(torch.bfloat16) < fastest(torch.float32) else "float32"


def _one_member_per_core(request: TrainRequest, plan: RunPlan) -> ProcessLayout | None:
    """That layout, with eight members at most, if the request leaves it open and time and memory may suffice."""
    members, wanted = min(usable_cores(), _MOST_MEMBERS), plan.recipe.member_steps
    is_open = request.members is None and request.layout is None and request.length.minutes is not None
    if not is_open or members < 2 or not 0 < wanted <= 2 * request.length.guess:
        return None
    layout = layouts_to_try(plan.recipe.batch.rows, members=members)[0]
    return layout if _fits(layout, plan) else None


def _layouts(request: TrainRequest, plan: RunPlan) -> list[ProcessLayout]:
    members = request.members or 1
    if request.layout:
        return [replace(request.layout, members=members)]
    tried = layouts_to_try(plan.recipe.batch.rows, members=members)
    return [each for each in tried if _fits(each, plan)] or tried[-1:]


def _fits(layout: ProcessLayout, plan: RunPlan) -> bool:
    batch = plan.recipe.batch
    return fits_memory(plan.model_config, batch, processes=layout.processes, runs=layout.members)
