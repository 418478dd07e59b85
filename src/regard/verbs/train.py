"""`regard train`: from text to a model, and what it knows."""

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from regard.data.biographies import Biographies
from regard.data.reading import Question, read_questions
from regard.data.tokenizing import Vocabulary
from regard.errors import InputError
from regard.report.trained import Evaluation, Outlook, RunReport, Share
from regard.training.answering import Answer, answer_questions
from regard.training.calibrating import Speed, calibrate, layouts_to_try, pick_precision
from regard.training.crew import Crew, join_crew
from regard.training.examining import evaluate as examine
from regard.training.examining import share
from regard.training.folder import MEASURED, RunFolder
from regard.training.launching import Layout, launch
from regard.training.memory import footprint
from regard.training.plan import Plan
from regard.training.preparing import Material, material_from_files, prepare, synthetic_material
from regard.training.recipe import load_recipe
from regard.training.working import measure_steps, work

__all__ = [
    "Request",
    "demonstrate",
    "estimate",
    "evaluate",
    "predict",
    "report_on",
    "resume",
    "train",
    "worth_of_reading",
]

Hear = Callable[[dict], None]
_START_UP, _CALIBRATION, _BETWEEN_CHECKPOINTS = 4.0, 4.0, 20.0


@dataclass(frozen=True, kw_only=True)
class Request:
    """What to train and for how long. Without files it is about made-up people."""

    recipe: str = "fast"
    changes: Sequence[str] = ()
    corpus: Path | None = None
    questions: Path | None = None
    biographies: Biographies = field(default_factory=Biographies)
    minutes: float | None = None
    steps: int | None = None
    seed: int = 0
    held_out: int | None = None
    layout: Layout | None = None

    def __post_init__(self) -> None:
        if self.corpus is not None and self.questions is None:
            raise InputError("A corpus alone teaches no questions. Give --questions FILE too.")
        if self.minutes is not None and self.steps is not None:
            raise InputError("--minutes and --steps both say how long. Give one of them.")
        if self.minutes is not None and not 0 < self.minutes < 1e5:
            raise InputError(f"{self.minutes:g} minutes of training make no sense. Give a positive number.")
        if self.seed < 0:
            raise InputError(f"The seed is {self.seed}. Give a whole number from 0 up.")
        if self.steps is not None and self.steps < 1:
            raise InputError(f"{self.steps} steps teach nothing. Give at least one.")

    def material(self) -> Material:
        """What there is to learn from."""
        if self.questions is None:
            return synthetic_material(self.biographies, seed=self.seed)
        return material_from_files(self.corpus, self.questions, held_out=self.held_out)


def train(request: Request, out: Path, hear: Hear) -> RunReport:
    """A run in its folder, from the first step to the last; `hear` is told what happens."""
    begun = time.perf_counter()
    if _is_among_others():
        return _train_with_others(request, out, hear)
    folder = RunFolder(out)
    plan = _prepare(request, folder)
    plan = _fix(request, plan, _speeds(request, folder, plan, hear), time.perf_counter() - begun)
    folder.write_plan(plan)
    return _run(folder, plan, hear)


def demonstrate(request: Request, out: Path, hear: Hear) -> list[RunReport]:
    """The same model twice, with and without reading about the people that it is asked about."""
    minutes = 3.0 if request.minutes is None else request.minutes
    reading = train(replace(request, minutes=0.8 * minutes), out / "fast", hear)
    guessing = train(replace(request, recipe="scratch", minutes=0.2 * minutes), out / "scratch", hear)
    return [reading, guessing]


def worth_of_reading(reports: Sequence[RunReport]) -> str:
    """What reading did for the questions that were kept back, in a sentence."""
    reading, guessing = (report.knows for report in reports)
    if reading is None or guessing is None:
        return "No question was kept back, so there is nothing to compare."
    apart = "" if reading.lower > guessing.upper else ", and their intervals overlap: undecided"
    return f"Read about, then asked: {reading.value:.1%} right. Asked only: {guessing.value:.1%}{apart}."


def resume(out: Path, hear: Hear) -> RunReport:
    """The rest of a run that was stopped, to the same weights as if it had not been."""
    folder = RunFolder(out)
    plan = folder.plan()
    if folder.is_finished:
        return report_on(out)
    return _work_with_others(folder, join_crew(), hear) if _is_among_others() else _run(folder, plan, hear)


def estimate(request: Request, scratch: Path, hear: Hear) -> Outlook:
    """How long a training will take here, by a few of its own steps."""
    folder = RunFolder(scratch)
    plan = _prepare(request, folder)
    speeds = _speeds(request, folder, plan, hear)
    fixed = _fix(request, plan, speeds, 0.0)
    config, batch = fixed.model_config, fixed.recipe.batch
    return Outlook(
        steps=fixed.steps,
        step_seconds=speeds[0].seconds,
        processes=fixed.processes,
        threads=fixed.threads,
        precision=fixed.precision,
        parameters=config.num_parameters,
        bytes_needed=footprint(config, batch).total * fixed.processes,
        flops=fixed.steps * batch.rows * batch.length * config.flops_per_token(batch.length),
        tried=[(str(speed.layout), speed.seconds) for speed in speeds],
    )


def evaluate(out: Path, questions: Path) -> Evaluation:
    """The answers of a finished run to the questions of a file."""
    folder = RunFolder(out)
    folder.plan()
    asked = read_questions(questions)
    _require_writable(folder.vocabulary(), [question.text for question in asked])
    return examine(folder, asked)


def predict(out: Path, questions: Sequence[str]) -> list[Answer]:
    """The answers of a finished run."""
    folder = RunFolder(out)
    folder.plan()
    vocabulary = folder.vocabulary()
    _require_writable(vocabulary, questions)
    return answer_questions(folder.model(), vocabulary, questions)


def _require_writable(vocabulary: Vocabulary, questions: Sequence[str]) -> None:
    for question in questions:
        if lacking := vocabulary.lacks(question):
            raise InputError(f"The run's vocabulary lacks {' '.join(lacking)} of {question!r}. Ask without them.")


def report_on(out: Path) -> RunReport:
    """What a run's folder tells."""
    folder = RunFolder(out)
    plan, metrics = folder.plan(), list(folder.read_metrics())
    steps = [line for line in metrics if line["kind"] == "step"]
    measured = [line for line in metrics if line["kind"] == "held out"]
    return RunReport(
        folder=str(out),
        recipe=plan.recipe.name,
        about=plan.recipe.about,
        settings=_settings(plan),
        losses=[(line["step"], line["loss"]) for line in steps],
        held_out=[(line["step"], share(line["right"], line["asked"])) for line in measured],
        majority=_majority(folder.held_out(), folder.facts()["commonest_answer"]),
        steps=len(steps),
        tokens=sum(line["tokens"] for line in steps),
        seconds=sum(line["seconds"] for line in steps),
    )


def _prepare(request: Request, folder: RunFolder) -> Plan:
    """Writes the data of a run; its plan has no steps yet."""
    recipe = load_recipe(request.recipe, request.changes)
    prepared = prepare(request.material(), recipe)
    if request.layout is not None and request.layout.processes > recipe.batch.rows:
        raise InputError(
            f"{request.layout.processes} processes cannot share the {recipe.batch.rows} rows of a step. Use fewer."
        )
    folder.create()
    material = prepared.material
    folder.write_data(prepared.encoded, prepared.vocabulary, material.held_out, material.commonest_answer)
    return Plan(
        recipe=recipe,
        steps=request.steps or 1_000_000,
        seed=request.seed,
        vocab_size=len(prepared.vocabulary),
        precision=pick_precision() if recipe.precision == "auto" else recipe.precision,
        sources=material.sources,
    )


def _speeds(request: Request, folder: RunFolder, plan: Plan, hear: Hear) -> list[Speed]:
    layouts = [request.layout] if request.layout else layouts_to_try(plan.recipe.batch.rows)
    return calibrate(
        folder, plan, layouts, seconds=_CALIBRATION, hear=lambda text: hear({"kind": "doing", "text": text})
    )


def _fix(request: Request, plan: Plan, speeds: Sequence[Speed], spent: float) -> Plan:
    """Freezes the steps and who makes them."""
    best = speeds[0]
    minutes = 3.0 if request.minutes is None else request.minutes
    left = 60 * minutes - spent - _START_UP
    steps = request.steps or max(len(plan.recipe.stages), int(left / best.seconds))
    return replace(
        plan,
        steps=steps,
        processes=best.layout.processes,
        threads=best.layout.threads,
        checkpoint_every=max(1, round(_BETWEEN_CHECKPOINTS / best.seconds)),
        evaluate_every=max(1, -(-steps // 4)),
    )


def _run(folder: RunFolder, plan: Plan, hear: Hear) -> RunReport:
    hear({"kind": "plan", "steps": plan.steps, "processes": plan.processes, "threads": plan.threads})
    for message in launch(folder.path, Layout(processes=plan.processes, threads=plan.threads)):
        hear(message)
    return report_on(folder.path)


def _train_with_others(request: Request, out: Path, hear: Hear) -> RunReport:
    """The same under torchrun: every process comes here, and the first one prepares the folder that all can see."""
    crew, folder = join_crew(), RunFolder(out)
    if crew.is_first:
        folder.write_plan(replace(_prepare(request, folder), processes=crew.size), MEASURED)
    crew.wait()
    plan = folder.plan(MEASURED)
    seconds = measure_steps(folder, crew, _CALIBRATION) if request.steps is None else 1.0
    if crew.is_first:
        speed = Speed(layout=Layout(processes=crew.size, threads=1), seconds=seconds)
        folder.write_plan(_fix(request, plan, [speed], 0.0))
    crew.wait()
    return _work_with_others(folder, crew, hear)


def _work_with_others(folder: RunFolder, crew: Crew, hear: Hear) -> RunReport:
    work(folder, crew, hear if crew.is_first else lambda _: None)
    crew.leave()
    return report_on(folder.path)


def _is_among_others() -> bool:
    """Whether a launcher such as torchrun started this process as one of several."""
    return int(os.environ.get("WORLD_SIZE", "1")) > 1


def _majority(questions: Sequence[Question], commonest: str) -> Share | None:
    right = sum(question.answer == commonest for question in questions)
    return share(right, len(questions)) if questions else None


def _settings(plan: Plan) -> list[tuple[str, str]]:
    config, batch = plan.model_config, plan.recipe.batch
    flops = plan.steps * batch.rows * batch.length * config.flops_per_token(batch.length)
    return [
        ("data", ", ".join(plan.sources)),
        ("tokens", f"{plan.vocab_size} {plan.recipe.tokens.kind}"),
        ("model", f"{config.num_layers} layers, {config.num_heads} heads, width {config.width}, {config.positions}"),
        ("weights", f"{config.num_parameters:,}"),
        ("objective", ", then ".join(stage.objective.reading for stage in plan.recipe.stages)),
        ("steps", f"{plan.steps} of {batch.rows} × {batch.length} tokens, {flops:.2g} operations"),
        ("processes × threads", f"{plan.processes} × {plan.threads}, {plan.precision}"),
        ("seed", str(plan.seed)),
    ]
