"""The laws of attention layers: one file a law in `catalogue`, each with an outlaw that it must catch."""

from regard.conformance.law import Comparison, InputSize, Law, LawTrial

__all__ = ["Comparison", "InputSize", "Law", "LawTrial", "all_laws"]


def all_laws() -> dict[str, Law]:
    """Every law of the catalogue by its id, in alphabetical order of its file."""
    from regard.conformance import laws as catalogue
    from regard.core.catalog import discover

    laws = [module.LAW for module in discover(catalogue).values()]
    return {law.id: law for law in laws}
