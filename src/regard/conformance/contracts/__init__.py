"""What the pieces of a published homework promise: one file a contract, each a law with an outlaw."""

from regard.conformance.law import Law

__all__ = ["all_contracts", "contracts_for"]


def all_contracts() -> dict[str, Law]:
    """Every contract by its id, in alphabetical order of its file."""
    from regard.conformance import contracts
    from regard.core.catalog import discover

    laws = [module.LAW for module in discover(contracts).values()]
    return {law.id: law for law in laws}


def contracts_for(capability: str) -> dict[str, Law]:
    """The contracts on subjects with this capability: `table`, `turn`, `attend` or `corruption`."""
    return {name: law for name, law in all_contracts().items() if capability in law.needs}
