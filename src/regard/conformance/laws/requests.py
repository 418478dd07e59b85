"""A request does not depend on other requests."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from regard.conformance.law import Comparisons, Diagnosis, Law, LawTrial, distance
from regard.conformance.probing import grid_positions
from regard.conformance.reference_decoder import PlacedTokens, ReferenceDecoder, decoder_subject

_DECODED = 3
_KEPT = Diagnosis("state", "something of an earlier request is kept outside the cache, such as its offset")
_SHARED = Diagnosis("state", "requests that take turns share something outside their caches")

Turn = Callable[[], None]


class _Request:
    """A prompt, with positions if the layer's have several axes, and then tokens one by one."""

    def __init__(self, trial: LawTrial, x: np.ndarray, *, is_placed: bool) -> None:
        self.trial, self.x = trial, x
        axes, num_prompt = trial.spec.position_axes, x.shape[1] - _DECODED
        self.options: dict[str, Any] = {}
        if is_placed and trial.subject.has("axes"):
            self.options["positions"] = grid_positions(axes, x.shape[0], num_prompt)
        self.outputs: list[np.ndarray] = []
        self.cache = trial.subject.empty_cache(x.shape[0])
        self.num_prompt = num_prompt

    def turns(self) -> list[Turn]:
        """The prompt, and each token after it."""
        return [lambda: self._step(0, self.num_prompt, **self.options)] + [
            lambda at=at: self._step(at, at + 1) for at in range(self.num_prompt, self.x.shape[1])
        ]

    def _step(self, start: int, end: int, **options: Any) -> None:
        y, self.cache = self.trial.subject.step(self.x[:, start:end], self.cache, **options)
        self.outputs.append(y)

    def output(self) -> np.ndarray:
        """All outputs so far."""
        return np.concatenate(self.outputs, axis=1)


def _run(*turns: Sequence[Turn]) -> None:
    """The requests in turns, each as long as it has tokens."""
    for number in range(max(map(len, turns))):
        for each in turns:
            if number < len(each):
                each[number]()


def _compare(trial: LawTrial) -> Comparisons:
    """A request alone, again after another one, and in turns with one; requests of text after others as well.

    A layer that keeps its only cache in buffers of its own takes no turns.
    """
    if trial.size.length < _DECODED + 3:
        return
    x, other = trial.inputs(), trial.inputs("other", length=trial.size.length - 1)
    for is_placed in (True, False) if trial.subject.has("axes") else (True,):
        first, second, third, rival, last = (
            _Request(trial, tokens, is_placed=placed)
            for tokens, placed in ((x, is_placed), (other, True), (x, is_placed), (other, True), (x, is_placed))
        )
        _run(first.turns())
        _run(second.turns())
        _run(third.turns())
        y = first.output()
        control = distance(second.output(), y[:, :-1])
        place = {"prompt": first.num_prompt, "other prompt": second.num_prompt}
        shown = {"control": control, "place": place}
        what = "a request changes after another one"
        yield trial.compared(what, third.output(), y, suggests=(_KEPT,), **shown)
        if trial.subject.cache_limits.is_single:
            continue
        _run(last.turns(), rival.turns())
        what = "a request changes when it takes turns with another one"
        yield trial.compared(what, last.output(), y, suggests=(_SHARED,), **shown)


class _SharedOffset(ReferenceDecoder):
    offset = np.zeros(1, dtype=int)

    def next_positions(self, cache: PlacedTokens | None, batch: int, count: int) -> np.ndarray:
        if cache is not None:
            start = cache.x.shape[1] + np.resize(self.offset, batch)
            return np.broadcast_to(start[:, None] + np.arange(count), (self.axes, batch, count))
        return super().next_positions(cache, batch, count)

    def __call__(
        self, x: np.ndarray, positions: np.ndarray | None = None, cache: PlacedTokens | None = None
    ) -> tuple[np.ndarray, PlacedTokens]:
        if cache is None:
            self.offset = np.zeros(1, dtype=int) if positions is None else positions.max(axis=(0, 2)) + 1 - x.shape[1]
        return super().__call__(x, positions, cache)


LAW = Law(
    id="REQUESTS",
    statement="a request gives the same outputs alone, after another request and in turns with one",
    family="state",
    rank=30,
    needs=("cache",),
    compare=_compare,
    diagnosed_by="suspects",
    broken_example=lambda: decoder_subject(_SharedOffset(axes=3), "the offset of the last prompt, kept on the model"),
    suspects=(_KEPT, _SHARED),
)
