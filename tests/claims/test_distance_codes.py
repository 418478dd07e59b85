"""Reach, windows, buckets and stretched frequencies: known figures, and the claims away from their defaults."""

import pytest

from regard.analysis.closed_forms.arithmetic import sin
from regard.analysis.closed_forms.position_codes import last_bucket_start
from regard.claims import all_claims

CLAIMS = all_claims()


@pytest.mark.parametrize(("m", "mean"), [(0.5, 1.54149), (1 / 256, 255.5), (1e-4, 9999.5), (30.0, 9.358e-14)])
def test_alibi_looks_as_far_as_is_known(m, mean):
    verdict = CLAIMS["alibi-looks-this-far"].decide({"m": m})
    assert verdict.status == "proved"
    assert verdict.value == pytest.approx(mean, rel=5e-5)


@pytest.mark.parametrize(
    "chosen", [{}, {"num_buckets": 2}, {"num_buckets": 3}, {"num_buckets": 64}, {"max_distance": 129}]
)
def test_one_step_beside_the_last_buckets_start_is_refuted(chosen):
    claim = CLAIMS["t5-buckets-are-far-sighted-alike"]
    assert claim.decide(chosen).status == "proved"
    for step in (-1, 1):
        form = {"start": lambda n, d, step=step: last_bucket_start(n, d) + step}
        assert claim.decide(chosen, form=form).status == "refuted"


def test_the_known_buckets_of_t5():
    verdict = CLAIMS["t5-buckets-are-far-sighted-alike"].decide()
    assert verdict.value == 113
    assert 112**16 < 128**15 * 16 <= 113**16


@pytest.mark.parametrize(
    "chosen", [{"layers": 1}, {"layers": 6, "window": 9}, {"window": 2}, {"layers": 32, "window": 4096}]
)
def test_windows_reach_exactly_so_far(chosen):
    claim = CLAIMS["windows-reach-this-far"]
    assert claim.decide(chosen).status == "proved"
    for off in (-1, 1):
        form = lambda layers, window, off=off: layers * (window - 1) + 1 + off  # noqa: E731
        assert claim.decide(chosen, form=form).status == "refuted"


@pytest.mark.parametrize("chosen", [{"d": 4}, {"d": 10**9}, {"B": 1.001}, {"B": 1e300}, {"s": 1.0}, {"s": 1e300}])
@pytest.mark.parametrize("name", ["ntk-keeps-the-fastest-pair", "yarn-keeps-fast-pairs"])
def test_stretched_frequencies_are_decided_anywhere(name, chosen):
    verdict = CLAIMS[name].decide(chosen)
    assert verdict.status == "proved"
    assert [item.status for item in verdict.evidence] == ["holds", "proved"]


def test_yarn_figures():
    verdict = CLAIMS["yarn-keeps-fast-pairs"].decide()
    assert verdict.value == pytest.approx(1.6314, abs=5e-5)
    assert "21 pairs unchanged" in verdict.evidence[0].detail
    assert "18 pairs 16 times slower" in verdict.evidence[0].detail


@pytest.mark.parametrize("length", [7, 100, 10**6])
def test_yarn_keeps_and_stretches_at_any_trained_length(length):
    assert CLAIMS["yarn-keeps-fast-pairs"].decide({"length": length}).status == "proved"


@pytest.mark.parametrize("r", [1, 44, 200, 710, 10**12])
def test_a_far_key_is_favoured_wherever_it_is(r):
    claim = CLAIMS["rope-only-favours-near-keys"]
    assert claim.decide({"r": r}).status == "refuted"
    assert claim.decide({"r": r}, form={"peak": lambda r: r}).status == "proved"
    assert claim.decide({"r": r}, form={"peak": lambda r: r + 1}).status == "refuted"


def test_a_wrong_loss_is_refuted():
    form = {"peak": lambda r: r, "lost": lambda energy, half: energy * sin(half) * sin(half)}
    assert CLAIMS["rope-only-favours-near-keys"].decide(form=form).status == "refuted"


def test_planes_return_at_44_and_at_710():
    claim = CLAIMS["planes-tell-far-distances-apart"]
    assert claim.decide().value == pytest.approx(6.028870673e-5, abs=1e-13)
    nearest = {"least": lambda _: 6.0288707e-5, "longest": 103_993}
    assert claim.decide(form=nearest).status == "refuted"
    within = {"least": lambda _: 6.0288706e-5}
    assert claim.decide({"N": 103_993}, form=within).status == "proved"
    assert claim.decide({"N": 103_994}, form=within).status == "refuted"


def test_eleven_copies_are_needed():
    claim = CLAIMS["averaging-heads-divides-variance"]
    verdict = claim.decide()
    assert "0.0201835116 and 0.0204629539" in verdict.reason
    for copies in (2, 10, 12):
        assert claim.decide(form={"copies": copies}).status == "refuted"


@pytest.mark.parametrize("rho", [0.0, 1e-9, 1.0])
@pytest.mark.parametrize("heads", [1, 2, 10**9])
def test_averaging_is_decided_for_any_heads_and_correlation(rho, heads):
    assert CLAIMS["averaging-heads-divides-variance"].decide({"rho": rho, "H": heads}).status == "holds"


@pytest.mark.parametrize("chosen", [{"T": 2, "d": 1}, {"layers": 8}, {"T": 10**6, "d": 10**6}])
def test_constant_input_has_constant_rows(chosen):
    verdict = CLAIMS["decoder-counts-repeats"].decide(chosen)
    assert verdict.status == "refuted"
    assert {item.status for item in verdict.evidence} == {"refuted"}
