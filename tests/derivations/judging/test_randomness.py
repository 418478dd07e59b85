"""Means, variances and probabilities against closed forms."""

import math

import numpy as np
import pytest

from derivations.judging.small import array, found, in_balls, value
from regard.analysis.closed_forms.arithmetic import normal_cdf
from regard.derivations.notation.tokens import NotUnderstood

x, u = array("x"), array("u")
squared_length = np.sum(u * u, axis=(1, 2), keepdims=True)

CLOSED = {
    r"\mathbb{E}[\gamma]": 1.0,
    r"\operatorname{Var}(\gamma)": 0.5,
    r"\operatorname{Var}(x\gamma + 3)": 0.5 * x**2,
    r"\mathbb{E}[x\gamma + 3]": x + 3,
    r"\operatorname{Var}(u^\top \rho)": 2 * squared_length,
    r"\operatorname{Var}(\gamma + u^\top \rho)": 0.5 + 2 * squared_length,
    r"\mathbb{E}[u^\top \rho]": 0 * x,
}


@pytest.mark.parametrize("source", CLOSED)
def test_moments_are_exact(source):
    for computed in (array(source), in_balls(source)):
        np.testing.assert_allclose(*np.broadcast_arrays(computed, CLOSED[source]), atol=1e-12)


@pytest.mark.parametrize(
    ("condition", "share"), [(r"\gamma > 0", math.sqrt(2)), (r"\gamma < 1", 0.0), (r"\gamma \geq 2", -math.sqrt(2))]
)
def test_probabilities_are_normal_shares(condition, share):
    computed = array(rf"\Pr({condition})")
    np.testing.assert_allclose(computed, float(normal_cdf(share)), atol=1e-12)


@pytest.mark.parametrize(
    "source", [r"\operatorname{Var}(\gamma^2)", r"\mathbb{E}[e^\gamma]", r"\operatorname{Var}(\rho)"]
)
def test_what_is_not_linear_or_no_number_is_not_understood(source):
    with pytest.raises(NotUnderstood):
        value(source)


def test_a_wrong_variance_is_refuted():
    assert found(r"\operatorname{Var}(2\gamma) = 2").is_true
    assert found(r"\operatorname{Var}(2\gamma) = 1").is_false
