"""Functions and classes of several modules, with all that they need, as the text of one."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from regard.conformance.standalone.rewriting import ABSENT, NOT_HERE, Rewriter, in_definition_order
from regard.conformance.standalone.sources import Definition, External, find, source_of
from regard.conformance.standalone.tracing import Traced

# Code that is small and whose ways depend on values: all of it that can be reached is taken, run or not.
_WHOLE = "regard.conformance."
# Everything here is numpy's, so that the file needs no other package for it.
_FOR_NUMPY = {
    "array_namespace": "lambda *_: np",
    "device": "lambda x: 'cpu'",
    "is_numpy_array": "lambda x: isinstance(x, np.ndarray)",
}


@dataclass(kw_only=True)
class Bundle:
    """Collects definitions; elsewhere than in the laws only what has run is taken; the rest is said to be absent."""

    executed: Traced
    _names: dict[tuple[str, str], str] = field(default_factory=dict)
    _nodes: dict[tuple[str, str], ast.stmt] = field(default_factory=dict)
    _externals: dict[str, External] = field(default_factory=dict)

    def add(self, module: str, name: str) -> str:
        """Takes in a definition and all that it needs; its name in the bundle."""
        key = find(module, name)
        assert key[1] is not None, key
        return self._added((key[0], key[1]))

    def external(self, module: str, original: str | None, name: str) -> str:
        """Takes in an import; its name in the bundle."""
        if module == "array_api_compat":
            self.external("numpy", None, "np")
            return self._plain(name, f"{name} = {_FOR_NUMPY[original or '']}")
        self._externals[name] = External(module=module, original=original, name=name)
        return name

    def absent(self) -> str:
        """Takes in what stands for a function that did not run; its name."""
        return self._plain(ABSENT, NOT_HERE)

    def imports(self) -> list[str]:
        """The import lines, sorted: modules first."""
        return sorted(map(str, self._externals.values()), key=lambda line: (line.startswith("from"), line))

    def definitions(self) -> list[ast.stmt]:
        """What was taken in, each after what it needs at once."""
        by_name = {self._names[key]: node for key, node in self._nodes.items()}
        return in_definition_order(by_name, by_name)

    def _added(self, key: tuple[str, str]) -> str:
        if key in self._names:
            return self._names[key]
        module, name = key
        node = source_of(module).definitions[name]
        if isinstance(node, ast.FunctionDef) and not self._is_wanted(module, name):
            return self.absent()
        self._names[key] = chosen = self._free_name(module, name)
        rewriter = Rewriter(self, module, set(self._dropped(module, node)), is_whole=module.startswith(_WHOLE))
        self._nodes[key] = rewriter.rewritten(node, chosen)
        return chosen

    def _plain(self, name: str, text: str) -> str:
        """Takes in a definition that is written here."""
        self._names["", name] = name
        self._nodes["", name] = ast.parse(text).body[0]
        return name

    def _free_name(self, module: str, name: str) -> str:
        """Private names say where they come from, so that equal ones of two modules stay apart."""
        own = module.rpartition(".")[2]
        chosen = f"{own}{name}" if name.startswith("_") and not name.startswith("__") else name
        return f"{own}_{chosen}" if chosen in self._names.values() else chosen

    def _is_wanted(self, module: str, qualified: str) -> bool:
        return (module, qualified) in self.executed or module.startswith(_WHOLE)

    def _dropped(self, module: str, node: Definition) -> Iterator[str]:
        """Methods that nobody has called."""
        if not isinstance(node, ast.ClassDef):
            return
        for each in node.body:
            is_plain = isinstance(each, ast.FunctionDef)
            if is_plain and not self._is_wanted(module, f"{node.name}.{each.name}"):
                yield each.name
