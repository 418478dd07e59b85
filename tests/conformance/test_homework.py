"""Every contract catches its broken example, and the reference pieces keep them all."""

import numpy as np
import pytest

from regard.conformance.homework import HomeworkFunction, all_contracts, contracts_for
from regard.conformance.homework.corruption import FALSE_ALARM, mean_bound, read_example, reference_corpus
from regard.conformance.homework.rotary import reference_rotation, reference_table
from regard.conformance.judging import judge

CONTRACTS = all_contracts()
FUNCTIONS = {"table": reference_table, "rotation": reference_rotation, "corruption": reference_corpus}
REFERENCE = {kind: HomeworkFunction(kind, function) for kind, function in FUNCTIONS.items()}


@pytest.mark.parametrize("name", CONTRACTS)
def test_a_contract_catches_its_broken_example(name):
    verdict = judge(CONTRACTS[name], CONTRACTS[name].broken_example())
    assert verdict.outcome == "refuted", verdict.reason
    assert verdict.counterexample
    assert verdict.diagnosis


@pytest.mark.parametrize("kind", REFERENCE)
@pytest.mark.parametrize("seed", range(3))
def test_reference_pieces_keep_every_contract(kind, seed):
    verdicts = [judge(law, REFERENCE[kind], seed=seed) for law in contracts_for(kind, REFERENCE[kind].spec).values()]
    assert {verdict.id: verdict.outcome for verdict in verdicts} == {verdict.id: "holds" for verdict in verdicts}


def test_the_table_is_exact_in_a_small_case():
    table = reference_table(4, 3)
    assert table.shape == (3, 2, 2)
    np.testing.assert_allclose(table[2], [[np.cos(2), np.sin(2)], [np.cos(0.02), np.sin(0.02)]], atol=1e-15)


def test_rotation_is_multiplication_of_complex_numbers():
    x = np.random.default_rng(0).standard_normal((2, 3, 5, 8))
    pairs = x[..., 0::2] + 1j * x[..., 1::2]
    angles = np.arange(5)[:, None] * 10_000.0 ** (-2 * np.arange(4) / 8)
    rotated = pairs * np.exp(1j * angles)
    found = reference_rotation(x, reference_table(8, 9))
    np.testing.assert_allclose(found[..., 0::2] + 1j * found[..., 1::2], rotated, atol=1e-12)


@pytest.mark.parametrize(
    ("text", "fault"), [("ab⁇c□", "1 MASK"), ("ab⁇c⁇d⁇□", "3 MASK"), ("□ab⁇c⁇d", "pad"), ("abcd", "0 MASK")]
)
def test_what_cannot_be_read_back_says_why(text, fault):
    assert fault in (read_example("abcd", text).fault or "")


def test_the_bound_on_a_mean_holds_for_a_skewed_law():
    """A law of rare large values, 2,000 means: none outside the bound, whose false-alarm rate is 1e-6 each."""
    rng = np.random.default_rng(1)
    samples = (rng.random((2000, 500)) < 0.02) * 1.0
    outside = [abs(sample.mean() - 0.02) > mean_bound(sample, spread=1.0) for sample in samples]
    assert FALSE_ALARM == 1e-6
    assert not any(outside)
