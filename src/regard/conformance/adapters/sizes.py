"""The sizes of a torch module, read off its attributes, its config and its matrices."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeGuard

from regard.conformance.adapters.construction import HEAD_WIDTH, HEADS, KV_HEADS, WIDTH
from regard.conformance.adapters.projections import single_heads
from regard.conformance.subject import LayerFinding, Spec
from regard.core.errors import InputError

_ATTRIBUTES: Mapping[str, Iterable[str]] = {"num_heads": HEADS, "num_kv_heads": KV_HEADS, "head_width": HEAD_WIDTH}
_CONFIGS = ("config", "args", "cfg", "params")
_SCALES = "scale norm_factor temperature scaling softmax_scale sm_scale inv_norm_factor scale_factor".split()
_MOST_WIDTHS = 8


def width_candidates(module: Any, arguments: Mapping[str, Any]) -> list[LayerFinding]:
    """Widths that the module may take, the likeliest first: by its attributes, matrices and arguments."""
    found: dict[int, LayerFinding] = {}
    for name in WIDTH:
        for owner, values in _named_values(module):
            if _is_count(values.get(name)):
                found.setdefault(values[name], _of_attribute("width", owner, name, values[name]))
    for name, part in module.named_modules():
        for size in (getattr(part, each, None) for each in ("in_features", "embedding_dim", "in_channels")):
            if _is_count(size):
                found.setdefault(
                    size, LayerFinding(name="width", value=size, how=f"the size of {name or 'its matrix'}")
                )
    for name, parameter in module.named_parameters():
        for size in parameter.shape if parameter.ndim == 2 else ():
            found.setdefault(size, LayerFinding(name="width", value=size, how=f"the size of {name}"))
    for name in (each for each in WIDTH if _is_count(arguments.get(each))):
        found.setdefault(arguments[name], _of_argument("width", name, arguments[name]))
    return list(found.values())[:_MOST_WIDTHS]


def head_findings(module: Any, arguments: Mapping[str, Any]) -> dict[str, LayerFinding]:
    """Numbers and widths of heads by the module's attributes, its config, its parts and its arguments."""
    found: dict[str, LayerFinding] = {}
    if heads := single_heads(module):
        found["num_heads"] = LayerFinding(name="num_heads", value=len(heads), how="each is a module of its own")
    for part_name, part in module.named_modules():
        for size, names in _ATTRIBUTES.items():
            for owner, values in _named_values(part) if size not in found else ():
                name = next((each for each in names if _is_count(values.get(each))), None)
                if name is not None:
                    where = ".".join(filter(None, (part_name, owner)))
                    found.setdefault(size, _of_attribute(size, where, name, values[name]))
    for size, names in _ATTRIBUTES.items():
        for name in (each for each in names if _is_count(arguments.get(each))):
            found.setdefault(size, _of_argument(size, name, arguments[name]))
    return found


def bare_findings(module: Any, arguments: Mapping[str, Any]) -> dict[str, LayerFinding]:
    """The heads of a module without matrices; their width may show only in a scale that was made for it."""
    found = head_findings(module, arguments)
    for name in _SCALES if "head_width" not in found else ():
        value = vars(module).get(name)
        if isinstance(value, float) and value > 0 and value != 1:
            width = round(max(value, 1 / value) ** 2)
            how = f"attribute {name} is {value:.6g}, a power of √{width}"
            return {**found, "head_width": LayerFinding(name="head_width", value=width, how=how)}
    return found


def sized(spec: Spec, found: Mapping[str, LayerFinding]) -> tuple[Spec, tuple[LayerFinding, ...]]:
    """The spec with the sizes that were found in place of those not declared, and what was used or contradicted."""
    used, changes = [], {}
    for name, finding in found.items():
        declared = None if name in spec.undeclared_sizes else getattr(spec, name)
        if declared is None:
            changes[name] = finding.value
            used.append(finding)
        elif declared != finding.value:
            how = f"declared to be {declared}, but {finding.value} was found ({finding.how})"
            used.append(LayerFinding(name=name, how=how, kind="unusual"))
    for dropped in ((), ("num_kv_heads",), ("num_kv_heads", "head_width")):
        kept = {name: value for name, value in changes.items() if name not in dropped}
        try:
            return Spec(**{**spec.declared_values(), **kept}), tuple(each for each in used if each.name not in dropped)
        except InputError:
            continue
    width = found["width"].value if "width" in changes else spec.width
    return Spec(**{**spec.declared_values(), "width": width, "num_heads": 1}), tuple(used)


def _named_values(module: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The module's own attributes, then those of its config, each with the name of their owner."""
    yield "", vars(module)
    for name in _CONFIGS:
        config = vars(module).get(name)
        if isinstance(config, Mapping):
            yield name, config
        elif hasattr(config, "__dict__"):
            yield name, vars(config)


def _is_count(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _of_attribute(name: str, owner: str, attribute: str, value: int) -> LayerFinding:
    return LayerFinding(name=name, value=value, how=f"attribute {owner}{'.' if owner else ''}{attribute}")


def _of_argument(name: str, argument: str, value: int) -> LayerFinding:
    return LayerFinding(name=name, value=value, how=f"built with {argument}={value}")
