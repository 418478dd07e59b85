"""Sequences that kernels attend over: what float64 attention gives for each, and which bug explains another output.

Laws of kernels that name an oracle come down to this: one sequence alone, in float64.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from regard.conformance.law import Comparison, Diagnoses, LawTrial, NotTried, distance
from regard.conformance.mutations import all_mutations
from regard.conformance.oracle import AttentionInputs, Oracle
from regard.conformance.verdict import BugFamily, Diagnosis

# Logits of several hundred: exponentials overflow unless the largest is subtracted.
LARGE = 100.0
# A mutation explains an output if it is this close, relative to the largest number.
_CLOSE = 2e-3
# Bugs of attention itself, whatever the function adds to it. Hidden keys are often that addition.
_PLAIN: frozenset[BugFamily] = frozenset({"scale", "kv-heads", "heads", "softmax", "sink/softcap", "window"})
_MASKS: frozenset[BugFamily] = frozenset({"mask"})
# Scales are wrong by powers of two and of the square root of a width.
_FACTORS = tuple(2.0 ** (half / 2) for half in range(-8, 9) if half)
_ROUNDED = Diagnosis("precision", "something is computed or stored in a lower precision")
_OVERFLOW = Diagnosis("softmax", "large logits overflow: the largest is not subtracted")


@dataclass(frozen=True, kw_only=True, eq=False)
class TokenSequence:
    """One sequence: queries [query, head, width], keys and values [key, kv_head, width], and which keys a query sees.

    `places` are those of the queries among the keys, by default the last ones; causality and window go by them.
    `seen` [query, key] says it instead.
    """

    q: np.ndarray
    k: np.ndarray
    v: np.ndarray
    places: np.ndarray | None = None
    seen: np.ndarray | None = None

    @property
    def num_queries(self) -> int:
        """How many queries there are."""
        return len(self.q)

    @property
    def num_keys(self) -> int:
        """How many keys there are."""
        return len(self.k)

    def visible(self, oracle: Oracle) -> np.ndarray:
        """[1, query, key]: what the queries see."""
        if self.seen is not None:
            return self.seen[None]
        empty = np.zeros((1, self.num_keys, 1))
        last = np.arange(self.num_keys - self.num_queries, self.num_keys)
        places = last if self.places is None else self.places
        inputs = replace(AttentionInputs.of(empty), places=np.clip(places, 0, None))
        return oracle.visible(oracle, inputs) & (places >= 0)[None, :, None]

    def attended(self, oracle: Oracle) -> np.ndarray:
        """The oracle's output [query, head, width]; NaN where a query sees nothing."""
        if not (self.num_queries and self.num_keys):
            return np.full((*self.q.shape[:2], self.v.shape[-1]), np.nan)
        q, k, v = (np.moveaxis(each, 0, 1)[None].astype(np.float64) for each in (self.q, self.k, self.v))
        return np.moveaxis(oracle.core(q, k, v, self.visible(oracle))[0], 0, 1)

    def largest_logit(self, oracle: Oracle) -> float:
        """An upper bound of the logits' sizes."""
        q, k = (float(np.linalg.norm(each.astype(np.float64), axis=-1).max(initial=0.0)) for each in (self.q, self.k))
        return abs(oracle.scale) * q * k


def oracle_of(trial: LawTrial) -> Oracle:
    """Attention as the spec declares it, on heads that are projected and rotated already."""
    return Oracle(spec=replace(trial.spec, positions="none", causal=bool(trial.spec.causal)))


def draw_heads(trial: LawTrial, name: str, length: int, num_heads: int | None = None) -> np.ndarray:
    """Standard normal numbers [length, head, width]."""
    shape = (length, num_heads or trial.spec.num_kv_heads or 1, trial.spec.head_width)
    return trial.rng(name).standard_normal(shape).astype(trial.dtype)


def draw_sequence(trial: LawTrial, name: str, num_queries: int, num_keys: int, factor: float = 1.0) -> TokenSequence:
    """A random sequence; queries times a factor make large logits."""
    q = draw_heads(trial, f"{name} q", num_queries, trial.spec.num_heads)
    k, v = (draw_heads(trial, f"{name} {part}", num_keys) for part in "kv")
    return TokenSequence(q=(q * factor).astype(q.dtype), k=k, v=v)


def draw_sequences(
    trial: LawTrial, name: str, lengths: Sequence[int], *, num_queries: int | None = None, factor: float = 1.0
) -> list[TokenSequence]:
    """A random sequence per length, with so many queries each, or one per key."""
    return [
        draw_sequence(trial, f"{name} {row}", length if num_queries is None else num_queries, length, factor)
        for row, length in enumerate(lengths)
    ]


def compare_sequences(
    trial: LawTrial, what: str, found: Sequence[np.ndarray], sequences: Sequence[TokenSequence], **more: Any
) -> Comparison:
    """The outputs for all sequences against the oracle's, those that see nothing left out; the worst is shown."""
    oracle = oracle_of(trial)
    rows = []
    for row, (ours, sequence) in enumerate(zip(found, sequences, strict=True)):
        wanted = sequence.attended(oracle)
        if ours.shape != wanted.shape:
            rows.append((np.inf, row, np.inf, 0.0))
            continue
        real = ~np.isnan(wanted).any(axis=(1, 2))
        tolerance = trial.work_tolerance(wanted[real], sequence.largest_logit(oracle))
        error = distance(ours[real], wanted[real])
        rows.append((error / tolerance, row, error, tolerance))
    _, row, error, tolerance = max(rows, key=lambda each: each[0], default=(0.0, 0, 0.0, 0.0))
    place = {"lengths": [each.num_keys for each in sequences], "sequence": row}
    wrong = [(found[each[1]], sequences[each[1]]) for each in rows if each[0] > 1]
    return Comparison(
        what=what,
        error=error,
        tolerance=tolerance,
        place={**place, **more.pop("place", {})},
        signature={"wrong": wrong, **more.pop("signature", {})},
        **more,
    )


def signs_of_attention(trial: LawTrial, broken: list[Comparison]) -> Diagnoses:
    """The bug of attention that explains every wrong output, if one does."""
    wrong = [pair for each in broken for pair in each.signature.get("wrong", ())][:8]
    if wrong and all(each.signature.get("is_large") for each in broken):
        yield _OVERFLOW
        return
    oracle = oracle_of(trial)
    if wrong and all(_is_near(ours, each.attended(oracle)) for ours, each in wrong):
        yield _ROUNDED
        return
    for factor in _FACTORS:
        other = oracle.changed(scale=oracle.scale * factor)
        if wrong and all(_is_near(ours, each.attended(other)) for ours, each in wrong):
            yield Diagnosis("scale", f"logits are {factor:.3g} times as large as declared")
            return
    families = _PLAIN | (_MASKS if all(sequence.num_queries > 1 for _, sequence in wrong) else set())
    for mutation in all_mutations():
        other = None if mutation.change is None or mutation.family not in families else mutation.change(oracle)
        if wrong and other is not None and all(_is_near(ours, each.attended(other)) for ours, each in wrong):
            yield Diagnosis(mutation.family, f"matches “{mutation.description}”")
            return


def _is_near(found: np.ndarray, wanted: np.ndarray) -> bool:
    largest = float(np.abs(wanted[np.isfinite(wanted)]).max(initial=0.0))
    return distance(found, wanted) <= _CLOSE * largest


def junk_values(trial: LawTrial) -> Iterator[tuple[str, float]]:
    """What unused memory may hold, by name: large numbers, and NaN unless the kernel relies on finite memory."""
    yield "large numbers", 1e3 if trial.is_half_precision else 1e4
    if trial.subject.traits.garbage == "any":
        yield "NaN", np.nan


def unless_it_raises(work: Callable[[], Any], reason: str, *, is_declared: bool = False) -> Any:
    """The result of a call that a kernel need not support; the law is not tried where it raises, unless declared."""
    try:
        return work()
    except Exception as error:
        if is_declared:
            raise
        raise NotTried(f"the kernel raises {type(error).__name__} for {reason}") from error
