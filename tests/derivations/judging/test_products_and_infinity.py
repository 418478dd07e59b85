"""⊙ and ⊗, ∞ inside expressions, weights of numbered heads, and sums up to a letter that nothing explains."""

import pytest

from derivations.passages import judged, last


@pytest.mark.parametrize(
    ("step", "status"),
    [
        (r"$\mu_a \otimes \mu_b = \mu_a\mu_b^\top$", "holds"),
        (r"$\mu_a \otimes \mu_b = \mu_b\mu_a^\top$", "refuted"),
        (r"$(\mu_a \odot \mu_b)^\top v_a = \mu_a^\top (\mu_b \odot v_a)$", "holds"),
        (r"$\mu_a \odot \mu_b = \mu_a^\top\mu_b$", "undecided"),
        (r"$(\mu_a \odot \mu_b)^\top v_a = \mu_a^\top (\mu_a \odot v_a)$", "refuted"),
        (r"$2\mu_a \odot \frac{1}{2} = \mu_a$", "holds"),
        (r"$\mu_a \odot \mu_a^\top\mu_a = \mu_a$", "holds"),
    ],
)
def test_products_other_than_the_matrix_product(step: str, status: str):
    assert last("1c.i", step).status == status


@pytest.mark.parametrize(
    ("step", "status"),
    [
        (r"$\alpha_a \approx \frac{1}{1+\infty}$ when $\gamma = 0.5$", "holds"),
        (r"$\alpha_a \approx \frac{1}{1+e^{-\infty}}$ when $\gamma = 1.5$", "holds"),
        (r"$\alpha_a \approx \frac{1}{1+e^{-\infty}}$ when $\gamma = 0.5$", "refuted"),
        (r"$\alpha_a \approx \frac{\infty}{\infty}$ when $\gamma = 0.5$", "undecided"),
    ],
)
def test_what_is_computed_with_infinity(step: str, status: str):
    assert judged("1c.ii", step)[0].status == status


def test_the_weights_of_numbered_heads():
    heads = r"Take $q_1 = \beta\mu_a$ and $q_2 = \beta\mu_b$."
    statuses = [v.status for v in judged("1d.i", heads, r"$\alpha_{a1} \approx 1$, $\alpha_{2,b} \approx 1$")]
    assert statuses == ["holds"] * 4
    assert last("1d.i", heads, r"$\alpha_{b1} \approx 1$").status == "refuted"


def test_a_sum_up_to_an_unknown_letter_takes_all_members_and_refutes_nothing():
    assert last("1b.subspace", r"$v_a = c_1a_1 + \dots + c_qa_q$").status == "holds"
    doubtful = last("1b.subspace", r"$v_b = c_1a_1 + \dots + c_qa_q$")
    assert (doubtful.status, doubtful.outcome) == ("undecided", "doubtful")
