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
from regard.conformance.size_diagnosis import diagnose_size, is_wrong_when_short
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
# The kinds of calls in which bugs of a capability show.
_SHOWN_WITH: Mapping[str, tuple[Scenario, ...]] = {
    "mask": ("padded",),
    "cache": ("cached", "chunked"),
    "positions": ("gaps",),
}
_SCENARIOS: tuple[Scenario, ...] = ("plain", "gaps", "padded", "cached", "chunked", "large")
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
        oracle = _oracle(trial.subject)
        short = replace(trial, size=law.size_for(trial.spec))
        if oracle is None or not _quietly(lambda: is_wrong_when_short(short, oracle), False):
            found = _quietly(lambda: list(diagnose_size(law, trial, oracle)), [])
            return tuple(dict.fromkeys([*found, *law.usual_bugs]))[:_MOST_BUGS]
        trial = short
    signs = _quietly(lambda: _signs(law, trial, comparison), [])
    if law.diagnosed_by == "suspects":
        return tuple(dict.fromkeys([*signs, *law.usual_bugs]))[:_MOST_BUGS]
    matches = _own_first(law, _quietly(lambda: _matched(trial), ()))
    match = matches[0] if matches else None
    is_off = match is not None and match.gap > 0 and match.scenario == "plain"
    bugs = [bug for each in matches for bug in each.diagnoses()]
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


def explained(subject: Subject) -> tuple[Diagnosis, ...]:
    """Bugs with which the oracle would give the outputs of plain calls, the likeliest first; often there are none."""
    matches = _quietly(lambda: _matched(LawTrial(subject=subject)), ())
    return tuple(bug for each in matches if each.scenario == "plain" for bug in each.diagnoses())


def _quietly(work: Callable[[], _Result], otherwise: _Result) -> _Result:
    """The result of a probe; if the layer raises, the probe finds nothing."""
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            return work()
    except Exception:  # noqa: BLE001 - a broken layer may raise anything, and a diagnosis must not crash
        return otherwise


def _own_first(law: Law, matches: tuple["OracleMatch", ...]) -> tuple["OracleMatch", ...]:
    """Of several bugs, the one that shows in the kind of call that the law is about comes first."""
    own = {scenario for need in law.needs for scenario in _SHOWN_WITH.get(need, ())}
    return tuple(sorted(matches, key=lambda match: match.scenario not in own)) if own else matches


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
    """A kind of call in which layer and oracle differ, by how much, and the mutations that explain it.

    A gap of zero says that all kinds of call agree with the oracle. `note` says what distinguishes the first mutation
    from others.
    """

    mutations: tuple[Mutation, ...]
    gap: float
    scenario: Scenario
    note: str = ""

    def diagnoses(self) -> list[Diagnosis]:
        """The mutations that match best."""
        return [
            Diagnosis(
                each.family, f"matches “{each.description}” to {_CLOSE_IN_WORDS}", note="" if place else self.note
            )
            for place, each in enumerate(self.mutations[:_MOST_MATCHES])
        ]


_AGREES = OracleMatch(mutations=(), gap=0.0, scenario="plain")


def _matched(trial: LawTrial) -> tuple[OracleMatch, ...]:
    """The layer against the oracle and every mutation of it; none if no oracle can be built."""
    subject = trial.in_float32().subject
    oracle = _oracle(subject)
    if oracle is not None:
        return match_layer(subject, oracle)
    if subject.has("core") and subject.spec.causal is not None and not subject.spec.sink:
        return (match_core(subject, Oracle(spec=subject.spec)),)
    return ()


def _oracle(subject: Subject) -> Oracle | None:
    """The oracle of the whole layer, None if something is missing."""
    parts = subject.projections() if subject.has("weights") else None
    return (
        Oracle(spec=subject.spec, parts=parts)
        if parts is not None and undeclared(subject.spec, parts) is None
        else None
    )


def match_layer(subject: Subject, oracle: Oracle) -> tuple[OracleMatch, ...]:
    """Each kind of call that the layer supports, against the oracle and then against every bug that shows in it.

    A bug of plain calls that explains them is built into the oracle, so that a second bug is found in other calls; what
    is still unexplained there may follow from the first. None if the layer's outputs have another shape.
    """
    matches: list[OracleMatch] = []
    for scenario in _SCENARIOS:
        called = _called(subject, scenario, _Draw(spec=oracle.spec))
        if called is None:
            continue
        match = _match(subject, oracle, scenario, *called)
        if match is None:
            return ()
        if match.gap <= _CLOSE or (matches and not match.mutations):
            continue
        matches.append(match)
        mutated = match.mutations[0].change(oracle) if match.mutations and match.mutations[0].change else None
        if mutated is None:
            break
        oracle = mutated
    return tuple(matches) or (_AGREES,)


def _match(
    subject: Subject, oracle: Oracle, scenario: Scenario, inputs: AttentionInputs, found: np.ndarray
) -> OracleMatch | None:
    """What explains the outputs of one kind of call; None if they have another shape."""
    wanted = _by_oracle(oracle, inputs, scenario)
    if found.shape != wanted.shape:
        return None
    gap = _gap(found, wanted, inputs)
    if gap <= _CLOSE:
        return OracleMatch(mutations=(), gap=gap, scenario=scenario)
    shown_in = "plain" if scenario == "large" else scenario
    errors = {
        mutation: _gap(found, output, inputs)
        for mutation in all_mutations()
        if mutation.scenario == shown_in and (output := _output(mutation, oracle, inputs)) is not None
    }
    mutations, note = _distinguished(subject, oracle, scenario, _nearest(errors))
    return OracleMatch(mutations=mutations, gap=gap, scenario=scenario, note=note)


@dataclass(frozen=True, kw_only=True)
class _Draw:
    """Random inputs for calls of any kind."""

    spec: Spec
    seed: int = _SEED
    factor: float = 1.0

    def x(self) -> np.ndarray:
        length = max(_LENGTH, min((self.spec.window or 0) + 3, _LONGEST))
        length = min(length, self.spec.max_positions or length)
        x = np.random.default_rng(self.seed).standard_normal((2, length, self.spec.width))
        return (self.factor * x).astype(dtype_of(self.spec.dtype))


# How much larger the inputs are that distinguish bugs which explain the usual inputs equally well.
_PROBES = (4.0, 0.25)


def _distinguished(
    subject: Subject, oracle: Oracle, scenario: Scenario, mutations: tuple[Mutation, ...]
) -> tuple[tuple[Mutation, ...], str]:
    """The mutations that explain the layer on other inputs too, and what distinguishes the first from the others."""
    for seed, factor in enumerate(_PROBES) if len(mutations) > 1 else ():
        called = _called(subject, scenario, _Draw(spec=oracle.spec, seed=_SEED + 1 + seed, factor=factor))
        if called is None:
            continue
        inputs, found = called
        outputs = {each: _output(each, oracle, inputs) for each in mutations}
        gaps = {each: np.inf if output is None else _gap(found, output, inputs) for each, output in outputs.items()}
        kept = tuple(each for each in mutations if gaps[each] <= _CLOSE)
        if kept and len(kept) < len(mutations):
            wrong = next(each for each in mutations if each not in kept)
            return kept, f"inputs {factor:g} times as large rule out “{wrong.description}”"
    others = ", ".join(f"“{each.description}”" for each in mutations[1:_MOST_MATCHES])
    return mutations, f"no input tried distinguishes it from {others}" if others else ""


def _called(subject: Subject, scenario: Scenario, draw: _Draw) -> tuple[AttentionInputs, np.ndarray] | None:
    """The inputs of one kind of call and what the layer gives; None if it does not support such calls."""
    spec, x = draw.spec, draw.x()
    length = x.shape[1]
    match scenario:
        case "plain":
            return AttentionInputs.of(x), subject.call(x)
        case "large":
            return AttentionInputs.of(_LARGE * x), subject.call((_LARGE * x).astype(x.dtype))
        case "gaps":
            places = np.cumsum(np.random.default_rng(draw.seed).integers(1, 4, size=x.shape[:2]), axis=1)
            if subject.has("positions") and spec.window is None and places.max() < (spec.max_positions or np.inf):
                return AttentionInputs.of(x, None, places), subject.call(x, positions=places)
        case "padded":
            # Padded calls are given positions too, so that a bug of given positions shows in both.
            mask = np.arange(length)[None, :] >= np.array([[1], [3]])
            given = {"positions": real_positions(mask)} if subject.has("positions") else {}
            if subject.has("mask"):
                return AttentionInputs.of(x, mask), subject.call(x, mask=mask, **given)
        case "cached" | "chunked":
            if subject.has("cache"):
                return AttentionInputs.of(x), decode(subject, x, chunks_of(scenario, length))
    return None


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
