"""The laws of attention layers: one file per law in `laws`, each with a broken example that it must catch."""

from regard.conformance.law import Comparison, InputSize, Law, LawTrial

__all__ = ["Comparison", "InputSize", "Law", "LawTrial", "all_laws"]


def all_laws() -> dict[str, Law]:
    """Every law by its id, in alphabetical order of its file."""
    from regard.conformance import laws
    from regard.core.catalog import discover

    return {module.LAW.id: module.LAW for module in discover(laws).values()}
