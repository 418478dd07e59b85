"""Members of families as symbols of their own, and matrices that are defined by their entries."""

import pytest

from derivations.context.notes import last_status

UPDATE = r"With keys $k_t$, values $v_t$ and rates $\beta_t$, "
SCORES = r"Let $u_1, \dots, u_N$ and $w_1, \dots, w_N$ be vectors in $\mathbb{R}^d$ and $s_{ij} = u_i^\top w_j$. "
WEIGHTS = SCORES + r"Let $p_{ij} = e^{s_{ij}} / \sum_{k=1}^N e^{s_{ik}}$. Then "


@pytest.mark.parametrize(
    ("claim", "is_true"),
    [
        (r"S_{t-1} - k_t (S_{t-1}^\top k_t - v_t)^\top = (I - k_t k_t^\top) S_{t-1} + k_t v_t^\top", True),
        (r"S_{t-1} - k_t (S_{t-1}^\top k_t - v_t)^\top = (I + k_t k_t^\top) S_{t-1} + k_t v_t^\top", False),
        (r"\det(I - \beta_t k_t k_t^\top) = 1 - \beta_t k_t^\top k_t", True),
        (r"\det(I - \beta_t k_t k_t^\top) = 1 - \beta_t k_t", False),
    ],
)
def test_steps_of_a_recurrence_are_algebra(claim, is_true):
    assert (last_status(f"{UPDATE}${claim}$.") == "holds") == is_true


@pytest.mark.parametrize(
    ("claim", "is_true"),
    [
        (r"\sum_{j=1}^N p_{ij} = 1", True),
        (r"\sum_{j \ne i} p_{ij} = 1 - p_{ii}", True),
        (r"\sum_{i=1}^N p_{ij} = 1", False),
        (r"-\log p_{ii} = \log\sum_{j=1}^N e^{s_{ij}} - s_{ii}", True),
        (r"-\log p_{ii} = \log\sum_{j=1}^N e^{s_{ij}} + s_{ii}", False),
    ],
)
def test_entries_define_a_matrix(claim, is_true):
    assert (last_status(f"{WEIGHTS}${claim}$.") == "holds") == is_true


def test_derivatives_go_through_entries():
    loss = WEIGHTS + r"let $\ell_i = -\log p_{ii}$. So "
    assert last_status(loss + r"$\frac{\partial \ell_i}{\partial s_{ij}} = p_{ij} - \delta_{ij}$.") == "holds"
    assert last_status(loss + r"$\frac{\partial \ell_i}{\partial s_{ij}} = \delta_{ij} - p_{ij}$.") != "holds"


def test_a_difference_is_not_true_in_general():
    text = r"Let $C = \frac12(A + B)$. Then $C \ne \frac12(A + B)$."
    assert last_status(text) != "holds"
