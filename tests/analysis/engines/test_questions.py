import math

import pytest

from regard.analysis.engines import Mean, Probability, Quantile, SquaredError, weight
from regard.core.errors import InputError


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Quantile(of=weight("a"), level=1.0), "The level 1.0"),
        (lambda: Quantile(of=weight("a"), level=math.nan), "The level nan"),
        (lambda: Probability(of=weight("a"), at_least=1.0, at_most=0.0), "Swap the bounds"),
        (lambda: SquaredError(target={"a": math.nan}), "not finite"),
    ],
)
def test_questions_that_make_no_sense_are_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_questions_are_values():
    assert Mean(of=weight("a")) == Mean(of=weight("a"))
    assert Mean(of=weight("a")) != Mean(of=weight("b"))
