"""Every claim is decided as the catalogue expects, and none of them can pass idly."""

import math
from functools import cache

import latex2mathml.converter
import pytest

from regard.claims import Claim, Parameter, Rival, all_claims
from regard.core.errors import DomainError, RegardError
from regard.core.verdict import STATUSES, ClaimVerdict

TRUTHS = {
    "proved": """
        weights-are-a-distribution copy copy-margin average-of-two average-scale dispersion uniform-limit
        scale-keeps-variance subspace-extraction one-head-swings reliability-ceiling permutation-equivariance
        causal-breaks-equivariance positions-break-equivariance sinusoid-unique sinusoid-shift-is-linear
        sinusoid-dot-is-relative rope-is-complex-multiplication rope-relative rope-keeps-norm rope-layouts-are-permuted
        log-n-keeps-attention-sharp entropy-falls-with-scale unit-keys-disperse softmax-is-half-lipschitz
        sink-takes-the-rest narrow-sums-stall
        shared-keys-bound-the-rank alibi-looks-this-far t5-buckets-are-far-sighted-alike windows-reach-this-far
        bos-weight-tells-position ntk-keeps-the-fastest-pair yarn-keeps-fast-pairs
    """.split(),
    "holds": """
        two-heads-steady two-heads-given-positive key-norm-cures sinusoid-nearest rope-decays rope-in-floats
        random-logits-blur-the-keys
        averaging-heads-divides-variance
    """.split(),
    "refuted": """
        query-equals-key-copies unscaled-sum-averages half-sum-averages subspace-transpose two-heads-always-steady
        identical-heads more-heads-always-better permutation-invariance sinusoid-unique-in-floats
        key-norm-always-averages attention-is-lipschitz head-attends-to-nothing root-width-tames-aligned-keys
        maximum-need-not-be-subtracted
        narrow-heads-single-out-few averaging-pairs-needs-width-n attention-rank-is-head-width decoder-counts-repeats
        rope-only-favours-near-keys any-matrix-keeps-sinusoids-relative planes-tell-far-distances-apart
    """.split(),
}
TRUTH = {name: status for status, names in TRUTHS.items() for name in names}

# Routes whose numbers are floats or draws: whatever they find, it is no proof.
FLOAT_ROUTES = ("brute force", "direct", "float", "monte carlo", "numpy", "sampl", "simulat")

CLAIMS = all_claims()
each_claim = pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS.keys())


@cache
def heard(name: str) -> ClaimVerdict:
    """The verdict on a claim as it stands in the catalogue."""
    return CLAIMS[name].decide()


def edges(parameter: Parameter) -> list[float]:
    """The ends of a parameter's domain, one step inside where they do not belong to it, and a sensible large value."""
    step = 1.0 if parameter.is_integer else 1e-3 * min(1.0, parameter.upper - parameter.lower)
    inward = step if parameter.is_open else 0.0
    lower = [parameter.lower + inward] if math.isfinite(parameter.lower) else [-50.0]
    upper = [parameter.upper - inward] if math.isfinite(parameter.upper) else [50.0]
    return lower + upper


def absurdities(parameter: Parameter) -> list[float]:
    """Numbers that no machine could follow, on either side."""
    return [-1e12, 1e12, 1e300]


def variations(values) -> list:
    return [
        pytest.param(claim, parameter.name, value, id=f"{claim.id}-{parameter.name}={value:g}")
        for claim in CLAIMS.values()
        for parameter in claim.parameters
        for value in values(parameter)
    ]


def test_the_catalogue_is_this():
    assert sorted(CLAIMS) == sorted(TRUTH)
    assert len(TRUTH) == 63


def test_claims_stand_under_their_own_ids_section_by_section():
    assert all(name == claim.id for name, claim in CLAIMS.items())
    sections = [claim.section for claim in CLAIMS.values()]
    assert sections == sorted(sections)


@each_claim
def test_the_verdict_is_the_known_truth(claim: Claim):
    verdict = heard(claim.id)
    assert verdict.status == claim.expected == TRUTH[claim.id], verdict.reason
    assert verdict.is_as_expected


@each_claim
def test_two_independent_routes_give_evidence(claim: Claim):
    evidence = heard(claim.id).evidence
    assert len({item.route for item in evidence}) >= 2
    assert len({item.route for item in evidence if item.status != "undecided"}) >= 2
    assert all(item.detail for item in evidence)


@each_claim
def test_nothing_is_left_unsaid(claim: Claim):
    assert all(text.strip() for text in (claim.statement, claim.latex, claim.derivation, claim.source, claim.section))
    assert claim.domain
    assert claim.rivals
    assert claim.is_myth == (TRUTH[claim.id] == "refuted")


@each_claim
def test_the_statement_can_be_typeset(claim: Claim):
    mathml = latex2mathml.converter.convert(claim.latex)
    assert mathml.startswith("<math")
    assert "\\" not in mathml


@each_claim
def test_floating_point_alone_proves_nothing(claim: Claim):
    proofs = [item.route for item in heard(claim.id).evidence if item.status == "proved"]
    assert not [route for route in proofs if any(word in route.lower() for word in FLOAT_ROUTES)]
    assert proofs or claim.expected != "proved"


@each_claim
def test_a_refutation_stands_on_its_own(claim: Claim):
    verdict = heard(claim.id)
    assert bool(verdict.counterexample) == (verdict.status == "refuted")


@pytest.mark.parametrize(
    ("claim", "rival"),
    [
        pytest.param(claim, rival, id=f"{claim.id}-{i}")
        for claim in CLAIMS.values()
        for i, rival in enumerate(claim.rivals)
    ],
)
def test_a_rival_in_the_claims_place_flips_the_verdict(claim: Claim, rival: Rival):
    verdict = claim.decide(form=rival.form)
    assert rival.becomes != claim.expected
    assert verdict.status == rival.becomes, verdict.reason


@pytest.mark.parametrize("seed", [1, 2**63])
@each_claim
def test_the_seed_does_not_change_the_verdict(claim: Claim, seed: int):
    assert claim.decide(seed=seed).status == claim.expected


@each_claim
def test_the_same_seed_gives_the_same_evidence(claim: Claim):
    assert claim.decide() == heard(claim.id)


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
