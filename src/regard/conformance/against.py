"""Two implementations of one layer, on the inputs of every law: where they differ by more than rounding."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from regard.conformance.law import Comparison, Law, LawTrial, epsilon_of, is_half_precision
from regard.conformance.probing import token_gaps, worst_token
from regard.conformance.requests import CheckRequest, Stage, adapted, probed
from regard.conformance.subject import KERNELS, LayerFinding, Subject
from regard.conformance.verdict import Diagnosis
from regard.core.errors import InputError

# How much larger than the reference's the error against float64 may be, and the rounding that is always allowed.
_TIMES = 4.0
_ULPS = 8.0
# Laws about rows of a batch and repeated calls, which some layers obey bit by bit.
_BITWISE = ("BATCH", "DET")
_SHARED = frozenset({"mask", "positions", "documents", "cache", "weights", "returned", "gradient"})


@dataclass(frozen=True, kw_only=True)
class PairedCall:
    """How far one implementation is from the reference in one call, and what rounding explains."""

    kind: str
    error: float
    tolerance: float
    spread: float | None
    place: Mapping[str, Any]


class PairedSubject(Subject):
    """A layer and its reference: every call goes to both, and what they differ by is written down.

    The reference in float64, where it has one, says how large rounding is on the same inputs.
    """

    def __init__(self, layer: Subject, reference: Subject, *, is_bitwise: bool = False) -> None:
        self.name, self.spec, self.is_routed = f"{layer.name} against {reference.name}", layer.spec, layer.is_routed
        self.has_state = layer.has_state
        self.layer, self.reference, self.is_bitwise = layer, reference, is_bitwise
        both = layer.capabilities & reference.capabilities
        self.capabilities = both & (_SHARED | {"float64"})
        has_exact = "float64" in both and reference.spec.dtype != "float64"
        self.exact = reference.converted("float64") if has_exact else None
        self.calls: list[PairedCall] = []

    def call(self, x: np.ndarray, **options: Any) -> np.ndarray:
        """The layer's output."""
        outputs = self._each(lambda one, given: one.call(given.astype(_dtype(one, x)), **options), x)
        return self._noted("call", outputs, options)

    def gradient(self, x: np.ndarray, direction: np.ndarray, **options: Any) -> np.ndarray:
        """The layer's gradient."""

        def gradient(one: Subject, given: np.ndarray) -> np.ndarray:
            dtype = _dtype(one, x)
            return one.gradient(given.astype(dtype), direction.astype(dtype), **options)

        return self._noted("gradient", self._each(gradient, x), {})

    def call_with_weights(self, x: np.ndarray, **options: Any) -> tuple[np.ndarray, np.ndarray]:
        """The layer's output and weights."""
        found = [one.call_with_weights(x, **options) for one in (self.layer, self.reference)]
        self._noted("call that returns weights", [found[0][0], found[1][0], None], options)
        return found[0]

    def empty_cache(self, batch: int) -> Any:
        """One cache for each."""
        return tuple(None if one is None else one.empty_cache(batch) for one in self._all)

    def step(self, x: np.ndarray, cache: Any, **options: Any) -> tuple[np.ndarray, Any]:
        """The layer's output, and the caches of all."""
        found = [
            (None, None) if one is None else one.step(x.astype(_dtype(one, x)), own, **options)
            for one, own in zip(self._all, cache, strict=True)
        ]
        y = self._noted("step with a cache", [output for output, _ in found], options)
        return y, tuple(own for _, own in found)

    def in_dtype(self, dtype: str) -> "PairedSubject":
        """Both in another dtype; what they differ by is written down in the same place."""
        pair = type(self)(self.layer.converted(dtype), self.reference.converted(dtype), is_bitwise=self.is_bitwise)
        pair.calls = self.calls
        return pair

    def projections(self) -> Any:
        """Those of the layer."""
        return self.layer.projections()

    @property
    def _all(self) -> tuple[Subject | None, ...]:
        return self.layer, self.reference, self.exact

    def _each(self, call: Callable[[Subject, np.ndarray], np.ndarray], x: np.ndarray) -> list[np.ndarray | None]:
        return [None if one is None else call(one, x.copy()) for one in self._all]

    def _noted(self, kind: str, outputs: list[np.ndarray | None], options: Mapping[str, Any]) -> np.ndarray:
        found, wanted, exact = outputs
        assert found is not None
        assert wanted is not None
        given = [name for name, value in options.items() if value is not None]
        mask = options.get("mask")
        real = np.ones(found.shape[:2], dtype=bool) if mask is None else mask[:, -found.shape[1] :]
        if not real.any():
            return found
        gaps = token_gaps(found, wanted if exact is None or self.is_bitwise else exact, real)
        self.calls.append(
            PairedCall(
                kind=f"a {kind}" + (f" with {' and '.join(given)}" if given else ""),
                error=float(gaps.max(initial=0.0)),
                tolerance=0.0 if self.is_bitwise else self._rounding(wanted, exact, real),
                spread=None if is_half_precision(self.spec.dtype) else float(np.ptp(wanted[real].astype(np.float64))),
                place={"rows": len(found), "tokens": found.shape[1], **worst_token(gaps)},
            )
        )
        return found

    def _rounding(self, wanted: np.ndarray, exact: np.ndarray | None, real: np.ndarray) -> float:
        """By how much the layer may differ: a few times the reference's own error on this input."""
        dtype, visible = self.spec.dtype, wanted[real].astype(np.float64)
        # Much public code works in float32 inside, whatever the dtype; in half precision sums are formed in float32.
        terms = 1.0 if is_half_precision(dtype) else float(np.sqrt(wanted.shape[1]))
        largest = float(np.abs(visible[np.isfinite(visible)]).max(initial=1e-3))
        floor = _ULPS * terms * max(epsilon_of(dtype), epsilon_of("float32")) * largest
        if exact is None:
            return _TIMES * floor
        own = token_gaps(wanted, exact, real)
        return floor + _TIMES * float(own[np.isfinite(own)].max(initial=0.0))


def _dtype(one: Subject, x: np.ndarray) -> Any:
    return np.float64 if one.spec.dtype == "float64" else x.dtype


def law_of_pair(law: Law, pair: PairedSubject) -> Law:
    """The law that layer and reference agree on all inputs of this law."""

    def compare(trial: LawTrial) -> Iterator[Comparison]:
        both = trial.subject
        assert isinstance(both, PairedSubject)
        both.calls.clear()
        list(law.compare(trial))
        for each in list(both.calls):
            yield Comparison(
                what=f"{each.kind} differs",
                error=each.error,
                tolerance=each.tolerance,
                control=each.spread,
                place=each.place,
                suggests=(
                    Diagnosis(
                        "path",
                        f"{each.kind} differs from the reference, first in row {each.place['row']}, "
                        f"output {each.place['output']}",
                    ),
                ),
            )

    return replace(
        law,
        statement=f"both implementations agree on the inputs of {law.id}",
        compare=compare,
        signs=None,
        suspects=(Diagnosis("path", f"{pair.layer.name} differs from {pair.reference.name}"),),
        grade="black-box",
        reveals=(),
    )


def bit_by_bit(law: Law) -> Law:
    """The law without any tolerance, where that is asked of rows and repeated calls; other laws are as they were."""
    if law.id not in _BITWISE:
        return law
    exact = law.compare
    return replace(
        law,
        statement=f"{law.statement}, bit by bit",
        compare=lambda trial: (replace(each, tolerance=0.0) for each in exact(trial)),
    )


def build_checked(request: CheckRequest) -> tuple[Subject, tuple[LayerFinding, ...]]:
    """The subject, built in this process, paired with its reference if the request names one."""

    def ignore(_: Stage) -> None:
        pass

    return paired(request, adapted_with_reference(request, ignore), ignore)


def adapted_with_reference(request: CheckRequest, on_stage: Callable[[Stage], None]) -> tuple[Subject, ...]:
    """The subject and, if the request names one, its reference with the same weights, built in this process."""
    from regard.conformance import adapters

    built = tuple(adapted(each, on_stage) for each in request.each)
    if len(built) > 1:
        mapping = adapters.load_attribute(request.mapping) if isinstance(request.mapping, str) else request.mapping
        share_weights(built[0], built[1], mapping)
    return built


def paired(
    request: CheckRequest, built: Sequence[Subject], on_stage: Callable[[Stage], None]
) -> tuple[Subject, tuple[LayerFinding, ...]]:
    """The subject with what was found out about it, paired with its reference if there is one."""
    layer, *references = built
    if references and KERNELS & layer.capabilities:
        raise InputError(f"{layer.name} is a kernel, and only layers are compared with each other. Drop --against.")
    subject, findings = probed(request, layer, on_stage)
    for reference in references:
        subject = PairedSubject(subject, reference, is_bitwise=request.is_bitwise)
    return subject, findings


def share_weights(layer: Subject, reference: Subject, mapping: Callable[[Any], Any] | None = None) -> None:
    """Loads the layer's state dict into the reference, through a function of it if one is given."""
    source, target = (getattr(one, "module", None) for one in (layer, reference))
    if source is None or target is None or not hasattr(source, "state_dict") or not hasattr(target, "load_state_dict"):
        return
    state = source.state_dict()
    state = state if mapping is None else mapping(state)
    lacking, surplus = set(target.state_dict()) - set(state), set(state) - set(target.state_dict())
    if lacking or surplus:
        misfits = "; ".join([*_listed("it lacks", lacking), *_listed("it has no", surplus)])
        raise InputError(
            f"The weights of {layer.name} do not fit {reference.name}: {misfits}. "
            "Give a function of one state dict that gives the other: --map module:name."
        )
    target.load_state_dict(state)


def _listed(words: str, names: Collection[str]) -> list[str]:
    return [f"{words} {', '.join(sorted(names)[:4])}"] if names else []
