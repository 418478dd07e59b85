"""A plan: a recipe with everything else that a run needs to be made again, exactly."""

import json
from dataclasses import dataclass, replace
from typing import Any

from regard.core.errors import InputError
from regard.training.launching import Layout
from regard.training.model.config import ModelConfig
from regard.training.recipe import Recipe, recipe_from
from regard.training.settings import build, table

SCHEMA = "regard-run/5"
# Seeds of a run's members are so far apart, so that runs with seeds 0, 1, 2 … share none.
_APART = 1_000_003


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What will be trained, for how long, by how many processes with how many threads each.

    `members` models are trained side by side, each with its own seed and so many steps, and asked together. `sources`
    says where the data came from, for the reader; the data itself lies beside the plan, as tokens.
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
        for name in ("steps", "vocab_size", "processes", "threads", "members", "checkpoint_every"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} is {getattr(self, name)}, and it should be at least 1.")
        for name in ("seed", "evaluate_every"):
            if getattr(self, name) < 0:
                raise InputError(f"{name} is {getattr(self, name)}, and it should be at least 0.")
        if self.precision not in ("float32", "bfloat16"):
            raise InputError(f"precision is {self.precision!r}, and it should be float32 or bfloat16.")

    @property
    def model_config(self) -> ModelConfig:
        """The model that is trained."""
        return self.recipe.model_config(vocab_size=self.vocab_size)

    @property
    def flops(self) -> float:
        """Multiplications and additions of the whole training, of all members."""
        batch = self.recipe.batch
        config = self.recipe.model_config(vocab_size=batch.num_candidates(self.vocab_size))
        return self.members * self.steps * batch.rows * batch.length * config.flops_per_token(batch.length)

    @property
    def layout(self) -> Layout:
        """Who makes the steps."""
        return Layout(processes=self.processes, threads=self.threads, members=self.members)

    def of_member(self, number: int) -> "Plan":
        """The plan as one of the members follows it: with random draws of its own."""
        return replace(self, seed=self.seed + _APART * number)

    def as_text(self) -> str:
        """The plan as JSON."""
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return json.dumps({"schema": SCHEMA, **fields, "recipe": self.recipe.as_dict()}, indent=1, default=dict)


def plan_from_text(text: str, where: str) -> Plan:
    """A plan that `as_text` wrote."""
    try:
        given = table(json.loads(text), "the plan")
    except (json.JSONDecodeError, InputError) as error:
        raise _damaged(where, error) from None
    if (schema := given.pop("schema", None)) != SCHEMA:
        raise InputError(f"{where} was written as {schema!r}, and this version reads {SCHEMA!r}. Train again with it.")
    try:
        recipe = recipe_from(table(given.get("recipe"), "recipe"))
        return build(Plan, {**given, "recipe": recipe, "sources": _texts(given.get("sources"))}, "the plan")
    except InputError as error:
        raise _damaged(where, error) from None


def _texts(given: Any) -> tuple[str, ...]:
    if not isinstance(given, list) or not all(isinstance(each, str) for each in given):
        raise InputError(f"sources is {given!r}, but it should be a list of texts.")
    return tuple(given)


def _damaged(where: str, error: Exception) -> InputError:
    return InputError(f"{where} is damaged: {str(error).rstrip('.')}. Train again, or restore it from a copy.")
