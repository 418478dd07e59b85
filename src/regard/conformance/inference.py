"""What a layer is, found by calling it: causality, window, scale, softcap, positions, key heads and sinks."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from regard.conformance import weight_reading
from regard.conformance.law import distance, dtype_of
from regard.conformance.subject import LayerFinding, Spec, Subject
from regard.conformance.verdict import error_line
from regard.conformance.weight_reading import LogitFit, RotaryFit, WeightReader, WeightReading, pairs_needed, reader_of
from regard.positions.alibi import alibi_slopes

_LENGTHS = (24, 160)
_SHORT, _MANY = 12, 65
_SEED = 7
_FAR = 1_000_000
_GAPS = (1, 7, 50, 400)
_LARGE = 6.0
_PAIRS = 64
_EXPLAINED = 1e-2
# A distant cap bends ratios by less than this.
_EXACT = 1e-4
_FLAT = 1e-4
_ROUND = 3e-5
_NO_MIXTURE = ("scale, softcap, positions and sinks", "the outputs are not mixtures of the values of two tokens")


@dataclass(frozen=True, kw_only=True)
class Inferred:
    """What probing found: changes to the spec, how each is known, and what it could not find.

    A value that the spec declares already is never among the changes; if it is contradicted, a finding says so. `found`
    holds everything, including `slopes`, `sinks` and `key_heads`, which are not part of a spec.
    """

    found: Mapping[str, Any]
    changes: Mapping[str, Any]
    findings: tuple[LayerFinding, ...]


@dataclass(kw_only=True)
class _Notes:
    """What has been found so far, why it is believed, and what could not be found."""

    found: dict[str, Any] = field(default_factory=dict)
    findings: list[LayerFinding] = field(default_factory=list)

    def add(self, name: str, value: Any, why: str, *, is_unusual: bool = False) -> None:
        """A value of the spec."""
        self.found[name] = value
        self.findings.append(LayerFinding(name=name, value=value, how=why, kind="unusual" if is_unusual else "found"))

    def remark(self, name: str, what: str) -> None:
        """Something that most layers do otherwise."""
        self.findings.append(LayerFinding(name=name, how=what, kind="unusual"))

    def drop(self, name: str) -> None:
        """Nothing is said about this value after all."""
        self.found.pop(name, None)
        self.findings = [each for each in self.findings if each.name != name]

    def lacks(self, name: str, why: str) -> None:
        """Something that could not be found."""
        self.findings.append(LayerFinding(name=name, how=why, kind="not found"))


def infer(subject: Subject) -> Inferred:
    """Everything that calls reveal about this layer."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        notes = _from_calls(subject)
        is_converted = subject.has("float64") and subject.spec.dtype != "float64"
        wide = subject.converted("float64") if is_converted else subject
        reader = reader_of(wide)
        if reader is None:
            notes.lacks(
                "scale, softcap, rotary layout, ALiBi slopes, key-value heads and sinks",
                "they are read from the weights or the bare q, k, v function of a single layer with heads wider than 2",
            )
        else:
            try:
                _from_weights(notes, wide, reader)
            except Exception as error:  # noqa: BLE001 - what a layer raises for inputs made up to probe it is no failure
                notes.lacks(_NO_MIXTURE[0], f"a call that reads weights raises {error_line(error)}")
        return _settled(subject.spec, notes)


def _settled(spec: Spec, notes: _Notes) -> Inferred:
    """The changes among what was found, and a line for each declaration that it contradicts."""
    defaults = {field.name: field.default for field in fields(Spec)}
    defaults["num_kv_heads"] = spec.num_heads
    changes, findings = {}, list(notes.findings)
    for name, value in notes.found.items():
        if name not in defaults:
            continue
        declared = getattr(spec, name)
        if declared == defaults[name] or declared is None:
            changes[name] = value
        elif declared != value and not (isinstance(value, float) and np.isclose(value, declared, rtol=1e-3)):
            how = f"declared to be {declared}, but {value} was found"
            findings.append(LayerFinding(name=name, how=how, kind="unusual"))
    return Inferred(found=dict(notes.found), changes=changes, findings=tuple(findings))


# What plain calls reveal: which inputs move which outputs, and whether order matters.


def _from_calls(subject: Subject) -> _Notes:
    notes, spec = _Notes(), subject.spec
    length = min(_LENGTHS[0], spec.max_positions or _LENGTHS[0])
    try:
        first = _moved(subject, length, [0])[0]
    except Exception as error:  # noqa: BLE001 - a layer may raise anything for lengths that it does not take
        notes.lacks("causality, window and positions", f"an input of length {length} raises {error_line(error)}")
        return notes
    if not first.any():
        notes.lacks("causality, window and positions", "the outputs do not change with the inputs")
        return notes
    ahead = _moved(subject, length, [length // 2, length - 1])
    short = min(_SHORT, length)
    # Every place, since a prefix or a block may be open to later tokens while the rest is causal.
    moved = np.array(_moved(subject, short, list(range(short)))).T  # [output, input]
    leaks = ahead[0][: length // 2].any() or ahead[1][: length - 1].any() or np.triu(moved, 1).any()
    if leaks:
        _find_reach_ahead(notes, moved)
    else:
        notes.add("causal", True, f"no output of {length} changes with a later input")
    _find_window(notes, subject)
    _find_order(notes, subject, is_causal=not leaks)
    return notes


def _find_reach_ahead(notes: _Notes, moved: np.ndarray) -> None:
    """Not causal only if outputs see everything, or as far ahead as back: a spec can name no other mask."""
    length = len(moved)
    gaps = np.abs(np.subtract.outer(np.arange(length), np.arange(length)))
    if np.array_equal(moved, gaps <= gaps[moved].max(initial=0)):
        notes.add("causal", False, "an output changes with a later input")
        return
    aheads = [int(np.flatnonzero(row)[-1]) - place if row.any() else 0 for place, row in enumerate(moved)]
    if not moved[np.tril_indices(length)].all():
        counts = moved.sum(axis=1)
        seen = f"of {length} inputs the outputs see {counts.min()} to {counts.max()}"
    elif len(set(aheads[: length - max(aheads)])) == 1:
        seen = f"every output sees {max(aheads)} token{'' if max(aheads) == 1 else 's'} ahead"
    else:
        seen = f"the outputs see {aheads} tokens ahead"
    notes.remark("causal", f"neither causal nor open to all tokens: {seen}; declare causal or support")


def _moved(subject: Subject, length: int, places: list[int]) -> list[np.ndarray]:
    """By place, which outputs change with the input there; the changes are large, so that small weights count."""
    rng, dtype = np.random.default_rng(_SEED), dtype_of(subject.spec.dtype)
    x = rng.standard_normal((3, length, subject.spec.width)).astype(dtype)
    y = subject.call(x)
    found = []
    for place in places:
        changed = x.copy()
        changed[:, place] += (3 * rng.standard_normal(changed[:, place].shape)).astype(dtype)
        moved = subject.call(changed)
        found.append(np.array([distance(moved[:, i], y[:, i]) > 0 for i in range(length)]))
    return found


def _find_window(notes: _Notes, subject: Subject) -> None:
    """How far the influence of an input reaches, if it ends before the input does."""
    spec = subject.spec
    for length in dict.fromkeys(min(size, spec.max_positions or size) for size in _LENGTHS):
        places = [0, length // 4, length // 3]
        try:
            found = _moved(subject, length, places)
        except Exception:  # noqa: BLE001 - a layer may raise anything for lengths that it does not take
            notes.lacks("window", f"inputs of length {length} raise an error")
            return
        reaches = [
            int(np.flatnonzero(moved)[-1]) - place + 1
            for place, moved in zip(places, found, strict=True)
            if moved.any()
        ]
        if len(reaches) == len(places) and max(reaches) < length - max(places):
            if len(set(reaches)) > 1 or (reaches[0] - 1) % spec.depth:
                notes.drop("causal")
                seen = f"inputs change {', '.join(map(str, reaches))} outputs, which no window explains"
                notes.remark("causal", f"neither causal nor a window: {seen}; declare support")
                return
            window = (reaches[0] - 1) // spec.depth + 1
            notes.add("window", window, f"an input changes {reaches[0]} outputs, from its own on, and no others")
            return
    notes.lacks("window", f"none below {length}; longer ones were not tried")


def _find_order(notes: _Notes, subject: Subject, *, is_causal: bool) -> None:
    """Whether positions matter at all, and whether only distances do."""
    spec, dtype = subject.spec, dtype_of(subject.spec.dtype)
    window = notes.found.get("window", 3)
    if window < 3 or (spec.max_positions or 3) < 3:
        notes.lacks("positions", "a token sees too few others to swap two of them")
        return
    x = np.random.default_rng(_SEED).standard_normal((2, 3, spec.width)).astype(dtype)
    y, swapped = subject.call(x)[:, 2], subject.call(x[:, [1, 0, 2]])[:, 2]
    size = float(np.abs(y.astype(np.float64)).max())
    is_still = distance(y, swapped) <= 1e-5 * size
    if is_still and not is_causal and window == 3 and not _is_order_free(subject):
        notes.lacks("positions", "swapping two of three tokens changes nothing, but shuffling more of them does")
        return
    if is_still and (spec.depth == 1 or not is_causal):
        notes.add("positions", "none", "swapping two earlier tokens changes nothing")
        alone, repeated = subject.call(x[:, :1])[:, 0], subject.call(x[:, [0, 0, 0]])[:, 2]
        can_repeat = not is_causal and window == 3 and (spec.max_positions or 6) >= 6
        twice = subject.call(x[:, [0, 1, 2, 0, 1, 2]])[:, -1] if can_repeat else y
        if not max(distance(alone, repeated), distance(twice, y)) <= _FLAT * size:
            why = "tokens repeated give other outputs than once, as with keys that belong to no token"
            notes.add("sink", True, why, is_unusual=True)
    elif not is_still and spec.depth > 1 and is_causal:
        notes.lacks("positions", "several causal layers distinguish the order of tokens without a position code")
    elif not is_still:
        _find_code(notes, subject, x, size)


def _is_order_free(subject: Subject) -> bool:
    """True if outputs follow their inputs in another order of many tokens, as hashes, buckets and routes do not."""
    rng, limit = np.random.default_rng(_SEED), subject.spec.max_positions
    for length in dict.fromkeys(min(size, limit or size) for size in (_SHORT, _MANY)):
        x = rng.standard_normal((2, length, subject.spec.width)).astype(dtype_of(subject.spec.dtype))
        order, y = rng.permutation(length), subject.call(x)
        if distance(subject.call(x[:, order]), y[:, order]) > 1e-4 * float(np.abs(y.astype(np.float64)).max()):
            return False
    return True


def _find_code(notes: _Notes, subject: Subject, x: np.ndarray, size: float) -> None:
    """Absolute or relative, and falling with distance or not."""
    if not subject.has("positions"):
        notes.lacks("positions", "order matters, but the layer takes no positions to find out how")
        return
    places = np.broadcast_to(np.arange(3), x.shape[:2])
    usual, later = subject.call(x, positions=places), subject.call(x, positions=places + 2)
    if distance(usual, later) > 1e-3 * size:
        notes.lacks("positions", "they are absolute, learned or sinusoidal, which calls cannot distinguish")
        return
    if subject.spec.max_positions is not None:
        notes.lacks("positions", "only distances matter, but there are too few to tell slopes from rotations")
        return
    far = subject.call(x[:, :2], positions=np.broadcast_to(np.array([0, _FAR]), (len(x), 2)))[:, 1]
    alone = subject.call(x[:, 1:2])[:, 0]
    if distance(far, alone) <= 1e-5 * size:
        notes.add("positions", "alibi", "only distances matter, and a distant token has no weight")
    else:
        notes.add("positions", "relative", "only distances matter, and a distant token keeps its weight")


# What the attention weights of pairs of tokens reveal.


def _from_weights(notes: _Notes, subject: Subject, reader: WeightReader) -> None:
    are_apart = not reader.has_gaps and notes.found.get("positions") != "none"
    together = 0 if reader.has_gaps else None
    reading = reader.read(reader.draw(pairs_needed(subject.spec.head_width) if are_apart else _PAIRS), together)
    if not reading.is_clear:
        notes.lacks(*_NO_MIXTURE)
        return
    key_heads = weight_reading.fit_key_heads(reading)
    if are_apart:
        _from_neighbours(notes, subject, reading, key_heads)
        return
    fit = weight_reading.fit_logits(
        reading, reader.read(reader.draw(_PAIRS, factor=_LARGE, is_near=True), together), key_heads
    )
    if not fit.left < _EXPLAINED:
        notes.lacks("scale and softcap", "no scale and cap explain the weights")
        return
    _add_heads(notes, reading, key_heads)
    _add_scale(notes, subject.spec, fit)
    sinks = weight_reading.fit_sinks(reading, fit, key_heads)
    if sinks is not None:
        notes.add("sink", True, f"weights sum to less than one: sink logits {_numbers(sinks)}")
        notes.found["sinks"] = tuple(sinks.tolist())
    _find_positions(notes, subject, reader, fit, key_heads)


def _ignores_hidden_prefix(subject: Subject) -> bool:
    """True if hidden tokens before a row leave its outputs alone, or none can be hidden to find out."""
    if not subject.has("mask"):
        return True
    rng, dtype = np.random.default_rng(_SEED), dtype_of(subject.spec.dtype)
    x = rng.standard_normal((2, 5, subject.spec.width)).astype(dtype)
    mask = np.broadcast_to(np.arange(5) > 1, x.shape[:2]).copy()
    y = subject.call(x[:, 2:])
    return distance(subject.call(x, mask=mask)[:, 2:], y) <= 1e-4 * float(np.abs(y.astype(np.float64)).max())


def _from_neighbours(notes: _Notes, subject: Subject, reading: WeightReading, key_heads: np.ndarray) -> None:
    """The same if tokens cannot be put at one position: the first is always one before the second."""
    spec = subject.spec
    notes.lacks("softcap", "the layer takes no positions, so two tokens cannot share one")
    scale, losses, left = weight_reading.fit_scale_and_slopes(reading, key_heads)
    if left < _EXACT:
        _add_heads(notes, reading, key_heads)
        _add_scale(notes, spec, LogitFit(scale=scale, softcap=None, left=left))
        _add_slopes(notes, losses)
        if notes.found.get("positions") == "relative" and not _ignores_hidden_prefix(subject):
            notes.drop("positions")
            notes.lacks("positions", "a bias depends on where two tokens are, and not only on their distance")
        return
    found = weight_reading.fit_scale_and_rotation(reading, key_heads)
    if found is None:
        notes.lacks("scale and positions", "neither slopes nor rotations explain the weights of neighbours")
        return
    _add_heads(notes, reading, key_heads)
    _add_scale(notes, spec, LogitFit(scale=found[0], softcap=None, left=0.0))
    _add_rotation(notes, spec, found[1])


def _add_scale(notes: _Notes, spec: Spec, fit: LogitFit) -> None:
    """Scale and softcap, as the round numbers that they equal up to rounding."""
    usual = (spec.head_width**-0.5, 1 / spec.head_width, spec.width**-0.5)
    scale = next((size for size in usual if abs(fit.scale / size - 1) < _ROUND), _rounded(fit.scale))
    is_usual = scale == usual[0]
    known = "" if is_usual else f"; usually 1/√{spec.head_width} = {usual[0]:.6g}"
    notes.add("scale", scale, f"logits are {fit.scale:.6g} q·k{known}", is_unusual=not is_usual)
    if fit.softcap is not None:
        notes.add("softcap", _rounded(fit.softcap), f"logits saturate at {fit.softcap:.6g}")


def _rounded(value: float, within: float = _ROUND) -> float:
    """The nearest number of three digits if rounding explains the difference, else the value itself."""
    short = float(f"{value:.3g}")
    return short if abs(value / short - 1) < within else value


def _add_heads(notes: _Notes, reading: WeightReading, key_heads: np.ndarray) -> None:
    """Which key head each head uses."""
    num_heads, num_shared = len(key_heads), reading.pairs.keys.shape[1]
    notes.add("num_kv_heads", num_shared, f"there are {num_shared} key heads for {num_heads} heads")
    notes.found["key_heads"] = tuple(key_heads.tolist())
    group = num_heads // num_shared
    repeated, tiled = np.arange(num_heads) // group, np.arange(num_heads) % num_shared
    if not np.array_equal(key_heads, reading.value_map):
        used = f"keys of heads {key_heads.tolist()}, but values of {reading.value_map.tolist()}"
        notes.remark("heads", f"they use {used}")
    elif num_shared > 1 and np.array_equal(key_heads, tiled) and not np.array_equal(tiled, repeated):
        notes.remark("key heads", f"they are tiled, {key_heads.tolist()}; grouped attention repeats them")
    elif not np.array_equal(key_heads, repeated):
        notes.remark("key heads", f"heads use {key_heads.tolist()}, an unusual order")


def _find_positions(
    notes: _Notes, subject: Subject, reader: WeightReader, fit: LogitFit, key_heads: np.ndarray
) -> None:
    """None, slopes or rotations, by what a gap between two tokens changes."""
    if not reader.has_gaps:
        return
    if not reader.is_placed:
        notes.lacks("rotary layout, width and base, ALiBi slopes", "the q, k, v function takes no positions")
        return
    limit = subject.spec.max_positions
    tokens = reader.draw(max(pairs_needed(subject.spec.head_width), _PAIRS))
    readings = {gap: reader.read(tokens, gap) for gap in _GAPS if limit is None or gap < limit}
    slopes, spread = weight_reading.fit_slopes(readings[1], fit, key_heads)
    if spread < _EXPLAINED:
        _add_slopes(notes, slopes)
    else:
        _add_rotation(notes, subject.spec, weight_reading.fit_rotation(readings, fit, key_heads))


def _add_slopes(notes: _Notes, slopes: np.ndarray) -> None:
    if np.abs(slopes).max() < _FLAT:
        notes.add("positions", "none", "a gap between two tokens changes no weight")
        return
    usual = alibi_slopes(len(slopes))
    is_usual = np.allclose(slopes, usual, rtol=1e-3, atol=1e-6)
    notes.found["slopes"] = tuple(slopes.tolist())
    if is_usual:
        notes.add("positions", "alibi", f"logits fall with distance by {_numbers(slopes)} per head, as in ALiBi")
    else:
        why = f"logits change with distance by {_numbers(-slopes)} per head; ALiBi has {_numbers(-usual)}"
        notes.add("positions", "relative", why)


def _add_rotation(notes: _Notes, spec: Spec, fit: RotaryFit | None) -> None:
    if fit is None:
        notes.lacks("positions", "a gap between two tokens changes the weights like no rotary layout or slope")
        return
    notes.add("positions", "rotary", f"pairs of coordinates rotate by {_numbers(fit.frequencies)} per position")
    notes.found["rates"] = tuple(fit.frequencies.tolist())
    notes.add("rotary_layout", fit.layout, f"pairs are {fit.layout}")
    width = None if fit.width == spec.head_width else fit.width
    notes.add("rotary_width", width, f"{fit.width} of {spec.head_width} coordinates rotate")
    if fit.is_backward:
        notes.remark("rotary", "pairs rotate backward: the sine has the opposite of the usual sign")
    if fit.base is not None:
        notes.add("rotary_base", _rounded(fit.base, 10 * _ROUND), f"frequencies are {fit.base:.6g}^(−2i/d)")
    else:
        notes.lacks("rotary_base", "the frequencies are too few, or not of the form B^(−2i/d): declare `frequencies`")


def _numbers(values: np.ndarray) -> str:
    return "(" + ", ".join(f"{value:.4g}" for value in values) + ")"
