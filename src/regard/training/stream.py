"""The batches of a training, one after the other, from a seed and a place."""

import time
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from regard.core.errors import InputError
from regard.training.data.encoding import Lesson
from regard.training.data.objectives import Objective
from regard.training.data.packing import Row, common_openings, rows_of_pass
from regard.training.recipe import Recipe

# No pass has this number, so that phases have random numbers of their own.
_PHASES = zlib.crc32(b"phases")


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a stream stands: which stage, which pass over the lessons, and how many rows of it are used."""

    stage: int = 0
    passed: int = 0
    row: int = 0


class BatchStream:
    """Rows for one step after another. What comes next depends on the seed and the place only.

    A pass's last rows, if they are fewer than a step needs, are completed by the first of the next pass. `seconds` were
    spent on making the passes until now, which had `num_rows` rows.
    """

    def __init__(self, lessons: Sequence[Lesson], recipe: Recipe, seed: int, place: Place | None = None) -> None:
        self._lessons, self._recipe, self._seed = lessons, recipe, seed
        self._openings = common_openings(lessons)
        self.seconds, self.num_rows = 0.0, 0
        self.place = place or Place()
        self._rows = self._pass(self.place)

    def next_rows(self, stage: int) -> list[Row]:
        """The rows of the next step, which belongs to a stage."""
        if stage != self.place.stage:
            self._move(Place(stage=stage))
        wanted, taken = self._recipe.batch.rows, []
        while len(taken) < wanted:
            if self.place.row == len(self._rows):
                self._move(Place(stage=stage, passed=self.place.passed + 1))
            some = self._rows[self.place.row : self.place.row + wanted - len(taken)]
            taken += some
            self.place = Place(stage=stage, passed=self.place.passed, row=self.place.row + len(some))
        return taken

    def _move(self, place: Place) -> None:
        self.place, self._rows = place, self._pass(place)

    def _pass(self, place: Place) -> list[Row]:
        begun = time.perf_counter()
        objective: Objective = self._recipe.stages[place.stage].objective
        rng = np.random.default_rng([self._seed, place.stage, place.passed])
        phases = np.random.default_rng([self._seed, place.stage, _PHASES]).random(len(self._lessons))
        length = self._recipe.batch.length
        shown = (
            example
            for lesson, phase in zip(self._lessons, phases, strict=True)
            for example in objective.examples(
                lesson, rng, max_length=length, is_asked=objective.is_asked(place.passed, phase)
            )
        )
        rows = rows_of_pass(shown, rng, max_length=length, openings=self._openings)
        if not rows:
            raise InputError(
                f"A pass of the stage {self._recipe.stages[place.stage].name!r} shows nothing. Give it questions or "
                "documents: a higher stages.question_rate, or another stages.reading."
            )
        self.seconds, self.num_rows = self.seconds + time.perf_counter() - begun, self.num_rows + len(rows)
        return rows
