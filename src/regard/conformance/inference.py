"""What a layer is, found out by calling it: causality, window, scale, softcap, positions, key heads, sinks."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from regard.conformance.fits import Logits, fitted_logits, fitted_slopes, key_map, scale_and_losses, sink_logits
from regard.conformance.readings import WeightReader, WeightReading, read, reader_of
from regard.conformance.seen import Notes, found_by_calls
from regard.conformance.subject import Spec, Subject
from regard.conformance.turning import RotaryFit, fitted_turns, pairs_needed, scale_and_turns
from regard.positions.alibi import alibi_slopes

_GAPS = (1, 7, 50, 400)
_LOUD = 6.0
_PAIRS = 64
_EXPLAINED = 1e-2
# A cap far away bends ratios by less than this.
_EXACT = 1e-4
_FLAT = 1e-4
_ROUND = 3e-5
_NO_MIXTURE = "scale, softcap, positions and sinks: the outputs are not mixtures of the values of two tokens"


@dataclass(frozen=True, kw_only=True)
class Inferred:
    """What probing found: changes to the spec, a line of evidence for each, and a line for what it could not find.

    A value that the spec declares already is never among the changes; if it is contradicted, a line says so. `found`
    has all that was found, `slopes`, `sinks` and `key_heads` too, which no spec has.
    """

    found: Mapping[str, Any]
    changes: Mapping[str, Any]
    evidence: tuple[str, ...]
    unknown: tuple[str, ...]

    def applied(self, subject: Subject) -> Subject:
        """The subject under what was found."""
        return subject.declared(**self.changes)


def infer(subject: Subject) -> Inferred:
    """Everything that calls can tell about this layer; what its numbers do is told in words, not in warnings."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return _inferred(subject)


def _inferred(subject: Subject) -> Inferred:
    notes = found_by_calls(subject)
    wide = _wide(subject)
    reader = reader_of(wide)
    if reader is None:
        notes.miss(
            "scale, softcap, rotary layout, ALiBi slopes, key-value heads and sinks: they are read from weights "
            "or from a core of heads wider than 2, and the layer gives neither for one layer"
        )
    else:
        _read_off(notes, wide, reader)
    return _settled(subject.spec, notes)


def _wide(subject: Subject) -> Subject:
    """The layer in float64 if it can be had so."""
    if subject.spec.dtype == "float64" or not subject.has("float64"):
        return subject
    return subject.in_dtype("float64").declared(dtype="float64")


def _read_off(notes: Notes, subject: Subject, reader: WeightReader) -> None:
    """What the weights of pairs of tokens tell."""
    if not reader.has_gaps and notes.found.get("positions") != "none":
        _read_neighbours(notes, subject, reader)
        return
    together = 0 if reader.has_gaps else None
    still = read(reader.ask(reader.pairs(_PAIRS), together))
    if not still.is_clear:
        notes.miss(_NO_MIXTURE)
        return
    heads_of = key_map(still)
    _tell_heads(notes, still, heads_of)
    near = read(reader.ask(reader.pairs(_PAIRS, loud=_LOUD, is_near=True), together))
    logits = fitted_logits(still, near, heads_of)
    if not logits.left < _EXPLAINED:
        notes.miss("scale and softcap: no scale and cap explains the weights")
        return
    _tell_scale(notes, subject.spec, logits)
    sinks = sink_logits(still, logits, heads_of)
    if sinks is not None:
        notes.find("sink", True, f"weights sum to less than one: sink logits {_numbers(sinks)}")
        notes.found["sinks"] = tuple(sinks.tolist())
    _tell_positions(notes, subject, reader, logits, heads_of)


def _read_neighbours(notes: Notes, subject: Subject, reader: WeightReader) -> None:
    """The same where tokens cannot be held at one position: the first always stands one before the second."""
    reading = read(reader.ask(reader.pairs(pairs_needed(subject.spec.head_width)), None))
    if not reading.is_clear:
        notes.miss(_NO_MIXTURE)
        return
    heads_of = key_map(reading)
    _tell_heads(notes, reading, heads_of)
    notes.miss("softcap: the layer takes no positions to hold two tokens together")
    scale, losses, left = scale_and_losses(reading, heads_of)
    if left < _EXACT:
        _tell_scale(notes, subject.spec, Logits(scale=scale, softcap=None, left=left))
        _tell_slopes(notes, losses)
        return
    found = scale_and_turns(reading, heads_of)
    if found is None:
        notes.miss("scale and positions: neither slopes nor turns explain the weights of neighbours")
        return
    _tell_scale(notes, subject.spec, Logits(scale=found[0], softcap=None, left=0.0))
    _tell_turns(notes, subject.spec, found[1])


def _tell_scale(notes: Notes, spec: Spec, logits: Logits) -> None:
    """Scale and softcap, as the round numbers that they are within rounding of."""
    usual = (spec.head_width**-0.5, 1 / spec.head_width, spec.width**-0.5)
    scale = next((size for size in usual if abs(logits.scale / size - 1) < _ROUND), _rounded(logits.scale))
    notes.find("scale", scale, f"logits are {logits.scale:.6g} q·k")
    if logits.softcap is not None:
        notes.find("softcap", _rounded(logits.softcap), f"logits bend towards {logits.softcap:.6g}")


def _rounded(value: float, within: float = _ROUND) -> float:
    """The number of three digits that rounding may have hidden, else the value itself."""
    short = float(f"{value:.3g}")
    return short if abs(value / short - 1) < within else value


def _tell_heads(notes: Notes, reading: WeightReading, heads_of: np.ndarray) -> None:
    """Which key head each head uses."""
    num_heads, num_shared = len(heads_of), reading.pairs.keys.shape[1]
    notes.find("num_kv_heads", num_shared, f"there are {num_shared} key heads for {num_heads} heads")
    notes.found["key_heads"] = tuple(heads_of.tolist())
    group = num_heads // num_shared
    repeated, tiled = np.arange(num_heads) // group, np.arange(num_heads) % num_shared
    if not np.array_equal(heads_of, reading.value_map):
        notes.tell(f"keys are of heads {heads_of.tolist()}, values of {reading.value_map.tolist()}: these differ")
    elif num_shared > 1 and np.array_equal(heads_of, tiled) and not np.array_equal(tiled, repeated):
        notes.tell(f"key heads are tiled, {heads_of.tolist()}, where grouped attention repeats them")
    elif not np.array_equal(heads_of, repeated):
        notes.tell(f"heads use the key heads {heads_of.tolist()}, an order of their own")
    elif num_shared < num_heads:
        notes.tell(f"heads use the key heads {heads_of.tolist()}")


def _tell_positions(notes: Notes, subject: Subject, reader: WeightReader, logits: Logits, heads_of: np.ndarray) -> None:
    """Nothing, slopes or turns, by what a gap between two tokens changes."""
    if notes.found.get("positions") == "none" and not reader.has_gaps:
        return
    if not reader.has_gaps or not (subject.has("placed") or subject.has("positions")):
        notes.miss("rotary layout, width and base, ALiBi slopes: the layer takes no positions")
        return
    if not subject.has("placed") and not subject.has("weights"):
        notes.miss("rotary layout, width and base, ALiBi slopes: the core takes no positions")
        return
    limit = subject.spec.max_positions
    tokens = reader.pairs(max(pairs_needed(subject.spec.head_width), _PAIRS))
    readings = {gap: read(reader.ask(tokens, gap)) for gap in _GAPS if limit is None or gap < limit}
    slopes, spread = fitted_slopes(readings[1], logits, heads_of, 1)
    if spread < _EXPLAINED:
        _tell_slopes(notes, slopes)
    else:
        _tell_turns(notes, subject.spec, fitted_turns(readings, logits, heads_of))


def _tell_slopes(notes: Notes, slopes: np.ndarray) -> None:
    if np.abs(slopes).max() < _FLAT:
        notes.find("positions", "none", "a gap between two tokens changes no weight")
        return
    usual = alibi_slopes(len(slopes))
    same = np.allclose(slopes, usual, rtol=1e-3, atol=1e-6)
    told = "ALiBi's own" if same else f"where ALiBi has {_numbers(usual)}"
    notes.found["slopes"] = tuple(slopes.tolist())
    notes.find("positions", "alibi", f"logits fall with distance by {_numbers(slopes)} a head, {told}")


def _tell_turns(notes: Notes, spec: Spec, turns: RotaryFit | None) -> None:
    if turns is None:
        notes.miss("positions: a gap between two tokens changes the weights, but no rotary layout or slope explains it")
        return
    notes.find("positions", "rotary", f"pairs of numbers turn by {_numbers(turns.frequencies)} a position")
    notes.find("rotary_layout", turns.layout, f"pairs are {turns.layout}")
    width = None if turns.width == spec.head_width else turns.width
    notes.find("rotary_width", width, f"{turns.width} of {spec.head_width} numbers turn")
    if turns.is_backward:
        notes.tell("pairs turn backward: the sign of the sine is the opposite of the usual")
    if turns.base is not None:
        notes.find("rotary_base", _rounded(turns.base, 10 * _ROUND), f"frequencies are {turns.base:.6g}^(−2i/d)")
    else:
        notes.miss("rotary_base: the frequencies are too few, or not of the form B^(−2i/d)")


def _numbers(values: np.ndarray) -> str:
    return "(" + ", ".join(f"{value:.4g}" for value in values) + ")"


def _settled(spec: Spec, notes: Notes) -> Inferred:
    """The changes among what was found, and a line for each declaration that it contradicts."""
    defaults = {field.name: field.default for field in fields(Spec)}
    defaults["num_kv_heads"] = spec.num_heads
    changes, evidence = {}, list(notes.evidence)
    for name, value in notes.found.items():
        if name not in defaults:
            continue
        declared = getattr(spec, name)
        if declared == defaults[name] or declared is None:
            changes[name] = value
        elif declared != value and not (isinstance(value, float) and np.isclose(value, declared, rtol=1e-3)):
            evidence.append(f"{name} is declared to be {declared}, and {value} was found")
    return Inferred(found=dict(notes.found), changes=changes, evidence=tuple(evidence), unknown=tuple(notes.unknown))
