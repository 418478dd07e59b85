"""The claims about order: every size, the rules they rest on, and what each method may and may not say."""

import numpy as np
import pytest

from regard.claims import all_claims
from regard.claims._order import GENERATED, OrderRelation, swap_lemmas

CLAIMS = all_claims()
ORDER = [name for name in CLAIMS if name.endswith(("equivariance", "invariance"))]


@pytest.mark.parametrize("sizes", [(3, 1), (3, 2), (4, 3), (12, 16), (10**9, 10**9)])
@pytest.mark.parametrize("name", ORDER)
def test_any_number_of_tokens_and_any_width(name, sizes):
    verdict = CLAIMS[name].decide(dict(zip(("T", "d"), sizes, strict=True)))
    assert verdict.is_as_expected, verdict.reason


def test_one_token_and_two():
    assert CLAIMS["permutation-equivariance"].decide({"T": 1}).status == "proved"
    assert CLAIMS["permutation-invariance"].decide({"T": 2, "d": 1}).status == "refuted"
    assert CLAIMS["positions-break-equivariance"].decide({"T": 2, "d": 1}).status == "proved"


@pytest.mark.parametrize("layers", [2, 3, 8, 10**6])
def test_any_depth_tells_order(layers):
    assert CLAIMS["causal-breaks-equivariance"].decide({"layers": layers}).status == "proved"


@pytest.mark.parametrize("name", ORDER)
def test_what_is_taken_from_group_theory_is_said(name):
    assert GENERATED in CLAIMS[name].decide().assumes


def test_the_rules_are_proved_for_a_swap():
    assert swap_lemmas().status == "proved"


def test_symmetric_pooling_other_than_the_sum_is_invariant_too():
    mean_of_squares = OrderRelation(becomes=lambda _, pooled: pooled, pool=lambda ones, z: ones.T @ z @ z.T @ ones)
    assert CLAIMS["permutation-invariance"].decide(form=mean_of_squares).status == "proved"


def test_pooling_that_is_not_symmetric_is_not_invariant():
    first_row = OrderRelation(
        becomes=lambda _, pooled: pooled, pool=lambda _, z: z[:1] if isinstance(z, np.ndarray) else z
    )
    assert CLAIMS["permutation-invariance"].decide(form=first_row).status == "refuted"


@pytest.mark.parametrize("name", ["permutation-equivariance", "permutation-invariance"])
def test_algebra_never_refutes_alone(name):
    claim = CLAIMS[name]
    for form in (claim.form, *(near_miss.form for near_miss in claim.near_misses)):
        by_algebra = next(item for item in claim.decide(form=form).evidence if item.method == "algebra")
        assert by_algebra.status in ("proved", "undecided")


@pytest.mark.parametrize("name", ["causal-breaks-equivariance", "positions-break-equivariance"])
def test_every_answer_counts(name):
    """Reversing any of the yes/no answers refutes the statement."""
    claim = CLAIMS[name]
    for name, answer in vars(claim.form).items():
        verdict = claim.decide(form={name: not answer})
        assert verdict.status == "refuted"
        assert verdict.counterexample


def test_a_single_case_does_not_refute_that_some_case_differs():
    claim = CLAIMS["causal-breaks-equivariance"]
    evidence = claim.decide(form={"last_row_forgets": False}).evidence
    assert [item.status for item in evidence if item.method != "algebra"] == ["undecided", "undecided"]
