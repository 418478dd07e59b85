"""`regard train compare`: trains recipes and position codes with several seeds, each run in a folder of its own."""

import hashlib
import json
import tempfile
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from regard.core.axes import Bool
from regard.core.errors import InputError
from regard.core.files import read_regular_file, write_atomically
from regard.training.comparison_report import ComparisonReport, Variant, compare_variants, name_variants
from regard.training.data.corpus import FactQuestion, TrainingData, read_questions
from regard.training.data.lessons import LessonSet
from regard.training.evaluation import baseline_accuracy, evaluate
from regard.training.launching import MessageKind, ProcessLayout, launch
from regard.training.planning import RunLength, calibrate, pick_precision, prepare_lessons, require_memory
from regard.training.recipe import Recipe, RunPlan, load_recipe
from regard.training.run_folder import RunFolder, lock_folder

Progress = Callable[[int, int], None]

SCHEMA = "regard-compare/1"
_ONE_CORE = ProcessLayout(processes=1, threads=1)
_CALIBRATION_SECONDS = 3.0
# Checkpoints per run, and the least number of steps between two of them.
_MOST_CHECKPOINTS, _LEAST_STEPS = 20, 50


@dataclass(frozen=True, kw_only=True)
class ComparedRun:
    """One run of a comparison: a recipe with its positions, and a seed."""

    recipe: Recipe
    seed: int

    @property
    def positions(self) -> str:
        """The position code of its model."""
        return self.recipe.model_config(vocab_size=8).positions

    @property
    def folder_name(self) -> str:
        """The name of its folder."""
        return f"{self.recipe.name}-{self.positions}-seed{self.seed}"


@dataclass(frozen=True, kw_only=True)
class CompareRequest:
    """What to compare, on which data, for how long, and where. Without `positions` each recipe keeps its own.

    `test` is a file with questions to decide by, instead of the held-out ones. `jobs` runs train at a time.
    """

    recipes: Sequence[str]
    positions: Sequence[str]
    num_seeds: int
    data: TrainingData
    length: RunLength
    out: Path
    changes: Sequence[str] = ()
    test: Path | None = None
    against: str | None = None
    jobs: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.num_seeds <= 1000:
            raise InputError(f"Can't compare {self.num_seeds} seeds. Give 1 to 1,000.")
        for what, names in (("--recipes", self.recipes), ("--positions", self.positions)):
            if len(set(names)) < len(names):
                raise InputError(f"{what} has a name twice: {', '.join(names)}. Name each once.")
        if not self.recipes:
            raise InputError("No recipe is named. Give, for example, --recipes fast,scratch.")
        if not 1 <= self.jobs <= 1024:
            raise InputError(f"Can't train {self.jobs} runs at a time. Give --jobs 1 or more.")

    def runs(self) -> list[ComparedRun]:
        """Every run, all variants with the first seed first."""
        variants, sources = [], {}
        for name in self.recipes:
            for extra in [[f"model.positions={code}"] for code in self.positions] or [[]]:
                variants.append(load_recipe(name, [*self.changes, *extra]))
                if (other := sources.setdefault(variants[-1].name, name)) != name:
                    raise InputError(f"{other} and {name} are both called {variants[-1].name!r}. Rename one of them.")
        return [ComparedRun(recipe=recipe, seed=seed) for seed in range(self.num_seeds) for recipe in variants]

    @cached_property
    def questions(self) -> tuple[FactQuestion, ...]:
        """The questions that decide."""
        questions = self.data.held_out if self.test is None else read_questions(self.test)
        if not questions:
            raise InputError("No questions are held out, so there is nothing to compare by. Give --test FILE.")
        return questions

    def data_digest(self) -> str:
        """A digest of all documents and questions."""
        questions = (*self.data.questions, *self.data.held_out)
        texts = [*((d.name, d.text) for d in self.data.documents), *((q.text, q.answer) for q in questions)]
        return hashlib.blake2b(json.dumps(texts).encode(), digest_size=8).hexdigest()


def compare(request: CompareRequest, progress: Progress, *, reproduce: str | None = None) -> ComparisonReport:
    """Trains the missing runs, asks all runs the same questions, and judges each pair of variants."""
    questions = request.questions
    by_variant: dict[tuple[str, str], list[tuple[ComparedRun, np.ndarray]]] = {}
    for run, right in _ComparedTrainings(request, progress).finish():
        by_variant.setdefault((run.recipe.name, run.positions), []).append((run, right))
    variants = [
        Variant(
            recipe=recipe,
            positions=positions,
            steps=RunFolder(request.out / seeds[0][0].folder_name).plan().steps,
            right=np.stack([right for _, right in seeds]),
        )
        for (recipe, positions), seeds in by_variant.items()
    ]
    variants = name_variants(variants)
    return ComparisonReport(
        folder=str(request.out),
        data=", ".join(request.data.sources),
        questions="held out of the training questions" if request.test is None else str(request.test),
        num_questions=len(questions),
        num_seeds=request.num_seeds,
        baseline=baseline_accuracy(questions, request.data.most_common_answer),
        variants=variants,
        pairs=compare_variants(variants, against=request.against),
        reproduce=reproduce,
    )


def describe_finished(request: CompareRequest) -> str:
    """How many runs of an interrupted comparison are finished, and how to continue."""
    runs = request.runs()
    done = sum(RunFolder(request.out / run.folder_name).is_finished for run in runs)
    return f"{done} of {len(runs)} runs are finished and kept in {request.out}; run the same command to continue."


class _ComparedTrainings:
    """The runs of a request in progress."""

    def __init__(self, request: CompareRequest, progress: Progress) -> None:
        self._request, self._progress = request, progress
        self._runs = request.runs()
        self._lessons: dict[str, LessonSet] = {}
        # What all runs share, stored in compare.json: the precision, and the steps of each recipe.
        self._precision, self._steps = "", dict[str, int]()
        self._done = self._total = 0
        self._is_stopped, self._lock = threading.Event(), threading.Lock()

    def finish(self) -> list[tuple[ComparedRun, Bool[np.ndarray, " question"]]]:
        """For every run, which questions it answers correctly; finished runs are not trained again."""
        request = self._request
        for run in self._runs:
            config = run.recipe.model_config(vocab_size=len(self._lessons_of(run.recipe).vocabulary))
            require_memory(config, run.recipe.batch, runs=min(request.jobs, len(self._runs)))
        with lock_folder(request.out), ThreadPoolExecutor(max_workers=request.jobs) as pool:
            self._settle()
            missing = [run for run in self._runs if not self._prepare_folder(run).is_finished]
            self._total = sum(self._plan(run).steps for run in missing)
            futures = [pool.submit(self._train_and_ask, run) for run in self._runs]
            try:
                for future in as_completed(futures):
                    future.result()
            except BaseException:
                self._is_stopped.set()
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        return [(run, future.result()) for run, future in zip(self._runs, futures, strict=True)]

    def _train_and_ask(self, run: ComparedRun) -> Bool[np.ndarray, " question"]:
        folder = RunFolder(self._request.out / run.folder_name)
        if not folder.has_usable_weights(lambda _: None):
            with folder.lock(), closing(launch(folder.path, _ONE_CORE)) as messages:
                for message in messages:
                    if self._is_stopped.is_set():
                        return np.zeros(0, dtype=bool)
                    if message["kind"] == MessageKind.STEP:
                        with self._lock:
                            self._done += 1
                            self._progress(self._done, self._total)
        return np.array([each.is_right for each in evaluate([folder], self._request.questions).answered])

    def _prepare_folder(self, run: ComparedRun) -> RunFolder:
        """The run's folder with its data and plan; an existing one must have the same plan."""
        folder, plan = RunFolder(self._request.out / run.folder_name), self._plan(run)
        if (folder.path / "plan.json").exists():
            if folder.plan() != plan:
                raise InputError(f"{folder.path} contains another run than this comparison needs. Name another --out.")
            return folder
        folder.create(self._request.data, self._lessons_of(run.recipe))
        folder.write_plan(plan)
        return folder

    def _plan(self, run: ComparedRun) -> RunPlan:
        steps = self._steps[run.recipe.name]
        return RunPlan(
            # However much time there is, each run trains one model.
            recipe=replace(run.recipe, member_steps=0),
            steps=steps,
            seed=run.seed,
            vocab_size=len(self._lessons_of(run.recipe).vocabulary),
            precision=self._precision if run.recipe.precision == "auto" else run.recipe.precision,
            checkpoint_every=max(_LEAST_STEPS, steps // _MOST_CHECKPOINTS),
            sources=self._request.data.sources,
        )

    def _settle(self) -> None:
        """Reads what earlier calls settled, settles the rest, and writes it."""
        request, path = self._request, self._request.out / "compare.json"
        asked = {
            "schema": SCHEMA,
            "data": request.data_digest(),
            "changes": list(request.changes),
            "minutes": request.length.minutes,
            "steps_asked": request.length.steps,
        }
        if path.exists():
            found = _read(path)
            for name, value in asked.items():
                if found.get(name) != value:
                    raise InputError(
                        f"{request.out} contains a comparison with other {name.replace('_', ' ')} "
                        f"({found.get(name)!r}, now {value!r}). Ask for the same, or name another --out."
                    )
            self._precision, self._steps = found["precision"], found["steps"]
        self._precision = self._precision or pick_precision()
        for recipe in (run.recipe for run in self._runs):
            if recipe.name not in self._steps:
                self._steps[recipe.name] = request.length.steps or self._measure_steps(recipe)
        settled = {**asked, "precision": self._precision, "steps": self._steps}
        write_atomically(path, json.dumps(settled, indent=1), is_durable=True)

    def _measure_steps(self, recipe: Recipe) -> int:
        """How many steps of the recipe one core makes in the time of a run."""
        length, lessons = self._request.length, self._lessons_of(recipe)
        size = len(lessons.vocabulary)
        plan = RunPlan(recipe=recipe, steps=length.guess, seed=0, vocab_size=size, precision=self._precision)
        with tempfile.TemporaryDirectory(prefix="regard-") as scratch:
            folder = RunFolder(Path(scratch) / "run")
            folder.create(self._request.data, lessons)
            (speed,) = calibrate(folder, plan, [_ONE_CORE], seconds=_CALIBRATION_SECONDS, announce=lambda _: None)
        return length.enough_steps_at(speed.seconds)

    def _lessons_of(self, recipe: Recipe) -> LessonSet:
        """The data as the recipe's tokens, which don't depend on its positions."""
        if recipe.name not in self._lessons:
            self._lessons[recipe.name] = prepare_lessons(self._request.data, recipe)
        return self._lessons[recipe.name]


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(read_regular_file(path, follows_link=False))
    except InputError:
        raise
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path} can't be read: {error}. Name another --out.") from None
    if not isinstance(found, dict) or not {"steps", "precision"} <= set(found):
        raise InputError(f"{path} was not written by this version. Name another --out.")
    return found
