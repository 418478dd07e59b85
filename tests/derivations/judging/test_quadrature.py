"""Integrals by double-exponential quadrature: known values, and refusal where two steps do not agree."""

from collections.abc import Callable

import numpy as np
import pytest
from flint import arb, ctx

from regard.derivations.judging.quadrature import Domain, integral
from regard.derivations.judging.values import Value
from regard.derivations.notation.tokens import NotUnderstood


def _integral(function: Callable[[arb], arb], domain: Domain) -> arb:
    def at(x: arb) -> Value:
        box = np.empty((1, 1, 1), dtype=object)
        box[0, 0, 0] = function(x)
        return Value(box)

    return integral(at, domain).array[0, 0, 0]


KNOWN: dict[str, tuple[Callable[[arb], arb], Domain, Callable[[], arb]]] = {
    "x² from 0 to 1": (lambda x: x**2, "unit", lambda: arb(1) / 3),
    "log x from 0 to 1": (lambda x: x.log(), "unit", lambda: arb(-1)),
    "1/√x from 0 to 1": (lambda x: 1 / x.sqrt(), "unit", lambda: arb(2)),
    "e^−x/√x from 0 to ∞": (lambda x: (-x).exp() / x.sqrt(), "half", lambda: arb.pi().sqrt()),
    "log x e^−x from 0 to ∞": (lambda x: x.log() * (-x).exp(), "half", lambda: -arb.const_euler()),
    "1/(1 + x²) from 0 to ∞": (lambda x: 1 / (1 + x * x), "half", lambda: arb.pi() / 2),
    "e^−x²/20 on the line": (lambda x: (-x * x / 20).exp(), "line", lambda: 2 * (5 * arb.pi()).sqrt()),
    "1/(1 + x²) on the line": (lambda x: 1 / (1 + x * x), "line", arb.pi),
}


@pytest.mark.parametrize("name", KNOWN)
def test_a_known_integral_lies_in_a_narrow_ball(name):
    function, domain, value = KNOWN[name]
    with ctx.workprec(320):
        found = _integral(function, domain)
        assert found.overlaps(value())
        assert float(found.rad()) < 1e-12


@pytest.mark.parametrize(
    ("function", "domain"),
    [(lambda x: 1 / x, "half"), (lambda x: abs(x - arb("0.3")), "unit"), (lambda x: x.exp(), "line")],
    ids=["diverges", "has a corner", "grows"],
)
def test_what_is_not_sure_is_refused(function, domain):
    with ctx.workprec(320), pytest.raises(NotUnderstood):
        _integral(function, domain)
