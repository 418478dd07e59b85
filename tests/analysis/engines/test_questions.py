import math

import pytest

from regard.analysis.engines import Mean, Probability, Quantile, SquaredError, coefficient, weight
from regard.core.errors import InputError


def test_quantities_add_up_and_print():
    assert str(2 * weight("a") - weight("b", 1) / 4 - 1) == "2·w[a, head 0] + -0.25·w[b, head 1] + -1"
    assert str(1 - coefficient("a")) == "-1·c[a] + 1"
    assert (weight("a") - 0.5 * weight("b") + 2).span == 1.5
    assert (weight("a") - 0.5 * weight("b") - 2).reach == 3.5
    with pytest.raises(InputError, match="not finite"):
        weight("a") * math.inf


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
