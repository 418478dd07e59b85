"""The tokens that the predictions of a step are held against: some, in place of a large vocabulary."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from regard.core.axes import Float, Int
from regard.training.data.encoding import Lesson
from regard.training.data.packing import Row

Tokens = Int[np.ndarray, " token"]

# Eighths of a shortlist: so much of it is common, and so much is drawn at least; what is asked for has the rest.
_COMMON, _DRAWN = 5, 1


@dataclass(frozen=True, kw_only=True, eq=False)
class Shortlist:
    """Tokens in order, and the logarithm of how many each of them stands for.

    With that added to the scores, the mean of Σ e^score over all draws is the sum over the whole vocabulary.
    """

    tokens: Tokens
    log_counts: Float[np.ndarray, " token"]

    def places(self, tokens: Int[np.ndarray, " _"]) -> Int[np.ndarray, " _"]:
        """Where tokens stand in it, which must be there."""
        found = np.searchsorted(self.tokens, tokens)
        assert np.array_equal(self.tokens[np.minimum(found, len(self.tokens) - 1)], tokens), "a token is not listed"
        return found


class Shortlists:
    """Makes a shortlist for each step: the commonest tokens, those that the step asks for, and a draw of the rest.

    A shortlist has `size` tokens, or more if more are asked for.
    """

    def __init__(self, lessons: Sequence[Lesson], *, vocab_size: int, size: int) -> None:
        self._size = size
        said = [lesson.body for lesson in lessons]
        said += [asking.answer for lesson in lessons for asking in lesson.askings]
        counts = np.bincount(np.concatenate(said), minlength=vocab_size)
        rank = np.empty(vocab_size, dtype=np.int64)
        rank[np.argsort(-counts, kind="stable")] = np.arange(vocab_size)
        self._is_common = rank < (size if size == vocab_size else size * _COMMON // 8)

    def draw(self, rows: Iterable[Row], rng: np.random.Generator) -> Shortlist:
        """A shortlist for a step with these rows."""
        is_in = self._is_common.copy()
        for tokens in _asked(rows):
            is_in[tokens] = True
        others = np.flatnonzero(~is_in)
        room = max(self._size - int(is_in.sum()), self._size * _DRAWN // 8, 1)
        drawn = rng.choice(others, min(room, len(others)), replace=False)
        log_counts = np.zeros(len(is_in), dtype=np.float32)
        if len(drawn):
            log_counts[drawn] = np.log(len(others) / len(drawn))
        is_in[drawn] = True
        tokens = np.flatnonzero(is_in)
        return Shortlist(tokens=tokens, log_counts=log_counts[tokens])


def _asked(rows: Iterable[Row]) -> Iterable[Tokens]:
    for row in rows:
        for example in row.examples:
            yield example.bag.tokens
            for part in example.parts:
                yield part.bag.tokens
                yield part.targets[part.targets >= 0]
