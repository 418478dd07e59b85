"""Checkpoints: written whole or not at all, and known by their content."""

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from regard.errors import InputError
from regard.report.files import write_whole

__all__ = ["latest_checkpoint", "read_tensors", "write_checkpoint", "write_tensors"]

_NAME = re.compile(r"step-(\d+)-([0-9a-f]{16})\.safetensors")
_KEPT = 2


def write_checkpoint(folder: Path, tensors: Mapping[str, Tensor], place: Mapping[str, int]) -> Path:
    """A new checkpoint; of the older ones only the one before it is kept."""
    folder.mkdir(exist_ok=True)
    content = save(dict(tensors), {"place": json.dumps(dict(place))})
    path = folder / f"step-{place['step']:07}-{_digest(content)}.safetensors"
    write_whole(path, content)
    for old in _checkpoints(folder)[_KEPT:]:
        old.unlink(missing_ok=True)
    for draft in folder.glob(".*.part"):
        draft.unlink(missing_ok=True)
    return path


def latest_checkpoint(folder: Path, warn: Callable[[str], None]) -> tuple[dict[str, Tensor], dict[str, int]] | None:
    """The tensors and the place of the newest checkpoint that is whole; None if there is none.

    A damaged one is skipped, and `warn` hears of it.
    """
    for path in _checkpoints(folder):
        content = path.read_bytes()
        found = _NAME.fullmatch(path.name)
        if found is None or _digest(content) != found[2]:
            warn(f"{path.name} is damaged (its content is not what its name says), so the one before it is used.")
            continue
        return load(content), json.loads(_metadata(content)["place"])
    return None


def write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """Weights alone."""
    write_whole(path, save({name: tensor.detach().contiguous() for name, tensor in tensors.items()}))


def read_tensors(path: Path) -> dict[str, Tensor]:
    """Weights that `write_tensors` wrote."""
    try:
        return load(path.read_bytes())
    except OSError as error:
        raise InputError(f"{path} can't be read: {error.strerror or error}.") from None
    except SafetensorError as error:
        raise InputError(f"{path} is damaged: {error}. Delete it and resume the run, or train again.") from None


def _checkpoints(folder: Path) -> list[Path]:
    """The newest first."""
    return sorted((path for path in folder.glob("step-*.safetensors") if _NAME.fullmatch(path.name)), reverse=True)


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=8).hexdigest()


def _metadata(content: bytes) -> dict[str, str]:
    size = int.from_bytes(content[:8], "little")
    return json.loads(content[8 : 8 + size])["__metadata__"]
