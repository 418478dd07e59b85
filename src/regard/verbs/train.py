"""`regard train`: from text to a model, and what it knows."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from regard.data.reading import Question, read_questions
from regard.errors import InputError
from regard.report.trained import Evaluation, Outlook, RunReport, Share
from regard.training.answering import Answer, answer_questions, require_askable
from regard.training.crew import is_among_others
from regard.training.examining import evaluate as examine
from regard.training.examining import share
from regard.training.folder import RunFolder
from regard.training.launching import Layout, launch
from regard.training.memory import footprint, require_memory
from regard.training.plan import Plan
from regard.training.planning import Request, freeze, measure_layouts, outline
from regard.training.together import resume_together, train_together

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


def train(request: Request, out: Path, hear: Hear) -> RunReport:
    """A run in its folder, from the first step to the last; `hear` is told what happens."""
    if is_among_others():
        return report_on(train_together(request, out, hear))
    begun = time.perf_counter()
    folder = RunFolder(out)
    prepared, plan = outline(request)
    with folder.hold():
        folder.create()
        folder.write_data(prepared)
        best = measure_layouts(request, folder, plan, _doing(hear))[0]
        plan = freeze(request, plan, best, spent=time.perf_counter() - begun)
        folder.write_plan(plan)
        return _run(folder, plan, hear)


def demonstrate(request: Request, out: Path, hear: Hear) -> list[RunReport]:
    """The same model twice, with and without reading about the people that it is asked about."""
    minutes = request.length.minutes
    if minutes is None:
        raise InputError("A demonstration is measured in minutes. Give --minutes, not --steps.")
    reading = train(replace(request, minutes=0.8 * minutes), out / "fast", hear)
    guessing = train(replace(request, recipe="scratch", minutes=0.2 * minutes), out / "scratch", hear)
    return [reading, guessing]


def worth_of_reading(reports: Sequence[RunReport]) -> str:
    """What reading did for the questions that were kept back, in a sentence."""
    reading, guessing = (report.knows for report in reports)
    if reading is None or guessing is None:
        return "No question was kept back, so there is nothing to compare."
    told = f"Read about, then asked: {reading.value:.1%} right. Asked only: {guessing.value:.1%}"
    if reading.lower > guessing.upper:
        return f"{told}. Reading helped."
    if reading.upper < guessing.lower:
        return f"{told}. Reading did harm."
    return f"{told}, and their intervals overlap: undecided."


def resume(out: Path, hear: Hear) -> RunReport:
    """The rest of a run that was stopped, to the same weights as if it had not been."""
    if is_among_others():
        return report_on(resume_together(out, hear))
    folder = RunFolder(out)
    plan = folder.plan()
    if not folder.is_done(lambda text: hear({"kind": "warning", "text": text})):
        with folder.hold():
            require_memory(footprint(plan.model_config, plan.recipe.batch, processes=plan.processes))
            return _run(folder, plan, hear)
    return report_on(out)


def estimate(request: Request, scratch: Path, hear: Hear) -> Outlook:
    """How long a training will take here, by a few of its own steps."""
    folder = RunFolder(scratch)
    prepared, plan = outline(request)
    folder.create()
    folder.write_data(prepared)
    speeds = measure_layouts(request, folder, plan, _doing(hear))
    fixed = freeze(request, plan, speeds[0])
    config = fixed.model_config
    return Outlook(
        steps=fixed.steps,
        step_seconds=speeds[0].seconds,
        processes=fixed.processes,
        threads=fixed.threads,
        precision=fixed.precision,
        parameters=config.num_parameters,
        bytes_needed=footprint(config, fixed.recipe.batch, processes=fixed.processes).total,
        flops=fixed.flops,
        tried=[(str(speed.layout), speed.seconds) for speed in speeds],
    )


def evaluate(runs: Sequence[Path], questions: Path) -> Evaluation:
    """The answers of a finished run, or of several together, to the questions of a file."""
    folders = [RunFolder(run) for run in runs]
    for folder in folders:
        folder.plan()
    asked = read_questions(questions)
    require_askable(folders[0].vocabulary(), [question.text for question in asked])
    return examine(folders, asked)


def predict(out: Path, questions: Sequence[str]) -> list[Answer]:
    """The answers of a finished run."""
    folder = RunFolder(out)
    folder.plan()
    wording = folder.wording()
    require_askable(wording.vocabulary, questions)
    return answer_questions([folder.model()], wording, questions)


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


def _run(folder: RunFolder, plan: Plan, hear: Hear) -> RunReport:
    hear({"kind": "plan", "steps": plan.steps, "processes": plan.processes, "threads": plan.threads})
    for message in launch(folder.path, Layout(processes=plan.processes, threads=plan.threads)):
        hear(message)
    return report_on(folder.path)


def _doing(hear: Hear) -> Callable[[str], None]:
    return lambda text: hear({"kind": "doing", "text": text})


def _majority(questions: Sequence[Question], commonest: str) -> Share | None:
    right = sum(question.answer == commonest for question in questions)
    return share(right, len(questions)) if questions else None


def _settings(plan: Plan) -> list[tuple[str, str]]:
    config, batch = plan.model_config, plan.recipe.batch
    return [
        ("data", ", ".join(plan.sources)),
        ("tokens", f"{plan.vocab_size} {plan.recipe.tokens.kind}"),
        ("model", f"{config.num_layers} layers, {config.num_heads} heads, width {config.width}, {config.positions}"),
        ("weights", f"{config.num_parameters:,}"),
        ("objective", ", then ".join(stage.objective.reading for stage in plan.recipe.stages)),
        ("steps", f"{plan.steps} of {batch.rows} × {batch.length} tokens, {plan.flops:.2g} operations"),
        ("processes × threads", f"{plan.processes} × {plan.threads}, {plan.precision}"),
        ("seed", str(plan.seed)),
    ]
