"""The status of a step does not depend on the seed."""

from dataclasses import replace

import pytest

from derivations.judging.small import expression, found, scope
from regard.derivations.judging.relations import Relation
from regard.derivations.judging.scope import Scope
from regard.derivations.notation.syntax import Symbol


def at_seed(seed: int) -> Scope:
    return Scope(setting=replace(scope().setting, seed=seed))


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("y < 1", "false"),
        ("y > -3", "false"),
        ("y^2 + 1 > y", "true"),
        ("y^2 > y", "false"),
        ("|y| + x > y", "true"),
        (r"y \to 1.5", "false"),
        (r"y \approx 1", "false"),
        ("x = 1.5", "false"),
        (r"\gamma > 0", "approximate"),
        (r"\gamma > 1", "unknown"),
        (r"\gamma > 5", "false"),
        (r"\gamma y > 0", "false"),
        (r"\beta\gamma > \beta", "unknown"),
        (r"e^{-\beta\gamma} \approx 0", "approximate"),
        (r"e^{\beta} > 10^9", "approximate"),
        (r"u^\top w > 0", "false"),
        (r"\|u + w\| \leq \|u\| + \|w\|", "true"),
        (r"\|u + w\| \leq \|u\|", "false"),
    ],
)
def test_the_kind_of_a_finding_is_the_same_for_all_seeds(source, kind):
    assert {found(source, at_seed(seed)).kind for seed in range(10)} == {kind}


@pytest.mark.parametrize(("source", "kind"), [(r"e^{-\beta(\gamma - 1)} \approx 0", "approximate"), ("y < 2", "false")])
def test_nor_under_premises(source, kind):
    given = tuple(
        Relation(left=Symbol(name), sign=">", right=expression(least)) for name, least in (("gamma", "1"), ("y", "0"))
    )
    assert {found(source, at_seed(seed), premises=given).kind for seed in range(10)} == {kind}
