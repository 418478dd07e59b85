"""A student's definition, imported from its source: no cached bytecode, no compiled module in its place."""

import importlib
import importlib.util
import sys
import tempfile
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

from regard.conformance.adapters.layouts.finding import Piece


class StudentCode:
    """Calls of a student's code whose errors point at the student's own line."""

    def __init__(self, root: str) -> None:
        self._root = str(Path(root).resolve())
        self.is_unwritten = False

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """The result; sys.exit is an error like any other, and no result means that nothing is written yet."""
        try:
            result = function(*arguments)
        except NotImplementedError as error:
            self.is_unwritten = True
            raise self._placed(error, error) from None
        except SystemExit as error:
            raise self._placed(RuntimeError(f"it calls sys.exit({error.code!r})"), error) from None
        except Exception as error:  # noqa: BLE001 - passed on, pointing at the student's line
            raise self._placed(error, error) from None
        if result is None:
            self.is_unwritten = True
            name = getattr(function, "__qualname__", "it")
            raise NotImplementedError(f"{name} returns None")
        return result

    def _placed(self, error: Exception, origin: BaseException) -> BaseException:
        """The error with a traceback that ends in the last line of the student's."""
        step, last = origin.__traceback__, None
        while step is not None:
            if step.tb_frame.f_code.co_filename.startswith(self._root):
                last = step
            step = step.tb_next
        if last is None:
            return error
        return error.with_traceback(types.TracebackType(None, last.tb_frame, last.tb_lasti, last.tb_lineno))


def load_torch() -> None:
    """torch with one thread, before any folder of a homework's is on the path and could stand in for a part of it."""
    import torch

    torch.set_num_threads(1)


def import_piece(piece: Piece, root: str) -> Any:
    """The function or class. Folders go on the path as if the homework were run from its own place."""
    load_torch()
    # Their cached bytecode may be of another source, and ours is loaded already.
    sys.dont_write_bytecode = True
    sys.pycache_prefix = str(Path(tempfile.gettempdir()) / "regard-reads-no-bytecode")
    path = Path(piece.file)
    for folder in (root, str(Path(root) / "src"), str(path.parent)):
        if folder not in sys.path:
            sys.path.insert(0, folder)
    return getattr(_module(piece, path, Path(root)), piece.name)


def _module(piece: Piece, path: Path, root: Path) -> Any:
    base = root if piece.is_in_package else path.parent
    name = ".".join(path.relative_to(base).with_suffix("").parts)
    loaded = sys.modules.get(name)
    if loaded is not None and getattr(loaded, "__file__", None) == str(path):
        return loaded
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    if piece.is_in_package:
        importlib.import_module(name.rpartition(".")[0])
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        sys.modules.pop(name, None)
        raise
    return module
