"""Differentials of matrices, and matrices that have to be square."""

import pytest

from derivations.context.notes import last_status

SIZES = r"Let $X \in \mathbb{R}^{m\times n}$. "
PRODUCT = r"Let $A \in \mathbb{R}^{n\times m}$, $V \in \mathbb{R}^{m\times p}$ and $O = AV$. Then "


@pytest.mark.parametrize(
    ("claim", "is_true"),
    [
        (r"\mathrm{d}(XY) = (\mathrm{d}X)Y + X\,\mathrm{d}Y", True),
        (r"\mathrm{d}(X^{-1}) = -X^{-1}(\mathrm{d}X)X^{-1}", True),
        (r"\mathrm{d}(X^{-1}) = X^{-1}(\mathrm{d}X)X^{-1}", False),
        (r"\mathrm{d}(X^2) = 2X\,\mathrm{d}X", False),
        (r"\mathrm{d}(\log\det X) = \operatorname{tr}(X^{-1}\mathrm{d}X)", True),
        (r"d\operatorname{tr}(X^3) = 3\operatorname{tr}(X^2 dX)", True),
        (r"d\operatorname{tr}(X^3) = 2\operatorname{tr}(X^2 dX)", False),
    ],
)
def test_rules_for_differentials(claim, is_true):
    assert (last_status(f"{SIZES}Then ${claim}$.") == "holds") == is_true


def test_what_is_defined_varies_with_what_it_is_made_of():
    assert last_status(PRODUCT + r"$dO = dA\,V + A\,dV$.") == "holds"
    assert last_status(PRODUCT + r"$dO = dA\,V - A\,dV$.") != "holds"


def test_sizes_of_an_earlier_section_may_differ():
    before = "# One\n\n" + SIZES + "\n\n# Two\n\n"
    both = r"Let $A \in \mathbb{R}^{n\times n}$ and $B \in \mathbb{R}^{m\times m}$. Then "
    assert last_status(before + both + r"$\|AXB\|_F^2 = \operatorname{tr}(B^\top X^\top A^\top AXB)$.") == "holds"
    assert last_status(before + both + r"$\|AXB\|_F^2 = \operatorname{tr}(B^\top X^\top AXB)$.") != "holds"
