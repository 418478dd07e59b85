"""Mutations: the oracle with one bug each. A failure is explained by the mutation that gives the layer's outputs."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from regard.conformance.oracle import AttentionInputs, Oracle
from regard.conformance.subject import Projections, Spec
from regard.conformance.verdict import BugFamily

Scenario = Literal["plain", "padded", "gaps", "cached", "chunked", "large"]
# The oracle with a bug, None if the bug makes no sense for it.
Change = Callable[[Oracle], Oracle | None]


# What a layer with a bug would give, None if the bug makes no sense for it.
Output = Callable[[Oracle, AttentionInputs], np.ndarray | None]


@dataclass(frozen=True, kw_only=True, eq=False)
class Mutation:
    """A suspected bug, and what the layer would give with it.

    `scenario` is the kind of call in which it shows first: a plain one, with padding, with gaps between positions, or
    with a cache, token by token or in chunks. A bug of plain calls is a `change` of the oracle, and shows with large
    inputs too.
    """

    family: BugFamily
    description: str
    output: Output
    scenario: Scenario = "plain"
    change: Change | None = None


def all_mutations() -> tuple[Mutation, ...]:
    """Every mutation; of those that explain a layer equally well, the first is the likeliest."""
    from regard.conformance.mutations import attention, calls, projections

    return (*attention.MUTATIONS, *projections.MUTATIONS, *calls.MUTATIONS)


def plain(family: BugFamily, changes: Mapping[str, Change]) -> Iterator[Mutation]:
    """Bugs that show in every call, by their descriptions."""
    for description, change in changes.items():

        def output(oracle: Oracle, inputs: AttentionInputs, change: Change = change) -> np.ndarray | None:
            changed = change(oracle)
            return None if changed is None else changed.output(inputs)

        yield Mutation(family=family, description=description, output=output, change=change)


def stages(*, applies: Callable[[Spec], bool] | None = None, **replaced: Callable[..., Any]) -> Change:
    """Stages of the oracle replaced, where the spec calls for them."""
    return lambda oracle: replace(oracle, **replaced) if applies is None or applies(oracle.spec) else None


def spec_change(changes: Callable[[Spec], dict[str, Any] | None]) -> Change:
    """A layer with another spec than it declares; None if that makes no difference."""

    def change(oracle: Oracle) -> Oracle | None:
        found = changes(oracle.spec)
        return None if found is None else oracle.changed(**found)

    return change


def weight_change(changes: Callable[[Projections], dict[str, Any] | None]) -> Change:
    """A layer that uses its weights in another way."""

    def change(oracle: Oracle) -> Oracle | None:
        found = None if oracle.parts is None else changes(oracle.parts)
        return None if found is None or oracle.parts is None else replace(oracle, parts=replace(oracle.parts, **found))

    return change
