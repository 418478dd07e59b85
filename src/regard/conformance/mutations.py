"""All suspected bugs, and which of them a layer's outputs look like."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from regard.conformance import mutated_calls, mutated_heads, mutated_masks, mutated_scores, mutated_turns
from regard.conformance.law import dtype_of
from regard.conformance.mutation import Mutation, Scenario
from regard.conformance.oracle import Asked, Oracle
from regard.conformance.subject import Subject

MUTATIONS: tuple[Mutation, ...] = (
    *mutated_masks.MUTATIONS,
    *mutated_scores.MUTATIONS,
    *mutated_turns.MUTATIONS,
    *mutated_heads.MUTATIONS,
    *mutated_calls.MUTATIONS,
)

# A match is this close, relative to the largest output.
CLOSE = 2e-3
_LENGTH = 9
_LONGEST = 48
_LOUD = 8.0
_SEED = 11


@dataclass(frozen=True, kw_only=True)
class Match:
    """A bug whose oracle gives what the layer gives, and how near."""

    mutation: Mutation
    error: float


@dataclass(frozen=True, kw_only=True)
class Compared:
    """The bugs that explain the first kind of call in which layer and oracle differ, and how far they are apart there.

    No match and a gap of zero say that all kinds of call are as they should be.
    """

    matches: tuple[Match, ...]
    gap: float
    scenario: Scenario


def matches_of_layer(subject: Subject, oracle: Oracle) -> Compared:
    """Each kind of call that the layer has, against the oracle and then against every bug that shows in it."""
    for scenario, (asked, found) in _answers(subject, oracle).items():
        wanted = _by_oracle(oracle, asked, scenario)
        gap = _gap(found, wanted, asked)
        if gap > CLOSE:
            return Compared(matches=_near(found, asked, oracle, scenario), gap=gap, scenario=scenario)
    return Compared(matches=(), gap=0.0, scenario="plain")


def _answers(subject: Subject, oracle: Oracle) -> Mapping[Scenario, tuple[Asked, np.ndarray]]:
    """What the layer gives in each kind of call that it has."""
    spec = oracle.spec
    length = max(_LENGTH, min((spec.window or 0) + 3, _LONGEST))
    length = min(length, spec.max_positions or length)
    x = np.random.default_rng(_SEED).standard_normal((2, length, spec.width)).astype(dtype_of(spec.dtype))
    answers: dict[Scenario, tuple[Asked, np.ndarray]] = {"plain": (Asked.all(x), subject.call(x))}
    if subject.has("mask"):
        mask = np.arange(length)[None, :] >= np.array([[1], [3]])
        places = np.maximum(np.cumsum(mask, axis=1) - 1, 0)
        given = {"positions": places} if subject.has("positions") else {}
        answers["padded"] = (Asked.all(x, mask), subject.call(x, mask=mask, **given))
    if subject.has("positions") and spec.window is None and spec.max_positions is None:
        places = np.cumsum(np.random.default_rng(_SEED).integers(1, 4, size=x.shape[:2]), axis=1)
        answers["gaps"] = (Asked.all(x, None, places), subject.call(x, positions=places))
    if subject.has("cache"):
        for scenario in ("cached", "chunked"):
            answers[scenario] = (Asked.all(x), _stepped(subject, x, mutated_calls.sizes_of(scenario, length)))
    answers["loud"] = (Asked.all(_LOUD * x), subject.call((_LOUD * x).astype(x.dtype)))
    return answers


def _stepped(subject: Subject, x: np.ndarray, sizes: list[int]) -> np.ndarray:
    cache, outputs, start = subject.empty_cache(x.shape[0]), [], 0
    for size in sizes:
        y, cache = subject.step(x[:, start : start + size], cache)
        outputs.append(y)
        start += size
    return np.concatenate(outputs, axis=1)


def _by_oracle(oracle: Oracle, asked: Asked, scenario: Scenario) -> np.ndarray:
    if scenario in ("cached", "chunked"):
        return mutated_calls.decoded(oracle, asked, mutated_calls.sizes_of(scenario, asked.mask.shape[1]))
    return oracle.output(asked)


def _near(found: np.ndarray, asked: Asked, oracle: Oracle, scenario: Scenario) -> tuple[Match, ...]:
    """The bugs of this kind of call whose outputs are the layer's, the nearest first."""
    matches = []
    for mutation in MUTATIONS:
        if mutation.scenario != ("plain" if scenario == "loud" else scenario):
            continue
        with np.errstate(all="ignore"):
            told = mutation.answer(oracle, asked)
        error = np.inf if told is None or told.shape != found.shape else _gap(found, told, asked)
        if error <= CLOSE:
            matches.append(Match(mutation=mutation, error=error))
    return _nearest_first(matches)


def _nearest_first(matches: list[Match]) -> tuple[Match, ...]:
    """In order of nearness, of which hundredths are told apart; equals stay in the catalogue's order."""
    return tuple(sorted(matches, key=lambda match: round(match.error / CLOSE, 2)))


def _gap(found: np.ndarray, told: np.ndarray, asked: Asked) -> float:
    """The largest difference at real tokens that see something, relative to the largest number there.

    Infinite if fewer than half of the tokens can be compared.
    """
    real = asked.mask & np.isfinite(told).all(axis=-1)
    if 2 * real.sum() < asked.mask.sum() or not np.isfinite(found[real].astype(np.float64)).all():
        return float("inf")
    largest = float(np.abs(told[real]).max())
    gap = float(np.abs(found[real].astype(np.float64) - told[real]).max())
    return gap / largest if largest > 0 else (0.0 if gap == 0 else float("inf"))


def matches_of_core(subject: Subject, oracle: Oracle) -> Compared:
    """The same for attention on drawn heads, where only bugs of its own stages can be told."""
    spec, rng = oracle.spec, np.random.default_rng(_SEED)
    shape = (2, spec.num_heads, _LENGTH, spec.head_width)
    shared = (2, spec.num_kv_heads or 1, _LENGTH, spec.head_width)
    q, k, v = (rng.standard_normal(each).astype(dtype_of(spec.dtype)) for each in (shape, shared, shared))
    found = subject.core(q, k, v, **({"causal": True} if spec.causal else {})).astype(np.float64)
    q, k, v = (each.astype(np.float64) for each in (q, k, v))
    bare = oracle.changed(window=None, positions="none")
    asked = Asked.all(np.zeros((2, _LENGTH, 1)))

    def gap(one: Oracle) -> float:
        told = one.core(q, k, v, one.visible(one, asked))
        return _gap(
            np.moveaxis(found, 1, 2).reshape(2, _LENGTH, -1), np.moveaxis(told, 1, 2).reshape(2, _LENGTH, -1), asked
        )

    usual = gap(bare)
    if usual <= CLOSE:
        return Compared(matches=(), gap=0.0, scenario="plain")
    matches = []
    for mutation in MUTATIONS:
        changed = mutation.change(bare) if mutation.change is not None else None
        if changed is not None and (error := gap(changed)) <= CLOSE:
            matches.append(Match(mutation=mutation, error=error))
    return Compared(matches=_nearest_first(matches), gap=usual, scenario="plain")
