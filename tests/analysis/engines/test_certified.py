import math

import numpy as np
import pytest
from flint import acb, arb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from overlap import overlap
from regard.analysis.engines import (
    ConditionProbability,
    Mean,
    Probability,
    Quantile,
    SquaredError,
    TotalVariance,
    Variance,
    certified,
    coefficient,
    monte_carlo,
    weight,
)
from regard.analysis.engines.one_direction import Sigmoid
from regard.analysis.scenarios import (
    GAMMA_POSITIVE,
    CourseKeys,
    Deviation,
    LogitLaw,
    QueryDesign,
    course_keys,
    one_head,
    two_heads,
)
from regard.core.errors import InputError, NotCertifiable


def single_law(count=1, variance=0.5):
    return LogitLaw(names=("only",), counts=(count,), means=[[3.0]], directions=[[[1.0]]], variances=[[variance]])


@st.composite
def laws(draw):
    """Fields of laws with one random key or none, anywhere among groups of several keys, under one or two heads."""
    num_groups, num_heads = draw(st.integers(2, 4)), draw(st.integers(1, 2))
    numbers = hnp.arrays(np.float64, (num_groups, num_heads), elements=st.integers(-16, 16).map(lambda x: x / 4))
    counts = draw(st.lists(st.integers(1, 5), min_size=num_groups, max_size=num_groups))
    group = draw(st.integers(0, num_groups - 1))
    variances = np.zeros((num_groups, 1))
    if draw(st.booleans()):
        counts[group], variances[group] = 1, draw(st.integers(1, 8)) / 4
    return {
        "names": tuple("pqrs"[:num_groups]),
        "counts": tuple(counts),
        "means": draw(numbers).tolist(),
        "directions": draw(numbers)[:, :, None].tolist(),
        "variances": variances.tolist(),
    }


def brute_force(law):
    """Weights of a key of each group (group, head, place) on a grid of deviations, and the density of its places."""
    places = np.linspace(-12, 12, 4001)
    deviations = np.sqrt(np.array(law.variances)[:, :, None]) * places
    powers = np.exp(np.array(law.means)[:, :, None] + np.array(law.directions) * deviations)
    density = np.exp(-(places**2) / 2)
    return powers / (np.array(law.counts)[:, None, None] * powers).sum(axis=0), density / density.sum()


def test_a_law_without_randomness_gives_the_softmax():
    law = course_keys(n=10, sigma2=0.0).logits(one_head(1.0))
    found = certified.answers(law, [Mean(of=weight("a")), Variance(of=weight("a")), TotalVariance()])
    assert found[0].contains(math.e / (2 * math.e + 8))
    assert found[0].width < 1e-15
    assert [estimate.upper for estimate in found[1:]] == [0.0, 0.0]
    assert certified.answer(law, Probability(of=weight("a"), at_least=0.2, at_most=0.21)).lower == 1.0
    assert certified.answer(law, Quantile(of=weight("a"), level=0.5)).contains(found[0].value)


@settings(max_examples=15)
@given(laws())
def test_any_law_with_one_random_direction_agrees_with_brute_force(fields):
    # The rule is exact to rounding: the sigmoids are far wider than its steps.
    law = LogitLaw(**fields)
    shares, density = brute_force(law)
    outputs = shares.mean(axis=1)
    means = outputs @ density
    counts = np.array(law.counts)
    total_variance = counts @ (outputs - means[:, None]) ** 2 @ density
    target = {law.names[0]: 0.25}
    goal = np.array([0.25] + [0.0] * (len(counts) - 1))
    squared_error = counts @ (outputs - goal[:, None]) ** 2 @ density
    questions = [Mean(of=coefficient(name)) for name in law.names]
    questions += [TotalVariance(), SquaredError(target=target)]
    for estimate, rule in zip(certified.answers(law, questions), [*means, total_variance, squared_error], strict=True):
        assert estimate.lower - 1e-11 <= rule <= estimate.upper + 1e-11
    wrong = SquaredError(target={law.names[0]: 0.26})
    assert not certified.answer(law, wrong).contains(squared_error) or abs(means[0] - 0.255) < 1e-9


def test_a_single_key_gets_all_the_weight_however_random():
    found = certified.answers(single_law(), [Mean(of=weight("only")), Variance(of=weight("only"))])
    assert [(estimate.lower, estimate.upper) for estimate in found] == [(1.0, 1.0), (0.0, 0.0)]


def test_several_random_keys_are_not_certifiable_and_the_message_names_them():
    noisy = CourseKeys(n=10, noise={"a": 0.5, "b": 0.5}).logits(one_head(1.0))
    with pytest.raises(NotCertifiable, match=r"1 × 'a' in 1, 1 × 'b' in 1.*monte_carlo"):
        certified.answer(noisy, Mean(of=weight("a")))
    with pytest.raises(NotCertifiable, match="3 × 'only'"):
        certified.answer(single_law(count=3), Mean(of=weight("only")))


def test_a_key_random_in_two_directions_is_not_certifiable():
    law = LogitLaw(
        names=("a", "b"),
        counts=(1, 1),
        means=[[0.0, 0.0]] * 2,
        directions=[[[1.0, 0.0], [0.0, 1.0]], [[0.0, 0.0]] * 2],
        variances=[[1.0, 1.0], [0.0, 0.0]],
    )
    with pytest.raises(NotCertifiable, match="1 × 'a' in 2"):
        certified.answer(law, Mean(of=coefficient("a")))
    assert certified.answer(law, Mean(of=weight("a", 1))).contains(0.5)


def test_only_the_heads_that_a_question_looks_at_count():
    law = CourseKeys(n=10, noise={"a": 0.5, "b": 0.5}).logits(two_heads(20.0))
    alone = course_keys(n=10).logits(two_heads(20.0))
    question = Variance(of=weight("a", head=0))
    assert certified.answer(law, question) == certified.answer(alone, question)
    with pytest.raises(NotCertifiable):
        certified.answer(law, Variance(of=coefficient("a")))


def test_parallel_directions_of_one_key_are_one_direction():
    law = LogitLaw(
        names=("a", "rest"),
        counts=(1, 9),
        means=[[2.0], [0.0]],
        directions=[[[2.0, 1.0]], [[0.0, 0.0]]],
        variances=[[0.5, 2.0], [0.0, 0.0]],
    )
    together = course_keys(n=10, sigma2=1.0).logits(QueryDesign(coefficients={"a": (2.0,)}))
    one, other = (certified.answer(each, Variance(of=weight("a"))) for each in (law, together))
    assert overlap(one, other)
    with pytest.raises(NotCertifiable, match="picks one of them"):
        certified.answer(law, Mean(of=weight("a"), given=GAMMA_POSITIVE))


def test_a_condition_on_a_deviation_that_no_query_sees_changes_nothing():
    law = LogitLaw(
        names=("a", "rest"),
        counts=(1, 9),
        means=[[2.0], [0.0]],
        directions=[[[0.0, 1.0]], [[0.0, 0.0]]],
        variances=[[0.5, 2.0], [0.0, 0.0]],
    )
    given_positive = certified.answer(law, Mean(of=weight("a"), given=GAMMA_POSITIVE))
    assert given_positive == certified.answer(law, Mean(of=weight("a")))
    sampled = monte_carlo.answer(law, Mean(of=weight("a"), given=GAMMA_POSITIVE), seed=9, confidence=1 - 1e-6)
    assert overlap(sampled, given_positive)


def test_a_condition_on_another_key_changes_nothing():
    law = CourseKeys(n=10, noise={"a": 0.5, "b": 0.3}).logits(two_heads(5.0))
    free = certified.answer(law, Mean(of=weight("a")))
    assert certified.answer(law, Mean(of=weight("a"), given=Deviation(group="b", lower=0.2))) == free


def test_rare_conditions_keep_their_digits():
    far = Deviation(group="a", lower=20.0)
    law = course_keys(n=10).logits(two_heads(0.1))
    chance = certified.answer(law, ConditionProbability(of=far))
    assert chance.value == pytest.approx(math.erfc(20.0) / 2, rel=1e-12)
    mean = certified.answer(law, Mean(of=weight("a"), given=far))
    assert 1 / (1 + 9 * math.exp(-2.1)) < mean.lower < mean.upper < 1 / (1 + 9 * math.exp(-2.11))
    assert mean.width < 1e-12


@pytest.mark.parametrize("beta", [1e-8, 1e-3, 1e3, 1e6, 1e9])
def test_scales_of_any_size_stay_sharp(beta):
    law = course_keys(n=10).logits(one_head(beta))
    found = certified.answers(law, [Mean(of=weight("a")), Variance(of=weight("a"))])
    assert all(estimate.width <= 1e-12 * estimate.value for estimate in found)


def test_any_number_of_keys_is_exact():
    law = course_keys(n=10**30).logits(two_heads(80.0))
    a, b, other = (certified.answer(law, Mean(of=weight(name))) for name in ("a", "b", "other"))
    assert (a + b + (10.0**30 - 2) * other).contains(1.0)


def test_a_sigmoid_is_not_finite_where_a_pole_may_be():
    with ctx.workprec(64):
        curve = Sigmoid(offset=arb(0), slope=arb(2))
        pole = acb(0, arb.pi() / 2)
        assert not curve(pole + acb(arb(0, 0.1), arb(0, 0.1))).is_finite()
        assert curve(acb(arb(0, 0.1), arb(0, 0.1))).is_finite()


def test_non_monotone_quantities_have_probabilities_and_quantiles():
    law = course_keys(n=10).logits(QueryDesign(coefficients={"a": (3.0, -8.0), "b": (1.0, 8.0)}))
    hump = coefficient("a")
    deviations = np.random.default_rng(5).normal(0, math.sqrt(0.5), 400_000)
    first = 1 / (1 + (math.exp(1) + 8) * np.exp(-3 * (1 + deviations)))
    second = 1 / (1 + (math.exp(8) + 8) * np.exp(8 * (1 + deviations)))
    at_least = certified.answer(law, Probability(of=hump, at_least=0.1, at_most=0.3))
    quantile = certified.answer(law, Quantile(of=hump, level=0.3))
    values = (first + second) / 2
    # Five standard errors: a correct engine fails with probability below 1e-6.
    assert at_least.value == pytest.approx(np.mean((values >= 0.1) & (values <= 0.3)), abs=5 / math.sqrt(4 * 400_000))
    assert np.mean(values <= quantile.value) == pytest.approx(0.3, abs=5 / math.sqrt(4 * 400_000))
    assert at_least.width < 1e-12
    assert quantile.width < 1e-12


def test_a_bound_that_is_met_exactly_stays_undecided():
    law = course_keys(n=4, sigma2=0.0).logits(one_head(0.0))
    doubtful = certified.answer(law, Probability(of=weight("a"), at_least=0.25))
    assert (doubtful.lower, doubtful.upper) in [(0.0, 1.0), (1.0, 1.0)]


def test_a_weight_that_does_not_vary_has_no_variance():
    law = course_keys(n=10).logits(two_heads(5.0))
    mean, variance = certified.answers(law, [Mean(of=weight("b", 1)), Variance(of=weight("b", 1))])
    assert mean.contains(1 / (1 + 9 * math.exp(-5)))
    assert variance.upper == 0.0


@pytest.mark.parametrize(
    ("question", "message"),
    [
        (Mean(of=weight("z")), "No key is named 'z'"),
        (Mean(of=weight("a", head=2)), "asks for head 2"),
        (SquaredError(target={"z": 1.0}), "No key is named 'z'"),
        (Mean(of=weight("a"), given=Deviation(group="other", lower=0.0)), "stands for 8 keys"),
        (Mean(of=weight("a"), given=Deviation(group="b", lower=0.5)), "probability zero"),
        (ConditionProbability(of=Deviation(group="other")), "stands for 8 keys"),
    ],
)
def test_questions_that_do_not_fit_the_law_are_refused(question, message):
    with pytest.raises(InputError, match=message):
        certified.answer(course_keys(n=10).logits(two_heads(5.0)), question)
