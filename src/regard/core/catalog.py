"""Catalogs made of files: one module per entry, nothing to register."""

import importlib
import pkgutil
from collections.abc import Iterable
from importlib.util import find_spec
from types import ModuleType


def discover(package: ModuleType) -> dict[str, ModuleType]:
    """The public modules of a package by name, imported, in alphabetical order."""
    return {name: importlib.import_module(f"{package.__name__}.{name}") for name in _entries(package.__path__)}


def entry_names(package: str) -> list[str]:
    """The names that `discover` would return, without importing the entries."""
    spec = find_spec(package)
    return _entries(spec.submodule_search_locations if spec and spec.submodule_search_locations else ())


def _entries(path: Iterable[str]) -> list[str]:
    return sorted(info.name for info in pkgutil.iter_modules(path) if not info.name.startswith("_"))
