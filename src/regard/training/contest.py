"""The runs of a comparison: one folder each, made where they are missing, kept where they are finished."""

import hashlib
import json
import tempfile
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from regard.core.axes import Bool
from regard.core.errors import InputError
from regard.core.files import write_atomically
from regard.training.calibrating import calibrate, pick_precision
from regard.training.data.reading import Question
from regard.training.examining import evaluate
from regard.training.folder import RunFolder
from regard.training.holding import hold
from regard.training.launching import Layout, launch
from regard.training.memory import footprint, require_memory
from regard.training.plan import Plan
from regard.training.planning import Length
from regard.training.preparing import Material, Prepared, prepare
from regard.training.recipe import Recipe, load_recipe

Progress = Callable[[int, int], None]

SCHEMA = "regard-compare/1"
_ALONE = Layout(processes=1, threads=1)
_CALIBRATION = 3.0
# Checkpoints a run, and steps between two of them at least.
_MOST_KEPT, _LEAST_KEPT = 20, 50


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One run: a recipe with its positions, and a seed."""

    recipe: Recipe
    seed: int

    @property
    def positions(self) -> str:
        """The position code of its model."""
        return self.recipe.model_config(vocab_size=8).positions

    @property
    def folder_name(self) -> str:
        """Where it lies inside the comparison's folder."""
        return f"{self.recipe.name}-{self.positions}-seed{self.seed}"


@dataclass(frozen=True, kw_only=True)
class Contest:
    """What is compared, on what, for how long. Without `positions` each recipe keeps its own."""

    recipes: Sequence[str]
    positions: Sequence[str]
    num_seeds: int
    material: Material
    length: Length
    changes: Sequence[str] = ()

    def __post_init__(self) -> None:
        if not 1 <= self.num_seeds <= 1000:
            raise InputError(f"{self.num_seeds} seeds can't be compared. Give 1 to 1,000.")
        for what, names in (("--recipes", self.recipes), ("--positions", self.positions)):
            if len(set(names)) < len(names):
                raise InputError(f"{what} names one twice: {', '.join(names)}. Name each once.")
        if not self.recipes:
            raise InputError("No recipe is named. Give --recipes fast,scratch.")

    def entries(self) -> list[Entry]:
        """Every run, all ways with the first seed first."""
        ways, owners = [], {}
        for name in self.recipes:
            for extra in [[f"model.positions={code}"] for code in self.positions] or [[]]:
                ways.append(load_recipe(name, [*self.changes, *extra]))
                if (owner := owners.setdefault(ways[-1].name, name)) != name:
                    raise InputError(f"{owner} and {name} are both called {ways[-1].name!r}. Rename one of them.")
        return [Entry(recipe=recipe, seed=seed) for seed in range(self.num_seeds) for recipe in ways]

    def digest(self) -> str:
        """A short name for all that is read and asked."""
        told = [*((d.name, d.text) for d in self.material.documents), *((q.text, q.answer) for q in self._questions())]
        return hashlib.blake2b(json.dumps(told).encode(), digest_size=8).hexdigest()

    def _questions(self) -> list[Question]:
        return [*self.material.questions, *self.material.held_out]


@dataclass(kw_only=True)
class _Work:
    """A contest in its folder; what is prepared for one recipe serves all of its runs."""

    contest: Contest
    out: Path
    progress: Progress
    prepared: dict[str, Prepared] = field(default_factory=dict)
    done: int = 0
    total: int = 0
    is_stopped: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)


def run_contest(
    contest: Contest, out: Path, asked: Sequence[Question], *, jobs: int, progress: Progress
) -> list[tuple[Entry, Bool[np.ndarray, " question"]]]:
    """For every run, which of the questions it answers right; runs that are finished already are not made again."""
    work, entries = _Work(contest=contest, out=out, progress=progress), contest.entries()
    for entry in entries:
        _require_memory(work, entry, min(jobs, len(entries)))
    with hold(out), ThreadPoolExecutor(max_workers=jobs) as pool:
        frozen = _freeze(work, entries)
        missing = [entry for entry in entries if not _place(work, entry, frozen).is_finished]
        work.total = sum(_plan(work, entry, frozen).steps for entry in missing)
        futures = [pool.submit(_make, work, entry, asked) for entry in entries]
        try:
            for future in as_completed(futures):
                future.result()
        except BaseException:
            work.is_stopped.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [(entry, future.result()) for entry, future in zip(entries, futures, strict=True)]


def _make(work: _Work, entry: Entry, asked: Sequence[Question]) -> Bool[np.ndarray, " question"]:
    """Trains what is still to be trained of one run, and asks it."""
    folder = RunFolder(work.out / entry.folder_name)
    if not folder.is_done(lambda _: None):
        with folder.hold():
            for message in launch(folder.path, _ALONE):
                if work.is_stopped.is_set():
                    return np.zeros(0, dtype=bool)
                if message["kind"] == "step":
                    with work.lock:
                        work.done += 1
                        work.progress(work.done, work.total)
    return np.array([each.is_right for each in evaluate([folder], asked).answered])


def _require_memory(work: _Work, entry: Entry, jobs: int) -> None:
    config = entry.recipe.model_config(vocab_size=len(_prepared(work, entry.recipe).vocabulary))
    require_memory(footprint(config, entry.recipe.batch, runs=jobs))


def _place(work: _Work, entry: Entry, frozen: dict[str, Any]) -> RunFolder:
    """The run's folder with its data and plan; one that is there must be the run that is asked for."""
    folder, plan = RunFolder(work.out / entry.folder_name), _plan(work, entry, frozen)
    if (folder.path / "plan.json").exists():
        if folder.plan() != plan:
            raise InputError(f"{folder.path} holds another run than this comparison asks for. Name another --out.")
        return folder
    folder.create()
    folder.write_data(_prepared(work, entry.recipe))
    folder.write_plan(plan)
    return folder


def _plan(work: _Work, entry: Entry, frozen: dict[str, Any]) -> Plan:
    return Plan(
        # Whatever the time, a run is one model here.
        recipe=replace(entry.recipe, member_steps=0),
        steps=frozen["steps"][entry.recipe.name],
        seed=entry.seed,
        vocab_size=len(_prepared(work, entry.recipe).vocabulary),
        precision=frozen["precision"] if entry.recipe.precision == "auto" else entry.recipe.precision,
        checkpoint_every=frozen["checkpoint_every"][entry.recipe.name],
        sources=work.contest.material.sources,
    )


def _freeze(work: _Work, entries: Sequence[Entry]) -> dict[str, Any]:
    """What all runs share, written down when it is first found out: the data, the changes, the steps."""
    contest, path = work.contest, work.out / "compare.json"
    asked = {
        "schema": SCHEMA,
        "data": contest.digest(),
        "changes": list(contest.changes),
        "minutes": contest.length.minutes,
        "steps_asked": contest.length.steps,
    }
    frozen: dict[str, Any] = {**asked, "precision": "", "steps": {}, "checkpoint_every": {}}
    if path.exists():
        frozen = _read(path)
        for name, value in asked.items():
            if frozen.get(name) != value:
                raise InputError(
                    f"{work.out} holds a comparison with other {name.replace('_', ' ')} ({frozen.get(name)!r}, now "
                    f"{value!r}). Ask for the same, or name another --out."
                )
    frozen["precision"] = frozen["precision"] or pick_precision()
    for entry in entries:
        name = entry.recipe.name
        if name not in frozen["steps"]:
            steps = contest.length.steps or _measured_steps(work, entry, frozen["precision"])
            frozen["steps"][name], frozen["checkpoint_every"][name] = steps, max(_LEAST_KEPT, steps // _MOST_KEPT)
    write_atomically(path, json.dumps(frozen, indent=1), is_durable=True)
    return frozen


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path} can't be read: {error}. Name another --out.") from None
    if not isinstance(found, dict) or not {"steps", "precision", "checkpoint_every"} <= set(found):
        raise InputError(f"{path} is no comparison that this version wrote. Name another --out.")
    return found


def _measured_steps(work: _Work, entry: Entry, precision: str) -> int:
    """How many steps of the recipe one core makes in the time that a run may take."""
    prepared = _prepared(work, entry.recipe)
    steps, vocab_size = work.contest.length.guess, len(prepared.vocabulary)
    plan = Plan(recipe=entry.recipe, steps=steps, seed=0, vocab_size=vocab_size, precision=precision)
    with tempfile.TemporaryDirectory(prefix="regard-") as scratch:
        folder = RunFolder(Path(scratch) / "run")
        folder.create()
        folder.write_data(prepared)
        seconds = calibrate(folder, plan, [_ALONE], seconds=_CALIBRATION, hear=lambda _: None)[0].seconds
    return work.contest.length.steps_at(seconds, least=len(entry.recipe.stages))


def _prepared(work: _Work, recipe: Recipe) -> Prepared:
    """The material as the recipe's tokens, whatever its positions."""
    if recipe.name not in work.prepared:
        work.prepared[recipe.name] = prepare(work.contest.material, recipe)
    return work.prepared[recipe.name]
