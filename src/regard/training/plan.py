"""A plan: a recipe with everything else that a run needs to be made again, exactly."""

import json
from dataclasses import dataclass
from typing import Any

from regard.errors import InputError
from regard.model.config import ModelConfig
from regard.training.recipe import Recipe, recipe_from

__all__ = ["SCHEMA", "Plan", "plan_from_text"]

SCHEMA = "regard-run/1"


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What will be trained, for how long, by how many processes with how many threads each.

    `sources` says where the data came from, for the reader; the data itself lies beside the plan, as tokens.
    """

    recipe: Recipe
    steps: int
    seed: int
    vocab_size: int
    processes: int = 1
    threads: int = 1
    precision: str = "float32"
    checkpoint_every: int = 100
    evaluate_every: int = 0
    sources: tuple[str, ...] = ()

    @property
    def model_config(self) -> ModelConfig:
        """The model that is trained."""
        return self.recipe.model_config(vocab_size=self.vocab_size)

    def as_text(self) -> str:
        """The plan as JSON."""
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return json.dumps({"schema": SCHEMA, **fields, "recipe": self.recipe.as_dict()}, indent=1, default=dict)


def plan_from_text(text: str, where: str) -> Plan:
    """A plan that `as_text` wrote."""
    try:
        given: dict[str, Any] = json.loads(text)
        schema = given.pop("schema", None)
    except (json.JSONDecodeError, AttributeError) as error:
        raise InputError(f"{where} is damaged: {error}. Train again, or restore it from a copy.") from None
    if schema != SCHEMA:
        raise InputError(f"{where} was written as {schema!r}, and this version reads {SCHEMA!r}. Train again with it.")
    try:
        return Plan(**{**given, "recipe": recipe_from(given["recipe"]), "sources": tuple(given["sources"])})
    except (TypeError, KeyError) as error:
        raise InputError(f"{where} is damaged: {error}. Train again, or restore it from a copy.") from None
