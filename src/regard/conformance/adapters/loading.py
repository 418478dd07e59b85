"""Targets by their names: "hf:LlamaForCausalLM", "torch:MultiheadAttention", "pkg.module:name", "file.py:name"."""

import ast
import functools
import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from regard.conformance.subject import Subject
from regard.core.errors import InputError

_TORCH = (
    "MultiheadAttention",
    "TransformerEncoderLayer",
    "TransformerEncoder",
    "scaled_dot_product_attention",
    "flex_attention",
)


def literal(text: str) -> Any:
    """A number, a truth, None or a list of them if it reads so, else the text; nothing is evaluated.

    >>> literal("64"), literal("0.5"), literal("true"), literal("rotary")
    (64, 0.5, True, 'rotary')
    """
    words = {"true": True, "false": False, "none": None, "yes": True, "no": False}
    if text.strip().lower() in words:
        return words[text.strip().lower()]
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text


def load(text: str, arguments: Mapping[str, Any] | None = None) -> Any:
    """What the name names; a class or a factory is called with the arguments, which may be text."""
    given = {name: literal(value) if isinstance(value, str) else value for name, value in (arguments or {}).items()}
    place, sign, name = text.rpartition(":")
    if not sign or not place or not name:
        raise InputError(
            f"'{text}' names no target. Write pkg.module:name, path/to/file.py:name, "
            "torch:MultiheadAttention or hf:LlamaForCausalLM."
        )
    if place == "hf":
        return hf(name, **given)()
    if place == "torch":
        return _of_torch(name, given)
    module = _from_file(place) if place.endswith(".py") else _imported(place)
    return call_factory(_found(module, name, text), given, text)


def hf(class_name: str, *, part: str = "model", **config: Any) -> Callable[[], Subject]:
    """A factory for a Hugging Face class with a tiny random configuration, which `config` changes.

    `part="attention"` is its first attention module alone, where laws see most.
    """
    if part not in ("model", "attention"):
        raise InputError(f"A Hugging Face target has no part '{part}'. Give model or attention.")

    def build() -> Subject:
        needed("transformers", "hf")
        needed("torch", "hf")
        from regard.conformance.adapters.huggingface import AttentionPart, HuggingFaceModel, build_model

        model = build_model(class_name, **config)
        label = f"hf:{class_name}" + (" attention" if part == "attention" else "")
        return AttentionPart(model, name=label) if part == "attention" else HuggingFaceModel(model, name=label)

    build.is_factory = True  # pyright: ignore[reportFunctionMemberAccess]
    build.__name__ = f"hf:{class_name}"
    return build


def needed(package: str, extra: str | None = None) -> ModuleType:
    """The package, or one clear line about what to install."""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        how = f"pip install 'regard[{extra}]'" if extra else f"pip install {package}"
        raise InputError(f"This needs {package}, which cannot be imported: {_line(error)}. Run {how}.") from error


def _of_torch(name: str, given: dict[str, Any]) -> Any:
    torch = needed("torch", "torch")
    if name not in _TORCH:
        raise InputError(f"torch:{name} is not known here. Known are {', '.join(_TORCH)}; or write torch.nn:{name}.")
    if name == "scaled_dot_product_attention":
        return _refusing(torch.nn.functional.scaled_dot_product_attention, given, name)
    if name == "flex_attention":
        from torch.nn.attention.flex_attention import flex_attention

        return _refusing(flex_attention, given, name)
    if name == "MultiheadAttention":
        usual = {"embed_dim": 32, "num_heads": 4, "batch_first": True}
        return _called(torch.nn.MultiheadAttention, {**usual, **given}, name)
    depth = given.pop("num_layers", 2)
    usual = {"d_model": 32, "nhead": 4, "dim_feedforward": 64, "batch_first": True, "dropout": 0.0}
    layer = _called(torch.nn.TransformerEncoderLayer, {**usual, **given}, name)
    return layer if name == "TransformerEncoderLayer" else torch.nn.TransformerEncoder(layer, depth)


def _refusing(function: Any, given: Mapping[str, Any], name: str) -> Any:
    if given:
        raise InputError(
            f"torch:{name} is a function and takes no arguments here, and {', '.join(given)} was given. "
            "Say what it should be in the spec."
        )
    return function


def _from_file(place: str) -> ModuleType:
    path = Path(place)
    if not path.is_file():
        raise InputError(f"There is no file {place}. Give the path of a Python file that exists.")
    name = f"regard_target_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None, "a file that ends in .py has a loader"
    assert spec.loader is not None, "a file that ends in .py has a loader"
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise InputError(f"{place} cannot be imported: {_line(error)}") from error
    return module


def _imported(place: str) -> ModuleType:
    try:
        return importlib.import_module(place)
    except Exception as error:
        raise InputError(f"{place} cannot be imported: {_line(error)}. Check its spelling and the path.") from error


def _found(module: ModuleType, name: str, text: str) -> Any:
    found: Any = module
    for part in name.split("."):
        if not hasattr(found, part):
            public = [each for each in dir(found) if not each.startswith("_")][:8]
            owner = getattr(found, "__name__", type(found).__name__)
            raise InputError(f"'{text}': {owner} has no {part}. It has {', '.join(public) or 'nothing'}.")
        found = getattr(found, part)
    return found


def call_factory(target: Any, arguments: Mapping[str, Any], label: str | None = None) -> Any:
    """What a factory makes, anything else as it is. A factory is a class, or a function that needs no more arguments.

    >>> call_factory(dict, {"a": 1}), call_factory(len, {})
    ({'a': 1}, <built-in function len>)
    """
    label = label or str(getattr(target, "__name__", type(target).__name__))
    is_function = inspect.isroutine(target) or isinstance(target, functools.partial)
    if inspect.isclass(target) or getattr(target, "is_factory", False):
        return _called(target, arguments, label)
    if is_function and (arguments or not _needs_arguments(target)):
        return _called(target, arguments, label)
    if arguments:
        raise InputError(f"'{label}' is an instance and takes no arguments, and {', '.join(arguments)} was given.")
    return target


def _needs_arguments(function: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return True
    return any(
        each.default is inspect.Parameter.empty and each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)
        for each in parameters
    )


def _called(make: Callable[..., Any], given: Mapping[str, Any], text: str) -> Any:
    try:
        return make(**given)
    except Exception as error:
        said = ", ".join(f"{name}={value!r}" for name, value in given.items()) or "no arguments"
        raise InputError(f"'{text}' could not be made with {said}: {_line(error)}. See --arg.") from error


def _line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else 'no message'}"
