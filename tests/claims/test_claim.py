from dataclasses import replace
from types import SimpleNamespace

import pytest

from regard.claims import Claim, NearMiss, Parameter, Trial
from regard.claims.claim import Form
from regard.core.errors import DomainError, InputError
from regard.core.verdict import Evidence
from regard.render.figures import Axis, HeatMap

FIGURE = HeatMap(title="t", caption="c", x=Axis(label="x"), y=Axis(label="y"), values=[[1.0]])


def says(status: str, **found):
    return lambda trial: Evidence(status=status, detail=f"{status} at {trial.at.n}", **found)


def make_claim(*methods, expected="proved") -> Claim:
    return Claim(
        id="two-is-two",
        section="0 arithmetic",
        statement="2 = 2",
        latex="2=2",
        expected=expected,
        form=2,
        near_misses=(),
        methods={f"method {place}": method for place, method in enumerate(methods)},
        derivation="by reflexivity",
        source="Peano",
        figure=lambda _: FIGURE,
        parameters=(Parameter(name="n", default=10, lower=3, is_integer=True),),
        conditions=("n finite",),
    )


def test_the_verdict_contains_everything_that_was_found():
    claim = make_claim(says("proved"), says("holds", value=0.5, bound=0.1))
    verdict = claim.decide({"n": 4}, seed=3)
    assert (verdict.status, verdict.value, verdict.bound, verdict.seed) == ("proved", 0.5, 0.1, 3)
    assert verdict.method == "method 0 + method 1"
    assert verdict.domain == "n ≥ 3, n finite"
    assert verdict.reproduce == "regard claims two-is-two --set n=4 --seed 3"
    assert verdict.counterexample is None


def test_a_refuted_misconception_is_an_outcome_of_its_own():
    verdict = make_claim(says("refuted", counterexample="n = 3"), expected="refuted").decide()
    assert (verdict.status, verdict.outcome, verdict.counterexample) == ("refuted", "myth refuted", "n = 3")
    assert verdict.is_as_expected


def test_a_near_miss_is_tried_in_the_claims_place():
    tried = []
    make_claim(lambda trial: tried.append(trial.form) or says("holds")(trial)).decide(form=3)
    assert tried == [3]


@pytest.mark.parametrize(("expected", "becomes"), [("proved", "refuted"), ("refuted", "proved")])
def test_a_near_miss_changes_the_parts_it_names_and_turns_the_verdict(expected, becomes):
    plain = make_claim(says("holds"), expected=expected)
    claim = replace(plain, form=Form(left=2, right=2), near_misses=(NearMiss("2 = 3", {"right": 3}),))
    [near_miss] = claim.near_misses
    assert near_miss.form == Form(left=2, right=3)
    assert near_miss.becomes == becomes
    with pytest.raises(AssertionError, match="middle"):
        claim.decide(form={"middle": 1})


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


def test_a_method_may_return_parts_and_the_weakest_counts():
    def parts(trial):
        return [says("proved")(trial), says("holds", value=0.5)(trial)]

    [evidence] = make_claim(parts).decide().evidence
    assert (evidence.method, evidence.status, evidence.value) == ("method 0", "holds", 0.5)
    assert evidence.detail == "proved at 10; holds at 10"
