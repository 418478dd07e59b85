"""From what somebody asks for to a plan: data as tokens, steps measured, the length frozen."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from regard.core.errors import InputError
from regard.training.calibrating import Speed, calibrate, layouts_to_try, pick_precision, usable_cores
from regard.training.data.biographies import Biographies
from regard.training.folder import RunFolder
from regard.training.launching import Layout
from regard.training.memory import fits_memory, footprint
from regard.training.plan import Plan
from regard.training.preparing import Prepared, Source, prepare
from regard.training.recipe import load_recipe

Hear = Callable[[str], None]

CALIBRATION = 4.0
_START_UP, _BETWEEN_CHECKPOINTS = 4.0, 20.0
_STEPS_A_MINUTE = 200
_MOST_MEMBERS = 8


@dataclass(frozen=True, kw_only=True)
class Length:
    """How long a run is: so many minutes as measured before it, or so many steps."""

    minutes: float | None = None
    steps: int | None = None

    def __post_init__(self) -> None:
        if (self.minutes is None) == (self.steps is None):
            raise InputError("--minutes and --steps both say how long a run is. Give one of them.")
        if self.minutes is not None and not 0 < self.minutes < 1e5:
            raise InputError(f"{self.minutes:g} minutes of training make no sense. Give a positive number.")
        if self.steps is not None and self.steps < 1:
            raise InputError(f"{self.steps} steps teach nothing. Give at least one.")

    @property
    def guess(self) -> int:
        """About how many steps it has, before any is measured."""
        return self.steps or max(1, round(_STEPS_A_MINUTE * (self.minutes or 0.0)))

    def steps_at(self, seconds: float, *, least: int, spent: float = 0.0) -> int:
        """How many steps of so many seconds it has, once some seconds are spent; at least so many."""
        if self.minutes is None:
            return self.steps or least
        return max(least, int((60 * self.minutes - spent - _START_UP) / seconds))


@dataclass(frozen=True, kw_only=True)
class Request:
    """What to train and for how long. Without files it is about made-up people.

    Without `members` there is one model, or one for each core if the minutes are enough for that.
    """

    recipe: str = "fast"
    changes: Sequence[str] = ()
    corpus: Path | None = None
    questions: Path | None = None
    biographies: Biographies | None = None
    minutes: float | None = None
    steps: int | None = None
    seed: int = 0
    held_out: int | None = None
    layout: Layout | None = None
    members: int | None = None

    def __post_init__(self) -> None:
        if self.seed < 0:
            raise InputError(f"The seed is {self.seed}. Give a whole number from 0 up.")
        if self.members is not None and not 1 <= self.members <= 64:
            raise InputError(f"{self.members} members can't be trained side by side. Give 1 to 64.")
        # Each refuses what makes no sense.
        _ = self.length, self.source

    @property
    def length(self) -> Length:
        """How long it takes: three minutes, if nothing is said."""
        is_open = self.minutes is None and self.steps is None
        return Length(minutes=3.0 if is_open else self.minutes, steps=self.steps)

    @property
    def source(self) -> Source:
        """What it is trained on."""
        return Source(corpus=self.corpus, questions=self.questions, held_out=self.held_out, made_up=self.biographies)


def outline(request: Request, *, processes: int | None = None, here: int | None = None) -> tuple[Prepared, Plan]:
    """The data of a run, and its plan as far as it is known before steps are measured.

    `processes` says how many will train, `here` how many of them on this machine; otherwise the request does.
    """
    recipe = load_recipe(request.recipe, request.changes)
    processes = processes or (request.layout.processes if request.layout else 1)
    if processes > recipe.batch.rows:
        raise InputError(f"{processes} processes cannot share the {recipe.batch.rows} rows of a step. Use fewer.")
    material = request.source.material(seed=request.seed)
    prepared = prepare(material, recipe, processes=here or processes, members=request.members or 1)
    plan = Plan(
        recipe=recipe,
        steps=request.length.guess,
        seed=request.seed,
        vocab_size=len(prepared.vocabulary),
        processes=processes,
        precision=pick_precision() if recipe.precision == "auto" else recipe.precision,
        sources=prepared.material.sources,
    )
    return prepared, plan


def measure_layouts(request: Request, begun: float, folder: RunFolder, plan: Plan, hear: Hear) -> list[Speed]:
    """The speed of the layout that is asked for, or of those that fit into memory, the fastest first.

    A member for each core comes before all others if the minutes since `begun` (of `time.perf_counter`) let it make as
    many steps as the recipe wants.
    """
    side_by_side = _member_a_core(request, plan)
    if side_by_side is not None:
        found = calibrate(folder, plan, [side_by_side], seconds=CALIBRATION, hear=hear)
        spent = time.perf_counter() - begun
        if request.length.steps_at(found[0].seconds, least=1, spent=spent) >= plan.recipe.member_steps:
            return found
    return calibrate(folder, plan, _layouts(request, plan), seconds=CALIBRATION, hear=hear)


def freeze(request: Request, plan: Plan, speed: Speed, *, spent: float = 0.0) -> Plan:
    """The plan with its steps and with those who make them."""
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


def _member_a_core(request: Request, plan: Plan) -> Layout | None:
    """A member for each core, eight at most, if nobody asked for anything else and there may be time and memory."""
    members, wanted = min(usable_cores(), _MOST_MEMBERS), plan.recipe.member_steps
    is_open = request.members is None and request.layout is None and request.length.minutes is not None
    if not is_open or members < 2 or not 0 < wanted <= 2 * request.length.guess:
        return None
    layout = layouts_to_try(plan.recipe.batch.rows, members=members)[0]
    return layout if _fits(layout, plan) else None


def _layouts(request: Request, plan: Plan) -> list[Layout]:
    members = request.members or 1
    if request.layout:
        return [replace(request.layout, members=members)]
    tried = layouts_to_try(plan.recipe.batch.rows, members=members)
    return [each for each in tried if _fits(each, plan)] or tried[-1:]


def _fits(layout: Layout, plan: Plan) -> bool:
    batch = plan.recipe.batch
    return fits_memory(footprint(plan.model_config, batch, processes=layout.processes, runs=layout.members))
