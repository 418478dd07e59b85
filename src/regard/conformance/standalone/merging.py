"""Several stand-alone files as one."""

import ast
from collections.abc import Sequence

from regard.conformance.standalone.rewriting import ABSENT, in_definition_order


def merged(texts: Sequence[str]) -> str:
    """One file with the tests of all; what they share is there once, a class with the methods of every one.

    >>> print(merged(["def a():\\n    pass", "def a():\\n    pass\\n\\ndef b():\\n    pass"]))
    def a():
        pass
    <BLANKLINE>
    def b():
        pass
    """
    if len(texts) == 1:
        return texts[0]
    trees = [ast.parse(text) for text in texts]
    documents = [found for tree in trees if (found := ast.get_docstring(tree))]
    imports: dict[str, ast.stmt] = {}
    named: dict[str, ast.stmt] = {}
    for node in (each for tree in trees for each in tree.body if not _is_docstring(each)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            imports[ast.unparse(node)] = node
        else:
            name = _name(node)
            named[name] = _joined(named[name], node) if name in named else node
    told = "\n\n".join(documents).replace("\\", "\\\\")
    head = [f'"""{told}\n"""'] if documents else []
    parts = ["\n".join(imports)] if imports else []
    return "\n\n".join([*head, *parts, *(ast.unparse(node) for node in _in_order(list(named.values())))])


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _name(node: ast.stmt) -> str:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return node.name
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        return node.targets[0].id
    return ast.unparse(node)


def _joined(left: ast.stmt, right: ast.stmt) -> ast.stmt:
    """Of two definitions of one name the one with fewer gaps; a class has the methods of both."""
    if isinstance(left, ast.ClassDef) and isinstance(right, ast.ClassDef):
        body: dict[str, ast.stmt] = {}
        for each in (*left.body, *right.body):
            body[_name(each)] = _joined(body[_name(each)], each) if _name(each) in body else each
        left.body = [each for each in body.values() if not isinstance(each, ast.Pass)] or [ast.Pass()]
        return left
    return min(left, right, key=_gaps)


def _gaps(node: ast.stmt) -> int:
    """How many functions a definition refers to that its file does not have."""
    return sum(isinstance(each, ast.Name) and each.id == ABSENT for each in ast.walk(node))


def _in_order(nodes: list[ast.stmt]) -> list[ast.stmt]:
    """Tests and builders first, then the rest as it came."""
    by_name = {_name(node): node for node in nodes}
    return in_definition_order(by_name, sorted(by_name, key=lambda each: not each.startswith(("test_", "build_"))))
