"""How far a design falls short: the quantity that the problem shows, and the scale from which it would do."""

import math
from collections.abc import Mapping

import numpy as np
from flint import ctx

from regard.derivations.judging.arithmetic import BALLS, FLOATS, Arithmetic
from regard.derivations.judging.evaluate import Evaluator
from regard.derivations.judging.instances import Instance
from regard.derivations.judging.judge import PRECISION
from regard.derivations.judging.scope import Scope, UnknownSymbol
from regard.derivations.judging.values import IllShaped
from regard.derivations.judging.wording import spell
from regard.derivations.notation.parser import parse_source
from regard.derivations.notation.tokens import NotUnderstood
from regard.derivations.problems.model import Design

Driven = Mapping[str, tuple[float, ...]]
SHOWN_GAP = 0.01
_SHOWN_SCALE = 32.0
_DOUBLINGS = tuple(2.0**power for power in range(10))
_PARTS = 64
_ROUNDS = 2


def shortfall(scope: Scope, design: Design) -> str | None:
    """The quantity that the problem shows for a design that fails, at its own sizes."""
    found = _measured(scope, design, _driven(scope, (_SHOWN_SCALE,), vanishing=1e-12), BALLS)
    if found is None or math.isnan(found[0]):
        return None
    sizes = ", ".join(f"{name} = {size}" for name, size in design.show_at.items() if name == "n") or "here"
    scales = [f"{spell(name)} = {_SHOWN_SCALE:g}" for name in _scales_in(scope, design)]
    where = ", ".join([f"at {sizes}", *scales])
    return f"{where}: {design.show_as} is {found[0]:.4g}, not {design.target:g}"


def _scales_in(scope: Scope, design: Design) -> list[str]:
    """The scales that the shown quantity depends on."""
    assert design.show is not None
    reached = scope.reach(parse_source(design.show))
    return sorted(name for name, m in scope.meanings.items() if m.tends == "infinity" and name in reached)


def needed_scale(scope: Scope, design: Design) -> float | None:
    """The least scale, to 0.1, from which the shown quantity is within 0.01 of its target; None if none is known."""
    high = _first_close(scope, design, _DOUBLINGS)
    if high is None:
        return None
    low = high / 2 if high > 1 else 0.0
    for _ in range(_ROUNDS):
        points = np.linspace(low, high, _PARTS + 1)[1:]
        close = _first_close(scope, design, tuple(points)) or high
        low, high = close - (high - low) / _PARTS, close
    return round(high + 0.05, 1)


def _first_close(scope: Scope, design: Design, scales: tuple[float, ...]) -> float | None:
    """The first of some scales at which the shown quantity is close to its target, as floats tell."""
    found = _measured(scope, design, _driven(scope, scales, vanishing=1e-40), FLOATS)
    if found is None:
        return None
    found = found * len(scales) if len(found) == 1 else found
    close = (scale for scale, value in zip(scales, found, strict=True) if abs(value - design.target) <= SHOWN_GAP)
    return next(close, None)


def _measured(scope: Scope, design: Design, driven: Driven, arithmetic: Arithmetic) -> list[float] | None:
    """The shown quantity at each stage of a drive."""
    if design.show is None:
        return None
    instance = Instance(setting=scope.setting, sizes=design.show_at, num_draws=1, driven=driven)
    try:
        with ctx.workprec(PRECISION), np.errstate(all="ignore"):
            value = Evaluator(scope=scope, instance=instance, arithmetic=arithmetic)(parse_source(design.show))
    except (UnknownSymbol, NotUnderstood, IllShaped):
        return None
    if not value.is_scalar:
        return None
    numbers = value.array[:, 0, 0]
    if not arithmetic.is_certified:
        return [float(number.real) for number in numbers]
    return [float(ball.real.mid()) if ball.is_finite() else math.nan for ball in numbers]


def _driven(scope: Scope, scales: tuple[float, ...], vanishing: float) -> Driven:
    zeros = (vanishing,) * len(scales)
    return {name: scales if m.tends == "infinity" else zeros for name, m in scope.meanings.items() if m.tends}
