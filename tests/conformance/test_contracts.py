"""Every contract catches its outlaw, and honest pieces keep them all."""

import numpy as np
import pytest

from regard.conformance.contracts import all_contracts, contracts_for
from regard.conformance.contracts._examples import read
from regard.conformance.contracts.corrupt_quarter import FALSE_ALARM, deviation
from regard.conformance.homework import Corruption, RotaryTable, RotaryTurn, honest_corpus, honest_table, honest_turn
from regard.conformance.judging import judge

CONTRACTS = all_contracts()
HONEST = {"table": RotaryTable(honest_table), "turn": RotaryTurn(honest_turn), "corruption": Corruption(honest_corpus)}


def test_the_contracts_are_these():
    assert sorted(CONTRACTS) == [
        "ATTEND-LENGTHS", "ATTEND-TABLE",
        "CORRUPT-EVERY", "CORRUPT-LENGTHS", "CORRUPT-PAIR", "CORRUPT-QUARTER", "CORRUPT-RANDOM", "CORRUPT-SHORT",
        "CORRUPT-SPANS", "CORRUPT-VOCABULARY",
        "TABLE-ANGLES", "TABLE-SHAPE",
        "TURN-NORM", "TURN-PAIRS", "TURN-RELATIVE", "TURN-SHAPE", "TURN-TRUNCATED",
    ]  # fmt: skip


@pytest.mark.parametrize("name", CONTRACTS)
def test_a_contract_catches_its_outlaw(name):
    verdict = judge(CONTRACTS[name], CONTRACTS[name].broken_example())
    assert verdict.outcome == "refuted", verdict.reason
    assert verdict.counterexample
    assert verdict.diagnosis


@pytest.mark.parametrize("kind", HONEST)
@pytest.mark.parametrize("seed", range(3))
def test_honest_pieces_keep_every_contract(kind, seed):
    verdicts = [judge(law, HONEST[kind], seed=seed) for law in contracts_for(kind).values()]
    assert {verdict.id: verdict.outcome for verdict in verdicts} == {verdict.id: "holds" for verdict in verdicts}


def test_the_table_is_exact_in_a_small_case():
    table = honest_table(4, 3)
    assert table.shape == (3, 2, 2)
    np.testing.assert_allclose(table[2], [[np.cos(2), np.sin(2)], [np.cos(0.02), np.sin(0.02)]], atol=1e-15)


def test_turning_is_multiplication_of_complex_numbers():
    x = np.random.default_rng(0).standard_normal((2, 3, 5, 8))
    pairs = x[..., 0::2] + 1j * x[..., 1::2]
    angles = np.arange(5)[:, None] * 10_000.0 ** (-2 * np.arange(4) / 8)
    turned = pairs * np.exp(1j * angles)
    found = honest_turn(x, honest_table(8, 9))
    np.testing.assert_allclose(found[..., 0::2] + 1j * found[..., 1::2], turned, atol=1e-12)


@pytest.mark.parametrize(
    ("text", "fault"), [("ab⁇c□", "1 MASK"), ("ab⁇c⁇d⁇□", "3 MASK"), ("□ab⁇c⁇d", "pad"), ("abcd", "0 MASK")]
)
def test_what_cannot_be_read_back_says_why(text, fault):
    assert fault in (read("abcd", text).fault or "")


def test_the_bound_on_a_mean_holds_for_a_skewed_law():
    """A law of rare large values, 2,000 means: none outside the bound, whose false-alarm rate is 1e-6 each."""
    rng = np.random.default_rng(1)
    samples = (rng.random((2000, 500)) < 0.02) * 1.0
    outside = [abs(sample.mean() - 0.02) > deviation(sample, spread=1.0) for sample in samples]
    assert FALSE_ALARM == 1e-6
    assert not any(outside)
