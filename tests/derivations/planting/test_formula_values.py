"""A written formula is worth what the term is worth that it was written from."""

import numpy as np
import pytest

from derivations.planting.formula_values import formula, like, value
from derivations.planting.generator import LIBRARY
from derivations.planting.truth import truth_of_pair
from derivations.planting.values import Misfit, Unknown, evaluate
from derivations.planting.worlds import SUBJECTS
from derivations.planting.writing import Hand, write


def worth(source: str, subject: str = "keys") -> np.ndarray:
    tree = formula(source)
    assert tree is not None
    return value(tree, SUBJECTS[subject].draw(np.random.default_rng(3)))


@pytest.mark.parametrize("derivation", LIBRARY, ids=lambda derivation: derivation.name)
def test_written_terms_keep_their_value(derivation):
    world = SUBJECTS[derivation.subject].draw(np.random.default_rng(3))
    for term in (side for chain in derivation.chains for side in chain.sides):
        tree = formula(write(term, Hand()))
        assert tree is not None
        try:
            found = value(tree, world)
        except Unknown:
            continue
        expected = evaluate(term, world)
        np.testing.assert_allclose(like(found, expected), expected, atol=1e-12)


def test_most_written_terms_have_a_value():
    terms = [(derivation, side) for derivation in LIBRARY for chain in derivation.chains for side in chain.sides]
    unknown = 0
    for derivation, term in terms:
        try:
            value(formula(write(term, Hand())), SUBJECTS[derivation.subject].draw(np.random.default_rng(3)))
        except Unknown:
            unknown += 1
    assert unknown <= 0.1 * len(terms)


def test_an_identity_takes_the_size_it_needs():
    assert worth(r"A^\top (I - BB^\top) A", "subspaces").shape == (2, 2)
    np.testing.assert_allclose(worth(r"(I - BB^\top) v_b", "subspaces"), np.zeros((7, 1)), atol=1e-12)


def test_a_dropped_transpose_is_a_misfit():
    with pytest.raises(Misfit):
        worth("k_a q")


def test_an_unknown_letter_is_not_guessed():
    with pytest.raises(Unknown):
        worth(r"\zeta k_a")


@pytest.mark.parametrize(
    ("right", "truth"), [(r"\frac{1}{2}", "true"), (r"\frac{1}{3}", "false"), (r"\frac{e^\beta}{2e^\beta + n}", "true")]
)
def test_a_weight_tends_to_a_half(right, truth):
    sides = [formula(source) for source in (r"\alpha_a", right)]
    pair = lambda world: (value(sides[0], world), value(sides[1], world))  # noqa: E731
    assert truth_of_pair(pair, "≈", SUBJECTS["keys"]) == truth
