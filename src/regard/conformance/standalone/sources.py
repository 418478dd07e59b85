"""Modules as they are written: what each defines, and where the names that it uses come from."""

import ast
import importlib.util
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

Definition = ast.FunctionDef | ast.ClassDef | ast.Assign | ast.AnnAssign


@dataclass(frozen=True, kw_only=True)
class External:
    """An import from outside Regard."""

    module: str
    original: str | None
    name: str

    def __str__(self) -> str:
        if self.original is None:
            return f"import {self.module}" if self.name == self.module else f"import {self.module} as {self.name}"
        alias = "" if self.name == self.original else f" as {self.name}"
        return f"from {self.module} import {self.original}{alias}"


@dataclass(frozen=True, kw_only=True)
class Source:
    """One module: its top-level definitions, and its imports as (module, original name or None)."""

    name: str
    definitions: dict[str, Definition] = field(default_factory=dict)
    imports: dict[str, tuple[str, str | None]] = field(default_factory=dict)


@cache
def source_of(module: str) -> Source:
    """The module, parsed."""
    spec = importlib.util.find_spec(module)
    assert spec is not None, module
    assert spec.origin is not None, module
    source = Source(name=module)
    for node in ast.parse(Path(spec.origin).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            source.definitions[node.name] = node
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            source.definitions[node.target.id] = node
        elif isinstance(node, ast.Assign):
            source.definitions.update(_assigned(node))
        elif isinstance(node, ast.Import | ast.ImportFrom):
            source.imports.update(imported(node))
    return source


def _assigned(node: ast.Assign) -> dict[str, ast.Assign]:
    """The names of an assignment, each with an assignment of its own."""
    found: dict[str, ast.Assign] = {}
    for target in node.targets:
        if isinstance(target, ast.Name):
            found[target.id] = node
        elif isinstance(target, ast.Tuple):
            for place, each in enumerate(target.elts):
                part = ast.Subscript(value=node.value, slice=ast.Constant(value=place), ctx=ast.Load())
                value = node.value.elts[place] if isinstance(node.value, ast.Tuple) else part
                found[ast.unparse(each)] = ast.Assign(targets=[each], value=value)
    return found


def imported(node: ast.Import | ast.ImportFrom) -> dict[str, tuple[str, str | None]]:
    """The names that an import brings, each with its module and its name there; None stands for the module itself."""
    if isinstance(node, ast.Import):
        tops = [(each.asname or each.name.partition(".")[0], each) for each in node.names]
        return {name: (each.name if each.asname else name, None) for name, each in tops}
    assert node.level == 0, "Regard imports by full names"
    return {each.asname or each.name: (node.module or "", each.name) for each in node.names}


def is_ours(module: str) -> bool:
    """True for modules of Regard."""
    return module == "regard" or module.startswith("regard.")


def find(module: str, name: str | None) -> tuple[str, str | None]:
    """Where a name of ours is written: its module and its name there, followed through re-exports.

    >>> find("regard.conformance", "Law")
    ('regard.conformance.law', 'Law')
    """
    if name is None:
        return module, None
    source = source_of(module)
    if name in source.definitions:
        return module, name
    if name in source.imports:
        where, original = source.imports[name]
        return find(where, original) if is_ours(where) else (where, original)
    return f"{module}.{name}", None
