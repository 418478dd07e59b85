"""Which bug a failure looks like: by mutations of the oracle, by probing the layer, and by how the law fails."""

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from regard.conformance import all_laws
from regard.conformance.inference import infer
from regard.conformance.judging import judge
from regard.conformance.law import Comparison, Law, LawTrial, dtype_of
from regard.conformance.mutations import Mutation, Scenario, all_mutations
from regard.conformance.mutations.calls import chunks_of, decoded
from regard.conformance.oracle import AttentionInputs, Oracle, undeclared
from regard.conformance.probing import decode, real_positions
from regard.conformance.size_diagnosis import diagnose_size
from regard.conformance.subject import Spec, Subject
from regard.conformance.verdict import Diagnosis
from regard.positions.alibi import alibi_slopes

_Result = TypeVar("_Result")

# A match is this close, relative to the largest output.
_CLOSE, _CLOSE_IN_WORDS = 2e-3, "2e-3"
_LENGTH = 9
_LONGEST = 48
_LARGE = 8.0
_SEED = 11

_MOST_MATCHES = 3
_MOST_BUGS = 6
_SAME_BASE = 2e-3
_SAME_RATE = 1e-3
_SAME_SINK = 1e-2

_UNEXPLAINED = Diagnosis("projection", "the weights are read, split or combined differently")
_ROUNDING = Diagnosis("precision", f"the layer is within {_CLOSE} of the oracle, but not within rounding")
_BY_SCENARIO: dict[Scenario, Diagnosis] = {
    "padded": Diagnosis("padding", "the layer differs from the oracle on padded inputs"),
    "gaps": Diagnosis("positions", "the layer differs from the oracle if positions are given"),
    "cached": Diagnosis("cache", "the layer differs from the oracle when it decodes with a cache"),
    "chunked": Diagnosis("cache", "the layer differs from the oracle if several tokens follow a cache"),
    "large": Diagnosis("softmax", "the layer differs from the oracle at large logits"),
}


def diagnose(law: Law, trial: LawTrial, comparison: Comparison) -> tuple[Diagnosis, ...]:
    """Probable bugs, the likeliest first."""
    if law.shrinks_itself:
        return tuple(dict.fromkeys([*comparison.suggests, *law.usual_bugs]))[:_MOST_BUGS]
    if trial.size.block is not None:
        found = _quietly(lambda: list(diagnose_size(law, trial, _oracle(trial.subject))), [])
        return tuple(dict.fromkeys([*found, *law.usual_bugs]))[:_MOST_BUGS]
    signs = _quietly(lambda: _signs(law, trial, comparison), [])
    if law.diagnosed_by == "suspects":
        return tuple(dict.fromkeys([*signs, *law.usual_bugs]))[:_MOST_BUGS]
    match = _quietly(lambda: _matched(trial), None)
    is_off = match is not None and match.gap > 0 and match.scenario == "plain"
    bugs = [] if match is None else match.diagnoses()
    probed = _quietly(lambda: list(_by_probing(trial)), []) if is_off and not bugs else []
    bugs += [*signs, *probed] if law.diagnosed_by == "signs" else [*probed, *signs]
    if law.grade == "spec" and is_off and not bugs:
        bugs += [*_by_other_laws(trial), _UNEXPLAINED]
    if match is not None and not match.mutations:
        if match.gap > 0 and match.scenario in _BY_SCENARIO:
            bugs.append(_BY_SCENARIO[match.scenario])
        elif match.gap == 0 and law.grade == "spec":
            bugs.append(_ROUNDING)
    return tuple(dict.fromkeys([*bugs, *law.usual_bugs]))[:_MOST_BUGS]


def _quietly(work: Callable[[], _Result], otherwise: _Result) -> _Result:
    """The result of a probe; if the layer raises, the probe finds nothing."""
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            return work()
    except Exception:  # noqa: BLE001 - a broken layer may raise anything, and a diagnosis must not crash
        return otherwise


def _signs(law: Law, trial: LawTrial, comparison: Comparison) -> list[Diagnosis]:
    """What failures at full size point to, before the counterexample was made small."""
    if law.signs is None and not comparison.suggests:
        return []
    full = replace(trial, size=law.size_for(trial.spec))
    broken = [each for each in _quietly(lambda: list(law.compare(full)), []) if each.is_broken] or [comparison]
    suggested = [bug for each in broken for bug in each.suggests]
    return suggested if law.signs is None else [*suggested, *law.signs(trial, broken)]


def _by_other_laws(trial: LawTrial) -> list[Diagnosis]:
    """What failures of laws about one thing mean, if no mutation is like the layer."""
    laws = sorted((law for law in all_laws().values() if law.means is not None), key=lambda law: law.rank)
    return [
        law.means
        for law in laws
        if law.means is not None and _quietly(lambda law=law: judge(law, trial.subject).outcome, None) == "refuted"
    ]


@dataclass(frozen=True, kw_only=True)
class OracleMatch:
    """The first kind of call in which layer and oracle differ, by how much, and the mutations that explain it.

    A gap of zero says that all kinds of call agree with the oracle.
    """

    mutations: tuple[Mutation, ...]
    gap: float
    scenario: Scenario

    def diagnoses(self) -> list[Diagnosis]:
        """The mutations that match best."""
        return [
            Diagnosis(each.family, f"matches *{each.description}* to {_CLOSE_IN_WORDS}")
            for each in self.mutations[:_MOST_MATCHES]
        ]


_AGREES = OracleMatch(mutations=(), gap=0.0, scenario="plain")


def _matched(trial: LawTrial) -> OracleMatch | None:
    """The layer against the oracle and every mutation of it; None if no oracle can be built."""
    subject = trial.in_float32().subject
    oracle = _oracle(subject)
    if oracle is not None:
        return match_layer(subject, oracle)
    if subject.has("core") and subject.spec.causal is not None and not subject.spec.sink:
        return match_core(subject, Oracle(spec=subject.spec))
    return None


def _oracle(subject: Subject) -> Oracle | None:
    """The oracle of the whole layer, None if something is missing."""
    parts = subject.projections() if subject.has("weights") else None
    return (
        Oracle(spec=subject.spec, parts=parts)
        if parts is not None and undeclared(subject.spec, parts) is None
        else None
    )


def match_layer(subject: Subject, oracle: Oracle) -> OracleMatch | None:
    """Each kind of call that the layer supports, against the oracle and then against every bug that shows in it.

    None if the layer's outputs have another shape.
    """
    for scenario, inputs, found in _calls(subject, oracle.spec):
        wanted = _by_oracle(oracle, inputs, scenario)
        if found.shape != wanted.shape:
            return None
        gap = _gap(found, wanted, inputs)
        if gap > _CLOSE:
            shown_in = "plain" if scenario == "large" else scenario
            errors = {
                mutation: _gap(found, output, inputs)
                for mutation in all_mutations()
                if mutation.scenario == shown_in and (output := _output(mutation, oracle, inputs)) is not None
            }
            return OracleMatch(mutations=_nearest(errors), gap=gap, scenario=scenario)
    return _AGREES


def _calls(subject: Subject, spec: Spec) -> Iterator[tuple[Scenario, AttentionInputs, np.ndarray]]:
    """What the layer gives in each kind of call that it supports."""
    length = max(_LENGTH, min((spec.window or 0) + 3, _LONGEST))
    length = min(length, spec.max_positions or length)
    x = np.random.default_rng(_SEED).standard_normal((2, length, spec.width)).astype(dtype_of(spec.dtype))
    yield "plain", AttentionInputs.of(x), subject.call(x)
    # Padded calls are given positions too, so that a bug of given positions shows in both.
    places = np.cumsum(np.random.default_rng(_SEED).integers(1, 4, size=x.shape[:2]), axis=1)
    if subject.has("positions") and spec.window is None and places.max() < (spec.max_positions or np.inf):
        yield "gaps", AttentionInputs.of(x, None, places), subject.call(x, positions=places)
    if subject.has("mask"):
        mask = np.arange(length)[None, :] >= np.array([[1], [3]])
        given = {"positions": real_positions(mask)} if subject.has("positions") else {}
        yield "padded", AttentionInputs.of(x, mask), subject.call(x, mask=mask, **given)
    if subject.has("cache"):
        for scenario in ("cached", "chunked"):
            yield scenario, AttentionInputs.of(x), decode(subject, x, chunks_of(scenario, length))
    yield "large", AttentionInputs.of(_LARGE * x), subject.call((_LARGE * x).astype(x.dtype))


def _by_oracle(oracle: Oracle, inputs: AttentionInputs, scenario: Scenario) -> np.ndarray:
    if scenario in ("cached", "chunked"):
        return decoded(oracle, inputs, chunks_of(scenario, inputs.mask.shape[1]))
    return oracle.output(inputs)


def _output(mutation: Mutation, oracle: Oracle, inputs: AttentionInputs) -> np.ndarray | None:
    with np.errstate(all="ignore"):
        return mutation.output(oracle, inputs)


def _nearest(errors: Mapping[Mutation, float]) -> tuple[Mutation, ...]:
    """The mutations that match, nearest first; almost equally near ones stay in the order of the list."""
    close = [mutation for mutation, error in errors.items() if error <= _CLOSE]
    return tuple(sorted(close, key=lambda mutation: round(errors[mutation] / _CLOSE, 2)))


def _gap(found: np.ndarray, wanted: np.ndarray, inputs: AttentionInputs) -> float:
    """The largest difference at real tokens that see something, relative to the largest number there.

    Infinite if the shapes differ or fewer than half of the tokens can be compared.
    """
    if found.shape != wanted.shape:
        return float("inf")
    real = inputs.mask & np.isfinite(wanted).all(axis=-1)
    if 2 * real.sum() < inputs.mask.sum() or not np.isfinite(found[real].astype(np.float64)).all():
        return float("inf")
    largest = float(np.abs(wanted[real]).max())
    gap = float(np.abs(found[real].astype(np.float64) - wanted[real]).max())
    return gap / largest if largest > 0 else (0.0 if gap == 0 else float("inf"))


def match_core(subject: Subject, oracle: Oracle) -> OracleMatch:
    """The same for attention on random heads, where only bugs of its own stages can be recognized."""
    spec, rng = oracle.spec, np.random.default_rng(_SEED)
    shape = (2, spec.num_heads, _LENGTH, spec.head_width)
    shared = (2, spec.num_kv_heads or 1, _LENGTH, spec.head_width)
    q, k, v = (rng.standard_normal(each).astype(dtype_of(spec.dtype)) for each in (shape, shared, shared))
    found = subject.core(q, k, v, **({"causal": True} if spec.causal else {})).astype(np.float64)
    q, k, v = (each.astype(np.float64) for each in (q, k, v))
    bare = oracle.changed(window=None, positions="none")
    inputs = AttentionInputs.of(np.zeros((2, _LENGTH, 1)))

    def gap(one: Oracle) -> float:
        wanted = one.core(q, k, v, one.visible(one, inputs))
        ours, theirs = (np.moveaxis(each, 1, 2).reshape(2, _LENGTH, -1) for each in (found, wanted))
        return _gap(ours, theirs, inputs)

    usual = gap(bare)
    if usual <= _CLOSE:
        return _AGREES
    changed = {each: each.change(bare) for each in all_mutations() if each.change is not None}
    errors = {mutation: gap(other) for mutation, other in changed.items() if other is not None}
    return OracleMatch(mutations=_nearest(errors), gap=usual, scenario="plain")


def _by_probing(trial: LawTrial) -> Iterator[Diagnosis]:
    """What probing finds, where the spec declares something else."""
    spec = trial.spec
    found = infer(trial.subject).found
    wanted = spec.scale if spec.scale is not None else spec.head_width**-0.5
    if "scale" in found and not np.isclose(found["scale"], wanted, rtol=1e-3):
        yield Diagnosis("scale", f"logits are {found['scale']:.4g} q·k, but {wanted:.4g} is declared")
    softcap = found.get("softcap")
    if "scale" in found and softcap != spec.softcap and not _is_near(softcap, spec.softcap):
        yield Diagnosis("sink/softcap", f"the softcap is {softcap}, but {spec.softcap} is declared")
    if found.get("sink") and not spec.sink:
        yield Diagnosis("softmax", "the weights sum to less than one")
    yield from _of_sinks(trial, found)
    yield from _of_positions(spec, found)
    group = spec.num_heads // (spec.num_kv_heads or 1)
    usual = tuple(head // group for head in range(spec.num_heads))
    if "scale" in found and "key_heads" in found and found["key_heads"] != usual:
        yield Diagnosis("kv-heads", f"heads use the key heads {list(found['key_heads'])}")


def _is_near(found: float | None, declared: float | None) -> bool:
    return found is not None and declared is not None and bool(np.isclose(found, declared, rtol=1e-2))


def _of_sinks(trial: LawTrial, found: Mapping[str, Any]) -> Iterator[Diagnosis]:
    """Sinks read off the weights that are not those of the layer."""
    parts = trial.subject.projections() if trial.spec.sink and trial.subject.has("weights") else None
    declared = None if parts is None else (parts.extra or {}).get("sinks")
    if declared is None or "scale" not in found:
        return
    sinks = found.get("sinks")
    if sinks is None:
        yield Diagnosis("sink/softcap", "the weights sum to one, but a sink is declared")
    elif not np.allclose(sinks, np.asarray(declared, dtype=np.float64), atol=_SAME_SINK):
        logits = ", ".join(f"{value:.3g}" for value in sinks)
        yield Diagnosis("sink/softcap", f"the sinks have the logits {logits}, which are not the layer's")


def _of_positions(spec: Spec, found: Mapping[str, Any]) -> Iterator[Diagnosis]:
    kind = found.get("positions")
    if None not in (kind, spec.positions) and kind not in ("relative", spec.positions):
        kinds = (kind, spec.positions)
        family = "alibi" if "alibi" in kinds and "rotary" not in kinds else "rotary"
        yield Diagnosis(family, f"positions look like {kind}, but {spec.positions} is declared")
        return
    if kind == "rotary":
        width = None if spec.rotary_width == spec.head_width else spec.rotary_width
        if spec.frequencies is not None and "rates" in found:
            for number, (value, wanted) in enumerate(zip(found["rates"], spec.frequencies, strict=False)):
                if abs(value - wanted) > _SAME_RATE * wanted:
                    text = f"pair {number} rotates by {value:.4g} per position, but {wanted:.4g} is declared"
                    yield Diagnosis("rotary", text)
            return
        declared = {"layout": spec.rotary_layout, "width": width, "base": spec.rotary_base}
        for name, wanted in declared.items():
            value = found.get(f"rotary_{name}", wanted)
            if value != wanted and not (name == "base" and abs(value / spec.rotary_base - 1) < _SAME_BASE):
                yield Diagnosis("rotary", f"the {name} is {value}, but {wanted} is declared")
    if "slopes" in found and not np.allclose(found["slopes"], alibi_slopes(spec.num_heads), rtol=1e-2, atol=1e-5):
        yield Diagnosis("alibi", "the slopes are not ALiBi's")
