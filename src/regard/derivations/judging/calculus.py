"""Derivatives of a loss that nothing defines: ∂L/∂V = Aᵀ ∂L/∂O holds for every L that depends on V through O.

Such an L may be any linear function of the variables that come last: its derivatives by them are drawn at random, and
those by the variables before them follow.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from regard.derivations.judging.scope import Scope
from regard.derivations.judging.setting import SymbolMeaning
from regard.derivations.notation.syntax import (
    Derivative,
    Differential,
    Expression,
    Inner,
    Product,
    Sum,
    Symbol,
    children,
    describe,
    letters_in,
    mapped,
    renamed,
    walk,
)


@dataclass(frozen=True, kw_only=True)
class Loss:
    """A loss, the variables on which it depends directly, and those that they are made of."""

    name: str
    sources: tuple[Symbol, ...]
    targets: tuple[Symbol, ...]

    def gradient(self, source: Symbol) -> Symbol:
        """The symbol that stands for the derivative by one of the sources."""
        return Symbol(f"∂{self.name}/∂{describe(source)}")

    @property
    def linear(self) -> Expression:
        """The loss as a linear function of its sources."""
        terms = tuple(Inner(self.gradient(source), source) for source in self.sources)
        return terms[0] if len(terms) == 1 else Sum(terms)


@lru_cache(maxsize=1024)
def gradient_meaning(name: str, shape: tuple[int, int]) -> SymbolMeaning:
    """The derivative of a loss by a source, drawn at random; the same object for the same name and shape."""
    return SymbolMeaning(name=name, shape=(str(shape[0]), str(shape[1])))


def is_loss(node: Expression, scope: Scope) -> bool:
    """True for a symbol of which nothing says how it depends on anything: unknown, or no more than a number."""
    if not isinstance(node, Symbol) or node.subscripts or node.name in scope.setting.functions:
        return False
    found = scope.lookup(node)
    if found is not None:
        return scope.setting.is_own and _is_bare_number(found.meaning)
    return scope.family(node.name) is None and not scope.is_constant(node)


def _is_bare_number(meaning: SymbolMeaning) -> bool:
    is_random = meaning.law is not None or meaning.variance is not None
    is_said = bool(meaning.assume) or meaning.formula is not None or meaning.tends is not None
    return meaning.is_number and meaning.index is None and not is_random and not is_said


def losses_in(sides: Iterable[Expression], scope: Scope) -> Mapping[str, Loss]:
    """The losses of a relation, by name, with the variables that it takes derivatives by, also in definitions."""
    variables: dict[str, dict[Symbol, None]] = {}
    pending, seen = list(sides), set[int]()
    while pending:
        node = pending.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        pending += children(node)
        match node:
            case Derivative(top=top, bottom=Symbol() as bottom) if bottom != top and is_loss(top, scope):
                variables.setdefault(describe(top), {})[whole(bottom, scope)] = None
        found = (scope.lookup(node) or scope.lookup(Symbol(node.name))) if isinstance(node, Symbol) else None
        if found is not None and found.meaning.formula is not None:
            pending.append(found.meaning.formula)
    return {name: _loss(name, tuple(found), scope) for name, found in variables.items()}


def whole(variable: Symbol, scope: Scope) -> Symbol:
    """The vector or matrix that a variable is an entry of: the x of x_j."""
    bare = Symbol(variable.name)
    is_member = scope.family(variable.name) is not None and not scope.knows(bare)
    is_entry = not scope.knows(variable) and scope.knows(bare)
    return bare if variable.subscripts and (is_member or is_entry) else variable


def in_terms_of(variable: Symbol, top: Expression, scope: Scope) -> Scope | None:
    """The scope in which definitions name a variable that they spell out: softmax weights by their scores z_i = k_iᵀq.

    None if the top depends on the variable as it is, or does not spell it out either.
    """
    found = scope.lookup(variable)
    formula = found.meaning.formula if found is not None else None
    if found is None or formula is None or not isinstance(formula, Product | Sum):
        return None
    meaning = found.meaning
    if meaning.key in scope.with_meaning(replace(meaning, formula=None)).reach(top):
        return None

    def named(node: Expression) -> Expression:
        letters = letters_in(node) if meaning.index and type(node) is type(formula) else ()
        for letter in letters:
            if node == renamed(formula, {meaning.index or "": letter}):
                return Symbol(meaning.name, (Symbol(letter),))
        return Symbol(meaning.name) if node == formula else node

    own = dict(scope.own)
    for key in scope.reach(top) & scope.meanings.keys():
        spelt = scope.meanings[key]
        if spelt.formula is not None and (changed := mapped(spelt.formula, named)) != spelt.formula:
            own[key] = replace(spelt, formula=changed)
    return replace(scope, own=own) if own != scope.own else None


def _loss(name: str, variables: tuple[Symbol, ...], scope: Scope) -> Loss:
    below = {variable: _depends_on(variable, scope) for variable in variables}
    sources = [
        variable
        for variable in variables
        if not any(_key(variable, scope) in below[other] for other in variables if other != variable)
    ]
    targets = [variable for variable in variables if variable not in sources]
    return Loss(name=name, sources=tuple(sources), targets=tuple(targets))


def _key(variable: Symbol, scope: Scope) -> str:
    found = scope.lookup(variable)
    meaning = found.meaning if found is not None else scope.family(variable.name)
    return meaning.key if meaning is not None else describe(variable)


def _depends_on(variable: Symbol, scope: Scope) -> frozenset[str]:
    family = scope.family(variable.name) if not scope.knows(variable) else None
    return scope.reach(variable if family is None or family.formula is None else family.formula) - {
        _key(variable, scope)
    }


# -- differentials -----------------------------------------------------------------------------------------------------
def varied_in(sides: Iterable[Expression], scope: Scope) -> tuple[Symbol, ...]:
    """The symbols whose differentials a relation is made of: those of dX and dY that depend on no other one of them."""
    bodies = [node.body for side in sides for node in walk(side) if isinstance(node, Differential)]
    named = dict.fromkeys(whole(body, scope) for body in bodies if isinstance(body, Symbol))
    below = {variable: _depends_on(variable, scope) for variable in named}
    return tuple(one for one in named if not any(_key(other, scope) in below[one] for other in named if other != one))


@lru_cache(maxsize=1024)
def direction_meaning(name: str, shape: tuple[int, int]) -> SymbolMeaning:
    """The differential of a symbol, drawn at random; the same object for the same name and shape."""
    return SymbolMeaning(name=f"d{name}", shape=(str(shape[0]), str(shape[1])))
