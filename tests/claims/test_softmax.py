"""Claims about sharpness, sinks, slopes and rounding: printed numbers, extreme parameters, truths in other words."""

import math
from fractions import Fraction

import numpy as np
import pytest

from regard.analysis.closed_forms.arithmetic import exp, log
from regard.analysis.closed_forms.rounding import narrow_sum
from regard.claims import all_claims

CLAIMS = all_claims()


@pytest.mark.parametrize(
    ("name", "overrides", "value"),
    [
        ("log-n-keeps-attention-sharp", {"s": 2.0, "margin": 1.0}, 0.9990020),
        ("log-n-keeps-attention-sharp", {"margin": 1.0}, 0.5002501),
        ("log-n-keeps-attention-sharp", {"s": 0.5, "margin": 1.0}, 0.0306832),
        ("random-logits-blur-the-keys", {}, 0.5),
        ("entropy-falls-with-scale", {}, 2.2291808551),
        ("unit-keys-disperse", {}, 0.45085),
        ("attention-is-lipschitz", {}, 67.0),
        ("key-norm-always-averages", {}, 0.92135),
        ("softmax-is-half-lipschitz", {}, 0.5),
        ("narrow-sums-stall", {}, 256.0),
        ("narrow-sums-stall", {"p": 11}, 2048.0),
        ("narrow-sums-stall", {"p": 24}, 16777216.0),
    ],
)
def test_the_printed_numbers(name, overrides, value):
    digits = len(str(value).partition(".")[2])
    assert round(CLAIMS[name].decide(overrides).value, digits) == value


def test_random_logits_measured():
    """The printed 0.5002 and 0.370·n are one run's; 48 rows of 4096 are within 0.03 of both."""
    sampled = next(
        item for item in CLAIMS["random-logits-blur-the-keys"].decide().evidence if item.method == "sampling"
    )
    assert sampled.value == pytest.approx(0.5002, abs=0.03)
    assert sampled.status == "holds"


def test_the_printed_gain():
    form = CLAIMS["unit-keys-disperse"].form
    assert round(float(form.gain(0.01, 131072)), 4) == 8.1893
    assert float(form.gain(0.01, 10)) == pytest.approx(0.5 * math.log(99 * 9))


@pytest.mark.parametrize("n", [2, 3, 10**6, 10**15])
@pytest.mark.parametrize(("s", "margin"), [(1e-300, 1.0), (1.0, 1.0), (1 + 2**-52, 1.0), (1e6, 1e6), (0.1, 10.0)])
def test_any_scale_behaves_as_log_n_says(n, s, margin):
    assert CLAIMS["log-n-keeps-attention-sharp"].decide({"n": n, "s": s, "margin": margin}).status == "proved"


@pytest.mark.parametrize("n", [2, 10**6, 10**15])
@pytest.mark.parametrize("beta", [0.0, 1e-300, 5.0, 800.0, 1e300])
def test_any_scale_takes_entropy_away(n, beta):
    assert CLAIMS["entropy-falls-with-scale"].decide({"n": n, "beta": beta}).status == "proved"


@pytest.mark.parametrize("n", [2, 10**6, 10**15])
@pytest.mark.parametrize("gain", [0.0, 1e-300, 50.0, 1e308])
@pytest.mark.parametrize("epsilon", [1e-300, 0.5, 1 - 2**-53])
def test_any_gain_disperses(n, gain, epsilon):
    overrides = {"n": n, "gain": gain, "epsilon": epsilon}
    assert CLAIMS["unit-keys-disperse"].decide(overrides).status == "proved"


@pytest.mark.parametrize("b", [1e-300, 1e-6, 0.3, 2.0, 2.999])
def test_any_width_of_logits_blurs_the_keys(b):
    assert CLAIMS["random-logits-blur-the-keys"].decide({"b": b}).status == "holds"


@pytest.mark.parametrize("n", [1, 2, 10**15])
@pytest.mark.parametrize("s", [-1e300, -300.0, 300.0, 1e300])
def test_any_sink_takes_the_rest(n, s):
    assert CLAIMS["sink-takes-the-rest"].decide({"n": n, "s": s}).status == "proved"
    assert CLAIMS["head-attends-to-nothing"].decide({"n": n}).status == "refuted"


@pytest.mark.parametrize("constant", [0.0, 1e-300, 1.0, 66.0, 67.0, 1e100, 1.7e308])
def test_no_constant_makes_attention_lipschitz(constant):
    verdict = CLAIMS["attention-is-lipschitz"].decide({"L": constant})
    assert verdict.status == "refuted"
    assert verdict.evidence[1].status == "refuted"


@pytest.mark.parametrize("d", [1, 2, 64, 10**9])
@pytest.mark.parametrize("rho", [0.001, 0.5, 1.0])
def test_aligned_logits_grow_at_every_width(d, rho):
    verdict = CLAIMS["root-width-tames-aligned-keys"].decide({"d": d, "rho": rho})
    assert verdict.status == "refuted"
    assert "the statement says" in verdict.counterexample


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("log-n-keeps-attention-sharp", {"weight": lambda power, n: power / (power + n - 1)}),
        ("entropy-falls-with-scale", lambda beta, mean, second: beta * mean**2 - beta * second),
        ("unit-keys-disperse", {"bound": lambda gain, n: exp(gain) / (exp(gain) + (n - 1) * exp(-gain))}),
        ("unit-keys-disperse", {"gain": lambda epsilon, n: (log(n - 1) + log(1 / epsilon - 1)) / 2}),
        ("softmax-is-half-lipschitz", lambda n: (n - 1) * (Fraction(1) + 0 * n) / (2 * n - 2)),
        ("sink-takes-the-rest", {"weight": lambda own, rest, sink: 1 / (1 + (rest + sink) / own)}),
        ("narrow-sums-stall", {"total": lambda count, bits: min(Fraction(1), Fraction(2**bits, count))}),
    ],
)
def test_the_same_truth_in_other_words_is_proved(name, form):
    verdict = CLAIMS[name].decide(form=form)
    assert verdict.status == "proved", verdict.reason


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("log-n-keeps-attention-sharp", {"above": Fraction(999, 1000)}),
        ("unit-keys-disperse", {"bound": lambda gain, n: 2 / (1 + (n - 1) * exp(-2 * gain))}),
        ("random-logits-blur-the-keys", {"loss": lambda variance: variance / 2 + variance**2 / 1000}),
        ("attention-is-lipschitz", {"is_bounded": False, "slope": lambda radius: (1 + radius**2) / 3}),
        ("key-norm-always-averages", {"score": lambda sigma: -2 / sigma}),
        ("key-norm-always-averages", {"score": lambda sigma: -1 / sigma, "backward": lambda beta, n: 0 * beta * n}),
        ("root-width-tames-aligned-keys", {"mean": lambda rho, root: rho * root**2}),
        ("head-attends-to-nothing", {"limit": 1, "has_sink": True}),
        ("narrow-sums-stall", {"total": lambda count, bits: narrow_sum(count, bits) + (count == 2**60)}),
    ],
)
def test_a_slip_elsewhere_is_refuted(name, form):
    assert CLAIMS[name].decide(form=form).status == "refuted"


def test_in_half_precision_ten_logits_of_ten_weigh_nothing():
    exponentials = np.exp(np.full(10, 10, dtype=np.float16))
    with np.errstate(over="ignore"):
        total = exponentials.sum(dtype=np.float16)
    assert np.isfinite(exponentials).all()
    assert (exponentials / total).tolist() == [0.0] * 10


def test_a_form_that_gives_nan_never_passes():
    def slope(beta, _mean, second):
        return math.nan * beta if hasattr(beta, "real") else -beta * second

    statuses = [item.status for item in CLAIMS["entropy-falls-with-scale"].decide(form=slope).evidence]
    assert statuses == ["undecided", "refuted"]
