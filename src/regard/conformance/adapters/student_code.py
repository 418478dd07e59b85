"""A student's code: imported from its source, and called on numpy arrays by the contracts of a homework."""

import importlib
import os
import random
import sys
import types
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from regard.conformance.adapters.homework_files import HomeworkPiece
from regard.conformance.adapters.projections import find_projections
from regard.conformance.adapters.targets import import_file
from regard.conformance.homework.corruption import Corpus
from regard.conformance.subject import Projections, Spec, Subject
from regard.core.errors import RegardError

_WIDTH, _HEADS, _BLOCK = 32, 4, 128
_DROPOUT = 0.1


class StudentCode:
    """Calls a student's code so that errors point at the student's own line."""

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
    """Imports torch, on one thread, before a student's folder is on the path and could shadow a part of it."""
    import torch

    torch.set_num_threads(1)


def import_piece(piece: HomeworkPiece, root: str) -> Any:
    """The function or class. Folders go on the path as if the homework were run from its own folder."""
    load_torch()
    # Cached bytecode need not match the source. Nobody can put any below a device.
    sys.dont_write_bytecode = True
    sys.pycache_prefix = os.devnull
    path = Path(piece.file)
    for folder in (root, str(Path(root) / "src"), str(path.parent)):
        if folder not in sys.path:
            sys.path.insert(0, folder)
    return getattr(_module(piece, path, Path(root)), piece.name)


def _module(piece: HomeworkPiece, path: Path, root: Path) -> Any:
    base = root if piece.is_in_package else path.parent
    name = ".".join(path.relative_to(base).with_suffix("").parts)
    loaded = sys.modules.get(name)
    if loaded is not None and getattr(loaded, "__file__", None) == str(path):
        return loaded
    if piece.is_in_package:
        importlib.import_module(name.rpartition(".")[0])
    return import_file(name, path)


def table_function(code: StudentCode, function: Any) -> Callable[[int, int], np.ndarray]:
    """(dim, max_positions) → the table."""
    return lambda dim, max_positions: as_array(code.call(function, dim, max_positions))


def turn_function(code: StudentCode, function: Any) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """(x, table) → x rotated. The arrays share their memory with the tensors, so that changes in place show."""
    from torch import from_numpy

    return lambda x, table: np.array(as_array(code.call(function, from_numpy(x), from_numpy(table))))


def as_array(value: Any) -> np.ndarray:
    """A tensor, or anything that numpy understands, as an array."""
    return value.detach().cpu().resolve_conj().numpy() if hasattr(value, "detach") else np.asarray(value)


def corpus_function(code: StudentCode, kind: Any) -> Callable[[str, int, int], Corpus]:
    """(data, block_size, seed) → the dataset."""

    def corpus(data: str, block_size: int, seed: int) -> Corpus:
        _seed_everything(seed)
        made = code.call(kind, data, block_size)

        def item(index: int) -> tuple[np.ndarray, np.ndarray]:
            return _rows(code.call(made.__getitem__, index))

        return Corpus(
            size=code.call(made.__len__),
            stoi=dict(getattr(made, "stoi", {})),
            itos=dict(getattr(made, "itos", {})),
            mask_char=getattr(made, "MASK_CHAR", None),
            pad_char=getattr(made, "PAD_CHAR", None),
            vocab_size=getattr(made, "vocab_size", None),
            item=item,
            items=lambda index, times: [item(index) for _ in range(times)],
        )

    return corpus


def _rows(found: Any) -> tuple[np.ndarray, np.ndarray]:
    if not isinstance(found, tuple | list) or len(found) != 2:
        raise RegardError(f"__getitem__ returns {type(found).__name__} instead of a pair (x, y)")
    return as_array(found[0]), as_array(found[1])


def _seed_everything(seed: int) -> None:
    """Students draw from whichever source they like."""
    import torch

    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002 - the student's stream, not ours
    torch.manual_seed(seed)


def attention_spec(*, rope: bool) -> Spec:
    """What the homework asks of the layer."""
    return Spec(
        width=_WIDTH,
        num_heads=_HEADS,
        causal=True,
        positions="rotary" if rope else "none",
        rotary_layout="interleaved",
        max_positions=_BLOCK,
    )


class StudentAttention(Subject):
    """`CausalSelfAttention(config)` in eval mode, with weights drawn anew: initial ones are too small to show bugs."""

    def __init__(self, code: StudentCode, kind: Any, *, rope: bool, seed: int = 0) -> None:
        import torch

        self._code, self.name = code, f"CausalSelfAttention, rope={rope}"
        self.spec = attention_spec(rope=rope)
        torch.manual_seed(seed)
        self.module = code.call(kind, _config(rope))
        self.module.eval()
        self._draw(torch.Generator().manual_seed(seed))
        self._projections = find_projections(self.module, self.spec)
        has_table = rope and getattr(self.module, "rope_cache", None) is not None
        self.capabilities = frozenset(
            {"attend"} | ({"weights"} if self._projections else set()) | ({"kept table"} if has_table else set())
        )

    def _draw(self, generator: Any) -> None:
        """Normal matrices that preserve the variance, and biases that are not zero."""
        import torch

        with torch.no_grad():
            for parameter in self.module.parameters():
                width = parameter.shape[-1] if parameter.dim() > 1 else 16
                drawn = torch.randn(parameter.shape, generator=generator) * width**-0.5
                parameter.copy_(drawn.to(parameter.dtype))

    def call(self, x: np.ndarray, **options: Any) -> np.ndarray:
        """The output, without gradients."""
        import torch

        del options
        with torch.no_grad():
            found = self._code.call(self.module, torch.from_numpy(np.ascontiguousarray(x)))
        return np.array(as_array(found[0] if isinstance(found, tuple) else found))

    def projections(self) -> Projections:
        """The matrices of `key`, `query`, `value` and `proj`."""
        assert self._projections is not None
        return self._projections

    def kept_table(self) -> tuple[np.ndarray, bool]:
        """rope_cache, and whether it is a buffer."""
        return as_array(self.module.rope_cache), "rope_cache" in dict(self.module.named_buffers())


def _config(rope: bool) -> SimpleNamespace:
    """The published fields, with dropout that must be off in eval mode."""
    dropout = {"attn_pdrop": _DROPOUT, "resid_pdrop": _DROPOUT, "embd_pdrop": _DROPOUT}
    sizes = {"n_embd": _WIDTH, "n_head": _HEADS, "block_size": _BLOCK, "n_layer": 1, "vocab_size": 100}
    return SimpleNamespace(**sizes, **dropout, rope=rope)
