"""What a relation may assume: draws that meet every premise, symbols set or driven, never an empty domain."""

import pytest

from derivations.judging.small import expression, found, scope, sides
from regard.derivations.context.designs import solved
from regard.derivations.judging.premises import under_premises
from regard.derivations.judging.relations import Instances, ReadRelation, Relation
from regard.derivations.judging.setting import SymbolMeaning
from regard.derivations.problems.problem import load_problem

LONG_KEY = solved(scope("1c.ii"), load_problem("cs224n-a4").question("1c.ii"))
TWO_NUMBERS = scope().with_meaning(SymbolMeaning(name="mu")).with_meaning(SymbolMeaning(name="nu"))


def premises(*sources: str, inside=None) -> tuple[Relation, ...]:
    read = [sides(source) for source in sources]
    both = [written.expressions(inside or scope()) for written in read]
    return tuple(
        Relation(left=left, sign=written.sign, right=right) for written, (left, right) in zip(read, both, strict=True)
    )


@pytest.mark.parametrize(
    ("given", "source", "is_so"),
    [
        (["y > 1"], "y^2 > y", True),
        (["y < 1"], "y^2 > y", False),
        (["y > 1"], "y^2 < y", False),
        (["y > 0", "y < 1"], "y^2 < y", True),
        (["y > 5"], "y^2 > 25", True),
        (["y < -20"], "y < 0", True),
        (["1 < y"], "y^2 > y", True),
        (["y \\geq 2"], "y^2 \\geq 4", True),
        (["y \\leq -2"], "|y| \\geq 2", True),
        (["y \\neq 0"], "y^2 > 0", True),
        (["y = 3"], "y^2 = 9", True),
        (["y = 3"], "y^2 = 8", False),
        (["y = 2 x"], "y > x", True),
        ([r"\mu > \nu"], r"e^\mu > e^\nu", True),
        ([r"\mu > \nu"], r"\mu^2 > \nu^2", False),
        ([r"\mu > \nu", r"\nu > 0"], r"\mu^2 > \nu^2", True),
        (["v_a = v_b"], r"\frac12(v_a + v_b) = v_a", True),
        (["v_a = v_b"], r"\frac12(v_a + v_b) = 2 v_a", False),
        ([r"u^\top w > 0"], r"\|u + w\|^2 > \|u\|^2 + \|w\|^2", True),
        (["i = a"], "k_i = k_a", True),
        (["n = 4"], "n = 4", True),
    ],
)
def test_exact_steps_are_judged_under_their_premises(given, source, is_so):
    finding = found(source, TWO_NUMBERS, premises=premises(*given, inside=TWO_NUMBERS))
    assert (finding.is_true, finding.is_false) == (is_so, not is_so), finding.reason


@pytest.mark.parametrize(
    ("given", "source", "is_so"),
    [
        ([r"\gamma > 1"], r"c \approx v_a", True),
        ([r"\gamma > 1"], r"c \approx v_b", False),
        ([r"\gamma < 1"], r"c \approx v_b", True),
        ([r"\gamma < 1"], r"c \approx v_a", False),
        ([r"\gamma > 4"], r"c \approx v_a", True),
        ([r"\gamma \to 1"], r"c \approx \frac12(v_a + v_b)", True),
        ([r"\gamma = 1"], r"c \approx \frac12(v_a + v_b)", True),
        ([r"\gamma \to 0.5"], r"c \approx v_b", True),
        ([r"\gamma \to 1.5"], r"c \approx v_b", False),
        ([r"\gamma \gg 1"], r"c \approx v_a", True),
        ([r"\gamma \ll 1"], r"c \approx v_b", True),
        ([r"\gamma \ll 0"], r"c \approx v_b", True),
        ([r"\gamma \to -\infty"], r"c \approx v_a", False),
        ([r"\gamma > 1", r"\gamma < 2"], r"c \approx v_a", True),
    ],
)
def test_limits_are_judged_under_their_premises(given, source, is_so):
    finding = found(source, LONG_KEY, premises=premises(*given, inside=LONG_KEY))
    assert (finding.is_true, finding.is_false) == (is_so, not is_so), finding.reason
    assert finding.probability is None


def test_a_probability_is_the_one_given_the_premises():
    """Of γ ∼ N(1, ½) above 0.5, Φ(0) / Φ(√½) = 0.6581 are above 1."""
    finding = found(r"c \approx v_a", LONG_KEY, premises=premises(r"\gamma > 0.5", inside=LONG_KEY))
    assert finding.probability == pytest.approx(0.5 / 0.760250, abs=1e-4)


@pytest.mark.parametrize("given", [["y > 1", "y < 1"], ["x < 0"], ["n = 2", "n > 5"], ["k_a = 2 k_b + k_a"]])
def test_an_empty_domain_leaves_a_step_open(given):
    for source in ("y = y", "y = y + 1"):
        assert found(source, premises=premises(*given)).kind == "not understood"


@pytest.mark.parametrize("given", [r"k_a^\top u \gg k_b^\top u", r"u \to \infty", r"\|u\| = 1"])
def test_other_premises_leave_a_step_open(given):
    assert found("y = y + 1", premises=premises(given)).kind == "not understood"


def test_every_draw_meets_the_premises():
    given = premises(r"\mu > \nu", "y > 3", inside=TWO_NUMBERS)
    plain = Relation(left=expression("y"), sign="=", right=expression("y"), premises=given)
    taken = under_premises(ReadRelation(relation=plain, scope=TWO_NUMBERS))
    instances = Instances(scope=taken.scope, relation=taken.relation)
    for seed in range(5):
        assert (instances.leads(instances.base(seed=seed, num_draws=6)) > 0).all()
    assert not (instances.leads(instances.unconditional(seed=0, num_draws=50)) > 0).all()
