"""An = that holds only in the limit: what vanishes may be left out, another closed form must be exact."""

import pytest

from derivations.judging.small import expression, found, scope
from regard.derivations.context.designs import bind, solved
from regard.derivations.judging.findings import NoteKind
from regard.derivations.judging.relations import Relation
from regard.derivations.notation.syntax import Symbol
from regard.derivations.problems.problem import load_problem

ONE_HEAD = bind(scope("1b"), "q", expression(r"\beta(k_a + k_b)"))
LONG_KEY = solved(scope("1c.ii"), load_problem("cs224n-a4").question("1c.ii"))


@pytest.mark.parametrize(
    "source",
    [
        r"\sum_j e^{k_j^\top q} = 2e^\beta",
        r"2e^\beta = \sum_j e^{k_j^\top q}",
        r"\alpha_a = \frac{e^\beta}{2e^\beta}",
        r"\alpha_a = \frac{e^\beta}{e^\beta + e^\beta}",
        r"\alpha_a = \frac12",
        r"\frac12 = \alpha_a",
        r"\alpha_a = \frac12 - \frac{n-2}{4e^\beta}",
        r"1 - 2\alpha_a = 0",
        r"1 - 2\alpha_a = \frac{n-2}{2e^\beta}",
        r"c = \frac12(v_a + v_b)",
        r"c = \alpha_a v_a + \alpha_b v_b",
        r"c = \alpha_a v_a + \alpha_b v_b + 0",
    ],
)
def test_what_vanishes_may_be_left_out(source):
    finding = found(source, ONE_HEAD)
    assert finding.kind == "approximate", finding.reason
    assert finding.has_note(NoteKind.APPROXIMATION_MEANT)


@pytest.mark.parametrize(
    "source",
    [
        r"\sum_j e^{k_j^\top q} = 2e^\beta - 1000n",
        r"2e^\beta - 1000n = \sum_j e^{k_j^\top q}",
        r"\sum_j e^{k_j^\top q} = 2e^\beta + n",
        r"\alpha_a = \frac{e^\beta}{2e^\beta + n}",
        r"\alpha_a = \frac12 - \frac{n}{4e^\beta}",
        r"1 - 2\alpha_a = \frac{5(n-2)}{2e^\beta + n - 2}",
        r"c = \frac12(v_a + v_b) + \sum_{i \neq a,b} e^{-\beta} v_i",
        r"k_a^\top q + 5 = \beta",
        r"k_a^\top q = \beta + 5",
    ],
)
def test_another_closed_form_is_meant_exactly(source):
    finding = found(source, ONE_HEAD)
    assert finding.kind == "false", finding.reason
    assert finding.counterexample


@pytest.mark.parametrize(
    ("source", "is_so"),
    [
        (r"k_a^\top q = \gamma\beta", True),
        (r"k_a = \gamma\mu_a", True),
        (r"\alpha_a = \frac{e^{\gamma\beta}}{e^{\gamma\beta} + e^\beta}", True),
        (r"\alpha_a = \frac{e^{\gamma\beta}}{e^{\gamma\beta} + e^\beta + n - 2}", True),
        (r"\alpha_a = \frac{1}{1 + e^{(1-\gamma)\beta}}", True),
        (r"k_a^\top q = \gamma\beta + 1", False),
        (r"\alpha_a = \frac{e^{\gamma\beta}}{e^{\gamma\beta} + e^\beta + n}", False),
        (r"\alpha_a = \frac{1}{1 + e^{(\gamma-1)\beta}}", False),
    ],
)
def test_noise_goes_before_scales_grow(source, is_so):
    finding = found(source, LONG_KEY)
    assert finding.is_true is is_so, finding.reason
    assert is_so or "α = 0" in (finding.counterexample or "")


def test_a_summand_that_only_matters_under_the_premise_is_kept():
    """For γ < 0 the e^{γβ} that is kept is smaller than the n − 2 that is left out; the premise rules that out."""
    above = (Relation(left=Symbol("gamma"), sign=">", right=expression("0")),)
    source = r"\alpha_a = \frac{e^{\gamma\beta}}{e^{\gamma\beta} + e^\beta}"
    assert found(source, LONG_KEY, premises=above).is_true


@pytest.mark.parametrize(
    ("source", "is_so"),
    [(r"\sin\alpha = \alpha", True), (r"1 + \alpha = 1", True), (r"1 - \alpha = 1 + 5\alpha", False)],
)
def test_what_vanishes_alone_is_driven_alone(source, is_so):
    assert found(source).is_true is is_so
