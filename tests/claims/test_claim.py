from types import SimpleNamespace

import pytest

from regard.claims import Claim, Parameter, Trial
from regard.core.errors import DomainError, InputError
from regard.core.verdict import Evidence


def says(status: str, **found):
    return lambda trial: Evidence(route=f"says {status}", status=status, detail=f"{status} at {trial.at.n}", **found)


def make_claim(*routes, expected="proved") -> Claim:
    return Claim(
        id="two-is-two", section="0 arithmetic", statement="2 = 2", latex="2=2", expected=expected, form=2, rivals=(),
        routes=routes, derivation="by reflexivity", source="Peano",
        parameters=(Parameter(name="n", default=10, lower=3, is_integer=True),), conditions=("n finite",),
    )  # fmt: skip


def test_the_verdict_tells_all_that_was_found():
    claim = make_claim(says("proved"), says("holds", value=0.5, bound=0.1))
    verdict = claim.decide({"n": 4}, seed=3)
    assert (verdict.status, verdict.value, verdict.bound, verdict.seed) == ("proved", 0.5, 0.1, 3)
    assert verdict.method == "says proved + says holds"
    assert verdict.domain == "n ≥ 3, n finite"
    assert verdict.reproduce == "regard claims two-is-two --set n=4 --seed 3"
    assert verdict.counterexample is None


def test_a_refuted_myth_is_an_outcome_of_its_own():
    verdict = make_claim(says("refuted", counterexample="n = 3"), expected="refuted").decide()
    assert (verdict.status, verdict.outcome, verdict.counterexample) == ("refuted", "myth refuted", "n = 3")
    assert verdict.is_as_expected


def test_a_rival_is_tried_in_the_claims_place():
    tried = []
    make_claim(lambda trial: tried.append(trial.form) or says("holds")(trial)).decide(form=3)
    assert tried == [3]


def test_each_stream_is_its_own_and_repeats():
    trial = Trial(form=None, at=SimpleNamespace(), seed=5)
    assert trial.rng("keys").random() == trial.rng("keys").random()
    assert trial.rng("keys").random() != trial.rng("queries").random()


@pytest.mark.parametrize("value", [2, -1, float("nan"), float("inf"), 3.5])
def test_outside_the_domain_the_claim_is_refused(value):
    with pytest.raises(DomainError, match="n = "):
        make_claim(says("proved")).decide({"n": value})


def test_an_unknown_parameter_is_refused_with_those_that_exist():
    with pytest.raises(InputError, match=r"'beta'.*: n"):
        make_claim(says("proved")).decide({"beta": 1.0})
