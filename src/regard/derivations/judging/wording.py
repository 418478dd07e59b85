"""Numbers, names and instances in words, as a counterexample shows them."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from regard.derivations.judging.arithmetic import BALLS, is_complex
from regard.derivations.judging.instances import Instance
from regard.derivations.judging.scope import Scope
from regard.derivations.judging.values import Value

_GREEK: Mapping[str, str] = dict(
    zip(
        "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu".split()
        + "nu xi pi rho sigma tau upsilon phi chi psi omega".split(),
        "αβγδεζηθικλμνξπρστυφχψω",
        strict=True,
    )
)


def spell(name: str) -> str:
    """A symbol's name with Greek letters as such.

    >>> spell("mu_a"), spell("q")
    ('μ_a', 'q')
    """
    base, _, script = name.partition("_")
    return _GREEK.get(base, base) + (f"_{script}" if script else "")


def show(ball: Any) -> str:
    """A ball as a reader wants to see it."""
    if is_complex(ball):
        re, im = show(ball.real), show(ball.imag)
        return re if im == "0" else f"{re} {'−' if im.startswith('-') else '+'} {im.lstrip('-')}i"
    if not bool(abs(ball) > 1e-30):
        return "0"
    number = float(ball.mid())
    return f"{number:.6g}" if abs(number) < 1e300 else f"e^{float(abs(ball).log().mid()):.6g}"


def show_entry(left: Value, right: Value, place: tuple[int, ...]) -> str:
    """Both sides' values at one entry of the first draw, and which entry it is."""
    shape = max(left.shape, right.shape)
    x, y = (np.broadcast_to(side.array[0], shape)[place] for side in (left, right))
    entry = "" if shape == (1, 1) else f" (entry {place[0] + 1},{place[1] + 1})"
    return f"the left side is {show(x)}, the right side {show(y)}{entry}"


def sizes_in_words(instance: Instance) -> str:
    """n = 3, d = 5."""
    return ", ".join(f"{name} = {size}" for name, size in instance.sizes.items())


def instance_in_words(instance: Instance, indices: Mapping[str, int], scope: Scope, reached: frozenset[str]) -> str:
    """The sizes, the indices, and the scalars that are reached."""
    parts = [f"{name} = {size}" for name, size in instance.sizes.items()]
    parts += [f"{letter} = {place + 1}" for letter, place in indices.items()]
    for name in sorted(reached):
        meaning = scope.meanings.get(name)
        if meaning is not None and meaning.formula is None and meaning.shape == ("1", "1") and meaning.index is None:
            parts.append(f"{spell(name)} = {show(instance.draw(meaning, BALLS)[0, 0, 0])}")
    return ", ".join(parts)
