"""Gradients of packed sequences are those of each alone."""

from typing import Any

import numpy as np

from regard.conformance.adapters.kernels import VarlenKernel
from regard.conformance.kernel_cases import LARGE, TokenSequence, oracle_of
from regard.conformance.law import (
    Comparison,
    Comparisons,
    Diagnosis,
    InputSize,
    Law,
    LawTrial,
    NotTried,
    Spec,
    distance,
)
from regard.conformance.laws._varlen import draw_documents, mixed_lengths, packed
from regard.conformance.oracle import Oracle
from regard.conformance.reference_kernels import varlen

_SLACK = 2
_BACKWARD = Diagnosis("gradient", "the backward pass is wrong")
_PACKED = Diagnosis("varlen", "the backward pass mixes sequences, or their offsets")
_REST = Diagnosis("varlen", "rows after the last offset get a gradient, or gradients that were never written")


def _compare(trial: LawTrial) -> Comparisons:
    """Of q, k and v, against the formula in float64: one sequence, several, and several with rows after them."""
    sequences = draw_documents(trial, "gradient", mixed_lengths(trial))
    longest = max(sequences, key=lambda each: each.num_keys)
    yield from _compared(trial, [longest], "one sequence", _BACKWARD)
    yield from _compared(trial, sequences, "packed sequences", _PACKED)
    try:
        yield from _compared(trial, sequences, "packed sequences with rows after the last offset", _REST, slack=_SLACK)
    except Exception:  # noqa: BLE001 - such rows need not be supported
        return


def _compared(
    trial: LawTrial, sequences: list[TokenSequence], case: str, bug: Diagnosis, slack: int = 0
) -> Comparisons:
    arguments = packed(trial, sequences, slack=slack, fill=1.0)
    direction = trial.rng("direction").standard_normal(arguments[0].shape).astype(trial.dtype)
    direction[len(direction) - slack :] = 0
    try:
        found = trial.subject.run_kernel("gradient", *arguments[:3], direction, *arguments[3:])
    except NotImplementedError as error:
        raise NotTried(f"the kernel has no gradients: {error}") from error
    wanted = _gradients(trial, sequences, direction[: len(direction) - slack])
    for name, ours, theirs in zip("qkv", found, wanted, strict=True):
        full = np.concatenate([theirs, np.zeros((slack, *theirs.shape[1:]))])
        yield Comparison(
            what=f"the gradient of {name} is wrong ({case})",
            error=distance(ours, full),
            tolerance=trial.work_tolerance(theirs, LARGE),
            place={"lengths": [each.num_keys for each in sequences]},
            suggests=(bug,),
        )


def _gradients(trial: LawTrial, sequences: list[TokenSequence], direction: np.ndarray) -> list[np.ndarray]:
    """∂⟨direction, out⟩ by all queries, keys and values, sequence by sequence."""
    ends = np.cumsum([each.num_queries for each in sequences])
    parts = zip(sequences, np.split(direction.astype(np.float64), ends[:-1]), strict=True)
    return [np.concatenate(each) for each in zip(*(_gradient(oracle_of(trial), *part) for part in parts), strict=True)]


def _gradient(oracle: Oracle, sequence: TokenSequence, direction: np.ndarray) -> tuple[np.ndarray, ...]:
    """By queries, keys and values, with weights a, logits z = s q·k and D the direction.

    ∂v = aᵀD,  ∂z = a (D vᵀ − Σ a D vᵀ),  ∂q = s ∂z k,  ∂k = s ∂zᵀ q
    """
    q, k, v, along = (np.moveaxis(x, 0, 1).astype(np.float64) for x in (sequence.q, sequence.k, sequence.v, direction))
    group = len(q) // len(k)
    keys, values = (np.repeat(x, group, axis=0) for x in (k, v))
    weights = oracle.softmax(oracle, oracle.score(oracle, q, keys, None)[None], sequence.visible(oracle)[:, None])[0]
    by_weight = along @ values.swapaxes(1, 2)
    by_logit = oracle.scale * weights * (by_weight - (weights * by_weight).sum(axis=-1, keepdims=True))
    shared = (len(k), group, *k.shape[1:])
    by_key, by_value = (x.swapaxes(1, 2) @ y for x, y in ((by_logit, q), (weights, along)))
    gradients = by_logit @ keys, by_key.reshape(shared).sum(axis=1), by_value.reshape(shared).sum(axis=1)
    return tuple(np.moveaxis(x, 0, 1) for x in gradients)


def _applies(spec: Spec) -> str | None:
    return None if spec.softcap is None else "only without a softcap"


class _DirectionAsGradient(VarlenKernel):
    """Its backward pass treats attention as if each query saw its own value alone."""

    def run_gradient(self, q: np.ndarray, k: np.ndarray, v: np.ndarray, direction: np.ndarray, *_: Any) -> Any:
        del q
        summed = direction.reshape(len(v), v.shape[1], -1, v.shape[2]).sum(axis=2)
        return direction * 0, k * 0, summed


LAW = Law(
    id="VARLENGRAD",
    statement="gradients of packed sequences are those of each alone, and zero in rows after the last offset",
    family="gradient",
    rank=490,
    needs=("varlen",),
    applies=_applies,
    compare=_compare,
    diagnosed_by="suspects",
    broken_example=lambda: _DirectionAsGradient(varlen, framework="numpy"),
    suspects=(_BACKWARD, _PACKED, _REST),
    size=InputSize(batch=5, length=12),
    grade="spec",
)
