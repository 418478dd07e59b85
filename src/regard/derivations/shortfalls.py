"""How far a design falls short: the quantity that the problem shows, and the scale from which it would do."""

import math
from collections.abc import Mapping

import numpy as np
from flint import ctx

from regard.derivations.judging.arithmetic import BALLS
from regard.derivations.judging.evaluate import Evaluator
from regard.derivations.judging.instances import Instance
from regard.derivations.judging.judge import PRECISION
from regard.derivations.judging.scope import Scope, UnknownSymbol
from regard.derivations.judging.values import IllShaped
from regard.derivations.judging.wording import spell
from regard.derivations.notation.parser import parse
from regard.derivations.notation.tokens import NotUnderstood, tokenize
from regard.derivations.problems.model import Design

__all__ = ["SHOWN_GAP", "needed_scale", "shortfall"]

SHOWN_GAP = 0.01
_SHOWN_SCALE = 32.0
_DOUBLINGS = tuple(2.0**power for power in range(10))
_PARTS = 16
_ROUNDS = 3


def shortfall(scope: Scope, design: Design) -> str | None:
    """The quantity that the problem shows for a design that fails, at its own sizes."""
    found = _measured(scope, design, (_SHOWN_SCALE,), vanishing=1e-12)
    if found is None or math.isnan(found[0]):
        return None
    sizes = ", ".join(f"{name} = {size}" for name, size in design.show_at.items() if name == "n") or "here"
    scales = [f"{spell(name)} = {_SHOWN_SCALE:g}" for name in _scales_in(scope, design)]
    where = ", ".join([f"at {sizes}", *scales])
    return f"{where}: {design.show_as} is {found[0]:.4g}, not {design.target:g}"


def _scales_in(scope: Scope, design: Design) -> list[str]:
    """The scales that the shown quantity depends on."""
    assert design.show is not None
    reached = scope.reach(parse(tokenize(design.show)))
    return sorted(name for name, m in scope.meanings.items() if m.tends == "infinity" and name in reached)


def needed_scale(scope: Scope, design: Design) -> float | None:
    """The least scale, to 0.1, from which the shown quantity is within 0.01 of its target; None if none is known."""
    high = _first_close(scope, design, _DOUBLINGS)
    if high is None:
        return None
    low = high / 2 if high > 1 else 0.0
    for _ in range(_ROUNDS):
        points = np.linspace(low, high, _PARTS + 1)[1:]
        close = _first_close(scope, design, tuple(points))
        assert close is not None
        low, high = close - (high - low) / _PARTS, close
    return round(high + 0.05, 1)


def _first_close(scope: Scope, design: Design, scales: tuple[float, ...]) -> float | None:
    """The first of some scales at which the shown quantity is close to its target."""
    found = _measured(scope, design, scales, vanishing=1e-40)
    if found is None:
        return None
    close = (scale for scale, value in zip(scales, found, strict=True) if abs(value - design.target) <= SHOWN_GAP)
    return next(close, None)


def _measured(scope: Scope, design: Design, scales: tuple[float, ...], vanishing: float) -> list[float] | None:
    """The shown quantity at each of some scales."""
    if design.show is None:
        return None
    instance = Instance(
        setting=scope.setting, sizes=design.show_at, num_draws=1, driven=_driven(scope, scales, vanishing)
    )
    try:
        with ctx.workprec(PRECISION), np.errstate(all="ignore"):
            value = Evaluator(scope=scope, instance=instance, arithmetic=BALLS)(parse(tokenize(design.show)))
    except (UnknownSymbol, NotUnderstood, IllShaped):
        return None
    if not value.is_scalar:
        return None
    numbers = [float(ball.real.mid()) if ball.is_finite() else math.nan for ball in value.array[:, 0, 0]]
    return numbers * len(scales) if len(numbers) == 1 else numbers


def _driven(scope: Scope, scales: tuple[float, ...], vanishing: float) -> Mapping[str, tuple[float, ...]]:
    zeros = (vanishing,) * len(scales)
    return {name: scales if m.tends == "infinity" else zeros for name, m in scope.meanings.items() if m.tends}
