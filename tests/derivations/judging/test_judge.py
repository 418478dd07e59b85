"""A relation is false only if every sensible reading fails."""

import pytest

from derivations.judging.small import expression, found, scope, sides
from regard.derivations.judging.findings import NoteKind
from regard.derivations.judging.relations import Relation, readings
from regard.derivations.judging.setting import SymbolMeaning
from regard.derivations.notation.syntax import Condition, Number, Symbol

LAYER = scope("2a.i")


def test_the_plain_reading_comes_first_and_leaves_no_note():
    first = next(readings(sides("x = 1 u_i"), scope()))
    assert first.notes == ()
    assert first.relation == Relation(left=expression("x"), sign="=", right=expression("1 u_i"))


@pytest.mark.parametrize("error", [ValueError("no"), ZeroDivisionError(), RecursionError(), KeyError("x")])
def test_a_fault_of_the_judge_leaves_the_step_open(monkeypatch, error):
    def fail(*_):
        raise error

    monkeypatch.setattr("regard.derivations.judging.judge._decide", fail)
    finding = found("x = y + 1")
    assert finding.kind == "not understood"
    assert type(error).__name__ in finding.reason


def test_a_one_may_be_a_vector_of_ones():
    for source in (r"1 \cdot b_1 = \mathbf 1 b_1", r"P^\top 1 \cdot b_1 = 1 \cdot b_1", "P 1 = 1"):
        finding = found(source, LAYER)
        assert finding.is_true, source
        assert finding.has_note(NoteKind.VECTOR_OF_ONES)
    for source in (r"1 \cdot b_1 = \mathbf 1 b_2", r"P X 1 \cdot b_1 = 1 \cdot b_1", r"X^\top 1 = 1"):
        assert found(source, LAYER).is_false, source


def test_a_slash_may_reach_over_what_follows():
    assert found("x/2y = x/(2y)").is_true
    assert found("x/2 y = x y/2").is_true
    assert found("x/2y = 2x/y").is_false


def test_the_others_may_be_all_but_one():
    assert found(r"\sum_{others} k_i^\top k_i = n - 2").is_true
    finding = found(r"\sum_{others} k_i^\top k_i = n - 1")
    assert finding.is_true
    assert NoteKind.OTHERS.note("a") in finding.notes
    assert found(r"\sum_{others} k_i^\top k_i = n - 3").is_false


def test_free_indices_may_be_any_but_the_fixed_ones():
    finding = found(r"k_i^\top (k_a + k_b) = 0")
    assert finding.is_true
    assert NoteKind.UNFIXED_INDEX.note("a, b") in finding.notes
    assert found(r"k_i^\top (k_a + k_b) = 1").is_false


def test_different_indices_may_be_different():
    finding = found(r"k_i^\top k_j = 0")
    assert finding.is_true
    assert finding.has_note(NoteKind.DISTINCT_INDICES)


def test_written_conditions_are_kept():
    same = (Condition(Symbol("i"), "=", (Symbol("j"),)),)
    assert found(r"k_i^\top k_j = 1", conditions=same).is_true
    assert found(r"k_i^\top k_j = 0", conditions=same).is_false


def test_conditions_that_no_index_meets_leave_nothing_to_judge():
    nobody = (Condition(Symbol("i"), "=", (Symbol("a"),)), Condition(Symbol("i"), "≠", (Symbol("a"),)))
    assert found(r"k_i^\top k_j = 0", conditions=nobody).kind == "not understood"


def test_premises_leave_out_the_draws_that_break_them():
    above = (Relation(left=Symbol("gamma"), sign=">", right=expression("0")),)
    assert found(r"e^{-\beta\gamma} \approx 0", premises=above).probability is None
    assert found(r"e^{-\beta\gamma} \approx 0").probability is not None


def test_one_name_may_stand_for_two_things():
    finding = found(r"X_p^\top X_p = I", LAYER)
    assert finding.is_true
    assert dict(finding.swaps) == {"X_perm": "P"}
    assert found(r"X_p X_p = I", LAYER).is_false


def test_indices_may_count_from_zero():
    inside = scope("2b.ii")
    assert found(r"\omega_k = 10000^{-2k/d}", inside).has_note(NoteKind.INDEX_FROM_ZERO)
    assert found(r"\omega_k = 10000^{-2(k-1)/d}", inside).is_true
    assert found(r"\omega_k = 10000^{-3k/d}", inside).is_false


def test_a_sum_that_says_where_it_begins_does_not_count_from_zero():
    assert found(r"\sum_{i=1}^n i = \frac{n(n + 1)}{2}").is_true
    assert found(r"\sum_{i=1}^n i = \frac{n(n - 1)}{2}").is_false
    assert found(r"\sum_{i=0}^{n-1} i = \frac{n(n - 1)}{2}").is_true
    assert not found(r"\sum_{i=0}^{n-1} i = \frac{n(n + 1)}{2}").is_true


def test_a_letter_that_nobody_explains_may_be_any_number():
    finding = found(r"\eta x + \eta y = \eta (x + y)")
    assert finding.is_true
    assert finding.has_note(NoteKind.ANY_NUMBER)
    assert found(r"\eta x = x").kind == "unknown"


def test_a_slip_of_text_recognition_is_never_refuted():
    keys = scope("1b")
    assert found(r"k_a^\top k_b = O", keys).is_true
    assert found(r"k_a^\top k_a = O", keys).kind == "not understood"
    assert found(r"k_a^\top k_a = 0", keys).is_false


def test_a_letter_that_only_resembles_zero_makes_nothing_true():
    assert found(r"3 D = 5 D", scope("1b")).kind == "unknown"


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        (r"\beta\gamma \sim N(\beta, \frac12\beta^2)", "true"),
        (r"\beta\gamma - y \sim \mathcal N(\beta - y, \frac{\beta^2}{2})", "true"),
        (r"\gamma + \sqrt\alpha u^\top \rho \sim N(1, \frac12)", "approximate"),
        (r"\beta\gamma \sim N(\beta, \frac12\beta)", "false"),
        (r"\beta\gamma \sim N(0, \frac12\beta^2)", "false"),
        (r"\beta\gamma \sim N(\beta, \frac{\beta}{\sqrt2})", "unknown"),  # maybe a deviation
        (r"\gamma^2 \sim N(1, \frac12)", "not understood"),
        (r"\mathrm{std}(\beta\gamma) = \frac{\beta}{\sqrt2}", "true"),
        (r"\operatorname{sd}(\gamma) = \frac12", "false"),
    ],
)
def test_a_normal_law_is_claimed_by_its_mean_and_its_variance(source, kind):
    assert found(source).kind == kind


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        (r"E[\gamma^2] = \frac32", "true"),
        (r"E[\gamma^2] = \frac12", "false"),
        (r"\operatorname{Var}(\gamma^2) = \frac52", "true"),
        (r"E[e^{x\gamma}] = e^{x + x^2/4}", "true"),
        (r"E[e^{x\gamma}] = e^{x + x^2/2}", "false"),
        (r"E[|\gamma - 1|] = \frac{1}{\sqrt\pi}", "not understood"),  # a corner
        (r"E[|u^\top \rho|] = 0", "not understood"),  # many random numbers
        (r"E[\|\rho\|^2] = 2d", "not understood"),
    ],
)
def test_means_of_what_depends_on_one_normal_number(source, kind):
    assert found(source).kind == kind


@pytest.mark.parametrize("source", [r"x \sim y", r"x \propto y", r"x \gg y", r"x \in S"])
def test_signs_that_cannot_be_judged_here(source):
    assert found(source).kind in ("not understood", "unknown")


@pytest.mark.parametrize(
    ("number", "places"),
    [("0.2023", 4), ("0.50", 2), ("3", 0), (".5", 1), ("0 . 4 9 9 7", 4), ("0,159", 3), (r"8 \cdot 10^{-7}", 7)],
)
def test_printed_decimals_are_counted(number, places):
    node = expression(number)
    assert isinstance(node, Number)
    assert node.places == places
    assert node == Number(node.value)


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("e^{0.577} = 1.781", "true"),
        ("e^{1.155} = 3.173", "true"),
        (r"2 \cdot 1.781 = 3.562", "true"),
        (r"2 \cdot 1.781 = 3.565", "false"),
        (r"\frac17 = 0.1429", "true"),
        (r"\frac17 = 0.1427", "false"),
        (r"\frac23 = 0.66", "unknown"),  # cut off
        ("10000^{-1/2} = 0.1", "false"),
        (r"\frac17 \approx 0.14", "true"),
        (r"\frac17 \approx 0.1427", "unknown"),
        (r"\frac17 \approx 0.2", "false"),
        (r"e^5 \approx 148", "approximate"),
        (r"e^5 \approx 158", "false"),
        (r"2^5 = 33", "false"),
        (r"e^{0.577} > 1.8", "false"),
        (r"0.33 x + 0.67 x = x", "true"),
        (r"0.5 u + 0.25 u = u", "false"),
        (r"\frac{e^\beta}{3e^\beta + 1} \approx 0.33", "approximate"),
        (r"\frac{e^\beta}{3e^\beta + 1} \approx 0.35", "false"),
        (r"\frac{e^\beta}{3e^\beta + 1} \to 0.5", "false"),
    ],
)
def test_printed_decimals_may_be_rounded(source, kind):
    finding = found(source)
    assert finding.kind == kind or (kind == "unknown" and not finding.is_false and not finding.is_true), finding.reason


def test_a_value_that_is_set_with_decimals_is_exact_where_none_are_printed():
    inside = scope().with_meaning(SymbolMeaning(name="y", formula=expression("1.0")))
    assert found(r"e^{y} > 2.7", inside).is_true
    assert found(r"\frac{1}{1 + e^{50(1 - y)}} = \frac{1}{1 + e^{50(y - 1) + 1}}", inside).is_false


@pytest.mark.parametrize(
    ("statement", "is_true"),
    [
        (r"P(\gamma > 0) \approx 0.92135", True),
        (r"P(0 < \gamma < 2) \approx 0.8427", True),
        (r"P(2 > \gamma > 0) \approx 0.8427", True),
        (r"P(0 < \gamma < 2) \approx 0.92135", False),
    ],
)
def test_the_probability_of_an_interval(statement, is_true):
    assert found(statement).is_true is is_true
