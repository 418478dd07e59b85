"""How the tests execute signatures: functions refuse arrays of other shapes, and values refuse fields of other types.

Shapes are compared across the arguments of one call by jaxtyping. Where there is none, beartype checks the fields of
values when they are made; all other calls are left to pyright. Checking them here too would double the time of the
tests of derivations.
"""

import ast
import sys
from collections.abc import Callable
from dataclasses import is_dataclass
from importlib.abc import MetaPathFinder
from importlib.machinery import PathFinder, SourceFileLoader
from typing import Any, Self, get_args

from beartype import BeartypeConf, beartype
from jaxtyping import AbstractArray, jaxtyped

# As for every type checker, a whole number is a float too.
_CONFIGURATION = BeartypeConf(is_pep484_tower=True, violation_type=TypeError)
_PACKAGE = "regard"


def checked(target: Any) -> Any:
    """The function, or the class with its generated `__init__`, which now executes its signature."""
    if isinstance(target, type):
        if is_dataclass(target) and "__init__" in vars(target) and not hasattr(target.__init__, "__wrapped__"):
            target.__init__ = _checked_function(target.__init__)
        return target
    return _checked_function(target)


def install() -> None:
    """From now on every module of the package is imported with `checked` on all that it defines."""
    sys.meta_path.insert(0, _Finder())


def _checked_function(function: Callable) -> Callable:
    """`Self` and names that are known only later count as Any: beartype knows them only in whole classes."""
    hints = {name: _resolved(hint, function) for name, hint in getattr(function, "__annotations__", {}).items()}
    function.__annotations__ = {name: Any if _is_unknown(hint) else hint for name, hint in hints.items()}
    if any(map(_has_shape, function.__annotations__.values())):
        return jaxtyped(function, typechecker=beartype(conf=_CONFIGURATION))
    return beartype(conf=_CONFIGURATION)(function) if function.__name__ == "__init__" else function


def _resolved(hint: object, function: Callable) -> object:
    """What a hint in quotes stands for, itself if that is not known yet."""
    if not isinstance(hint, str):
        return hint
    try:
        return eval(hint, function.__globals__)
    except (NameError, AttributeError):
        return hint


def _is_unknown(hint: object) -> bool:
    return hint is Self or isinstance(hint, str) or any(map(_is_unknown, get_args(hint)))


def _has_shape(hint: object) -> bool:
    return (isinstance(hint, type) and issubclass(hint, AbstractArray)) or any(map(_has_shape, get_args(hint)))


class _Decorator(ast.NodeTransformer):
    """Puts `checked` on classes, outside their other decorators, and on functions, inside of them."""

    def visit_Module(self, node: ast.Module) -> ast.Module:
        self.generic_visit(node)
        place = 0
        while place < len(node.body) and _comes_first(node.body[place]):
            place += 1
        node.body.insert(place, ast.Import(names=[ast.alias("executed_signatures")]))
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        self.generic_visit(node)
        node.decorator_list.insert(0, _reference(node))
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        self.generic_visit(node)
        node.decorator_list.append(_reference(node))
        return node


def _comes_first(statement: ast.stmt) -> bool:
    is_text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return is_text or (isinstance(statement, ast.ImportFrom) and statement.module == "__future__")


def _reference(node: ast.stmt) -> ast.expr:
    name = ast.Attribute(ast.Name("executed_signatures", ast.Load()), "checked", ast.Load())
    return ast.copy_location(name, node)


class _Loader(SourceFileLoader):
    def get_code(self, fullname: str) -> Any:
        # Never from a cache: it holds the code without what is put on it here.
        path = self.get_filename(fullname)
        tree = _Decorator().visit(ast.parse(self.get_data(path), path))
        return compile(ast.fix_missing_locations(tree), path, "exec", dont_inherit=True)


class _Finder(MetaPathFinder):
    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        if fullname.partition(".")[0] != _PACKAGE:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec
