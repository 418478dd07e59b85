"""From a request to a plan: load the data, see that memory suffices, measure some steps, and fix their number."""

import math
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from regard.core.errors import InputError
from regard.training.data.biographies import Biographies, make_biographies
from regard.training.data.corpus import FactQuestion, TrainingData, normalize_text, read_documents, read_questions
from regard.training.data.lessons import LessonSet, make_lessons
from regard.training.data.vocabulary import Vocabulary, learn_vocabulary
from regard.training.launching import MessageKind, ProcessLayout, launch
from regard.training.model.config import ModelConfig
from regard.training.recipe import BatchShape, Recipe, RunPlan, load_recipe
from regard.training.run_folder import MEASURED, RunFolder

CALIBRATION_SECONDS = 4.0
_START_UP, _BETWEEN_CHECKPOINTS = 4.0, 20.0
_STEPS_PER_MINUTE = 200
# With fewer steps, nothing is learned that could be measured.
_LEAST_STEPS = 50
_MOST_MEMBERS = 8
_FLOAT = 4
# Python, PyTorch and a pass over the data, per process.
_PROGRAM = 2**29


@dataclass(frozen=True, kw_only=True)
class DataSource:
    """Files, or made-up people if there are none."""

    corpus: Path | None = None
    questions: Path | None = None
    held_out: int | None = None
    biographies: Biographies | None = None

    def __post_init__(self) -> None:
        has_files = self.corpus is not None or self.questions is not None
        if has_files and self.biographies is not None:
            raise InputError("People are made up only if there are no files. Give --people or files, not both.")
        if self.corpus is not None and self.questions is None:
            raise InputError("A corpus needs questions. Give --questions FILE too.")
        if self.held_out is not None and not has_files:
            raise InputError("--held-out holds out a file's last questions. Give --questions FILE, or --asked-share.")

    def load(self, *, seed: int) -> TrainingData:
        """The documents and questions."""
        if self.questions is None:
            return make_biographies(self.biographies or Biographies(), seed=seed)
        return read_files(self.corpus, self.questions, held_out=self.held_out)


def read_files(corpus: Path | None, questions: Path, *, held_out: int | None = None) -> TrainingData:
    """Documents and questions from files. The last questions are held out: a tenth of them, 200 at most."""
    asked = read_questions(questions)
    num_held_out = min(200, len(asked) // 10) if held_out is None else held_out
    if not 0 <= num_held_out < len(asked):
        raise InputError(
            f"Holding out {num_held_out} of {len(asked)} questions leaves none to train on. Hold out fewer."
        )
    trained, kept = asked[: len(asked) - num_held_out], asked[len(asked) - num_held_out :]
    known = {_as_asked(question.text) for question in trained}
    if repeated := [question.text for question in kept if _as_asked(question.text) in known]:
        raise InputError(
            f"{repeated[0]!r} is among the training questions and the held-out ones of {questions}, as "
            f"{len(repeated)} of {len(kept)} are. Remove one of each pair: what was trained on measures nothing."
        )
    return TrainingData(
        documents=() if corpus is None else read_documents(corpus),
        questions=trained,
        held_out=kept,
        sources=tuple(str(path) for path in (corpus, questions) if path is not None),
    )


def _as_asked(question: str) -> str:
    """What the model would read, whatever the blanks and capital letters."""
    return " ".join(normalize_text(question).split()).casefold()


def prepare_lessons(data: TrainingData, recipe: Recipe, *, processes: int = 1, members: int = 1) -> LessonSet:
    """The data as the recipe's tokens; a training that won't fit into memory is refused here.

    The vocabulary covers the documents even if the recipe doesn't read them, so that all recipes take the same
    questions.
    """
    documents = data.documents if recipe.reads_documents else ()
    if recipe.reads_documents and not documents:
        raise InputError(f"The recipe {recipe.name!r} reads documents, but there are none. Give --corpus FILE.")
    texts = [f"{document.name}. {document.text}" for document in data.documents]
    texts += [text for question in data.questions for text in (question.text, question.answer)]
    vocabulary = learn_vocabulary(texts, kind=recipe.tokens.kind, size=recipe.tokens.size)
    config = recipe.model_config(vocab_size=len(vocabulary))
    require_memory(config, recipe.batch, processes=processes, runs=members)
    _require_room(vocabulary, (*data.questions, *data.held_out), recipe.batch.length)
    return make_lessons(documents, data.questions, vocabulary)


def _require_room(vocabulary: Vocabulary, questions: Sequence[FactQuestion], length: int) -> None:
    """Refuses questions that don't fit into a row with their answers."""
    for question in questions:
        size = sum(len(vocabulary.encode(text)) + 1 for text in (question.text, question.answer)) + 1
        if size > length:
            raise InputError(
                f"{question.text[:60]!r} has {size} tokens with its answer, but rows have {length}. Shorten it, or "
                "make rows longer: --set batch.length=…"
            )


@dataclass(frozen=True, kw_only=True)
class RunLength:
    """How long a run is: a number of steps, or a time budget in minutes; `share` of what preparing leaves of it."""

    minutes: float | None = None
    steps: int | None = None
    share: float = 1.0

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
        return self.steps or max(1, round(_STEPS_PER_MINUTE * self.share * (self.minutes or 0.0)))

    def steps_at(self, seconds: float, *, spent: float = 0.0) -> int:
        """The number of steps if each takes this long and some seconds are spent already."""
        if self.minutes is None:
            return self.guess
        return max(0, int((self.share * (60 * self.minutes - spent) - _START_UP) / seconds))

    def enough_steps_at(self, seconds: float, *, spent: float = 0.0) -> int:
        """The same; a time budget that leaves too few steps is refused."""
        steps = self.steps_at(seconds, spent=spent)
        if self.minutes is not None and steps < _LEAST_STEPS:
            needed = ((_LEAST_STEPS * seconds + _START_UP) / self.share + spent) / 60
            raise InputError(
                f"{self.minutes:g} minutes leave time for {steps} steps (a step takes {seconds:.2g} s here, and "
                f"preparing took {spent:.0f} s), too few to learn anything. Give at least --minutes "
                f"{math.ceil(12 * needed) / 10:g}."
            )
        return steps


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
        if request.length.steps_at(found[0].seconds, spent=spent) >= plan.recipe.member_steps:
            return found
    return calibrate(folder, plan, _layouts(request, plan), seconds=CALIBRATION_SECONDS, announce=announce)


def freeze(request: TrainRequest, plan: RunPlan, speed: LayoutSpeed, *, spent: float = 0.0) -> RunPlan:
    """The plan with the layout measured and the number of steps that follows from its speed."""
    steps = request.length.enough_steps_at(speed.seconds, spent=spent)
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
    return bytes_needed(plan.model_config, batch, processes=layout.processes, runs=layout.members) <= _available()


def bytes_needed(config: ModelConfig, batch: BatchShape, *, processes: int = 1, runs: int = 1) -> int:
    """Weights with their gradients, two moments of each, and the activations kept for backpropagation.

    Every process of every run holds all weights, and the activations of the rows it handles at once.
    """
    rows = batch.rows_at_once(processes)
    tokens = rows * batch.length
    # With dropout, each layer keeps its attention weights before and after it, and the mask. Without it, the weights of
    # one layer exist several times over. Fused attention needs neither, but whether it applies is not known here.
    streams, weights, weights_once = (16, 4, 0) if config.dropout else (12, 1, 3)
    inner = config.hidden * (4 if config.activation == "swiglu" else 2)
    attention = rows * config.num_heads * batch.length**2
    activations = (
        tokens * config.width * (streams * config.num_layers + 4)
        + tokens * inner * config.feed_forwards
        + attention * (weights * config.num_layers + weights_once)
        + 4 * batch.num_candidates(config.vocab_size) * config.width
    )
    return runs * processes * (_PROGRAM + _FLOAT * (4 * config.num_parameters + activations))


def require_memory(config: ModelConfig, batch: BatchShape, *, processes: int = 1, runs: int = 1) -> None:
    """Refuses a training that does not fit into free memory."""
    needed, free = bytes_needed(config, batch, processes=processes, runs=runs), _available()
    if needed > free:
        raise InputError(
            f"This training needs about {needed / 2**30:.1f} GiB (processes: {runs * processes}), but only "
            f"{free / 2**30:.1f} GiB are free. Make the model smaller (--set model.width=…, --set "
            "model.num_layers=…) or rows shorter (--set batch.length=…), or use fewer processes or members."
        )


def _available() -> float:
    """Free bytes; infinite if the system doesn't say."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return math.inf
    found = [line.split()[1] for line in lines if line.startswith("MemAvailable:")]
    return int(found[0]) * 1024 if found else math.inf
