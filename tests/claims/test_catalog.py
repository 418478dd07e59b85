"""Every claim gets its expected verdict, and none could get it without looking."""

import math
from functools import cache

import latex2mathml.converter
import pytest

from regard.claims import Claim, ClaimVerdict, NearMiss, Parameter, all_claims
from regard.core.errors import DomainError, RegardError
from regard.core.verdict import STATUSES

# Methods that compute exactly, or with certified error bounds; whatever the others find, it is not a proof.
EXACT_METHODS = {"algebra", "balls", "certified", "exact arithmetic"}

CLAIMS = all_claims()
each_claim = pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS.keys())


@cache
def decided(name: str) -> ClaimVerdict:
    """The verdict on a claim as it stands in the catalog."""
    return CLAIMS[name].decide()


def edges(parameter: Parameter) -> list[float]:
    """The ends of a parameter's domain, one step inside if they are excluded, or ±50 if it is unbounded."""
    step = 1.0 if parameter.is_integer else 1e-3 * min(1.0, parameter.upper - parameter.lower)
    inward = step if parameter.is_open else 0.0
    lower = [parameter.lower + inward] if math.isfinite(parameter.lower) else [-50.0]
    upper = [parameter.upper - inward] if math.isfinite(parameter.upper) else [50.0]
    return lower + upper


def absurdities(parameter: Parameter) -> list[float]:
    """Numbers far beyond what can be computed, on either side."""
    return [-1e12, 1e12, 1e300]


def variations(values) -> list:
    return [
        pytest.param(claim, parameter.name, value, id=f"{claim.id}-{parameter.name}={value:g}")
        for claim in CLAIMS.values()
        for parameter in claim.parameters
        for value in values(parameter)
    ]


def test_claims_are_listed_by_id_section_by_section():
    assert CLAIMS
    assert all(name == claim.id for name, claim in CLAIMS.items())
    sections = [claim.section for claim in CLAIMS.values()]
    assert sections == sorted(sections)


@each_claim
def test_the_verdict_is_the_expected_one(claim: Claim):
    verdict = decided(claim.id)
    assert verdict.status == claim.expected, verdict.reason
    assert verdict.is_as_expected


@each_claim
def test_two_independent_methods_give_evidence(claim: Claim):
    evidence = decided(claim.id).evidence
    assert len([item for item in evidence if item.status != "undecided"]) >= 2
    assert all(item.detail for item in evidence)


@each_claim
def test_nothing_is_left_unsaid(claim: Claim):
    assert all(text.strip() for text in (claim.statement, claim.latex, claim.derivation, claim.source, claim.section))
    assert claim.domain
    assert claim.near_misses


@each_claim
def test_the_statement_can_be_typeset(claim: Claim):
    mathml = latex2mathml.converter.convert(claim.latex)
    assert mathml.startswith("<math")
    assert "\\" not in mathml


@each_claim
def test_floating_point_alone_proves_nothing(claim: Claim):
    proofs = {item.method for item in decided(claim.id).evidence if item.status == "proved"}
    assert proofs <= EXACT_METHODS
    assert proofs or claim.expected != "proved"


@each_claim
def test_a_refutation_stands_on_its_own(claim: Claim):
    verdict = decided(claim.id)
    assert bool(verdict.counterexample) == (verdict.status == "refuted")


@pytest.mark.parametrize(
    ("claim", "near_miss"),
    [
        pytest.param(claim, near_miss, id=f"{claim.id}-{i}")
        for claim in CLAIMS.values()
        for i, near_miss in enumerate(claim.near_misses)
    ],
)
def test_a_near_miss_in_the_claims_place_flips_the_verdict(claim: Claim, near_miss: NearMiss):
    verdict = claim.decide(form=near_miss.form)
    assert near_miss.becomes != claim.expected
    assert verdict.status == near_miss.becomes, verdict.reason


@pytest.mark.parametrize("seed", [1, 2**63])
@each_claim
def test_the_seed_does_not_change_the_verdict(claim: Claim, seed: int):
    assert claim.decide(seed=seed).status == claim.expected


@each_claim
def test_the_same_seed_gives_the_same_evidence(claim: Claim):
    assert claim.decide() == decided(claim.id)


@pytest.mark.parametrize(("claim", "name", "value"), variations(edges))
def test_the_verdict_is_the_same_at_the_edges_of_the_domain(claim: Claim, name: str, value: float):
    verdict = claim.decide({name: value})
    assert verdict.is_as_expected, verdict.reason
    assert verdict.value is None or math.isfinite(verdict.value)


@pytest.mark.parametrize(("claim", "name", "value"), variations(absurdities))
def test_absurd_numbers_are_decided_or_refused_but_nothing_breaks(claim: Claim, name: str, value: float):
    try:
        assert claim.decide({name: value}).status in STATUSES
    except RegardError as refusal:
        assert name in str(refusal)  # noqa: PT017


@pytest.mark.parametrize(("claim", "name", "value"), variations(lambda _: [math.nan, math.inf, -math.inf]))
def test_what_is_no_number_is_refused(claim: Claim, name: str, value: float):
    with pytest.raises(DomainError, match=name):
        claim.decide({name: value})


@pytest.mark.parametrize(("claim", "name", "value"), variations(lambda p: [p.lower - 1, p.upper + 1]))
def test_outside_its_domain_a_claim_is_refused_with_the_domain(claim: Claim, name: str, value: float):
    with pytest.raises(DomainError, match=name):
        claim.decide({name: value})
