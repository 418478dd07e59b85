"""A slip is corrected by one small change, which is named; what nothing small corrects has no correction."""

import pytest

from derivations.judging.small import found, relation, scope
from regard.derivations.judging.corrections import correction
from regard.derivations.judging.findings import NoteKind
from regard.derivations.judging.judge import corrected as with_correction
from regard.derivations.judging.relations import Relation


def corrected(source: str, question: str = "1") -> str | None:
    """What the judge says would make a false relation right."""
    finding = with_correction(found(source, scope(question)))
    assert finding.is_false
    return next((note.names[0] for note in finding.notes if note.kind is NoteKind.CORRECTED), None)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("x < 0", "the opposite relation sign"),
        (r"\beta \ll x", "the opposite relation sign"),
        (r"A^\top A \neq A^\top A + 0 A", "= instead of ≠"),
        ("(x + y)(x - y) = x^2 + y^2", "the opposite sign"),
        ("(x + y)^2 = x^2 + 2xy + y^2 + x", "one term less"),
        (r"x y = \frac{x}{y} \cdot 1", "an inverse"),
        (r"\frac{x^2}{x y} = \frac{y}{x}", "numerator and denominator exchanged"),
        ("x^2 y = (x x y)^2", "no exponent"),
        (r"\frac{y}{x^2} = y x^2", "the opposite sign in the exponent"),
        ("f(y) = y + 1", "a square"),
        (r"\|u\| = u^\top u", "a square root"),
        ("e^x e^y = x + y", "an exponential"),
        ("x^2 = e^x x", "no exp"),
        ("(x + y)^2 = x^2 + xy + y^2", "a factor 2"),
        (r"\beta k_a^\top (2 k_a + k_b) = 2 + 0 \beta", "a factor β"),
        (r"\beta x + \beta y = x + y", "a factor β"),
        (r"(A u)^\top = u^\top A", "a transpose"),
        (r"u^\top A^\top w = (A^\top u)^\top w", "no transpose"),
        ("X_{perm} = X P", "two factors exchanged"),
        (r"\frac{k_a^\top k_a}{n - 2} = \frac1n", "n − 2 instead of n"),
        ("(x + 1)^2 = x^2 + 3x + 1", "2 instead of 3"),
        ("x + 0.1234 - x = 0.1324", "0.1234 instead of 0.1324"),
        (r"k_a^\top (v_a + v_b) = k_a^\top v_a + k_b^\top v_b", "k_a instead of k_b"),
        (r"(k_a + 2k_b)^\top (k_a + 2v_b) = 1 + 2k_b^\top v_a + 4k_a^\top v_a", "a and b exchanged"),
        (r"\sum_i k_i^\top k_i v_i = \sum_i k_i + 0 v_a", "v instead of k"),
        (r"P^\top P X = P X", "no P"),
        (r"(P X)^\top = P X^\top", "the transpose of the whole product"),
        (r"\sum_i k_i^\top k_i = d", "n instead of d"),
        (r"\sin(y + x) = \sin x + y", "all terms inside the sin"),
    ],
)
def test_a_slip_of_each_kind_is_corrected(source, words):
    assert corrected(source) == words


def test_a_conjugate_may_be_missing_or_too_much():
    assert corrected("|z|^2 = z z", "2") == "a conjugate"
    assert corrected(r"z^2 = \bar z z", "2") == "no conjugate"


@pytest.mark.parametrize(
    "source",
    [
        "x^2 = 7y + 12",
        r"\|u + w\|^2 = \|u\|^2 + \|w\|^2",
        r"k_a^\top v_a = \sin y",
        "A u = w",
        r"(x + y)^3 = x^3 + y^3",
    ],
)
def test_what_nothing_small_corrects_has_no_correction(source):
    assert corrected(source) is None


@pytest.mark.parametrize("source", ["x = y", "v_a = v_b", r"A^\top u = A u", r"k_a^\top v_a = k_b^\top v_a", "e^x = x"])
def test_what_becomes_the_same_twice_is_not_corrected(source):
    assert corrected(source) is None


def test_a_bar_over_a_bar_is_none():
    assert corrected(r"\bar z = z", "2") is None


def test_what_is_small_enough_is_close_to_zero_and_corrects_nothing():
    assert corrected(r"x + y + \frac1\beta \approx 0") is None
    assert corrected(r"x + \frac1\beta \approx \frac{x}{\beta}") == "a factor β"


# -- the search itself -------------------------------------------------------------------------------------------------
def tried(source: str) -> list[Relation]:
    """The changed relations that are tried, none of which is taken for true."""
    seen: list[Relation] = []
    assert correction(relation(source).relation, scope(), lambda changed: bool(seen.append(changed))) is None
    return seen


def test_every_change_is_tried_once_and_none_leaves_the_relation_as_it_is():
    seen = tried(r"x + 2 y = \frac{y}{x} k_a^\top v_a")
    assert len(seen) == len(set(seen)) > 50
    assert relation(r"x + 2 y = \frac{y}{x} k_a^\top v_a").relation not in seen


def test_the_search_is_short_for_long_formulas():
    assert len(tried("x = " + " + ".join(["x y"] * 15))) <= 600
    assert tried("x = " + " + ".join(["x y"] * 40)) == []
