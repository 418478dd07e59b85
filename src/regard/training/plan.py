"""A plan: a recipe with everything else needed to repeat a run exactly."""

import json
from dataclasses import dataclass, replace
from typing import Any

from regard.core.errors import InputError
from regard.training.launching import ProcessLayout
from regard.training.model.config import ModelConfig
from regard.training.recipe import Recipe, build, recipe_from, table

SCHEMA = "regard-run/5"
# The seeds of a run's members are this far apart, so that runs with seeds 0, 1, 2 … share none.
_MEMBER_SEED_STEP = 1_000_003


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
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return json.dumps({"schema": SCHEMA, **fields, "recipe": self.recipe.as_dict()}, indent=1, default=dict)


def plan_from_json(text: str, where: str) -> RunPlan:
    """A plan written by `to_json`."""
    try:
        given = table(json.loads(text), "the plan")
        if (schema := given.pop("schema", None)) == SCHEMA:
            recipe = recipe_from(table(given.get("recipe"), "recipe"))
            return build(RunPlan, {**given, "recipe": recipe, "sources": _texts(given.get("sources"))}, "the plan")
    except (json.JSONDecodeError, InputError) as error:
        raise InputError(
            f"{where} is damaged: {str(error).rstrip('.')}. Train again, or restore it from a copy."
        ) from None
    raise InputError(f"{where} was written as {schema!r}, but this version reads {SCHEMA!r}. Train again.")


def _texts(given: Any) -> tuple[str, ...]:
    if not isinstance(given, list) or not all(isinstance(each, str) for each in given):
        raise InputError(f"sources is {given!r}, but it should be a list of texts.")
    return tuple(given)
