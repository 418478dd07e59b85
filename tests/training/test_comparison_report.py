"""Variants of a training told apart, or left undecided, on made-up answers."""

import re

import numpy as np
import pytest

from regard.core.errors import InputError
from regard.training.comparison_report import Variant, compare_variants, name_variants


def variant(positions, chances, *, recipe="fast", questions=400, seed=0):
    """Answers that are right with a chance of their own at each seed."""
    rng = np.random.default_rng([seed, len(positions), sum(map(ord, positions + recipe))])
    right = np.stack([rng.uniform(size=questions) < chance for chance in chances])
    return Variant(recipe=recipe, positions=positions, steps=10, right=right)


def compared(variants, **options):
    return compare_variants(name_variants(variants), **options)


def test_a_large_difference_holds_and_is_named_by_the_better():
    pairs = compared([variant("none", [0.40, 0.41, 0.42]), variant("rotary", [0.80, 0.81, 0.82])])
    (pair,) = pairs
    assert (pair.better, pair.worse, pair.verdict().status) == ("rotary", "none", "holds")
    assert re.match(r"rotary is better by \d+\.\d ± \d+\.\d points \(3 seeds, paired", pair.verdict().reason)
    assert pair.difference.lower > 0
    assert pair.verdict().statement == "rotary answers more questions than none"


def test_a_small_difference_is_undecided_and_says_how_many_seeds_would_decide():
    pairs = compared([variant("none", [0.50, 0.60, 0.55]), variant("rotary", [0.60, 0.55, 0.62])])
    verdict, gap = pairs[0].verdict(), pairs[0]
    assert verdict.status == "undecided"
    assert gap.seeds_needed is not None
    assert gap.seeds_needed > 3
    assert "undecided at 3 seeds" in verdict.reason
    assert f"about {gap.seeds_needed} would decide" in verdict.reason
    assert gap.difference.lower < 0 < gap.difference.upper


def test_one_seed_decides_nothing_across_seeds_but_models_are_compared():
    (pair,) = compared([variant("none", [0.2]), variant("rotary", [0.9])])
    assert pair.verdict().status == "undecided"
    assert "can't tell how other seeds would do" in pair.verdict().reason
    assert "McNemar" in pair.verdict().reason
    assert pair.p < 1e-6
    assert pair.only_better > pair.only_worse


def test_only_pairs_that_differ_in_one_thing_are_compared():
    ways = [variant(p, [0.5, 0.6], recipe=r) for r in ("fast", "scratch") for p in ("none", "rotary", "alibi")]
    pairs = compared(ways)
    assert len(pairs) == 2 * 3 + 3
    names = {pair.better for pair in pairs} | {pair.worse for pair in pairs}
    assert "fast rotary" in names
    assert len(compared(ways, against="fast rotary")) == 5
    with pytest.raises(InputError, match="No variant is called 'rope'"):
        compared(ways, against="rope")


def test_intervals_leave_out_zero_exactly_where_holm_decides():
    chances = {"none": 0.30, "learned": 0.40, "sinusoidal": 0.42, "rotary": 0.60, "alibi": 0.43}
    ways = [variant(p, [c - 0.01, c, c + 0.01], questions=2000) for p, c in chances.items()]
    pairs = compared(ways)
    statuses = {pair.verdict().status for pair in pairs}
    assert statuses == {"holds", "undecided"}
    for pair in pairs:
        assert (pair.difference.lower > 0) == (pair.verdict().status == "holds")
        assert (pair.p_holm <= 0.05) == (pair.verdict().status == "holds")


def test_more_comparisons_need_more():
    two = [variant("none", [0.50, 0.52, 0.51], questions=2000), variant("rotary", [0.56, 0.57, 0.58], questions=2000)]
    more = [*two, *(variant(p, [0.5, 0.5, 0.5], questions=2000) for p in ("alibi", "learned", "sinusoidal"))]
    (alone,) = compared(two)
    among = next(p for p in compared(more) if {p.better, p.worse} == {"rotary", "none"})
    assert among.p == alone.p
    assert among.p_holm > alone.p_holm


def test_equal_ways_are_rarely_called_different():
    # 100 comparisons of three equal ways at 5 %: more than 15 alarms happen with probability below 1e-4.
    alarms = 0
    for seed in range(100):
        rng = np.random.default_rng([9, seed])
        ways = [variant(p, rng.normal(0.5, 0.05, 3), questions=50, seed=seed) for p in ("none", "rotary", "alibi")]
        alarms += any(pair.verdict().status == "holds" for pair in compared(ways))
    assert alarms <= 15


def test_each_way_has_both_intervals():
    (found,) = name_variants([variant("rotary", [0.5, 0.7, 0.6])])
    assert found.name == "rotary"
    assert found.mean.mean == pytest.approx(found.pooled.value)
    assert found.pooled.asked == 1200
    # Seeds differ by more than questions do here, so the interval over seeds is the wider.
    assert found.mean.half_width > found.pooled.upper - found.pooled.value


def test_variants_are_named_by_what_tells_them_apart():
    def names(*pairs):
        return [each.name for each in name_variants([variant(p, [0.5], recipe=r) for r, p in pairs])]

    assert names(("fast", "none"), ("fast", "rotary")) == ["none", "rotary"]
    assert names(("fast", "none"), ("scratch", "none")) == ["fast", "scratch"]
    assert names(("fast", "none"), ("scratch", "rotary")) == ["fast none", "scratch rotary"]
