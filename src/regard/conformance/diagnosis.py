"""Which bug a failure looks like: by oracles with one bug each, by what probing finds, and by how the law fails.

Every line begins with the family of the bug, one of FAMILIES.
"""

import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from regard.conformance.inference import infer
from regard.conformance.law import Comparison, Law, LawTrial
from regard.conformance.mutation import FAMILIES
from regard.conformance.mutations import CLOSE, Compared, matches_of_core, matches_of_layer
from regard.conformance.oracle import Oracle, undeclared
from regard.conformance.rounding import widest_subject
from regard.conformance.signs import FAMILY_OF_LAW, has_signs, signs_of
from regard.conformance.subject import Spec
from regard.positions.alibi import alibi_slopes

_Result = TypeVar("_Result")

_MOST_MATCHES = 3
_MOST_LINES = 6
_SAME_BASE = 2e-3
_SAME_SINK = 1e-2

# Words of suspects that tell their family where a law's own would be too coarse, the first that is found counts.
_FAMILY_OF_WORD = {
    "dropout": "dropout",
    "in place": "in-place",
    "in-place": "in-place",
    "detach": "gradient",
    "backward": "gradient",
    "dtype": "precision",
    "precision": "precision",
    "window": "window",
    "cache": "cache",
    "decode": "cache",
    "scale": "scale",
    "turned": "rotary",
    "rotat": "rotary",
    "slopes": "alibi",
    "padding": "padding",
    "row 0's mask": "padding",
    "transpose": "heads",
    "position": "positions",
    "softmax": "softmax",
    "sink": "sink/softcap",
    "mask": "mask",
    "diagonal": "mask",
    "batch": "batch",
    "contiguous": "shape",
    "squeezed": "shape",
    "length": "shape",
    "path": "path",
}
# Laws whose failure is the diagnosis: what probing finds in such a layer means nothing.
_SAYS_ENOUGH = ("BATCH", "DET", "LAYOUT", "PURE")
# Laws that tell more by how they fail than probing does.
_ABOUT_MASKS = ("CAUSAL", "SUPPORT", "JUNK", "PAD", "ONES", "MASKFORCE")
_ABOUT_ONE_THING = {
    "SMOOTH": "precision: something inside is rounded to half precision",
    "SHIFT": "rotary: queries and keys are not turned alike",
    "RATES": "rotary: the rates of turning are not the declared ones",
    "SLOPES": "alibi: shares do not fall with distance as declared",
}
_UNEXPLAINED = ("projection: the weights are read, split or combined in another way",)
_OF_ONE_FAMILY = ("ALIGN", "BATCH", "DET", "LAYOUT", "PACK", "PURE")
_OF_SCENARIO = {
    "plain": None,
    "padded": "padding: the layer leaves the oracle where there is padding",
    "gaps": "positions: the layer leaves the oracle where positions are given",
    "cached": "cache: the layer leaves the oracle where there is a cache",
    "chunked": "cache: the layer leaves the oracle where several tokens follow a cache",
    "loud": "softmax: the layer leaves the oracle where logits are large",
}


def diagnose(law: Law, trial: LawTrial, finding: Comparison) -> tuple[str, ...]:
    """Probable bugs, the likeliest first, each with its family before a colon."""
    usual = [f"{family_of(law.id, suspect)}: {_bare(suspect)}" for suspect in law.suspects]
    if law.id in _SAYS_ENOUGH:
        return tuple(usual[:_MOST_LINES])
    compared: Compared | None = _quietly(lambda: _compared(trial), None)
    is_off = compared is not None and compared.gap > 0 and compared.scenario == "plain"
    lines: list[str] = [] if compared is None else _of_matches(compared)
    probed = _quietly(lambda: _by_probing(trial), []) if is_off and not lines else []
    signs = _quietly(lambda: _signs(law, trial, finding), [])
    lines += [*signs, *probed] if law.id in _ABOUT_MASKS else [*probed, *signs]
    if law.id == "PATH" and not is_off:
        lines = [*usual, *lines]
    if law.id == "SPEC" and not lines:
        lines += _by_other_laws(trial) if is_off else []
        usual = [*_UNEXPLAINED, *usual] if is_off else usual
    if compared is not None and not compared.matches:
        lines += _of_gap(law, compared)
    return tuple(dict.fromkeys([*lines, *usual]))[:_MOST_LINES]


def _by_other_laws(trial: LawTrial) -> list[str]:
    """What laws about one thing say where no oracle with a bug is the layer's."""
    from regard.conformance import all_laws
    from regard.conformance.judging import judge

    laws = all_laws()
    told = {name: _quietly(lambda name=name: judge(laws[name], trial.subject).outcome, "") for name in _ABOUT_ONE_THING}
    return [_ABOUT_ONE_THING[name] for name, outcome in told.items() if outcome == "refuted"]


def family_of(law: str, words: str) -> str:
    """The family that a line names, or that its words and its law point at.

    >>> family_of("CAUSAL", "window: one key too many (W+1)"), family_of("PAD", "the mask is inverted")
    ('window', 'padding')
    """
    named = words.partition(":")[0]
    if named in FAMILIES:
        return named
    own = FAMILY_OF_LAW.get(law, "mask")
    if law in _OF_ONE_FAMILY:
        return own
    for word, family in _FAMILY_OF_WORD.items():
        if re.search(rf"\b{re.escape(word)}", words):
            return own if family == "mask" and own in ("padding", "cache") else family
    return own


def _bare(words: str) -> str:
    named, _, rest = words.partition(":")
    return rest.strip() if named in FAMILIES else words


def _quietly(work: Callable[[], _Result], otherwise: _Result) -> _Result:
    """The result of a probe; a layer that raises in one has just not been diagnosed by it."""
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            return work()
    except Exception:  # noqa: BLE001 - a broken layer may raise anything, and a diagnosis is never worth a crash
        return otherwise


def _compared(trial: LawTrial) -> Compared | None:
    """The layer beside every oracle with a bug; None where no oracle can be built."""
    subject = widest_subject(trial).subject
    parts = subject.projections() if subject.has("weights") else None
    if parts is not None and undeclared(subject.spec, parts) is None:
        return matches_of_layer(subject, Oracle(spec=subject.spec, parts=parts))
    if subject.has("core") and subject.spec.causal is not None and not subject.spec.sink:
        return matches_of_core(subject, Oracle(spec=subject.spec))
    return None


def _of_matches(compared: Compared) -> list[str]:
    return [
        f"{match.mutation.family}: matches *{match.mutation.words}* to {CLOSE:.0e}".replace("e-03", "e-3")
        for match in compared.matches[:_MOST_MATCHES]
    ]


def _of_gap(law: Law, compared: Compared) -> list[str]:
    """What is left to say where no oracle matches."""
    hint = _OF_SCENARIO[compared.scenario]
    if compared.gap > 0:
        return [] if hint is None else [hint]
    if law.id == "SPEC":
        return [f"precision: the layer is within {CLOSE} of the oracle, but not within rounding"]
    return []


def _signs(law: Law, trial: LawTrial, finding: Comparison) -> list[str]:
    return list(signs_of(law, trial, _at_full_size(law, trial, finding))) if has_signs(law) else []


def _at_full_size(law: Law, trial: LawTrial, finding: Comparison) -> list[Comparison]:
    """All findings before the counterexample was made small, or that one alone if they cannot be had."""
    full = replace(trial, size=law.size_for(trial.spec))
    found = _quietly(lambda: list(law.compare(full)), [])
    return found if any(each.is_broken for each in found) else [finding]


def _by_probing(trial: LawTrial) -> list[str]:
    """Where what is found by probing is not what is declared."""
    spec = trial.spec
    found = infer(trial.subject).found
    lines = []
    wanted = spec.scale if spec.scale is not None else spec.head_width**-0.5
    if "scale" in found and not np.isclose(found["scale"], wanted, rtol=1e-3):
        lines.append(f"scale: logits are {found['scale']:.4g} q·k, and {wanted:.4g} is declared")
    if "scale" in found and found.get("softcap") != spec.softcap and not _is_near(found.get("softcap"), spec.softcap):
        lines.append(f"sink/softcap: a softcap of {found.get('softcap')} is found, and {spec.softcap} is declared")
    if found.get("sink") and not spec.sink:
        lines.append("softmax: the weights sum to less than one")
    return lines + _of_sinks(trial, found) + _of_positions(spec, found) + _of_heads(spec, found)


def _of_sinks(trial: LawTrial, found: Mapping[str, Any]) -> list[str]:
    """Sinks that are read off the weights, where they are not those that the layer has."""
    parts = trial.subject.projections() if trial.spec.sink and trial.subject.has("weights") else None
    declared = None if parts is None else (parts.extra or {}).get("sinks")
    if declared is None or "scale" not in found:
        return []
    read = found.get("sinks")
    if read is None:
        return ["sink/softcap: the weights sum to one, and a sink is declared"]
    is_same = np.allclose(read, np.asarray(declared, dtype=np.float64), atol=_SAME_SINK)
    told = ", ".join(f"{value:.3g}" for value in read)
    return [] if is_same else [f"sink/softcap: the sinks have the logits {told}, which are not the layer's"]


def _is_near(found: float | None, declared: float | None) -> bool:
    return found is not None and declared is not None and bool(np.isclose(found, declared, rtol=1e-2))


def _of_positions(spec: Spec, found: Mapping[str, Any]) -> list[str]:
    kind = found.get("positions")
    if None not in (kind, spec.positions) and kind not in ("relative", spec.positions):
        family = "alibi" if "alibi" in (kind, spec.positions) and "rotary" not in (kind, spec.positions) else "rotary"
        return [f"{family}: positions look like {kind}, and {spec.positions} is declared"]
    lines = []
    if kind == "rotary":
        width = None if spec.rotary_width == spec.head_width else spec.rotary_width
        declared = {"layout": spec.rotary_layout, "width": width, "base": spec.rotary_base}
        for name, wanted in declared.items():
            value = found.get(f"rotary_{name}", wanted)
            if value != wanted and not (name == "base" and abs(value / spec.rotary_base - 1) < _SAME_BASE):
                lines.append(f"rotary: the {name} is {value}, and {wanted} is declared")
    if "slopes" in found and not np.allclose(found["slopes"], alibi_slopes(spec.num_heads), rtol=1e-2, atol=1e-5):
        lines.append("alibi: the slopes are not ALiBi's")
    return lines


def _of_heads(spec: Spec, found: Mapping[str, Any]) -> list[str]:
    group = spec.num_heads // (spec.num_kv_heads or 1)
    usual = tuple(head // group for head in range(spec.num_heads))
    if "scale" in found and "key_heads" in found and found["key_heads"] != usual:
        return [f"kv-heads: heads use the key heads {list(found['key_heads'])}"]
    return []
