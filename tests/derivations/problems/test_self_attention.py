"""The shipped question on key-query-value self-attention: its answers, its designs and slips in both."""

import pytest

from regard.derivations.results import Role
from regard.derivations.verify import verify

HEADING = "# 1.(e) Key-Query-Value self-attention in neural networks\n\n"


def statuses(part: str, answer: str) -> list[tuple[str | None, str]]:
    report = verify(f"{HEADING}({part}) {answer}", "cs224n-a4")
    return [(verdict.question, verdict.status) for verdict in report.verdicts]


@pytest.mark.parametrize(
    ("step", "status"),
    [
        (r"c_2 \approx u_a", "holds"),
        (r"c_2 \approx u_b", "refuted"),
        (r"k_2^\top q_2 = \beta^2", "holds"),
        (r"k_2^\top q_2 = \beta", "refuted"),
        (r"\alpha_{22} = \frac{e^{\beta^2}}{e^{\beta^2} + 2}", "holds"),
        (r"\alpha_{22} = \frac{e^{\beta^2}}{e^{\beta^2} + 3}", "refuted"),
        (r"\alpha_{21} \approx 0", "holds"),
        (r"u_a^\top u_b = 0", "holds"),
        (r"c_1 \approx u_d + u_b", "holds"),
    ],
)
def test_steps_of_the_first_part(step, status):
    assert statuses("i", f"Here ${step}$.") == [("1e.i", status)]


@pytest.mark.parametrize(
    ("answer", "status"),
    [("No, it can't.", "holds"), ("It is impossible by adding either.", "holds"), ("Yes, by adding u_d.", "refuted")],
)
def test_the_choice_of_the_first_part(answer, status):
    assert statuses("i", answer) == [("1e.i", status)]


VALUES = r"V = \frac{1}{\beta^2}(u_b u_b^\top - u_c u_c^\top)"
QUERIES = r"u_d u_a^\top + u_c u_d^\top"


@pytest.mark.parametrize(
    ("design", "expected"),
    [
        ([VALUES, rf"Q = \frac{{1}}{{\beta^2}}({QUERIES})", "K = I"], ["holds"] * 3),
        ([VALUES, rf"Q = {QUERIES}", "K = I"], ["holds"] * 3),
        ([VALUES, rf"Q = \beta({QUERIES})", r"K = u_d u_d^\top + u_c u_c^\top"], ["holds"] * 3),
        ([r"V = u_b u_b^\top - u_c u_c^\top", rf"Q = {QUERIES}", "K = I"], ["refuted", "holds", "holds"]),  # too long
        (
            [r"V = \frac{1}{\beta^2}(u_b u_b^\top + u_c u_c^\top)", rf"Q = {QUERIES}", "K = I"],
            ["refuted", "holds", "holds"],
        ),
        ([VALUES, r"Q = u_a u_d^\top + u_d u_c^\top", "K = I"], ["holds", "refuted", "holds"]),
        pytest.param(  # softmax does not saturate
            [VALUES, rf"Q = \frac{{1}}{{\beta^4}}({QUERIES})", "K = I"],
            ["holds", "refuted", "holds"],
            marks=pytest.mark.xfail(strict=True, reason="K is blamed for what Q lacks"),
        ),
    ],
)
def test_designs_of_the_second_part(design, expected):
    answer = "Take " + ", ".join(f"${part}$" for part in design) + "."
    assert statuses("ii", answer) == [("1e.ii", status) for status in expected]


@pytest.mark.parametrize("design", [r"V = u_b u_b^\top - u_c u_c^\top", r"Q = u_a u_d^\top + u_d u_c^\top"])
def test_a_part_of_a_design_that_looks_wrong_beside_the_usual_others_is_doubtful(design):
    (step,) = verify(f"{HEADING}(ii) Take ${design}$.", "cs224n-a4").verdicts
    assert (step.role, step.status, step.outcome) == (Role.DESIGN, "undecided", "doubtful")


def test_the_summary_of_the_other_edition_stands_where_it_stood():
    report = verify("# 1.(e) Summary\n\nTwo heads: $c = \\frac12(c_1 + c_2)$.", "cs224n-a4")
    assert [verdict.question for verdict in report.verdicts] == ["1e"]
