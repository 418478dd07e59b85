"""What the pieces of a published homework promise: contracts, which are laws on functions instead of layers."""

from typing import TypeVar

from regard.conformance.law import Comparison, Law, LawTrial
from regard.conformance.subject import Spec

__all__ = ["all_contracts", "contracts_for"]

_Piece = TypeVar("_Piece")


def all_contracts() -> dict[str, Law]:
    """Every contract by its id, in alphabetical order."""
    from regard.conformance.homework import attention, corruption, rotary

    laws = (*attention.CONTRACTS, *corruption.CONTRACTS, *rotary.CONTRACTS)
    return {law.id: law for law in sorted(laws, key=lambda law: law.id)}


def contracts_for(capability: str, spec: Spec) -> dict[str, Law]:
    """The contracts on subjects with this spec and this capability: `table`, `rotation`, `attend` or `corruption`."""
    contracts = all_contracts().items()
    return {name: law for name, law in contracts if capability in law.needs and law.applies(spec) is None}


def piece_of(trial: LawTrial, kind: type[_Piece]) -> _Piece:
    """The subject of a contract, which is a piece of this kind."""
    assert isinstance(trial.subject, kind)
    return trial.subject


def yes_no(what: str, is_right: bool) -> Comparison:
    """A comparison that says no more than whether something is right, and what is wrong if it is not."""
    return Comparison(what=what, error=0.0 if is_right else 1.0, tolerance=0.0, is_yes_no=True)
