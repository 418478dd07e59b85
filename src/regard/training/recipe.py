"""Recipes: everything about a training but its data, as a TOML file that flags can override."""

import dataclasses
import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from regard.core.errors import InputError
from regard.training.data.objectives import Objective
from regard.training.data.tokenizing import Kind
from regard.training.model.config import ModelConfig
from regard.training.settings import build, table

Precision: TypeAlias = Literal["auto", "float32", "bfloat16"]


@dataclass(frozen=True, kw_only=True)
class Tokens:
    """Characters, or words and pieces of words, merged until there are `size`, of which some are then dropped.

    With `reads_alike` tokens that differ only in capitals, or in a space before them, have one embedding.
    """

    kind: Kind = "pieces"
    size: int = 4096
    reads_alike: bool = False

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise InputError(f"tokens.kind is {self.kind!r}. Use one of {', '.join(get_args(Kind))}.")
        if not 64 <= self.size <= 1_000_000:
            raise InputError(f"tokens.size is {self.size}. Use a vocabulary of 64 to 1,000,000 pieces.")


# Enough to keep a core busy; more would take memory and save no time.
_TOKENS_AT_ONCE = 4096


@dataclass(frozen=True, kw_only=True)
class BatchShape:
    """Rows in a step, over all processes, and tokens in a row.

    A step holds its predictions against `candidates` tokens, which stand for all of a larger vocabulary (0: all).
    """

    rows: int = 32
    length: int = 128
    candidates: int = 0

    def __post_init__(self) -> None:
        if self.candidates < 0:
            raise InputError(f"batch.candidates is {self.candidates}. Use a number from 0 up.")
        if self.rows < 1 or self.length < 16:
            raise InputError(f"A batch of {self.rows} rows of {self.length} tokens is too small. Use 1 × 16 or more.")

    def rows_at_once(self, processes: int) -> int:
        """How many of its rows each of these processes takes in one go; the others wait, and need no memory yet."""
        return max(1, min(-(-self.rows // processes), _TOKENS_AT_ONCE // self.length))

    def num_candidates(self, vocab_size: int) -> int:
        """How many tokens of a vocabulary a step's predictions are held against."""
        return min(self.candidates, vocab_size) or vocab_size


@dataclass(frozen=True, kw_only=True)
class Rates:
    """Learning rates and their course: they rise over `warmup` of a stage and fall linearly over the last `decay`.

    `matrix` is for the matrices of the blocks (Muon, or Adam if `has_muon` is false), `table` for embeddings and
    the output head, `ngram` for the table of hashed n-grams.
    """

    matrix: float = 0.02
    table: float = 0.004
    ngram: float = 0.004
    has_muon: bool = True
    weight_decay: float = 0.0
    clip: float = 0.0
    warmup: float = 0.02
    decay: float = 0.6

    def __post_init__(self) -> None:
        for name in ("matrix", "table", "ngram", "weight_decay", "clip", "warmup", "decay"):
            if not 0 <= getattr(self, name) < math.inf:
                raise InputError(f"stages.{name} is {getattr(self, name)}. Use a number from 0 up.")

    def factor(self, step: int, steps: int) -> float:
        """The share of the full rate at a step (from 0) of a stage; it is positive at the last step too."""
        risen, left = (step + 1) / steps, (steps - step) / steps
        return min(1.0, risen / max(self.warmup, 1e-9), left / max(self.decay, 1e-9))


@dataclass(frozen=True, kw_only=True)
class Stage:
    """A stretch of the training with one objective; `share` of all steps."""

    name: str = "training"
    share: float = 1.0
    objective: Objective = field(default_factory=Objective)
    rates: Rates = field(default_factory=Rates)


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """A way to train: tokens, model, batches, stages.

    Runs of some minutes train a model for each core, instead of one by all cores, if each makes `member_steps` steps
    (0: never).
    """

    name: str
    about: str = ""
    tokens: Tokens = field(default_factory=Tokens)
    batch: BatchShape = field(default_factory=BatchShape)
    model: Mapping[str, Any] = field(default_factory=dict)
    stages: tuple[Stage, ...] = (Stage(),)
    precision: Precision = "auto"
    member_steps: int = 0

    def __post_init__(self) -> None:
        if not self.stages or not 0 < sum(stage.share for stage in self.stages) < math.inf:
            raise InputError(f"The recipe {self.name!r} has no stage with a share of the steps. Give it one.")
        if self.member_steps < 0:
            raise InputError(f"member_steps is {self.member_steps}. Use a number from 0 up.")
        if self.precision not in get_args(Precision):
            raise InputError(f"precision is {self.precision!r}. Use one of {', '.join(get_args(Precision))}.")
        self.model_config(vocab_size=8)

    def model_config(self, *, vocab_size: int) -> ModelConfig:
        """The model for a vocabulary."""
        return build(ModelConfig, {**self.model, "vocab_size": vocab_size, "max_length": self.batch.length}, "model")

    def stage_steps(self, steps: int) -> tuple[int, ...]:
        """How many of the steps each stage has: at least one, so fewer steps than stages end before the last ones."""
        total = sum(stage.share for stage in self.stages)
        counts: list[int] = []
        for number, stage in enumerate(self.stages[:-1], start=1):
            most = steps - sum(counts) - (len(self.stages) - number)
            counts.append(max(1, min(round(steps * stage.share / total), most)))
        return (*counts, max(1, steps - sum(counts)))

    def over(self, steps: int) -> "Recipe":
        """The recipe with what its stages show in a run of so many steps."""
        lengths = zip(self.stages, self.stage_steps(steps), strict=True)
        stages = tuple(dataclasses.replace(stage, objective=stage.objective.over(count)) for stage, count in lengths)
        return dataclasses.replace(self, stages=stages)

    def as_dict(self) -> dict[str, Any]:
        """The recipe as `recipe_from` reads it."""
        return {**dataclasses.asdict(self), "stages": [_flat_stage(stage) for stage in self.stages]}


def recipe_names() -> list[str]:
    """The built-in recipes."""
    return sorted(path.name.removesuffix(".toml") for path in _FOLDER.iterdir() if path.name.endswith(".toml"))


def load_recipe(name: str, changes: Sequence[str] = ()) -> Recipe:
    """A built-in recipe by its name, or one from a file, with changes such as `model.width=192`."""
    path = Path(name)
    if name in recipe_names():
        text, short = (_FOLDER / f"{name}.toml").read_text(encoding="utf-8"), name
    elif path.suffix == ".toml":
        short = path.stem
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{path} can't be read: {error}.") from None
    else:
        raise InputError(f"No recipe is called {name!r}. There are: {', '.join(recipe_names())}; or name a .toml file.")
    try:
        given = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path} is not TOML: {error}.") from None
    for change in changes:
        _apply(given, change)
    return recipe_from({"name": short, **given})


def recipe_from(given: Mapping[str, Any]) -> Recipe:
    """A recipe from tables; unknown keys are refused."""
    stages = given.get("stages", [{}])
    if not isinstance(stages, list):
        raise InputError(f"stages is {stages!r}, but it should be a list of tables.")
    return build(
        Recipe,
        {
            **given,
            "model": table(given.get("model", {}), "model"),
            "tokens": build(Tokens, given.get("tokens", {}), "tokens"),
            "batch": build(BatchShape, given.get("batch", {}), "batch"),
            "stages": tuple(_stage(stage) for stage in stages),
        },
        "recipe",
    )


_FOLDER = files("regard.training") / "recipes"


def _stage(given: Any) -> Stage:
    given = table(given, "each of stages")
    names = {part: {f.name for f in dataclasses.fields(part)} for part in (Objective, Rates)}
    rest = {key: value for key, value in given.items() if not any(key in known for known in names.values())}
    parts = {part: {key: value for key, value in given.items() if key in known} for part, known in names.items()}
    return build(
        Stage,
        {
            **rest,
            "objective": build(Objective, parts[Objective], "stages"),
            "rates": build(Rates, parts[Rates], "stages"),
        },
        "stages",
    )


def _flat_stage(stage: Stage) -> dict[str, Any]:
    whole = dataclasses.asdict(stage)
    return {**whole.pop("objective"), **whole.pop("rates"), **whole}


def _apply(given: dict[str, Any], change: str) -> None:
    """Writes `section.key=value` into the tables; a key of `stages` goes into every stage."""
    key, equals, text = change.partition("=")
    if not equals or not key.strip():
        raise InputError(f"{change!r} changes nothing. Write it as model.width=192.")
    section, _, name = key.strip().rpartition(".")
    found = given.setdefault(section, [{}] if section == "stages" else {}) if section else given
    for place in found if isinstance(found, list) else [found]:
        table(place, section)[name] = _value(text.strip())


def _value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
