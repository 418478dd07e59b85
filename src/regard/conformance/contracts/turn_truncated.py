"""An input shorter than the table is turned by the table's first rows."""

from collections.abc import Iterator

from regard.conformance.contracts._turning import inputs, table
from regard.conformance.homework import RotaryTurn, honest_turn, turn_of
from regard.conformance.law import Comparison, Law, LawTrial, distance
from regard.conformance.subject import Subject

_LONGER = (1, 5, 116)


def _compare(trial: LawTrial) -> Iterator[Comparison]:
    """The right result for the whole table is what TURN-PAIRS asks for; here the table alone gets longer."""
    x, length = inputs(trial), trial.size.length
    exact = turn_of(trial).turn(x, table(length))
    for more in _LONGER:
        found = turn_of(trial).turn(x, table(length + more))
        yield Comparison(
            what=f"an input of {length} positions is turned otherwise by a table of {length + more} than by one of "
            f"{length}: the table is not cut to the input's length",
            error=distance(found, exact),
            tolerance=trial.tolerance(exact),
        )


def _broken_example() -> Subject:
    return RotaryTurn(lambda x, cache: honest_turn(x, cache[-x.shape[-2] :]), name="last rows")


LAW = Law(
    id="TURN-TRUNCATED",
    statement="an input of T positions is turned by the first T rows of a longer cache",
    needs=("turn",),
    compare=_compare,
    broken_example=_broken_example,
    suspects=("the cache is not cut to the input's length", "its last rows are taken instead of its first"),
)
