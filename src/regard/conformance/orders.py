"""What is to be checked, in words that any process understands, and the subject that they stand for."""

import functools
import inspect
import shlex
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Literal

from regard.conformance.subject import Spec, Subject
from regard.core.errors import InputError

ZOO = "zoo:"

# How far a layer is on its way to its first law.
Stage = Literal["import", "first calls", "probing"]


@dataclass(frozen=True, kw_only=True)
class Order:
    """A target by its name, what it is declared to be, and which laws are tried on it.

    `target` is "package.module:name", "hf:Class", "torch:Class" or "zoo:name"; `spec` None leaves it to the adapter.
    `dtype` and `device`, where given, change the spec that the adapter finds out.
    """

    target: str
    arguments: Mapping[str, str] = field(default_factory=dict)
    spec: Spec | None = None
    dtype: str | None = None
    device: str | None = None
    name: str | None = None
    is_inferring: bool = False
    laws: tuple[str, ...] | None = None
    expect: Mapping[str, str] = field(default_factory=dict)
    seed: int = 0

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready values."""
        return {**{f.name: getattr(self, f.name) for f in fields(self)}, "spec": self.spec and asdict(self.spec)}

    @classmethod
    def from_dict(cls, row: Mapping[str, Any]) -> "Order":
        """The order of such values."""
        spec, laws = row["spec"], row["laws"]
        return cls(**{**row, "spec": spec and Spec(**spec), "laws": None if laws is None else tuple(laws)})


def subject_of(order: Order, at: Callable[[Stage], None] | None = None) -> tuple[Subject, dict[str, Any] | None]:
    """The subject, built here and now, and what probing found out about it if that was asked for.

    `at` is called when its first calls begin, and when probing does.
    """
    at = at or (lambda _: None)
    subject = _converted(_built(order, at), order)
    if not order.is_inferring:
        return subject, None
    at("probing")
    return inferred_for(subject)


def inferred_for(subject: Subject) -> tuple[Subject, dict[str, Any]]:
    """The subject under the spec that probing finds, and what that was."""
    from regard.conformance.inference import infer

    found = infer(subject)
    changes = {name: value.item() if hasattr(value, "item") else value for name, value in found.changes.items()}
    told = {"spec": changes, "evidence": list(found.evidence), "unknown": list(found.unknown)}
    return subject.declared(**changes), told


def _built(order: Order, at: Callable[[Stage], None]) -> Subject:
    from regard.conformance import adapters

    if order.target.startswith(ZOO):
        from regard.conformance.adapters.zoo import zoo

        name, entries = order.target.removeprefix(ZOO), zoo()
        if name not in entries:
            raise InputError(f"The zoo has no {name}. It has {', '.join(entries)}.")
        subject = entries[name].subject()
        return subject if order.spec is None else subject.declared(**asdict(order.spec))
    spec = None if order.spec is None else in_dtype(order.spec, order)
    target = adapters.load(order.target, order.arguments)
    at("first calls")
    return adapters.adapt(target, spec, name=order.name or order.target)


def in_dtype(spec: Spec, order: Order) -> Spec:
    """The spec with the dtype and on the device that the order asks for."""
    changes = {"dtype": order.dtype, "device": order.device}
    return replace(spec, **{name: value for name, value in changes.items() if value is not None})


def _converted(subject: Subject, order: Order) -> Subject:
    """The subject in the dtype that was asked for, if its spec has another."""
    wanted = order.dtype
    if wanted is None or wanted == subject.spec.dtype:
        return subject
    if not subject.has("float64"):
        raise InputError(f"{subject.name} works in {subject.spec.dtype} and cannot change to {wanted}. Drop --dtype.")
    return subject.in_dtype(wanted).declared(dtype=wanted)


def made(target: Any, arguments: Mapping[str, Any]) -> Any:
    """What a factory makes; anything else as it is. A factory is a function or class that needs no more arguments.

    >>> made(dict, {"a": 1}), made(len, {})
    ({'a': 1}, <built-in function len>)
    """
    if arguments:
        return target(**arguments)
    is_plain = inspect.isroutine(target) or inspect.isclass(target) or isinstance(target, functools.partial)
    if not is_plain and not getattr(target, "is_factory", False):
        return target
    try:
        parameters = inspect.signature(target).parameters.values()
    except (TypeError, ValueError):
        return target
    free = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    needed = [each for each in parameters if each.default is each.empty and each.kind not in free]
    return target if needed else target()


def importable_name(target: Callable[..., Any]) -> str:
    """The name, package.module:name, by which another process can import a function or class."""
    module, name = getattr(target, "__module__", None), getattr(target, "__qualname__", None)
    if not module or not name or module == "__main__" or "<" in name:
        raise InputError(
            f"{target!r} cannot be imported by another process. Put the factory at the top level of a module, "
            "or check it in this process with isolate=False."
        )
    return f"{module}:{name}"


def command_for(order: Order, law: str | None) -> str:
    """The command that tries this law on this layer again; without a law, all of them.

    >>> command_for(Order(target="mine:build", spec=Spec(causal=True)), "CAUSAL")
    'regard check mine:build --spec causal=True --laws CAUSAL --seed 0'
    """
    parts = ["regard", "check", order.target]
    for name, value in order.arguments.items():
        parts += ["--arg", f"{name}={value}"]
    if order.spec is not None:
        parts += ["--spec", _typed(order.spec)]
    parts += ["--dtype", order.dtype] if order.dtype else []
    parts += ["--device", order.device] if order.device else []
    parts += ["--infer"] if order.is_inferring else []
    parts += ["--laws", law] if law else []
    return shlex.join([*parts, "--seed", str(order.seed)])


def _typed(spec: Spec) -> str:
    usual = Spec(width=spec.width, num_heads=spec.num_heads)
    told = {f.name: getattr(spec, f.name) for f in fields(Spec)}
    said = [f"{name}={value}" for name, value in told.items() if value != getattr(usual, name)]
    shape = [f"{n}={getattr(spec, n)}" for n in ("width", "num_heads") if getattr(spec, n) != getattr(Spec(), n)]
    return ",".join([*shape, *said]) or f"width={spec.width}"
