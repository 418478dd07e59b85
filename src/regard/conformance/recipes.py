"""How a layer is built, for files that are read where Regard is not."""

import inspect
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from regard.conformance.orders import ZOO, Order, in_dtype, subject_of
from regard.conformance.reproduction import Recipe, spec_in_words
from regard.conformance.subject import Subject

_UNKNOWN = (
    "layer = None  # Say here how your layer is built.\n"
    '    assert layer is not None, "This file does not know how the layer was built: say it in the line above."'
)


def recipe_for_order(order: Order, subject: Subject, inferred: Mapping[str, Any] | None = None) -> Recipe:
    """The recipe of a layer that is given by name, under the spec that was inferred."""
    plain = replace(order, is_inferring=False)
    changes = dict((inferred or {}).get("spec", {}))
    made, names, note = _made(order, subject)
    if order.dtype is not None and order.spec is None:
        made += f".in_dtype({order.dtype!r}).declared(dtype={order.dtype!r})"

    def build() -> Subject:
        return subject_of(plain)[0].declared(**changes)

    names = {**names, "Spec": "regard.conformance.subject"}
    return Recipe(expression=made + _declared(changes), names=names, build=build, note=note)


def _made(order: Order, subject: Subject) -> tuple[str, dict[str, str], str]:
    """The expression that makes the subject, the names of Regard in it by their modules, and a line to go before it.

    A torch module of somebody's own is imported and wrapped in plain sight; all else goes the way that it went here.
    """
    if order.target.startswith(ZOO):
        return f"zoo()[{order.target.removeprefix(ZOO)!r}].subject()", {"zoo": "regard.conformance.adapters.zoo"}, ""
    spec = None if order.spec is None else in_dtype(order.spec, order)
    told = f"{'None' if spec is None else spec_in_words(spec)}, name={order.name or order.target!r}"
    kind = type(subject)
    place, _, name = order.target.rpartition(":")
    found = getattr(sys.modules.get(place), name, None)
    if found is None or kind.__module__ != "regard.conformance.adapters.torch_layers":
        loaded = f"load({order.target!r}, {dict(order.arguments)!r})"
        return f"adapt({loaded}, {told})", dict.fromkeys(("load", "adapt"), "regard.conformance.adapters"), ""
    from regard.conformance.adapters.loading import literal

    given = ", ".join(f"{each}={literal(value)!r}" for each, value in order.arguments.items())
    call = f"{name}({given})" if inspect.isclass(found) or inspect.isfunction(found) else name
    return f"{kind.__name__}({call}, {told})", {kind.__name__: kind.__module__}, f"from {place} import {name}\n"


def recipe_for_target(target: Any, order: Order, inferred: Mapping[str, Any] | None = None) -> Recipe:
    """The recipe of an object that only this process has: its reader must say how it is built."""
    from regard.conformance import adapters

    told = "None" if order.spec is None else spec_in_words(order.spec)
    changes = dict((inferred or {}).get("spec", {}))
    return Recipe(
        expression=f"adapt(layer, {told}, name={order.name!r})" + _declared(changes),
        names={"adapt": "regard.conformance.adapters", "Spec": "regard.conformance.subject"},
        build=lambda: adapters.adapt(target, order.spec, name=order.name).declared(**changes),
        note=_UNKNOWN,
    )


def _declared(changes: Mapping[str, Any]) -> str:
    told = ", ".join(f"{name}={value!r}" for name, value in changes.items())
    return f".declared({told})" if told else ""
