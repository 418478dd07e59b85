"""Bounds on symbols that nothing explains claim nothing, and count from there on."""

import pytest

from derivations.context.notes import last_status, verdicts_of


@pytest.mark.parametrize("bound", [r"0 < r_1", r"|r| < 1", r"w_k \ge 0", r"B \succ 0", r"B \succeq 0", r"r \to 0^+"])
def test_a_bound_is_a_supposition(bound):
    assert (
        verdicts_of(f"We have ${bound}$ here, and $(r_1 + w_k)^2 = r_1^2 + 2r_1w_k + w_k^2$.")[0].role == "supposition"
    )


def test_what_follows_is_judged_within_the_bounds():
    assert last_status(r"Let $0 < r < 1$. Then $\log r < 0$.") == "holds"
    assert last_status(r"Let $0 < r$. Then $\log r < 0$.") != "holds"
    assert last_status(r"Let $B \in \mathbb{R}^{n\times n}$ with $B \succ 0$. Then $\det B > 0$.") == "holds"


def test_what_is_known_is_claimed():
    assert verdicts_of(r"Let $s = x^2 + 1$. Then $s > 0$.")[-1].role == "assertion"
