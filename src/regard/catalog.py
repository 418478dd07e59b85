"""Catalogues made of files: one module an entry, nothing to register."""

import importlib
import pkgutil
from types import ModuleType

__all__ = ["discover"]


def discover(package: ModuleType) -> dict[str, ModuleType]:
    """Every public module of a package by its name, imported, in alphabetical order."""
    names = sorted(info.name for info in pkgutil.iter_modules(package.__path__) if not info.name.startswith("_"))
    return {name: importlib.import_module(f"{package.__name__}.{name}") for name in names}
