"""The retrieval claims: printed numbers, extreme parameters, and true statements in other words."""

import math

import numpy as np
import pytest

from regard.analysis.closed_forms.arithmetic import exp, log
from regard.attention import masked_softmax
from regard.claims import all_claims
from regard.core.errors import DomainError

CLAIMS = all_claims()
EVERY_SIZE = (3, 4, 10**6, 10**15)


@pytest.mark.parametrize(
    ("name", "overrides", "value"),
    [
        ("query-equals-key-copies", {}, 0.232),
        ("unscaled-sum-averages", {}, 0.2023),
        ("unscaled-sum-averages", {"n": 3}, 0.4223),
        ("half-sum-averages", {}, 0.1459),
        ("half-sum-averages", {"n": 3}, 0.3837),
    ],
)
def test_the_printed_numbers(name, overrides, value):
    digits = len(str(value)) - 2
    assert round(CLAIMS[name].decide(overrides).value, digits) == value


@pytest.mark.parametrize("n", EVERY_SIZE)
@pytest.mark.parametrize(
    "name", ["query-equals-key-copies", "unscaled-sum-averages", "half-sum-averages", "uniform-limit"]
)
def test_any_number_of_keys(name, n):
    assert CLAIMS[name].decide({"n": n}).is_as_expected


@pytest.mark.parametrize("n", [2, *EVERY_SIZE])
@pytest.mark.parametrize("margin", [0.0, -1.0, -800.0, -1e6, -1e300, 800.0, 1e300])
def test_any_margin_copies_as_much_as_claimed(n, margin):
    assert CLAIMS["copy"].decide({"n": n, "margin": margin}).status == "proved"


@pytest.mark.parametrize("n", [2, *EVERY_SIZE])
@pytest.mark.parametrize("epsilon", [5e-324, 1e-300, 1e-17, 0.5, 0.9, 1 - 2**-53])
def test_any_accuracy_has_its_margin(n, epsilon):
    assert CLAIMS["copy-margin"].decide({"n": n, "epsilon": epsilon}).status == "proved"


@pytest.mark.parametrize("n", EVERY_SIZE)
@pytest.mark.parametrize("beta", [0.0, 1e-300, 37.0, 800.0, 1e300])
def test_any_scale_averages_as_claimed(n, beta):
    assert CLAIMS["average-of-two"].decide({"n": n, "beta": beta}).status == "proved"


def test_a_reduced_case_gives_no_value_of_its_own():
    verdict = CLAIMS["average-of-two"].decide({"n": 1000})
    assert verdict.value is None
    assert CLAIMS["average-of-two"].decide({"n": 10}).value == pytest.approx(0.4868777734693236)


@pytest.mark.parametrize("n", EVERY_SIZE)
@pytest.mark.parametrize("epsilon", [5e-324, 1e-17, 0.25, 0.5 - 2**-54])
def test_any_accuracy_has_its_scale(n, epsilon):
    assert CLAIMS["average-scale"].decide({"n": n, "epsilon": epsilon}).status == "proved"


@pytest.mark.parametrize("n", [2, *EVERY_SIZE])
@pytest.mark.parametrize("spread", [0.0, 1e-300, 50.0, 800.0, 1e308])
def test_any_spread_disperses(n, spread):
    assert CLAIMS["dispersion"].decide({"n": n, "spread": spread}).status == "proved"
    assert CLAIMS["weights-are-a-distribution"].decide({"n": n, "spread": spread}).status == "proved"


@pytest.mark.parametrize("d", [1, 2, 3, 4096, 10**9])
def test_any_width_keeps_the_variance(d):
    assert CLAIMS["scale-keeps-variance"].decide({"d": d}).status == "proved"


@pytest.mark.parametrize("sizes", [(1, 0, 0), (1, 1, 0), (5, 0, 0), (1, 0, 3), (40, 3, 1000)])
def test_any_subspaces(sizes):
    overrides = dict(zip(("m", "p", "spare"), sizes, strict=True))
    assert CLAIMS["subspace-extraction"].decide(overrides).status == "proved"
    assert CLAIMS["subspace-transpose"].decide(overrides).status == "refuted"


@pytest.mark.parametrize(
    ("name", "overrides"),
    [
        ("copy", {"n": 1}),
        ("copy-margin", {"epsilon": 0.0}),
        ("copy-margin", {"epsilon": 1.0}),
        ("average-of-two", {"n": 2}),
        ("average-scale", {"epsilon": 0.5}),
        ("dispersion", {"spread": -1.0}),
        ("scale-keeps-variance", {"d": 0}),
        ("scale-keeps-variance", {"d": 2.5}),
        ("subspace-extraction", {"m": 0}),
    ],
)
def test_outside_the_domain_a_claim_is_refused(name, overrides):
    with pytest.raises(DomainError):
        CLAIMS[name].decide(overrides)


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("copy", {"weight": lambda margin, n: exp(margin) / (exp(margin) + n - 1)}),
        ("copy", {"error": lambda weight, distance: 2 * (1 - weight) * distance}),
        ("copy-margin", lambda epsilon, n: log(n - 1) + log(1 - epsilon) - log(epsilon)),
        ("average-scale", lambda epsilon, n: log(n - 2) - log(4 * epsilon / (1 - 2 * epsilon))),
        ("average-of-two", {"pair": lambda beta, n: 1 / (2 + (n - 2) * exp(-beta))}),
        ("dispersion", lambda spread, n: exp(spread) / n),
        ("scale-keeps-variance", {"variance": lambda d: (d + 1) ** 2 - d * d - d - 1}),
        ("subspace-extraction", {"matrix": lambda a, b: (a @ a.T - b @ b.T) @ (a @ a.T)}),
    ],
)
def test_the_same_truth_in_other_words_is_proved(name, form):
    verdict = CLAIMS[name].decide(form=form)
    assert verdict.status == "proved", verdict.reason


def test_a_scale_that_is_right_at_the_default_only_is_refuted_by_algebra():
    """(n−2)/4 is 2 at n = 10: no number at the default tells this near miss from the truth."""
    verdict = CLAIMS["average-scale"].decide(form=lambda epsilon, _n: log(2 * (1 - 2 * epsilon) / epsilon))
    assert {item.method: item.status for item in verdict.evidence} == {"bisection": "holds", "algebra": "refuted"}
    assert "n-2 = " in verdict.counterexample


def test_a_reduced_case_says_so():
    details = [item.detail for item in CLAIMS["average-of-two"].decide({"n": 10**6}).evidence]
    assert any("reduced from 1e+06" in detail for detail in details)


def test_in_floats_a_weight_does_become_zero():
    assert masked_softmax(np.array([[0.0, 800.0]])).tolist() == [[0.0, 1.0]]


def test_a_form_that_gives_nan_never_passes():
    verdict = CLAIMS["uniform-limit"].decide(form=lambda n: n * 0 + math.inf * 0 if isinstance(n, int) else 1 / n)
    assert verdict.evidence[0].status == "refuted"
