"""Names of gradients: after dX = ∂L/∂X, or X̄, G_X and g_x in its place, dY is ∂L/∂Y for every other Y too."""

from collections.abc import Callable, Collection
from dataclasses import dataclass

from regard.derivations.judging.setting import SymbolMeaning
from regard.derivations.notation.syntax import Derivative, Expression, Symbol, describe

_BAR = "^bar"


@dataclass(frozen=True, kw_only=True)
class GradientNames:
    """How a document names the gradients of a loss; `variable_of` says which gradient a symbol is: X for dX."""

    loss: Symbol
    variable_of: Callable[[Symbol], Symbol | None]

    def meaning(self, symbol: Symbol, indices: Collection[str]) -> SymbolMeaning | None:
        """What a symbol stands for, if it is named like a gradient; an entry of one stands for all of it."""
        bare, variable = Symbol(symbol.name), self.variable_of(symbol)
        letters = [each.name for each in symbol.subscripts if isinstance(each, Symbol)]
        if (
            letters
            and len(letters) == len(symbol.subscripts)
            and set(letters) <= set(indices)
            and self.variable_of(bare)
        ):
            symbol, variable = bare, self.variable_of(bare)
        if variable is None:
            return None
        return SymbolMeaning(name=describe(symbol), formula=Derivative(self.loss, variable))


def gradient_names(left: Expression | None, right: Expression | None) -> GradientNames | None:
    """The convention that a definition introduces, if it names a gradient after its variable."""
    if not isinstance(left, Symbol) or not isinstance(right, Derivative):
        return None
    loss, variable = right.top, right.bottom
    if not isinstance(loss, Symbol) or loss.subscripts or not isinstance(variable, Symbol):
        return None
    ways = [_after_d, _below_bar, *([_below(left.name)] if left.name != variable.name else [])]
    way = next((way for way in ways if way(left) == variable), None)
    return None if way is None else GradientNames(loss=loss, variable_of=way)


def _after_d(symbol: Symbol) -> Symbol | None:
    is_named = symbol.name.startswith("d") and len(symbol.name) > 1
    return Symbol(symbol.name[1:], symbol.subscripts) if is_named else None


def _below_bar(symbol: Symbol) -> Symbol | None:
    return Symbol(symbol.name.removesuffix(_BAR), symbol.subscripts) if symbol.name.endswith(_BAR) else None


def _below(name: str) -> Callable[[Symbol], Symbol | None]:
    def variable(symbol: Symbol) -> Symbol | None:
        script = symbol.subscripts[0] if symbol.name == name and len(symbol.subscripts) == 1 else None
        return script if isinstance(script, Symbol) else None

    return variable
