"""`regard train`: from text to a model, and what it knows."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from regard.core.errors import InputError
from regard.training.answering import Answer, answer_questions, require_askable
from regard.training.crew import is_among_others
from regard.training.data.reading import Question, read_questions
from regard.training.examining import evaluate as examine
from regard.training.examining import share
from regard.training.folder import RunFolder
from regard.training.launching import launch
from regard.training.memory import footprint, require_memory
from regard.training.plan import Plan
from regard.training.planning import Request, freeze, measure_layouts, outline
from regard.training.together import resume_together, train_together
from regard.training.trained import Course, Evaluation, Outlook, RunReport, Share

Hear = Callable[[dict], None]

# A metric of this kind is what all members of a run answer right together.
_TOGETHER = "together"


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
        best = measure_layouts(request, begun, folder, plan, _doing(hear))[0]
        plan = freeze(request, plan, best, spent=time.perf_counter() - begun)
        folder.write_plan(plan)
        return _run(folder, plan, range(plan.members), hear)


def demonstrate(request: Request, out: Path, hear: Hear) -> list[RunReport]:
    """The same model twice, with and without reading about the people that it is asked about."""
    minutes = request.length.minutes
    if minutes is None:
        raise InputError("A demonstration is measured in minutes. Give --minutes, not --steps.")
    request = replace(request, members=1)
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

    def warn(text: str) -> None:
        hear({"kind": "warning", "text": text})

    missing = [each.member for each in folder.members() if not each.is_done(warn)]
    if not missing and not _is_to_be_asked(folder, plan):
        return report_on(out)
    with folder.hold():
        batch, runs = plan.recipe.batch, len(missing)
        require_memory(footprint(plan.model_config, batch, processes=plan.processes, runs=runs))
        return _run(folder, plan, missing, hear)


def estimate(request: Request, scratch: Path, hear: Hear) -> Outlook:
    """How long a training will take here, by a few of its own steps."""
    begun = time.perf_counter()
    folder = RunFolder(scratch)
    prepared, plan = outline(request)
    folder.create()
    folder.write_data(prepared)
    speeds = measure_layouts(request, begun, folder, plan, _doing(hear))
    fixed = freeze(request, plan, speeds[0], spent=time.perf_counter() - begun)
    config = fixed.model_config
    return Outlook(
        steps=fixed.steps,
        step_seconds=speeds[0].seconds,
        processes=fixed.processes,
        threads=fixed.threads,
        members=fixed.members,
        precision=fixed.precision,
        parameters=config.num_parameters,
        bytes_needed=footprint(config, fixed.recipe.batch, processes=fixed.processes, runs=fixed.members).total,
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
    return answer_questions([member.model() for member in folder.members()], wording, questions)


def report_on(out: Path) -> RunReport:
    """What a run's folder tells."""
    folder = RunFolder(out)
    plan, told = folder.plan(), [list(member.read_metrics()) for member in folder.members()]
    steps = [[line for line in lines if line["kind"] == "step"] for lines in told]
    together = [share(line["right"], line["asked"]) for line in told[0] if line["kind"] == _TOGETHER]
    return RunReport(
        folder=str(out),
        recipe=plan.recipe.name,
        about=plan.recipe.about,
        settings=_settings(plan),
        courses=[_course(lines) for lines in told],
        together=together[-1] if together else None,
        majority=_majority(folder.held_out(), folder.facts()["commonest_answer"]),
        steps=len(steps[0]),
        tokens=sum(line["tokens"] for lines in steps for line in lines),
        seconds=max(sum(line["seconds"] for line in lines) for lines in steps),
    )


def _course(lines: Sequence[dict]) -> Course:
    return Course(
        losses=[(line["step"], line["loss"]) for line in lines if line["kind"] == "step"],
        held_out=[(line["step"], share(line["right"], line["asked"])) for line in lines if line["kind"] == "held out"],
    )


def _run(folder: RunFolder, plan: Plan, members: Sequence[int], hear: Hear) -> RunReport:
    """Trains these members to their ends, then asks all of them together."""
    hear({"kind": "plan", "steps": plan.steps, "members": plan.members, "layout": plan.layout.in_words})
    for message in launch(folder.path, plan.layout, members=members):
        hear(message)
    if _is_to_be_asked(folder, plan):
        score = examine([folder], folder.held_out()).exact_match
        # Half a line, as a full disk leaves it, would swallow the next one.
        folder.forget_metrics_after(plan.steps)
        measured = {"step": plan.steps, "right": score.right, "asked": score.asked}
        folder.add_metric(_TOGETHER, **measured)
        hear({"kind": _TOGETHER, **measured})
    return report_on(folder.path)


def _is_to_be_asked(folder: RunFolder, plan: Plan) -> bool:
    """Whether there are several members, with questions kept back, that have not been asked together."""
    is_asked = any(line["kind"] == _TOGETHER for line in folder.read_metrics())
    return plan.members > 1 and bool(folder.held_out()) and not is_asked


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
        *([("members", f"{plan.members}, asked together")] if plan.members > 1 else []),
        ("processes × threads", f"{plan.processes} × {plan.threads}, {plan.precision}"),
        ("seed", str(plan.seed)),
    ]
