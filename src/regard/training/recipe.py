"""Recipes: everything about a training except its data, as TOML with settings that flags can override.

A plan is a recipe with everything else needed to repeat a run exactly.
"""

import json
import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, asdict, dataclass, field, fields, replace
from importlib.resources import files
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, TypeAlias, TypeVar, get_args, get_origin, get_type_hints

from regard.core.errors import InputError
from regard.core.files import read_regular_file
from regard.training.data.objectives import Objective
from regard.training.data.vocabulary import Kind
from regard.training.launching import ProcessLayout
from regard.training.model.config import ModelConfig

Precision: TypeAlias = Literal["auto", "float32", "bfloat16"]
Section = TypeVar("Section")

SCHEMA = "regard-run/6"
# The seeds of a run's members are this far apart, so that runs with seeds 0, 1, 2 … share none.
_MEMBER_SEED_STEP = 1_000_003
_FOLDER = files("regard.training") / "recipes"
# Enough to keep a core busy; more would take memory and save no time.
_TOKENS_AT_ONCE = 4096


@dataclass(frozen=True, kw_only=True)
class TokenSettings:
    """Characters, or words and word pieces merged until there are `size` tokens.

    With `reads_alike`, tokens that differ only in case or in a preceding space share an embedding.
    """

    kind: Kind = "pieces"
    size: int = 4096
    reads_alike: bool = False

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise InputError(f"tokens.kind is {self.kind!r}. Use one of {', '.join(get_args(Kind))}.")
        if not 64 <= self.size <= 1_000_000:
            raise InputError(f"tokens.size is {self.size}. Use 64 to 1,000,000.")


@dataclass(frozen=True, kw_only=True)
class BatchShape:
    """Rows per step, over all processes, and tokens per row.

    A step scores a sample of `candidates` tokens, which stands for the whole of a larger vocabulary (0: score all).
    """

    rows: int = 32
    length: int = 128
    candidates: int = 0

    def __post_init__(self) -> None:
        if self.candidates < 0:
            raise InputError(f"batch.candidates is {self.candidates}. Use 0 or more.")
        if self.rows < 1 or self.length < 16:
            raise InputError(f"A batch of {self.rows} rows of {self.length} tokens is too small. Use 1 × 16 or more.")

    def rows_at_once(self, processes: int) -> int:
        """How many rows each of these processes handles at once; the others wait, and need no memory yet."""
        return max(1, min(-(-self.rows // processes), _TOKENS_AT_ONCE // self.length))

    def num_candidates(self, vocab_size: int) -> int:
        """How many tokens of a vocabulary a step scores."""
        return min(self.candidates, vocab_size) or vocab_size


@dataclass(frozen=True, kw_only=True)
class Rates:
    """Learning rates, which rise over the first `warmup` of a stage and fall linearly over the last `decay`.

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
                raise InputError(f"stages.{name} is {getattr(self, name)}. Use 0 or more.")

    def factor(self, step: int, steps: int) -> float:
        """The fraction of the full rate at a step (from 0) of a stage; positive even at the last step."""
        done, left = (step + 1) / steps, (steps - step) / steps
        return min(1.0, done / max(self.warmup, 1e-9), left / max(self.decay, 1e-9))


@dataclass(frozen=True, kw_only=True)
class Stage:
    """A part of the training with one objective, for `share` of all steps."""

    name: str = "training"
    share: float = 1.0
    objective: Objective = field(default_factory=Objective)
    rates: Rates = field(default_factory=Rates)


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How to train: tokens, model, batches, stages.

    If every core can make `member_steps` steps in the time given, a run trains one model per core instead of one with
    all cores (0: never).
    """

    name: str
    about: str = ""
    tokens: TokenSettings = field(default_factory=TokenSettings)
    batch: BatchShape = field(default_factory=BatchShape)
    model: Mapping[str, Any] = field(default_factory=dict)
    stages: tuple[Stage, ...] = (Stage(),)
    precision: Precision = "auto"
    member_steps: int = 0

    def __post_init__(self) -> None:
        if not self.stages or not 0 < sum(stage.share for stage in self.stages) < math.inf:
            raise InputError(f"The recipe {self.name!r} has no stage with a share of the steps. Give it one.")
        if self.member_steps < 0:
            raise InputError(f"member_steps is {self.member_steps}. Use 0 or more.")
        if self.precision not in get_args(Precision):
            raise InputError(f"precision is {self.precision!r}. Use one of {', '.join(get_args(Precision))}.")
        self.model_config(vocab_size=8)

    @property
    def reads_documents(self) -> bool:
        """Whether any stage shows documents."""
        return any(stage.objective.reading != "nothing" for stage in self.stages)

    def model_config(self, *, vocab_size: int) -> ModelConfig:
        """The model for a vocabulary."""
        return build(ModelConfig, {**self.model, "vocab_size": vocab_size, "max_length": self.batch.length}, "model")

    def stage_steps(self, steps: int) -> tuple[int, ...]:
        """The steps of each stage: at least one, so a run with fewer steps than stages ends before the last ones."""
        total = sum(stage.share for stage in self.stages)
        counts: list[int] = []
        for number, stage in enumerate(self.stages[:-1], start=1):
            most = steps - sum(counts) - (len(self.stages) - number)
            counts.append(max(1, min(round(steps * stage.share / total), most)))
        return (*counts, max(1, steps - sum(counts)))

    def over(self, steps: int) -> "Recipe":
        """The recipe with the objectives adapted to a run of this many steps."""
        lengths = zip(self.stages, self.stage_steps(steps), strict=True)
        stages = tuple(replace(stage, objective=stage.objective.over(count)) for stage, count in lengths)
        return replace(self, stages=stages)

    def as_dict(self) -> dict[str, Any]:
        """The recipe as `recipe_from` reads it."""
        stages = [asdict(stage) for stage in self.stages]
        flat = [{**stage.pop("objective"), **stage.pop("rates"), **stage} for stage in stages]
        return {**asdict(self), "stages": flat}


def recipe_names() -> list[str]:
    """The built-in recipes."""
    return sorted(path.name.removesuffix(".toml") for path in _FOLDER.iterdir() if path.name.endswith(".toml"))


def load_recipe(name: str, changes: Sequence[str] = ()) -> Recipe:
    """A built-in recipe by its name, or one from a file, with changes such as `model.width=192`."""
    given = _read_tables(name)
    for change in changes:
        _apply(given, change)
    return recipe_from(given)


def _read_tables(name: str) -> dict[str, Any]:
    """A recipe's tables, which replace those of its `base`, if it names one."""
    path = Path(name)
    if name in recipe_names():
        text = (_FOLDER / f"{name}.toml").read_text(encoding="utf-8")
    elif path.suffix == ".toml":
        try:
            text = read_regular_file(path).decode("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{path} can't be read: {error}.") from None
    else:
        known = ", ".join(recipe_names())
        raise InputError(f"No recipe is called {name!r}. Use one of {known}, or a .toml file.")
    try:
        given = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(f"{path} is not TOML: {error}.") from None
    base = given.pop("base", None)
    if base not in (None, *recipe_names()):
        raise InputError(f"{path} has the base {base!r}. Use one of {', '.join(recipe_names())}.")
    return {**(_read_tables(base) if base else {}), "name": path.stem, **given}


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
            "tokens": build(TokenSettings, given.get("tokens", {}), "tokens"),
            "batch": build(BatchShape, given.get("batch", {}), "batch"),
            "stages": tuple(_stage(stage) for stage in stages),
        },
        "recipe",
    )


def table(given: Any, where: str) -> dict[str, Any]:
    """`given`, if it is a table."""
    if not isinstance(given, dict):
        raise InputError(f"{where} is {given!r}, but it should be a table of settings.")
    return given


def build(kind: type[Section], given: Any, where: str) -> Section:
    """The dataclass with these fields; unknown, missing and mistyped ones are refused."""
    known: tuple[Field, ...] = fields(kind)  # type: ignore[arg-type]
    hints = get_type_hints(kind)
    for key, value in table(given, where).items():
        if key not in hints:
            raise InputError(f"{where} has no setting {key!r}. There are: {', '.join(sorted(f.name for f in known))}.")
        if not _fits(value, hints[key]):
            raise InputError(f"{where}.{key} is {value!r}, but it should be {_type_words(hints[key])}.")
    for each in known:
        if each.name not in given and each.default is each.default_factory is MISSING:
            raise InputError(f"{where} lacks the setting {each.name!r}.")
    return kind(**given)


def _stage(given: Any) -> Stage:
    given = table(given, "each of stages")
    names = {part: {f.name for f in fields(part)} for part in (Objective, Rates)}
    rest = {key: value for key, value in given.items() if not any(key in known for known in names.values())}
    parts = {part: {key: value for key, value in given.items() if key in known} for part, known in names.items()}
    built = {"objective": build(Objective, parts[Objective], "stages"), "rates": build(Rates, parts[Rates], "stages")}
    return build(Stage, {**rest, **built}, "stages")


def _apply(given: dict[str, Any], change: str) -> None:
    """Writes `section.key=value` into the tables; a key of `stages` goes into every stage."""
    key, equals, text = change.partition("=")
    if not equals or not key.strip():
        raise InputError(f"{change!r} changes nothing. Write it as model.width=192.")
    section, _, name = key.strip().rpartition(".")
    found = given.setdefault(section, [{}] if section == "stages" else {}) if section else given
    try:
        value = tomllib.loads(f"value = {text.strip()}")["value"]
    except (tomllib.TOMLDecodeError, RecursionError):
        value = text.strip()
    for each in found if isinstance(found, list) else [found]:
        table(each, section)[name] = value


def _fits(value: Any, hint: Any) -> bool:
    """Whether a plain value has the type wanted; nested values are not examined."""
    if get_origin(hint) is UnionType:
        return any(_fits(value, each) for each in get_args(hint))
    if get_origin(hint) is Literal:
        return isinstance(value, str)
    if hint in (int, float):
        return isinstance(value, int | hint) and not isinstance(value, bool)
    return isinstance(value, hint) if hint in (bool, str, NoneType) else True


def _type_words(hint: Any) -> str:
    words = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}
    return next(words.get(each, "text") for each in get_args(hint) or (hint,) if each is not NoneType)


@dataclass(frozen=True, kw_only=True)
class RunPlan:
    """What to train, for how many steps, with how many processes and threads.

    `members` models are trained side by side, each with its own seed and that many steps, and answer together.
    `sources` describes the origin of the data for the reader; the data itself is stored beside the plan, as tokens.
    """

    recipe: Recipe
    steps: int
    seed: int
    vocab_size: int
    processes: int = 1
    threads: int = 1
    members: int = 1
    precision: str = "float32"
    checkpoint_every: int = 100
    evaluate_every: int = 0
    sources: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        at_least_1 = ("steps", "vocab_size", "processes", "threads", "members", "checkpoint_every")
        for least, names in ((1, at_least_1), (0, ("seed", "evaluate_every"))):
            for name in names:
                if getattr(self, name) < least:
                    raise InputError(f"{name} is {getattr(self, name)}, but it should be at least {least}.")
        if self.precision not in ("float32", "bfloat16"):
            raise InputError(f"precision is {self.precision!r}, but it should be float32 or bfloat16.")

    @property
    def model_config(self) -> ModelConfig:
        """The model to train."""
        return self.recipe.model_config(vocab_size=self.vocab_size)

    @property
    def flops(self) -> float:
        """Multiplications and additions of the whole training, for all members."""
        batch = self.recipe.batch
        config = self.recipe.model_config(vocab_size=batch.num_candidates(self.vocab_size))
        return self.members * self.steps * batch.rows * batch.length * config.flops_per_token(batch.length)

    @property
    def layout(self) -> ProcessLayout:
        """Members, processes and threads."""
        return ProcessLayout(processes=self.processes, threads=self.threads, members=self.members)

    def for_member(self, number: int) -> "RunPlan":
        """The plan of one member, with its own random draws."""
        return replace(self, seed=self.seed + _MEMBER_SEED_STEP * number)

    def to_json(self) -> str:
        """The plan as text that `plan_from_json` reads."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        return json.dumps({"schema": SCHEMA, **values, "recipe": self.recipe.as_dict()}, indent=1, default=dict)


def plan_from_json(text: str, where: str) -> RunPlan:
    """A plan written by `to_json`."""
    try:
        given = table(json.loads(text), "the plan")
        if (schema := given.pop("schema", None)) == SCHEMA:
            recipe = recipe_from(table(given.get("recipe"), "recipe"))
            return build(RunPlan, {**given, "recipe": recipe, "sources": _texts(given.get("sources"))}, "the plan")
    except (json.JSONDecodeError, RecursionError, InputError) as error:
        raise InputError(
            f"{where} is damaged: {str(error).rstrip('.')}. Train again, or restore it from a copy."
        ) from None
    raise InputError(f"{where} was written as {schema!r}, but this version reads {SCHEMA!r}. Train again.")


def _texts(given: Any) -> tuple[str, ...]:
    if not isinstance(given, list) or not all(isinstance(each, str) for each in given):
        raise InputError(f"sources is {given!r}, but it should be a list of texts.")
    return tuple(given)
