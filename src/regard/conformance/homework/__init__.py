"""What the pieces of a published homework promise: contracts, which are laws on functions instead of layers."""

from collections.abc import Callable
from typing import Any

from regard.conformance.law import Comparison, Law, LawTrial
from regard.conformance.subject import Spec, Subject

__all__ = ["HomeworkFunction", "all_contracts", "contracts_for"]


class HomeworkFunction(Subject):
    """A piece that is one function, and its kind, which says how contracts call it.

    "table": `function(dim, max_positions)` gives the cosines and sines of a rotary code.
    "rotation": `function(x, table)` rotates x of [batch, head, position, width] by such a table.
    "corruption": `function(data, block_size, seed)` is the `Corpus` over the lines of the data.
    """

    def __init__(self, kind: str, function: Callable[..., Any], *, name: str = "") -> None:
        self.function, self.name, self.capabilities = function, name or kind, frozenset({kind})


def all_contracts() -> dict[str, Law]:
    """Every contract by its id, in alphabetical order."""
    from regard.conformance.homework import attention, corruption, rotary

    laws = (*attention.CONTRACTS, *corruption.CONTRACTS, *rotary.CONTRACTS)
    return {law.id: law for law in sorted(laws, key=lambda law: law.id)}


def contracts_for(capability: str, spec: Spec) -> dict[str, Law]:
    """The contracts on subjects with this spec and this capability: `table`, `rotation`, `attend` or `corruption`."""
    contracts = all_contracts().items()
    return {name: law for name, law in contracts if capability in law.needs and law.applies(spec) is None}


def called(trial: LawTrial, *arguments: Any) -> Any:
    """What the function that a contract is about returns."""
    assert isinstance(trial.subject, HomeworkFunction)
    return trial.subject.function(*arguments)


def yes_no(what: str, is_right: bool) -> Comparison:
    """A comparison that says no more than whether something is right, and what is wrong if it is not."""
    return Comparison(what=what, error=0.0 if is_right else 1.0, tolerance=0.0, is_yes_no=True)
