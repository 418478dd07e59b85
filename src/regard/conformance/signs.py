"""What the way in which a law fails says about the bug, one function a law."""

from collections.abc import Callable, Sequence

import numpy as np

from regard.conformance.law import Comparison, Law, LawTrial, distance

FAMILY_OF_LAW = {
    "ALIGN": "mask",
    "BATCH": "batch",
    "CACHE": "cache",
    "CACHEPAD": "cache",
    "CACHEPURE": "in-place",
    "CAUSAL": "mask",
    "CONST": "softmax",
    "DET": "dropout",
    "DTYPE": "shape",
    "EMPTY": "padding",
    "GAP": "positions",
    "GRAD": "gradient",
    "JUNK": "padding",
    "LAYOUT": "shape",
    "MASKFORCE": "mask",
    "ONES": "mask",
    "OVERFLOW": "softmax",
    "PACK": "mask",
    "PAD": "padding",
    "PATH": "path",
    "PERM": "heads",
    "POSLIVE": "positions",
    "PREC": "precision",
    "PREFIX": "mask",
    "PURE": "in-place",
    "RATES": "rotary",
    "ROWSUM": "softmax",
    "SHIFT": "rotary",
    "SLOPES": "alibi",
    "SMOOTH": "precision",
    "SPEC": "projection",
    "SUPPORT": "mask",
}


def has_signs(law: Law) -> bool:
    """True if the way in which this law fails is read."""
    return law.id in _SIGNS


def signs_of(law: Law, trial: LawTrial, findings: Sequence[Comparison]) -> tuple[str, ...]:
    """What the failures of this law at its full size point at, the likeliest first."""
    broken = [finding for finding in findings if finding.is_broken]
    return tuple(_SIGNS[law.id](trial, broken)) if broken else ()


def _of_align(trial: LawTrial, broken: list[Comparison]) -> list[str]:
    del trial
    if all("ignored" in finding.signature for finding in broken):
        is_of_padding = broken[0].signature["ignored"] == "mask"
        return [
            "padding: a mask is ignored where attention is causal"
            if is_of_padding
            else "mask: attention is not causal where there is a mask"
        ]
    found = next((finding.signature.get("matches") for finding in broken if finding.signature.get("matches")), None)
    return [f"mask: queries are aligned to the {found.replace('-', ' ')}"] if found else []


def _of_causal(trial: LawTrial, broken: list[Comparison]) -> list[str]:
    ahead = {step for finding in broken for step in finding.signature.get("ahead", ())}
    if trial.spec.positions is None and not ahead:
        return []
    if ahead == {1}:
        return ["mask: one key ahead is visible"]
    inputs = {finding.signature.get("input"): len(finding.signature.get("leaking", ())) for finding in broken}
    if all(place is not None and count == place for place, count in inputs.items()):
        return ["mask: every earlier output moves, so there is no causal mask"]
    return ["mask: some earlier outputs move"]


def _of_support(trial: LawTrial, broken: list[Comparison]) -> list[str]:
    window = trial.spec.window
    extra, missing = _offsets(broken, "extra"), _offsets(broken, "missing")
    lines = []
    if any(offset < 0 for offset in extra) and trial.spec.causal:
        lines.append("mask: keys ahead are visible")
    if missing == {0} or (0 in missing and len(missing) <= 2):
        lines.append("mask: the diagonal is excluded")
    if window is not None:
        lines += _of_window(window, {abs(each) for each in extra}, {abs(each) for each in missing})
    if missing and not lines:
        lines.append("mask: some keys are never seen")
    return lines or ["mask: the set of visible keys is not the declared one"]


def _of_window(window: int, extra: set[int], missing: set[int]) -> list[str]:
    if extra == {window}:
        return ["window: one key too many (W+1)"]
    if extra and min(extra) == window:
        return ["window: it is ignored" if not missing else "window: other keys than the declared are seen"]
    if missing == {window - 1} and not extra:
        return ["window: one key too few (W−1)"]
    if missing and max(missing) == window - 1:
        return ["window: it is too narrow"]
    return []


def _offsets(broken: list[Comparison], name: str) -> set[int]:
    found: set[int] = set()
    for finding in broken:
        for offsets in finding.signature.get(name, {}).values():
            found.update(offsets)
    return found


def _of_const(trial: LawTrial, broken: list[Comparison]) -> list[str]:
    """Turned values leave a causal first output as that of the token alone; shares that do not add up change it too."""
    x = trial.inputs()
    y = trial.subject.call(np.ascontiguousarray(np.broadcast_to(x[:, :1], x.shape)))
    alone = trial.subject.call(x[:, :1])
    is_turned = trial.spec.positions == "rotary" and not trial.spec.causal
    if distance(y[:, :1], alone) > broken[0].tolerance and not is_turned:
        return ["softmax: the weights of a row do not sum to one", "mask: it is applied after the softmax"]
    if trial.spec.positions == "rotary":
        return ["rotary: values are turned too"]
    return ["heads: heads and positions are mixed by a reshape", "positions: they enter the values"]


def _of_perm(trial: LawTrial, broken: list[Comparison]) -> list[str]:
    del broken
    x = trial.inputs()
    later = x.copy()
    later[:, -1] += 1
    if distance(trial.subject.call(later)[:, 0], trial.subject.call(x)[:, 0]) == 0:
        return ["mask: a causal mask is left on"]
    return ["heads: heads are reshaped without a transpose", "positions: a position code is left on"]


def _of_prefix(trial: LawTrial, broken: list[Comparison]) -> list[str]:
    first = [finding for finding in broken if 0 in finding.signature.get("moved", ())]
    if trial.spec.causal and not first:
        return ["scale: it depends on the length", "softmax: it is taken over the wrong axis"]
    return ["mask: the first output changes with the length", "softmax: it is taken over the wrong axis"]


def _of_pad(trial: LawTrial, broken: list[Comparison]) -> list[str]:
    sides = {finding.signature.get("side") for finding in broken}
    rows = {finding.signature.get("row") for finding in broken}
    if rows and 0 not in rows:
        return ["padding: the first row's mask is used for all"]
    if sides == {"left"} and trial.spec.positions not in (None, "none"):
        return ["padding: positions are not shifted past the padding", "positions: they count the padding"]
    return ["padding: the mask is ignored or inverted"]


def _of_ones(trial: LawTrial, broken: list[Comparison]) -> list[str]:
    forms = {finding.signature.get("form") for finding in broken}
    if trial.spec.causal and len(forms) != 1:
        return ["mask: a given mask replaces the causal one"]
    return [
        "padding: one form of the mask is read in another convention"
        if len(forms) == 1
        else "padding: the branch with a mask differs"
    ]


def _of_shift(trial: LawTrial, broken: list[Comparison]) -> list[str]:
    errors = broken[0].signature.get("errors", {})
    stirred = broken[0].signature.get("stirred", 0.0)
    near = min(errors, default=1)
    if errors and errors[near] < 0.05 * stirred and max(errors.values()) > 4 * errors[near]:
        return ["precision: the error grows with the shift, so angles are formed in low precision"]
    if trial.spec.positions == "alibi":
        return ["alibi: logits depend on more than distances"]
    return ["rotary: queries and keys are not turned alike"]


def _of_gap(trial: LawTrial, broken: list[Comparison]) -> list[str]:
    del trial
    rows = np.array([finding.signature.get("rows", [np.inf]) for finding in broken if "rows" in finding.signature])
    if all(finding.signature.get("is_deaf") for finding in broken):
        return ["positions: the positions given are ignored"]
    tolerance = max(finding.tolerance for finding in broken)
    if rows.size and rows.shape[1] > 1 and (rows[:, 0] <= tolerance).all():
        return ["positions: the first row's positions are used for all"]
    return ["positions: the positions given are not those used"]


def _of_poslive(trial: LawTrial, broken: list[Comparison]) -> list[str]:
    kind = {"rotary": "rotary", "alibi": "alibi"}.get(trial.spec.positions or "", "positions")
    if all(finding.signature.get("is_partly") for finding in broken):
        return [f"{kind}: some positions are the same"]
    return [f"{kind}: the position code is never applied", "positions: all positions are the same"]


def _of_cache(trial: LawTrial, broken: list[Comparison]) -> list[str]:
    window = trial.spec.window
    chunkings = [finding.signature.get("chunks", ()) for finding in broken]
    firsts = [finding.signature.get("first") for finding in broken]
    if chunkings and not any(set(chunks) == {1} for chunks in chunkings):
        return ["cache: the causal mask of a chunk is aligned to the wrong key"]
    if window is not None and all(first is not None and first >= window - 1 for first in firsts):
        return ["cache: the window is counted wrongly"]
    if trial.spec.positions == "none":
        return ["cache: tokens of the past are lost or hidden"]
    return ["cache: position offset of cached tokens", "cache: cached keys are turned again"]


def _of_cachepad(trial: LawTrial, broken: list[Comparison]) -> list[str]:
    del trial, broken
    return ["cache: the padding mask is dropped at decode", "padding: positions at decode count the padding"]


def _of_cachepure(trial: LawTrial, broken: list[Comparison]) -> list[str]:
    del trial
    uses = " ".join(str(finding.signature.get("use", "")) for finding in broken)
    if "order" in uses or "crop" in uses:
        return ["cache: a part of it is not reordered or cropped", "in-place: the cache is updated in place"]
    return ["in-place: the cache is updated in place"]


def _of_maskforce(trial: LawTrial, broken: list[Comparison]) -> list[str]:
    del trial
    kinds = {str(finding.signature.get("mask", "")) for finding in broken}
    family = "padding" if kinds and not any("causal" in kind.lower() for kind in kinds) else "mask"
    return [f"{family}: the mask constant is finite and too small"]


def _of_rowsum(trial: LawTrial, broken: list[Comparison]) -> list[str]:
    x = trial.inputs()
    first, again = trial.subject.call_with_weights(x), trial.subject.call_with_weights(x)
    if distance(first[1], again[1]) > 0:
        return ["dropout: the weights change from call to call"]
    sums = [finding.signature["sums"] for finding in broken if "sums" in finding.signature]
    if sums and max(top for _, top in sums) < 1 - 1e-3:
        return ["softmax: weights sum to less than one", "sink/softcap: a sink that is not declared takes a share"]
    return ["softmax: the weights returned are not those used"]


def _of_prec(trial: LawTrial, broken: list[Comparison]) -> list[str]:
    del trial
    if all(finding.signature.get("start") for finding in broken):
        return ["precision: only far positions are inexact, so angles are formed in half precision"]
    return ["precision: sums are formed in half precision"]


def _of_dtype(trial: LawTrial, broken: list[Comparison]) -> list[str]:
    del trial
    faults = " ".join(str(finding.signature.get("fault", "")) for finding in broken)
    is_cast = "for an input of" in faults
    return ["precision: the output has another dtype" if is_cast else "shape: the output has another shape"]


_SIGNS: dict[str, Callable[[LawTrial, list[Comparison]], list[str]]] = {
    "ALIGN": _of_align,
    "CACHE": _of_cache,
    "CACHEPAD": _of_cachepad,
    "CACHEPURE": _of_cachepure,
    "CAUSAL": _of_causal,
    "CONST": _of_const,
    "DTYPE": _of_dtype,
    "GAP": _of_gap,
    "MASKFORCE": _of_maskforce,
    "ONES": _of_ones,
    "PAD": _of_pad,
    "PERM": _of_perm,
    "POSLIVE": _of_poslive,
    "PREC": _of_prec,
    "PREFIX": _of_prefix,
    "ROWSUM": _of_rowsum,
    "SHIFT": _of_shift,
    "SUPPORT": _of_support,
}
