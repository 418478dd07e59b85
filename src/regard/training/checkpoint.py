"""Checkpoints and final weights: written atomically, and verified by a digest."""

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from regard.core.errors import InputError
from regard.core.files import read_regular_file, write_atomically

_NAME = re.compile(r"step-\d+-[0-9a-f]{16}\.safetensors")
_KEPT = 2


def write_checkpoint(folder: Path, tensors: Mapping[str, Tensor], position: Mapping[str, int]) -> Path:
    """Writes a checkpoint, and keeps only one older one."""
    folder.mkdir(exist_ok=True)
    content = save(dict(tensors), {"place": json.dumps(dict(position))})
    path = folder / f"step-{position['step']:07}-{content_digest(content)}.safetensors"
    write_atomically(path, content, is_durable=True)
    for old in _checkpoints(folder)[_KEPT:]:
        old.unlink(missing_ok=True)
    for draft in folder.glob(".*.part"):
        draft.unlink(missing_ok=True)
    return path


def latest_checkpoint(folder: Path, warn: Callable[[str], None]) -> tuple[dict[str, Tensor], dict[str, int]] | None:
    """The tensors and the position of the newest intact checkpoint; None if there is none.

    Damaged ones are skipped with a warning.
    """
    left = _checkpoints(folder)
    while left:
        path = left.pop(0)
        with suppress(OSError):
            content = read_regular_file(path, follows_link=False)
            if content_digest(content) == path.stem.rpartition("-")[2]:
                return load(content), json.loads(_metadata(content)["place"])
        instead = "the previous one is used" if left else "the run starts again at step 1"
        warn(f"{path} is damaged (its digest does not match its name), so {instead}.")
    return None


def write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """Writes weights with a digest of their content."""
    plain = {name: tensor.detach().contiguous() for name, tensor in tensors.items()}
    write_atomically(path, save(plain, {"digest": content_digest(save(plain))}), is_durable=True)


def read_tensors(path: Path, *, remedy: str = "Train again.") -> dict[str, Tensor]:
    """Weights written by `write_tensors`; damaged ones are refused with a remedy."""
    try:
        content = read_regular_file(path, follows_link=False)
        tensors = load(content)
        is_intact = _metadata(content)["digest"] == content_digest(save(tensors))
    except OSError as error:
        raise InputError(f"{path} can't be read: {error.strerror or error}.") from None
    except (SafetensorError, KeyError, ValueError, RecursionError):
        is_intact, tensors = False, {}
    if not is_intact:
        raise InputError(f"{path} is damaged. {remedy}")
    return tensors


def _checkpoints(folder: Path) -> list[Path]:
    """All checkpoints, the newest first."""
    return sorted((path for path in folder.glob("step-*.safetensors") if _NAME.fullmatch(path.name)), reverse=True)


def content_digest(content: bytes) -> str:
    """Sixteen hexadecimal digits by which damage is noticed."""
    return hashlib.blake2b(content, digest_size=8).hexdigest()


def _metadata(content: bytes) -> dict[str, str]:
    size = int.from_bytes(content[:8], "little")
    return json.loads(content[8 : 8 + size])["__metadata__"]
