"""`[tool.regard]` in pyproject.toml: defaults for options, found upward from the files that a command is given."""

import os
import tomllib
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from regard.core.errors import InputError, did_you_mean

_FILE = "pyproject.toml"
# The options of each command that may have a default there.
SETTINGS: Mapping[str, Collection[str]] = {
    "verify": ("problem", "strict", "all", "jobs", "time-limit", "seed"),
    "check": ("laws", "device", "dtype", "batch", "block", "strict", "jobs", "time-limit", "memory-limit", "seed"),
}
_PATHS = ("problem",)  # their values may be paths, which start at the file's folder


def use_project_settings(context: click.Context, argument: click.Parameter, paths: Sequence[str]) -> Sequence[str]:
    """Callback of an eager argument that holds paths: the options of its command take their defaults from a project."""
    del argument
    assert context.command.name is not None
    settings = project_settings(context.command.name, paths)
    parameters = {option: each.name for each in context.command.params for option in each.opts}
    context.default_map = {parameters[f"--{key}"]: value for key, value in settings.items() if parameters[f"--{key}"]}
    return paths


def project_settings(command: str, paths: Sequence[str] = ()) -> dict[str, Any]:
    """The settings of a command in the nearest pyproject.toml that has `[tool.regard]`, at or above some paths.

    Without paths, the search starts at the current folder.
    """
    for folder in _folders_upward(paths):
        file = folder / _FILE
        table = _table(file) if file.is_file() else None
        if table is not None:
            _refuse_unknown(file, "", table, SETTINGS)
            chosen = table.get(command, {})
            _refuse_unknown(file, f".{command}", chosen, SETTINGS[command])
            return {key: _resolved(key, value, folder) for key, value in chosen.items()}
    return {}


def _folders_upward(paths: Sequence[str]) -> Sequence[Path]:
    given = [Path(path).absolute() for path in paths if path != "-"]
    try:
        common = Path(os.path.commonpath(given)) if given else Path.cwd()
    except (OSError, ValueError):  # the current folder is gone, or the paths are on several drives
        return ()
    start = common if common.is_dir() else common.parent
    return (start, *start.parents)


def _table(file: Path) -> Any:
    """What a file has under tool.regard; None if it has nothing there."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    try:
        tools = tomllib.loads(text).get("tool", {})
    except tomllib.TOMLDecodeError as error:
        if "tool.regard" not in text:
            return None  # the tools that the file is for will complain
        raise InputError(f"{file} is not valid TOML: {error}. Correct it, or remove [tool.regard].") from None
    return tools.get("regard") if isinstance(tools, Mapping) else None


def _refuse_unknown(file: Path, name: str, table: object, known: Collection[str]) -> None:
    where = f"{file}: [tool.regard{name}]"
    if not isinstance(table, Mapping):
        raise InputError(f"{where} is no table. Write [tool.regard{name}] and one key per line.")
    for key in table:
        if key not in known:
            hint = did_you_mean(key, known) or f"It may have {', '.join(known)}."
            raise InputError(f"{where} has no key '{key}'. {hint}")


def _resolved(key: str, value: Any, folder: Path) -> Any:
    if isinstance(value, list):
        return ",".join(map(str, value))
    is_path = key in _PATHS and isinstance(value, str) and value.endswith(".toml")
    return str(folder / value) if is_path else value
