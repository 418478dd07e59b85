"""The figures of rotary codes, to their printed digits, and the claims away from their defaults."""

import numpy as np
import pytest

from regard.analysis.closed_forms.position_codes import envelope
from regard.claims import all_claims
from regard.claims._position_codes import WholeVectors, as_format, repeats
from regard.core.errors import DomainError
from regard.positions.rotary import Rotary

CLAIMS = all_claims()
IDENTITIES = ["rope-is-complex-multiplication", "rope-relative", "rope-keeps-norm", "rope-layouts-are-permuted"]


def lost(rows: np.ndarray) -> int:
    """How many rows equal an earlier one."""
    return len(repeats(rows)[1])


@pytest.mark.parametrize("name", IDENTITIES)
@pytest.mark.parametrize("chosen", [{"d": 4}, {"d": 6}, {"d": 1000}, {"d": 10**9}, {"B": 1.001}, {"B": 1e300}])
def test_identities_are_decided_at_any_width_and_base(name, chosen):
    verdict = CLAIMS[name].decide(chosen)
    assert verdict.status == "proved"
    assert [item.status for item in verdict.evidence] == ["holds", "proved"]


@pytest.mark.parametrize("name", IDENTITIES)
@pytest.mark.parametrize("chosen", [{"d": 4}, {"d": 6}, {"d": 64}])
def test_near_misses_fall_at_other_widths_too(name, chosen):
    claim = CLAIMS[name]
    assert {claim.decide(chosen, form=near_miss.form).status for near_miss in claim.near_misses} == {"refuted"}


def test_layouts_are_not_asked_about_where_they_coincide():
    with pytest.raises(DomainError, match="d ≥ 4, d even"):
        CLAIMS["rope-layouts-are-permuted"].decide({"d": 2})
    x = np.array([[0.3, -1.2]])
    turned = [Rotary(layout=layout).rotate(x, np.array([7])) for layout in ("interleaved", "half-split")]
    np.testing.assert_array_equal(*turned)


def test_the_means_by_decade_are_the_known_ones():
    means = [envelope(np.arange(10**k, 10 ** (k + 1)), 128, 10_000.0).mean() for k in range(4)]
    assert [round(float(mean), 2) for mean in means] == [51.32, 34.47, 20.04, 9.31]
    verdict = CLAIMS["rope-decays"].decide()
    assert verdict.status == "holds"
    assert verdict.value == pytest.approx(9.31, abs=0.005)
    assert "51.32, 34.47, 20.04, 9.31" in verdict.reason
    assert "s = 11" in verdict.reason


@pytest.mark.parametrize("chosen", [{"d": 32}, {"d": 1024}, {"B": 1e6}, {"d": 32, "B": 1e6}, {"d": 1024, "B": 1e6}])
def test_the_envelope_falls_at_other_widths_and_bases(chosen):
    assert CLAIMS["rope-decays"].decide(chosen).status == "holds"


def test_what_the_envelope_does_not_do_is_refuted_at_other_widths_too():
    claim, chosen = CLAIMS["rope-decays"], {"d": 32, "B": 1e6}
    assert {claim.decide(chosen, form=near_miss.form).status for near_miss in claim.near_misses} == {"refuted"}


def test_other_means_are_refuted():
    means = {(128, 10_000.0): (51.32, 34.47, 20.04, 9.33)}
    assert CLAIMS["rope-decays"].decide(form={"means": means}).status == "refuted"


@pytest.mark.parametrize("lag", [0, 10, 1000, 100_000])
def test_the_score_of_random_vectors_does_not_decay(lag):
    """False alarm below one in a million: five standard errors of a mean of squares."""
    count, width = 20_000, 32
    queries, keys = np.random.default_rng(lag).normal(size=(2, count, width))
    scores = (Rotary().rotate(queries, np.full(count, lag)) * keys).sum(-1)
    error = np.std(scores**2) / np.sqrt(count)
    assert np.mean(scores**2) == pytest.approx(width, abs=5 * error)


def test_rounding_loses_what_is_known():
    angles = np.multiply.outer(np.arange(512), Rotary().frequencies(128))
    assert lost(as_format(angles, "bfloat16")) == 0
    assert lost(as_format(np.arange(512)[:, None], "bfloat16")) == 127
    verdict = CLAIMS["rope-in-floats"].decide()
    assert verdict.value == 127
    for figure in ("257→256", "2049→2048", "65520"):
        assert figure in verdict.reason


@pytest.mark.parametrize("width", [*range(18, 160, 2), 1000, 1024, 1026, 8192, 10**6, 10**300])
def test_no_row_of_512_is_lost_from_width_18_up(width):
    assert CLAIMS["rope-in-floats"].decide({"d": width}).status == "holds"


@pytest.mark.parametrize(("width", "count", "expected"), [(16, 512, 1), (128, 2567, 0), (128, 2568, 1)])
def test_rows_are_lost_in_narrower_and_longer_codes(width, count, expected):
    angles = np.multiply.outer(np.arange(count), Rotary().frequencies(width))
    assert lost(as_format(angles, "bfloat16")) == expected


@pytest.mark.parametrize("count", [258, 260, 261, 400, 511])
def test_cast_positions_are_counted_at_other_lengths(count):
    claim = CLAIMS["rope-in-floats"]
    assert claim.decide({"T": count}).status == "holds"
    assert {claim.decide({"T": count}, form=near_miss.form).status for near_miss in claim.near_misses} == {"refuted"}


def test_whole_vectors_can_be_rebuilt_from_their_description():
    vectors = WholeVectors.draw(np.random.default_rng(0), 5, 9)
    a, b = vectors.factors[2]
    assert vectors.rows[2].tolist() == [((a * j * j + b * j) % 7) - 3 for j in range(9)]
    assert vectors.described(2, "x") == f"x_j = (({a}j² + {b}j) mod 7) − 3 for j = 0…8"
    assert all(len(set(row)) > 1 for row in vectors.rows)
