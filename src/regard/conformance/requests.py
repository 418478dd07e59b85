"""A request to check one layer, which can be sent to another process, and the subject built from it."""

import shlex
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Literal

from regard.conformance.law import CheckSizes
from regard.conformance.subject import KERNELS, LayerFinding, Spec, Subject
from regard.conformance.verdict import Diagnosis
from regard.core.errors import InputError

ZOO = "zoo:"

# What happens before the first law is tried.
Stage = Literal["import", "first calls", "probing"]


@dataclass(frozen=True, kw_only=True)
class CheckRequest:
    """A layer, what it is declared to be, and the laws to try on it.

    `target` is a layer or a factory, or the name of one: "package.module:name", "path/to/file.py:name", "hf:Class",
    "torch:Class" or "zoo:name". Without a `spec` the adapter reads it off the layer; `dtype` and `device` override it.
    `against` is a reference implementation, a target too, which gets the layer's weights through `mapping`: a function
    of a state dict, or the name of one.
    """

    target: Any
    arguments: Mapping[str, Any] = field(default_factory=dict)
    spec: Spec | None = None
    dtype: str | None = None
    device: str | None = None
    name: str | None = None
    is_inferring: bool = False
    laws: tuple[str, ...] | None = None
    expect: Mapping[str, str] = field(default_factory=dict)
    seed: int = 0
    sizes: CheckSizes = field(default_factory=CheckSizes)
    against: Any = None
    mapping: Any = None
    is_bitwise: bool = False

    @property
    def has_named_target(self) -> bool:
        """True if another process can build the layer from the name of its target."""
        return isinstance(self.target, str)

    @property
    def label(self) -> str | None:
        """What the report calls the layer; None leaves it to the adapter."""
        return self.name or (self.target if self.has_named_target else None)

    @property
    def each(self) -> "tuple[CheckRequest, ...]":
        """A request for the layer, and one for its reference if there is one."""
        layer = replace(self, against=None)
        other = replace(layer, target=self.against, name=None, is_inferring=False)
        return (layer,) if self.against is None else (layer, other)

    def adjusted(self, spec: Spec) -> Spec:
        """The spec with the dtype and the device that were asked for."""
        changes = {"dtype": self.dtype, "device": self.device}
        return Spec(
            **{**spec.declared_values(), **{name: value for name, value in changes.items() if value is not None}}
        )

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready values."""
        assert self.has_named_target
        return {
            **{f.name: getattr(self, f.name) for f in fields(self)},
            "spec": self.spec and self.spec.declared_values(),
            "sizes": asdict(self.sizes),
        }

    @classmethod
    def from_dict(cls, row: Mapping[str, Any]) -> "CheckRequest":
        """The inverse of `to_dict`."""
        spec, laws = row["spec"], row["laws"]
        sizes = CheckSizes(**{**row["sizes"], "lengths": tuple(row["sizes"]["lengths"])})
        laws = None if laws is None else tuple(laws)
        return cls(**{**row, "spec": spec and Spec(**spec), "laws": laws, "sizes": sizes})

    def command(self, law: str | None) -> str:
        """The command that tries this law on this layer again; without a law, all of them.

        >>> CheckRequest(target="mine:build", spec=Spec(causal=True)).command("CAUSAL")
        'regard check mine:build --spec causal=True --laws CAUSAL --seed 0'
        """
        parts = ["regard", "check", self.target]
        for name, value in self.arguments.items():
            parts += ["--arg", f"{name}={value}"]
        if self.spec is not None:
            declared = self.spec.non_defaults() or {"width": self.spec.width}
            parts += ["--spec", ",".join(f"{name}={_typed(value)}" for name, value in declared.items())]
        parts += ["--dtype", self.dtype] if self.dtype else []
        parts += ["--device", self.device] if self.device else []
        parts += ["--infer"] if self.is_inferring else []
        for name, value in self.sizes.non_defaults().items():
            parts += [f"--{name}", ",".join(map(str, value)) if name == "lengths" else str(value)]
        parts += ["--against", self.against] if self.against else []
        parts += ["--map", self.mapping] if self.mapping else []
        parts += ["--bitwise"] if self.is_bitwise else []
        parts += ["--laws", law] if law else []
        return shlex.join([*parts, "--seed", str(self.seed)])


def _typed(value: Any) -> str:
    """A value of a spec as it is typed."""
    return " ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def build_subject(
    request: CheckRequest, on_stage: Callable[[Stage], None] = lambda _: None
) -> tuple[Subject, tuple[LayerFinding, ...]]:
    """The subject, built in this process, and what was found out about it.

    What the spec leaves open is probed for if the request asks for that, or if nobody else can say it.

    `on_stage` is called when the layer's first calls begin, and when probing does.
    """
    return probed(request, adapted(request, on_stage), on_stage)


def adapted(request: CheckRequest, on_stage: Callable[[Stage], None]) -> Subject:
    """The subject, built in this process, in the dtype that was asked for."""
    subject = _adapted(request, on_stage)
    if request.dtype in (None, subject.spec.dtype):
        return subject
    if not subject.has("float64"):
        raise InputError(
            f"{subject.name} works in {subject.spec.dtype} and cannot change to {request.dtype}. Drop --dtype."
        )
    return subject.converted(request.dtype)


def probed(
    request: CheckRequest, subject: Subject, on_stage: Callable[[Stage], None]
) -> tuple[Subject, tuple[LayerFinding, ...]]:
    """The subject with what was found out about it, by probing too if the request asks for that or leaves it open."""
    findings = subject.findings
    is_wanted = request.is_inferring or (subject.is_read_off and is_open(subject.spec))
    if is_wanted and not KERNELS & subject.capabilities:
        on_stage("probing")
        is_whole = request.is_inferring or request.spec is None
        subject, found = _probed(subject, is_whole=is_whole)
        known = {finding.name for finding in findings}
        findings += tuple(finding for finding in found if finding.name not in known)
    return subject, findings


def _probed(subject: Subject, *, is_whole: bool) -> tuple[Subject, tuple[LayerFinding, ...]]:
    """The subject with what probing found in its spec; unless `is_whole`, only what an oracle cannot do without.

    If all of the spec was found and yet the layer differs from its oracle, it is no layer that the oracle covers.
    """
    from regard.conformance.inference import infer

    found = infer(subject)
    names = set(found.changes)
    if not is_whole:
        names = {name for name in ("causal", "positions") if getattr(subject.spec, name) is None}
        names |= {name for name in found.changes if "positions" in names and name.startswith("rotary_")}
    changes = {name: value.item() if hasattr(value, "item") else value for name, value in found.changes.items()}
    other = subject.declared(**{name: value for name, value in changes.items() if name in names})
    findings = tuple(each for each in found.findings if _is_telling(each, names, other.spec))
    if not is_whole:
        return other, findings
    findings += _unused(other)
    dropped = _uncovered(other)
    if not dropped:
        return other, findings
    bug = _exact_match(other)
    other.capabilities -= dropped
    why = "none: the layer does more than its spec and weights explain"
    if bug is not None:
        return other, (*findings, LayerFinding(name="oracle", how=f"none, but {bug}", kind="unusual"))
    return other, (*findings, LayerFinding(name="oracle", how=why, kind="not found"))


def _exact_match(subject: Subject) -> Diagnosis | None:
    """The bug by which the oracle would give the layer's outputs, if there is one."""
    from regard.conformance.diagnosis import explained

    found = explained(subject)
    return found[0] if found else None


def _is_telling(finding: LayerFinding, names: Collection[str], spec: Spec) -> bool:
    """False for what a reader can't use: what follows from the rest, and values that no law needs."""
    if finding.kind == "found":
        is_even = finding.name == "num_kv_heads" and spec.num_kv_heads == spec.num_heads
        return finding.name in names and finding.value is not None and not is_even
    return finding.kind == "unusual" or (finding.name == "positions" and spec.positions is None)


def _uncovered(subject: Subject) -> frozenset[str]:
    """The capabilities by which a spec that was read off the layer would be refuted by the layer itself."""
    from regard.conformance import all_laws
    from regard.conformance.judging import judge

    law, dropped = all_laws()["SPEC"], frozenset()
    trial = subject.declared()
    for capability in ("weights", "core"):
        if judge(law, trial).outcome not in ("refuted", "crashed"):
            break
        dropped |= {capability} & subject.capabilities
        trial.capabilities = subject.capabilities - dropped
    return dropped


def _unused(subject: Subject) -> tuple[LayerFinding, ...]:
    """The parameters that change nothing: they may be for something that nobody declares, so no law is broken."""
    from regard.conformance import all_laws
    from regard.conformance.judging import judge

    verdict = judge(all_laws()["USED"], subject)
    if verdict.outcome != "refuted":
        return ()
    subject.capabilities -= {"parameters"}
    return (LayerFinding(name="unused", how=verdict.reason or "", kind="unusual"),)


def is_open(spec: Spec) -> bool:
    """True if the spec says too little for an oracle."""
    return not spec.says_what_is_visible or spec.positions is None


def _adapted(request: CheckRequest, on_stage: Callable[[Stage], None]) -> Subject:
    from regard.conformance import adapters

    if request.has_named_target and request.target.startswith(ZOO):
        name, entries = request.target.removeprefix(ZOO), adapters.zoo()
        if name not in entries:
            raise InputError(f"The zoo has no {name}. It has {', '.join(entries)}.")
        subject = entries[name].subject()
        return subject if request.spec is None else subject.declared(**request.spec.changes())
    built = adapters.load_with_findings(request.target, request.arguments)
    spec = None if request.spec is None else request.adjusted(request.spec)
    on_stage("first calls")
    subject = adapters.adapt(built, spec, name=request.label)
    subject.findings = (*built.findings, *subject.findings)
    return subject


def importable_name(target: Any) -> str | None:
    """The name, package.module:name, by which another process can import a function or class; None if it can't."""
    module, name = getattr(target, "__module__", None), getattr(target, "__qualname__", None)
    if not module or not name or module == "__main__" or "<" in name:
        return None
    return f"{module}:{name}"
