"""The steps of one question: recognised for what they are, then decided."""

import pytest

from derivations.passages import DESIGN, PROBLEM, judged, last, outcomes


# -- recognised --------------------------------------------------------------------------------------------------------
def test_conditions_are_not_judged():
    steps = judged("1b", DESIGN, r"For $i \neq a$, with $\beta \to \infty$ and $\beta > 0$.")[1:]
    assert outcomes(*steps) == [("supposition", "holds")] * 3
    reasons = ["A condition on an index", "The regime", "The regime"]
    assert [verdict.reason for verdict in steps] == reasons


def test_what_the_problem_gives_is_recognised():
    assert outcomes(last("1b", r"$k_i^\top k_i = 1$")) == [("given", "given")]
    assert last("1b", r"$k_i^\top k_i = 2$").status == "refuted"


def test_a_new_symbol_is_defined_and_used_from_there_on():
    steps = judged(
        "1b",
        DESIGN,
        r"Let $S = 2e^\beta + n - 2$.",
        r"$\alpha_a = \frac{e^\beta}{S}$",
        r"$\alpha_a = \frac{e^{2\beta}}{S}$",
    )
    assert outcomes(*steps[1:3]) == [("definition", "definition"), ("step", "holds")]
    assert steps[3].status == "refuted"


def test_a_family_is_defined_by_a_free_index():
    assert last("1b", DESIGN, r"Let $x_i = k_i^\top q$.", r"$x_a = \beta$").status == "holds"
    assert last("1b", DESIGN, r"Let $x_i = k_i^\top q$.", r"$x_a = 2\beta$").status == "refuted"


def test_nothing_is_defined_by_a_step_that_looks_wrong():
    steps = judged("1b", r"$Y = k_a + n$", r"$Y = 5$")
    assert (steps[0].status, steps[0].outcome) == ("undecided", "doubtful")
    assert outcomes(steps[1]) == [("definition", "definition")]


def test_a_chain_goes_on_in_the_next_formula():
    steps = judged("1b", DESIGN, r"$$k_a^\top q = \beta k_a^\top (k_a + k_b)$$", r"$$= \beta$$", r"$$= 2\beta$$")
    assert [verdict.status for verdict in steps[1:]] == ["holds", "holds", "refuted"]


def test_a_relation_without_a_side_is_not_understood():
    assert outcomes(last("1b", r"$k_a =$")) == [("step", "not understood")]


# -- distributions -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("law", "status"),
    [(r"N(1, 0.5)", "holds"), (r"N(1, \frac12)", "holds"), ("N(0, 0.5)", "refuted"), ("N(1, 2)", "refuted")],
)
def test_a_distribution_is_compared_with_the_problems(law, status):
    assert last("1c.ii", rf"Here $\gamma \sim \mathcal {law}$.").status == status


def test_a_standard_deviation_is_not_held_against_anyone():
    problem = PROBLEM.question("1c.ii").setting.symbols["gamma"]
    assert problem.variance == 0.5
    assert last("1c.ii", r"Here $\gamma \sim \mathcal N(1, 0.70710678)$.").status == "refuted"


def test_another_letter_for_the_random_number():
    text = r"Let $\eta \sim \mathcal N(1, 0.5)$."
    assert last("1c.ii", text, r"$\mathbb{E}[\eta] = 1$").status == "holds"
    assert last("1c.ii", text, r"$\mathbb{E}[\eta] = 2$").status == "refuted"


# -- after a slip ------------------------------------------------------------------------------------------------------
def test_what_follows_from_the_last_right_term_is_not_held_against_anyone():
    steps = judged("1b", DESIGN, r"$$k_a^\top q = \beta k_a^\top(k_a + k_b) = 2\beta = \beta$$")
    assert [verdict.outcome for verdict in steps[1:]] == ["holds", "refuted", "after_slip"]


def test_what_is_wrong_from_there_too_is_refuted_again():
    steps = judged("1b", DESIGN, r"$$k_a^\top q = \beta k_a^\top(k_a + k_b) = 2\beta = 3\beta$$")
    assert [verdict.outcome for verdict in steps[1:]] == ["holds", "refuted", "refuted"]


def test_what_is_so_for_the_query_that_was_asked_for():
    steps = judged("1b", r"Take $q = k_a + k_b$.", r"$c \approx \frac12(v_a + v_b)$", r"$k_a^\top q = 2$")
    assert [verdict.outcome for verdict in steps] == ["refuted", "after_slip", "refuted"]


# -- designs -----------------------------------------------------------------------------------------------------------
def test_a_second_design_is_judged_on_its_own():
    steps = judged("1b", r"First try: $q = k_a + k_b$.", r"Better: $q = \beta(k_a + k_b)$.")
    assert [(verdict.kind, verdict.outcome) for verdict in steps] == [
        ("design", "doubtful"),
        ("design", "holds in the limit"),
    ]


@pytest.mark.parametrize(
    "passages",
    [
        (r"$q_1 = \beta\mu_a$, $q_2 = \beta\mu_b$.", r"Or else $q_1 = \beta\mu_b$ and $q_2 = \beta\mu_a$."),
        (r"$q_1 = \beta\mu_a$ or $q_1 = \beta\mu_b$.", r"Then $q_2 = \beta\mu_b$ or $q_2 = \beta\mu_a$."),
        (r"$q_1 = \beta\mu_a$ or $q_1 = \beta\mu_b$.", r"Then $q_2 = \beta\mu_a$ or $q_2 = \beta\mu_b$."),
    ],
)
def test_two_designs_may_stand_in_any_order(passages):
    assert [verdict.status for verdict in judged("1d.i", *passages)] == ["holds"] * 4
    short = [passage.replace(r"q_1 = \beta", "q_1 = ") for passage in passages]
    statuses = [(verdict.statement[:3], verdict.status) for verdict in judged("1d.i", *short)]
    assert [status for name, status in statuses if name == "q_1"] == ["refuted"] * 2


def test_a_design_that_the_text_takes_back_is_no_claim():
    step = last("1b", r"The query $q = k_a + k_b$ is not enough.")
    assert outcomes(step) == [("supposition", "supposition")]
    assert last("1b", r"The query $q = k_a + k_b$ is enough.").status == "refuted"


def test_steps_are_judged_with_the_design_in_place():
    assert last("1b", r"Take $q = \lambda(k_a + k_b)$.", r"$k_a^\top q = \lambda$").status == "holds"
    assert last("1b", r"Take $q = \lambda(k_a + k_b)$.", r"$k_a^\top q = 2\lambda$").status == "refuted"


# -- suppositions ------------------------------------------------------------------------------------------------------
def test_a_step_under_a_condition_is_never_refuted():
    assert last("1b", DESIGN, r"If the keys were longer, $k_a^\top k_a = 2$.").outcome == "supposition"
    assert last("1b", DESIGN, r"The keys are longer, $k_a^\top k_a = 2$.").status == "refuted"


def test_particular_values_are_put_in():
    text = r"With $n = 10$ and $\beta = 5$ we get $\alpha_a = \frac{e^5}{2e^5 + 8}$ and $\alpha_a \approx 0.4869$."
    steps = judged("1b", DESIGN, text)
    assert [verdict.status for verdict in steps[3:]] == ["holds", "holds"]
    wrong = judged("1b", DESIGN, text.replace("0.4869", "0.4689"))
    assert wrong[-1].status == "refuted"


def test_strictly_an_equality_must_be_exact():
    loose = (DESIGN, r"$c = \frac12(v_a + v_b)$")
    assert judged("1b", *loose)[-1].outcome == "≈ is meant"
    assert judged("1b", *loose, is_strict=True)[-1].status == "refuted"


def test_a_probability_goes_with_the_step():
    step = last("1d.ii", r"$c_1 \approx v_a$")
    assert step.probability == pytest.approx(0.92135, abs=1e-5)
    assert step.outcome == "holds with probability"


def test_a_design_in_parentheses_is_given_up_after_its_paragraph():
    designs = r"$q_1 = \beta\mu_a$ and $q_2 = \beta\mu_b$. (Also $q_1 = q_2 = \beta(\mu_a + \mu_b)$ would do.)"
    steps = judged("1d.ii", designs + "\n\n" + r"$k_a^\top q_2 \approx \gamma\beta$, $k_b^\top q_2 \approx \beta$")
    assert [step.status for step in steps[-2:]] == ["refuted", "holds"]


def test_a_condition_that_makes_two_sizes_equal_leaves_its_clause_open():
    step = last("1b.subspace", r"In the special case $m = d$ we have $AA^\top = I$.")
    assert (step.status, step.outcome) == ("undecided", "supposition")
    assert last("1b.subspace", r"We have $AA^\top = I$.").status == "refuted"


def test_weights_have_derivatives_by_the_scores_that_their_definition_spells_out():
    def status(variable: str, slope: str) -> str:
        scores = r"Let $r_i = k_i^\top q$ be the scores."
        return last("1b", DESIGN, scores, rf"So $\frac{{\partial\alpha_a}}{{\partial r_{variable}}} = {slope}$.").status

    assert status("b", r"-\alpha_a\alpha_b") == "holds"
    assert status("b", r"\alpha_a\alpha_b") == "refuted"
    assert status("a", r"\alpha_a(1 - \alpha_a)") == "holds"
    assert status("a", r"\alpha_a(1 + \alpha_a)") == "refuted"


@pytest.mark.parametrize(
    ("columns", "status"),
    [
        (r"[a_1, \dots, a_m]", "holds"),
        (r"(a_1, a_2, \ldots, a_m)", "holds"),
        (r"[a_1 \mid a_2 \mid \cdots \mid a_m]", "holds"),
        (r"(a_1, \dots, a_p)", "undecided"),
    ],
)
def test_a_list_of_vectors_is_a_matrix_with_these_columns(columns, status):
    assert last("1b.subspace", f"We know $A = {columns}$.").status == status


def test_a_list_of_numbers_is_a_column():
    assert last("1b", DESIGN, r"Here $\alpha = (\alpha_1, \dots, \alpha_n)$.").status == "holds"
