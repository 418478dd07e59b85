"""c_1a_1 + … + c_ma_m as a sum over an index."""

from fractions import Fraction
from typing import Any

from regard.derivations.notation.syntax import BigOperator, Dots, Expression, Number, Sum, Symbol, describe, symbols
from regard.derivations.notation.tokens import NotUnderstood


def spelt_out(node: Sum) -> Expression:
    """A sum with an ellipsis as a sum over an index, read from the term after the dots."""
    place = next(k for k, term in enumerate(node.terms) if isinstance(term, Dots))
    if place == 0 or place != len(node.terms) - 2:
        raise NotUnderstood("An ellipsis must stand before the last term.")
    last = node.terms[-1]
    scripts = (script for symbol in symbols(last) for script in symbol.subscripts)
    uppers = {describe(script): script for script in scripts if isinstance(script, Symbol)}
    if len(uppers) != 1:
        raise NotUnderstood("It is not clear which index the ellipsis runs over.")
    name, upper = next(iter(uppers.items()))
    letter = "i" if name != "i" else "l"
    return BigOperator("sum", letter, (), Number(Fraction(1)), upper, _with_index(last, name, letter))


def _with_index(node: Any, name: str, letter: str) -> Any:
    """The tree with the subscript `name` replaced by `letter`."""
    if isinstance(node, Symbol):
        scripts = tuple(Symbol(letter) if describe(script) == name else script for script in node.subscripts)
        return Symbol(node.name, scripts)
    if isinstance(node, tuple):
        return tuple(_with_index(item, name, letter) for item in node)
    if isinstance(node, Expression):
        return type(node)(*(_with_index(getattr(node, item), name, letter) for item in node.__dataclass_fields__))
    return node
