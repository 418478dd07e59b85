"""A definition made fit for another file: names resolved, hints and long docstrings gone."""

import ast
import copy
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol, runtime_checkable

from regard.conformance.standalone.sources import Definition, find, imported, is_ours, source_of

# What stands for a function that did not run.
ABSENT = "absent"
NOT_HERE = """def absent(*_, **__):
    raise NotImplementedError("This part of Regard did not run when the failure was found, so it is not in this file.")
"""


@runtime_checkable
class Taker(Protocol):
    """Who takes in what a definition needs."""

    def add(self, module: str, name: str) -> str:
        """A definition of ours."""
        ...

    def external(self, module: str, original: str | None, name: str) -> str:
        """An import of somebody else's."""
        ...

    def absent(self) -> str:
        """The name of what stands for a function that did not run."""
        ...


def in_definition_order(nodes: Mapping[str, ast.stmt], names: Iterable[str]) -> list[ast.stmt]:
    """The definitions of these names in this order, each after what it needs at once."""
    ordered: dict[str, ast.stmt] = {}

    def place(name: str) -> None:
        if name in ordered or name not in nodes:
            return
        for needed in _defined_before(nodes[name]):
            if needed != name:
                place(needed)
        ordered[name] = nodes[name]

    for name in names:
        place(name)
    return list(ordered.values())


def _defined_before(node: ast.stmt) -> Iterator[str]:
    """Names that must be defined before this statement is executed."""
    if isinstance(node, ast.FunctionDef):
        early: list[ast.AST] = [*node.decorator_list, *node.args.defaults, *filter(None, node.args.kw_defaults)]
    elif isinstance(node, ast.ClassDef):
        plain = [each for each in node.body if not isinstance(each, ast.FunctionDef)]
        early = [*node.decorator_list, *node.bases, *node.keywords, *plain]
        for each in node.body:
            if isinstance(each, ast.FunctionDef):
                yield from _defined_before(each)
    else:
        early = [node]
    for part in early:
        yield from (each.id for each in ast.walk(part) if isinstance(each, ast.Name))


class Rewriter(ast.NodeTransformer):
    """Rewrites one top-level definition of a module; what it refers to is taken in by the bundle."""

    def __init__(self, bundle: Taker, module: str, dropped: set[str], *, is_whole: bool) -> None:
        self._bundle, self._module, self._dropped, self._is_whole = bundle, module, dropped, is_whole
        self._local: set[str] = set()
        self._brought: dict[str, tuple[str, str | None]] = {}

    def rewritten(self, node: Definition, name: str) -> ast.stmt:
        """A copy under this name."""
        node = copy.deepcopy(node)
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            node.name = name
            return ast.fix_missing_locations(self.visit(node))
        assert node.value is not None
        target: ast.expr = ast.Name(id=name, ctx=ast.Store())
        return ast.fix_missing_locations(ast.Assign(targets=[target], value=self.visit(node.value)))

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        """Methods that nobody calls are left out; those that are named all the same are said to be absent."""
        kept = [each for each in node.body if not isinstance(each, ast.FunctionDef) or each.name not in self._dropped]
        named = {part.attr for each in kept for part in ast.walk(each) if isinstance(part, ast.Attribute)}
        is_dataclass = any("dataclass" in ast.unparse(each) for each in node.decorator_list)
        body: list[ast.stmt] = []
        for each in node.body:
            if isinstance(each, ast.FunctionDef) and each.name in self._dropped:
                if each.name in named:
                    body.append(ast.parse(f"{each.name} = {self._bundle.absent()}").body[0])
                continue
            if isinstance(each, ast.AnnAssign):
                if not is_dataclass and each.value is None:
                    continue
                each.annotation = ast.Name(id="object", ctx=ast.Load())
                each.value = None if each.value is None else self.visit(each.value)
                body.append(each)
            else:
                body.append(self.visit(each))
        node.bases = [self.visit(each) for each in node.bases]
        node.decorator_list = [self.visit(each) for each in node.decorator_list]
        node.body = _with_short_docstring(body) or [ast.Pass()]
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        """Hints go; names that are bound inside are the function's own."""
        node.decorator_list = [self.visit(each) for each in node.decorator_list]
        node.args = self.visit(node.args)
        node.returns = None
        before = self._local, self._brought
        self._local, self._brought = self._local | _bound(node), {**self._brought, **_brought_inside(node)}
        node.body = _with_short_docstring([found for each in node.body if (found := self.visit(each)) is not None])
        node.body = node.body or [ast.Pass()]
        self._local, self._brought = before
        return node

    def visit_If(self, node: ast.If) -> Any:
        """Complaints about wrong input go where only what ran is wanted: the input was right."""
        is_complaint = all(isinstance(each, ast.Raise) for each in node.body) and not node.orelse
        return None if is_complaint and not self._is_whole else self._filled(node)

    def visit_For(self, node: ast.For) -> Any:
        """A loop that only complains goes too."""
        self.generic_visit(node)
        return node if node.body else None

    def visit_With(self, node: ast.With) -> Any:
        """What is left of the block."""
        return self._filled(node)

    def visit_Try(self, node: ast.Try) -> Any:
        """What is left of the block."""
        return self._filled(node)

    def _filled(self, node: ast.If | ast.With | ast.Try) -> ast.stmt:
        self.generic_visit(node)
        node.body = node.body or [ast.Pass()]
        return node

    def visit_arg(self, node: ast.arg) -> ast.arg:
        """A parameter without its hint."""
        node.annotation = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        """An assignment without its hint."""
        if node.value is None:
            return ast.Pass()
        return ast.Assign(targets=[self.visit(node.target)], value=self.visit(node.value))

    def visit_ImportFrom(self, node: ast.ImportFrom) -> Any:
        """Imports from Regard go, since the names are in the same file."""
        return None if is_ours(node.module or "") else node

    def visit_Import(self, node: ast.Import) -> Any:
        """Likewise."""
        return None if any(is_ours(each.name) for each in node.names) else node

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        """A name of one of our modules becomes a plain name."""
        if isinstance(node.value, ast.Name):
            found = self._resolved(node.value.id)
            if found is not None and found[1] is None and is_ours(found[0]):
                return ast.Name(id=self._bundle.add(found[0], node.attr), ctx=node.ctx)
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.Name:
        """A global name under its name in the bundle."""
        found = self._resolved(node.id)
        if found is None:
            return node
        module, original = found
        if not is_ours(module):
            return ast.Name(id=self._bundle.external(module, original, node.id), ctx=node.ctx)
        assert original is not None, f"{node.id} is a module of Regard that is passed around"
        return ast.Name(id=self._bundle.add(module, original), ctx=node.ctx)

    def _resolved(self, name: str) -> tuple[str, str | None] | None:
        """Where a name is defined, None if it is local or a builtin."""
        if name in self._brought:
            module, original = self._brought[name]
            return find(module, original) if is_ours(module) else None
        source = source_of(self._module)
        if name in self._local or (name not in source.definitions and name not in source.imports):
            return None
        return find(self._module, name) if name in source.definitions else _end_of(*source.imports[name])


def _end_of(module: str, original: str | None) -> tuple[str, str | None]:
    return find(module, original) if is_ours(module) else (module, original)


def _bound(function: ast.FunctionDef) -> set[str]:
    names = {each.arg for each in ast.walk(function) if isinstance(each, ast.arg)}
    names |= {each.id for each in ast.walk(function) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
    names |= {each.name for each in ast.walk(function) if isinstance(each, ast.ExceptHandler) and each.name}
    inner = {each.name for each in ast.walk(function) if isinstance(each, ast.FunctionDef) and each is not function}
    return names | inner


def _brought_inside(function: ast.FunctionDef) -> dict[str, tuple[str, str | None]]:
    """What imports inside the function bring."""
    found: dict[str, tuple[str, str | None]] = {}
    for each in ast.walk(function):
        if isinstance(each, ast.Import | ast.ImportFrom):
            found.update(imported(each))
    return found


def _with_short_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    first = body[0] if body else None
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
        line = first.value.value.strip().partition("\n")[0]
        return [ast.Expr(value=ast.Constant(value=line)), *body[1:]]
    return body
