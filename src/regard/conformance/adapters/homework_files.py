"""The pieces of a homework in a student's folder, found by parsing its files without running any."""

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from regard.core.errors import InputError

_LARGEST = 1_000_000
_MOST_FILES = 2_000
_NOT_THEIRS = {"__pycache__", "site-packages", "node_modules", "venv", "env"}
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


# The pieces of each homework, and the file in which each was handed out.
HOMEWORKS: Mapping[str, Mapping[str, str]] = {
    "cs224n-a4": {
        "precompute_rotary_emb": "attention.py",
        "apply_rotary_emb": "attention.py",
        "CausalSelfAttention": "attention.py",
        "CharCorruptionDataset": "dataset.py",
    }
}


@dataclass(frozen=True, kw_only=True)
class HomeworkPiece:
    """A definition in a file: where it is, whether its body is still a stub, and where else the name is defined.

    `error` says why the file does not parse, if it only seems to define the piece.
    """

    name: str
    file: str
    line: int
    column: int = 1
    is_stub: bool = False
    is_in_package: bool = False
    others: tuple[str, ...] = ()
    error: str | None = None


@dataclass(frozen=True, kw_only=True)
class StudentFolder:
    """A student's folder, and the pieces that were found in its `src`."""

    root: str
    found: dict[str, HomeworkPiece]


def find_pieces(homework: str, directory: str) -> StudentFolder:
    """Every piece of the homework under DIR/src, in its published file if several define it."""
    root = Path(directory).resolve()
    source = root / "src"
    if not source.is_dir():
        above = f" Did you mean {root.parent}?" if root.name == "src" else ""
        raise InputError(f"{directory} has no folder src. Give the folder that holds the homework's src.{above}")
    files = {path: _read(path) for path in _python_files(source)}
    found = {name: _piece(name, home, root, files) for name, home in HOMEWORKS[homework].items()}
    return StudentFolder(root=str(root), found={name: piece for name, piece in found.items() if piece is not None})


def _python_files(source: Path) -> Iterator[Path]:
    """The student's Python files, those at the top first, then in alphabetical order."""
    paths = sorted(source.rglob("*.py"), key=lambda path: (len(path.parts), str(path)))
    for path in paths[:_MOST_FILES]:
        parts = path.relative_to(source).parts
        is_hidden = any(part.startswith(".") or part in _NOT_THEIRS for part in parts)
        if not is_hidden and path.is_file() and path.resolve().is_relative_to(source.resolve()):
            yield path


def _read(path: Path) -> tuple[ast.Module | SyntaxError, str]:
    """The file's syntax tree, or the error that prevents one, and its text."""
    if path.stat().st_size > _LARGEST:
        return ast.Module(body=[], type_ignores=[]), ""
    text = path.read_bytes().decode("utf-8", errors="replace")
    try:
        return ast.parse(text.removeprefix("\ufeff")), text
    except SyntaxError as error:
        return error, text
    except (ValueError, RecursionError, MemoryError) as error:
        return SyntaxError(f"it cannot be read: {error}"), text


def _piece(
    name: str, home: str, root: Path, files: dict[Path, tuple[ast.Module | SyntaxError, str]]
) -> HomeworkPiece | None:
    places, broken = [], []
    for path, (tree, text) in files.items():
        if isinstance(tree, SyntaxError):
            if re.search(rf"^\s*(?:def|class)\s+{name}\b", text, re.MULTILINE):
                error = f"{type(tree).__name__}: {tree.msg}"
                broken.append(HomeworkPiece(name=name, file=str(path), line=tree.lineno or 1, error=error))
            continue
        places += [(path, tree, node) for node in _definitions(tree) if node.name == name]
    places.sort(key=lambda place: place[0].name != home)
    at_home = [each for each in broken if Path(each.file).name == home]
    if not places or (at_home and places[0][0].name != home):
        return next(iter([*at_home, *broken]), None)
    # The last definition of a name in a file is the one that an import gives.
    path, tree, node = [place for place in places if place[0] == places[0][0]][-1]
    others = tuple(f"{each.relative_to(root)}:{n.lineno}" for each, _, n in places if n is not node)
    return HomeworkPiece(
        name=name,
        file=str(path),
        line=node.lineno,
        column=node.col_offset + 1,
        is_stub=_is_stub(node),
        is_in_package=_has_relative_imports(tree),
        others=others,
    )


def _definitions(tree: ast.Module) -> list[Definition]:
    """The functions and classes at the top level of the module, also inside `if` and `try`."""
    found, waiting = [], list(tree.body)
    while waiting:
        node = waiting.pop(0)
        if isinstance(node, Definition):
            found.append(node)
        elif isinstance(node, ast.If | ast.Try):
            handlers = [line for handler in getattr(node, "handlers", []) for line in handler.body]
            waiting = [*node.body, *handlers, *node.orelse, *waiting]
    return found


def _has_relative_imports(tree: ast.Module) -> bool:
    return any(isinstance(node, ast.ImportFrom) and node.level > 0 for node in ast.walk(tree))


def _is_stub(node: Definition) -> bool:
    """True if the body does nothing: pass, NotImplementedError, or names set to None and returned.

    A class is a stub if the methods that a homework leaves open (`forward`, `__getitem__`) are.
    """
    if isinstance(node, ast.ClassDef):
        open_ones = [
            each
            for each in node.body
            if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef) and each.name in ("forward", "__getitem__")
        ]
        return bool(open_ones) and all(map(_is_stub, open_ones))
    return all(map(_does_nothing, node.body))


def _does_nothing(line: ast.stmt) -> bool:
    match line:
        case ast.Pass() | ast.Expr(value=ast.Constant()) | ast.Assign(value=ast.Constant(value=None)):
            return True
        case ast.Return(value=None | ast.Constant(value=None) | ast.Name()):
            return True
        case ast.Raise(exc=ast.Name(id="NotImplementedError") | ast.Call(func=ast.Name(id="NotImplementedError"))):
            return True
    return False
