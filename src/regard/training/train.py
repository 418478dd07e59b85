"""`regard train`: from texts to a trained model, and what it knows."""

import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from regard.core.errors import InputError
from regard.training import evaluation
from regard.training.answering import ModelAnswer, answer_questions, require_askable
from regard.training.data.corpus import FactQuestion, read_questions
from regard.training.data.objectives import Objective
from regard.training.evaluation import Accuracy, AnsweredQuestion, EvaluationReport, baseline_accuracy
from regard.training.launching import MessageKind, Notify, ProcessLayout, TrainingFailed, launch
from regard.training.planning import (
    CALIBRATION_SECONDS,
    LayoutSpeed,
    RunLength,
    TrainRequest,
    bytes_needed,
    freeze,
    measure_layouts,
    outline,
    pick_precision,
    require_memory,
)
from regard.training.process_group import ProcessGroup, is_distributed, join_process_group
from regard.training.recipe import RunPlan
from regard.training.report import LearningCurve, RunReport, TrainingEstimate
from regard.training.run_folder import MEASURED, NUM_SAMPLES, RunFolder
from regard.training.worker import measure_steps, work

# The recipes of a demonstration, and the share of the time that each may take.
DEMONSTRATION = {"fast": 0.8, "scratch": 0.2}


@dataclass(frozen=True, kw_only=True)
class _PreparedRun:
    """A run whose plan is fixed, and about how long it will take."""

    folder: RunFolder
    plan: RunPlan
    seconds: float


def train(request: TrainRequest, out: Path, notify: Notify) -> RunReport:
    """Trains a run in its folder, from the first step to the last."""
    if is_distributed():
        return report_on(train_distributed(request, out, notify))
    with ExitStack() as stack:
        with _removed_if_refused(out):
            [prepared] = _prepare({out: request}, stack, notify)
        return _run(prepared.folder, prepared.plan, range(prepared.plan.members), notify)


def demonstrate(request: TrainRequest, out: Path, notify: Notify) -> list[RunReport]:
    """Trains the same model with and without documents about the people in the questions, in the same precision.

    Both are planned before either is trained, so that a time budget that is too short for one is refused at once.
    """
    minutes = request.length.minutes
    if minutes is None:
        raise InputError("A demonstration has a time budget. Give --minutes, not --steps.")
    changes = [*request.changes, f"precision={pick_precision()}"]
    arms = {
        out / recipe: replace(
            request, recipe=recipe, changes=changes, members=1, length=RunLength(minutes=minutes, share=share)
        )
        for recipe, share in DEMONSTRATION.items()
    }
    if is_distributed():
        return [train(arm, folder, notify) for folder, arm in arms.items()]
    with ExitStack() as stack:
        with _removed_if_refused(out):
            first, second = _prepare(arms, stack, notify)
        return [
            _run(first.folder, first.plan, [0], notify, later=second.seconds),
            _run(second.folder, second.plan, [0], notify),
        ]


def resume(out: Path, notify: Notify) -> RunReport:
    """Makes the remaining steps of a run; its weights are the same as without the interruption."""
    if is_distributed():
        return report_on(resume_distributed(out, notify))
    folder = RunFolder(out)
    plan = folder.plan()

    def warn(text: str) -> None:
        notify({"kind": MessageKind.WARNING, "text": text})

    missing = [each.member for each in folder.members() if not each.has_usable_weights(warn)]
    if not missing and not _needs_joint_evaluation(folder, plan):
        return report_on(out)
    with folder.lock():
        require_memory(plan.model_config, plan.recipe.batch, processes=plan.processes, runs=len(missing))
        return _run(folder, plan, missing, notify)


def estimate(request: TrainRequest, scratch: Path, notify: Notify) -> TrainingEstimate:
    """Measures some steps, and computes what the whole training would take."""
    begun = time.perf_counter()
    with ExitStack() as stack:
        plan, speeds = _measure(request, begun, RunFolder(scratch), stack, notify)
    plan = freeze(request, plan, speeds[0], spent=time.perf_counter() - begun)
    needed = bytes_needed(plan.model_config, plan.recipe.batch, processes=plan.processes, runs=plan.members)
    return TrainingEstimate(plan=plan, speeds=speeds, bytes_needed=needed)


def evaluate(runs: Sequence[Path], questions: Path) -> EvaluationReport:
    """Asks a finished run, or several together, the questions of a file."""
    folders = [RunFolder(run) for run in runs]
    for folder in folders:
        folder.plan()
    asked = read_questions(questions)
    require_askable(folders[0].vocabulary(), [question.text for question in asked])
    return evaluation.evaluate(folders, asked)


def predict(out: Path, questions: Sequence[str]) -> list[ModelAnswer]:
    """The answers of a finished run."""
    folder = RunFolder(out)
    folder.plan()
    prompt_format = folder.prompt_format()
    require_askable(prompt_format.vocabulary, questions)
    return answer_questions([member.model() for member in folder.members()], prompt_format, questions)


def report_on(out: Path) -> RunReport:
    """The report of a run, from the files in its folder."""
    folder = RunFolder(out)
    plan, metrics = folder.plan(), [list(member.read_metrics()) for member in folder.members()]
    steps = [[line for line in lines if line["kind"] == MessageKind.STEP] for lines in metrics]
    together = [line for line in metrics[0] if line["kind"] == MessageKind.TOGETHER]
    evaluated = [line for line in metrics[0] if line["kind"] == MessageKind.HELD_OUT]
    questions = folder.held_out()
    return RunReport(
        folder=str(out),
        recipe=plan.recipe.name,
        about=plan.recipe.about,
        settings=_settings(plan),
        curves=[
            LearningCurve(
                losses=[(line["step"], line["loss"]) for line in lines if line["kind"] == MessageKind.STEP],
                held_out=[(line["step"], _accuracy(line)) for line in lines if line["kind"] == MessageKind.HELD_OUT],
            )
            for lines in metrics
        ],
        together=_accuracy(together[-1]) if together else None,
        baseline=baseline_accuracy(questions, folder.facts()["commonest_answer"]) if questions else None,
        samples=_samples(questions, (together or evaluated)[-1:]),
        planned_steps=plan.steps,
        steps=len(steps[0]),
        tokens=sum(line["tokens"] for lines in steps for line in lines),
        seconds=max(sum(line["seconds"] for line in lines) for lines in steps),
    )


def _prepare(requests: Mapping[Path, TrainRequest], stack: ExitStack, notify: Notify) -> list[_PreparedRun]:
    """Runs in their folders, which stay locked until the stack ends; they divide the time that preparing all left."""
    begun = time.perf_counter()
    measured = [_measure(request, begun, RunFolder(out), stack, notify) for out, request in requests.items()]
    spent = time.perf_counter() - begun
    prepared = []
    for (out, request), (plan, speeds) in zip(requests.items(), measured, strict=True):
        fixed = freeze(request, plan, speeds[0], spent=spent)
        prepared.append(_PreparedRun(folder=RunFolder(out), plan=fixed, seconds=fixed.steps * speeds[0].seconds))
    for run in prepared:
        run.folder.write_plan(run.plan)
    return prepared


@contextmanager
def _removed_if_refused(out: Path) -> Iterator[None]:
    """Leaves nothing of a new folder if what was asked for is refused."""
    is_new = not out.exists()
    try:
        yield
    except InputError:
        if is_new:
            shutil.rmtree(out, ignore_errors=True)
        raise


def _measure(
    request: TrainRequest, begun: float, folder: RunFolder, stack: ExitStack, notify: Notify
) -> tuple[RunPlan, list[LayoutSpeed]]:
    """The outline of a run with its data in the folder, and the speed of some steps; the time since `begun` counts."""
    data, lessons, plan = outline(request)
    stack.enter_context(folder.lock())
    folder.create(data, lessons)

    def announce(text: str) -> None:
        notify({"kind": MessageKind.STATUS, "text": text})

    return plan, measure_layouts(request, begun, folder, plan, announce)


def _run(folder: RunFolder, plan: RunPlan, members: Sequence[int], notify: Notify, *, later: float = 0.0) -> RunReport:
    """Trains these members to the end, then asks all members together; other runs then take `later` seconds."""
    _announce(plan, notify, later=later)
    # Closed here, an interrupted launch ends its processes while the folder is still locked.
    with closing(launch(folder.path, plan.layout, members=members)) as messages:
        for message in messages:
            notify(message)
    if _needs_joint_evaluation(folder, plan):
        found = evaluation.evaluate([folder], folder.held_out())
        score = found.exact_match
        # A full disk may leave half a line, and the next one would be appended to it.
        folder.drop_metrics_after(plan.steps)
        samples = [(each.prediction, each.probability) for each in found.answered[:NUM_SAMPLES]]
        measured = {"step": plan.steps, "right": score.right, "asked": score.asked, "samples": samples}
        folder.add_metric(MessageKind.TOGETHER, **measured)
        notify({"kind": MessageKind.TOGETHER, **measured})
    return report_on(folder.path)


def _announce(plan: RunPlan, notify: Notify, *, later: float = 0.0) -> None:
    planned = {"steps": plan.steps, "members": plan.members, "layout": plan.layout.in_words, "later": later}
    notify({"kind": MessageKind.PLAN, "recipe": plan.recipe.name, **planned})


def _needs_joint_evaluation(folder: RunFolder, plan: RunPlan) -> bool:
    """Whether there are several members and held-out questions that they have not answered together."""
    is_done = any(line["kind"] == MessageKind.TOGETHER for line in folder.read_metrics())
    return plan.members > 1 and bool(folder.held_out()) and not is_done


def _samples(questions: Sequence[FactQuestion], lines: Sequence[dict]) -> list[AnsweredQuestion]:
    """The first answers of the latest evaluation; none if there is no evaluation yet."""
    return [
        AnsweredQuestion(
            question=question.text,
            prediction=prediction,
            answer=question.answer,
            is_right=prediction == question.answer,
            probability=probability,
        )
        for line in lines
        for question, (prediction, probability) in zip(questions, line.get("samples", ()), strict=False)
    ]


def _accuracy(line: dict) -> Accuracy:
    return Accuracy(right=line["right"], asked=line["asked"])


def _settings(plan: RunPlan) -> list[tuple[str, str]]:
    config, batch = plan.model_config, plan.recipe.batch
    positions = "no position encoding" if config.positions == "none" else f"{config.positions} positions"
    return [
        ("data", ", ".join(plan.sources)),
        ("tokens", f"{plan.vocab_size} {plan.recipe.tokens.kind}"),
        ("model", f"{config.num_layers} layers, {config.num_heads} heads, width {config.width}, {positions}"),
        ("weights", f"{config.num_parameters:,}"),
        ("objective", ", then ".join(_objective_words(stage.objective) for stage in plan.recipe.stages)),
        ("steps", f"{plan.steps} of {batch.rows} × {batch.length} tokens, {plan.flops:.2g} operations"),
        *([("members", f"{plan.members}, answering together")] if plan.members > 1 else []),
        ("processes × threads", f"{plan.processes} × {plan.threads}, {plan.precision}"),
        ("seed", str(plan.seed)),
    ]


def _objective_words(objective: Objective) -> str:
    return "questions only" if objective.reading == "nothing" else objective.reading


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
            folder.create(data, lessons)
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
    if group.is_first:
        _announce(folder.plan(), notify)
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
