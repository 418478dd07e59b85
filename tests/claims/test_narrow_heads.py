"""What narrow heads can do: known figures, and forms that are wrong by a little."""

import numpy as np
import pytest

from regard.analysis.closed_forms.low_rank import centred_logs_rank, circle_gap, neighbours_margin
from regard.analysis.closed_forms.softmax import average_scale, copy_margin
from regard.claims import all_claims

CLAIMS = all_claims()
SINGLE, PAIRS, RANK = (
    CLAIMS[name]
    for name in ("narrow-heads-single-out-few", "averaging-pairs-needs-width-n", "attention-rank-is-head-width")
)


def test_the_neighbours_scale_is_the_known_one_and_all_but_enough():
    scale = neighbours_margin(0.01, 10) / circle_gap(np.pi / 10)
    assert scale == pytest.approx(27.69, abs=0.005)
    others = np.exp(scale * (np.cos(2 * np.pi * np.arange(1, 10) / 10) - 1)).sum()
    assert 1 / (1 + others) == pytest.approx(0.99, abs=1e-7)
    assert 1 / (1 + others) < 0.99


@pytest.mark.parametrize("n", [3, 10, 1000, 10**12])
@pytest.mark.parametrize(("claim", "width"), [(SINGLE, 2), (PAIRS, 4)])
def test_only_the_true_least_width_is_proved(claim, width, n):
    n = max(n, 5)
    assert claim.decide({"n": n}, form={"least": lambda _n: width}).status == "proved"
    for wrong in (width - 1, width + 1, n):
        verdict = claim.decide({"n": n}, form={"least": lambda _n, wrong=wrong: wrong})
        assert verdict.status == ("proved" if wrong == width else "refuted")
        assert wrong == width or "the statement says that width" in verdict.counterexample


@pytest.mark.parametrize(
    ("claim", "form"),
    [
        (SINGLE, {"least": lambda _n: 2, "enough": neighbours_margin}),
        (SINGLE, {"least": lambda _n: 2, "needed": copy_margin}),
        (PAIRS, {"least": lambda _n: 4, "enough": lambda epsilon, n: average_scale(epsilon, n / 2)}),
    ],
)
def test_a_scale_that_is_too_small_or_not_needed_is_refuted(claim, form):
    assert claim.decide(form=form).status == "refuted"


def test_a_head_of_width_one_reaches_full_rank():
    verdict = RANK.decide({"d": 1, "extra": 11})
    assert verdict.status == "refuted"
    assert verdict.value == 12
    assert "2^{ij}" in verdict.counterexample


@pytest.mark.parametrize("chosen", [{}, {"d": 3, "extra": 1}, {"d": 3, "extra": 9}, {"d": 10**9}])
def test_the_rank_bottleneck_is_exactly_the_width(chosen):
    bottleneck = "row-centred log A"
    assert RANK.decide(chosen, form={"most": centred_logs_rank, "of": bottleneck}).status == "proved"
    for shift in (-1, 1):
        form = {"most": lambda d, t, shift=shift: centred_logs_rank(d, t) + shift, "of": bottleneck}
        assert RANK.decide(chosen, form=form).status == "refuted"
    assert RANK.decide(chosen, form={"most": lambda _d, tokens: tokens - 1}).status == "refuted"


@pytest.mark.parametrize("chosen", [{"H": 2, "d": 1}, {"H": 16, "d": 2}, {"H": 10**6, "d": 10**6}])
def test_shared_keys_bound_the_rank_at_any_size(chosen):
    claim = CLAIMS["shared-keys-bound-the-rank"]
    assert claim.decide(chosen).status == "proved"
    # Four numbers of heads and widths are H + d as well as H·d, so the generic symbols must tell them apart.
    assert {claim.decide(chosen, form=near_miss.form).status for near_miss in claim.near_misses} == {"refuted"}
