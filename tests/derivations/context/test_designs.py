"""Designs: what reaches the goal, what does not, and which scale would do."""

import pytest

from regard.derivations.context.designs import (
    bind,
    judge_designs,
    needed_scale,
    open_symbol,
    shortfall,
    solved,
    with_scales,
)
from regard.derivations.judging.findings import Finding, NoteKind
from regard.derivations.judging.relations import read_side
from regard.derivations.judging.scope import Scope
from regard.derivations.notation.syntax import Symbol
from regard.derivations.notation.tokens import tokenize
from regard.derivations.problems.problem import load_problem
from regard.derivations.verify import verify

PROBLEM = load_problem("cs224n-a4")


def scope_of(question: str) -> Scope:
    return Scope(setting=PROBLEM.question(question).setting)


def designed(question: str, **sources: str) -> dict[str, Finding]:
    scope = scope_of(question)
    own = {name: read_side(tokenize(source), scope) for name, source in sources.items()}
    return judge_designs(scope, PROBLEM.question(question), own)


@pytest.mark.parametrize(
    ("question", "source"),
    [
        ("1b", r"\beta(k_a + k_b)"),
        ("1b", r"t(k_a + k_b)"),
        ("1b", r"\lambda(k_b + k_a) + k_a - k_a"),
        ("1c.i", r"\beta(\mu_a + \mu_b)"),
        ("1c.i", r"2\beta(\mu_a + \mu_b)"),
    ],
)
def test_scaled_sums_reach_the_goal(question, source):
    finding = designed(question, q=source)["q"]
    assert finding.is_true
    assert finding.reason.startswith("Reaches the goal c ≈ ½(v_a + v_b)")


@pytest.mark.parametrize(("question", "source"), [("1b", "k_a + k_b"), ("1c.i", r"\mu_a + \mu_b"), ("1b", "K_a + K_b")])
def test_an_unscaled_sum_is_told_the_scale(question, source):
    finding = designed(question, q=source)["q"]
    written = source.replace(r"\mu", "μ")
    assert finding.is_false
    assert finding.reason == f"Missing a scale factor: q = β({written}) with β large would work"
    assert str(finding.notes[0]) == "β ≥ 5.3 brings it within 0.01"
    assert finding.notes[1].kind is NoteKind.GOAL_MISSED
    assert finding.counterexample == "at n = 10: each of the two weights is 0.2023, not 0.5"


@pytest.mark.parametrize("source", [r"\beta k_a", r"\beta(k_a - k_b)", r"-\beta(k_a + k_b)"])
def test_a_wrong_direction_is_not_mended_by_a_scale(source):
    finding = designed("1b", q=source)["q"]
    assert finding.is_false
    assert "scale" not in finding.reason
    assert "at n = 10, β = 32" in (finding.counterexample or "")


def test_two_designs_are_judged_together_and_blamed_apart():
    right = designed("1d.i", q_1=r"\beta\mu_a", q_2=r"\beta\mu_b")
    assert all(finding.is_true for finding in right.values())
    turned = designed("1d.i", q_1=r"\beta\mu_b", q_2=r"\beta\mu_a")
    assert all(finding.is_true for finding in turned.values())
    slipped = designed("1d.i", q_1=r"\beta\mu_a", q_2=r"\mu_b")
    assert slipped["q_1"].is_true
    assert slipped["q_2"].is_false
    same = designed("1d.i", q_1=r"\beta\mu_a", q_2=r"\beta\mu_a")
    assert same["q_1"].is_true
    assert same["q_2"].is_false


def test_a_matrix_that_extracts():
    assert designed("1b.subspace", M=r"A A^\top")["M"].is_true
    assert designed("1b.subspace", M=r"A^\top")["M"].is_false
    assert designed("1b.subspace", M=r"B B^\top")["M"].is_false


def test_the_needed_scale_is_the_least_to_a_tenth():
    """n = 10: e^β/(2e^β + 8) is within 0.01 of ½ from β = ln 196 = 5.278 on."""
    question = PROBLEM.question("1b")
    assert question.design is not None
    scope = solved(scope_of("1b"), question)
    assert needed_scale(scope, question.design) == 5.3
    never = solved(scope_of("1b"), question, {"q": read_side(tokenize(r"\beta k_a"), scope)})
    assert needed_scale(never, question.design) is None


def test_a_problem_that_shows_nothing_has_no_shortfall():
    question = PROBLEM.question("1b.subspace")
    assert question.design is not None
    assert shortfall(solved(scope_of("1b.subspace"), question), question.design) is None


def test_unexplained_letters_are_scales_and_explained_ones_are_not():
    scope = with_scales(scope_of("1b"), read_side(tokenize(r"\eta n (k_a + k_b) e"), scope_of("1b")))
    assert scope.own.keys() == {"eta"}
    assert scope.own["eta"].tends == "infinity"


def test_binding_puts_a_formula_in():
    formula = read_side(tokenize("s k_a"), scope_of("1b"))
    assert bind(scope_of("1b"), "q", formula).find(Symbol("q")).meaning.formula == formula


@pytest.mark.parametrize(("source", "name"), [("q", "q"), ("Q", "q"), ("k_a", None), ("2 q", None)])
def test_open_symbols_are_known_under_every_spelling(source, name):
    scope = scope_of("1b")
    assert open_symbol(read_side(tokenize(source), scope), PROBLEM.question("1b"), scope) == name
    assert open_symbol(Symbol("q"), PROBLEM.question("1c.ii"), scope) is None


def test_a_letter_that_could_not_be_read_is_no_scale_of_a_design():
    text = "1.(b) An average of two\n\nLet $r = 7$ and $\\beta = r$. Take $q = \\beta(k_a + k_b)$.\n"
    assert verify(text, "cs224n-a4").outcome == "judged"
