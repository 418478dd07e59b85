"""Indices: which letters run freely, what a sum runs over, and which conditions they are under."""

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from regard.derivations.judging.instances import Instance
from regard.derivations.judging.scope import Scope
from regard.derivations.judging.setting import Setting
from regard.derivations.judging.values import FLOATS, ORDERS
from regard.derivations.notation.syntax import (
    Apply,
    BigOperator,
    Condition,
    Expression,
    Label,
    Negative,
    Number,
    Quotient,
    Scripted,
    SetOf,
    Sum,
    Symbol,
    letters_in,
    symbols,
    walk,
)
from regard.derivations.notation.tokens import NotUnderstood

_MOST = 16
MOST_PLACES = 2_000


def index_letters(nodes: Iterable[Expression], setting: Setting) -> list[str]:
    """The free letters that really pick members: the k of 2kπ, which stands only as a number, is none of them."""
    nodes = list(nodes)
    free = {letter for node in nodes for letter in letters_in(node) if letter in setting.free}
    return sorted(free & {name for node in nodes for name in _scripted_letters(node)}) if free else []


def _scripted_letters(node: Expression) -> set[str]:
    found: set[str] = set()
    for each in walk(node):
        if isinstance(each, Symbol | Scripted):
            found.update(letter for script in each.subscripts for letter in letters_in(script))
        elif isinstance(each, Condition):
            found.update(letters_in(each))
    return found


def index_value(node: Expression, indices: Mapping[str, int], instance: Instance) -> int:
    """The place (from zero) that a subscript points to."""
    if isinstance(node, Number) and node.value.denominator == 1:
        return max(int(node.value) - 1, 0)
    if isinstance(node, Symbol) and not node.subscripts:
        if node.name in indices:
            return indices[node.name]
        if node.name in instance.setting.fixed:
            return instance.fixed_index(node.name)
        if node.name in instance.sizes:
            return instance.sizes[node.name] - 1
    if isinstance(node, Apply) and node.function in instance.setting.permutations:
        matrix = instance.setting.symbols[instance.setting.permutations[node.function]]
        row = index_value(node.arguments[0], indices, instance)
        return int(np.argmax(instance.draw(matrix, FLOATS)[0, row]))
    if isinstance(node, Sum):
        return sum(index_value(term, indices, instance) + 1 for term in node.terms) - 1
    if isinstance(node, Quotient):
        top, bottom = (index_value(part, indices, instance) + 1 for part in (node.top, node.bottom))
        return top // bottom - 1
    if isinstance(node, Negative):
        return -(index_value(node.body, indices, instance) + 1) - 1
    raise NotUnderstood("This subscript is not a known index.")


def satisfies(condition: Expression, indices: Mapping[str, int], instance: Instance) -> bool:
    """Whether index values meet a condition such as i ≠ a, b or i ∈ {a, b}."""
    if not isinstance(condition, Condition):
        return True
    left = index_value(condition.left, indices, instance)
    items = [item for right in condition.right for item in (right.members if isinstance(right, SetOf) else (right,))]
    places = [index_value(item, indices, instance) for item in items if isinstance(item, Symbol | Number | Sum)]
    if condition.sign in ("≠", "∉"):
        return left not in places
    if condition.sign in ("=", "∈"):
        return not places or left in places or len(places) != len(items)
    return not places or condition.sign not in ORDERS or ORDERS[condition.sign](left, places[0])


@dataclass(frozen=True, kw_only=True)
class SumContext:
    """What the range of a sum depends on: the indices set outside, members to leave out, and shapes of symbols."""

    scope: Scope
    indices: Mapping[str, int]
    instance: Instance
    excluded: Sequence[str]
    shape_of: Callable[[Symbol], tuple[int, int] | None]


def index_range(node: BigOperator, context: SumContext) -> tuple[str, Sequence[int]]:
    """The letter that a sum runs over, and the places it takes: a range where the sum has no conditions."""
    scope, indices, instance = context.scope, context.indices, context.instance
    setting = scope.setting
    letter = node.index or _unnamed_index(node, setting, indices)
    is_from_zero = isinstance(node.lower, Number) and node.lower.value == 0
    first = 0 if node.lower is None or is_from_zero else index_value(node.lower, indices, instance)
    if node.upper is None or is_unknown_count(node.upper, scope, indices):
        last = _size_of(node, letter, context) - 1
    else:
        last = index_value(node.upper, indices, instance) + is_from_zero
    if not node.conditions:
        return letter, range(first, last + 1)
    if last - first > MOST_PLACES:
        raise NotUnderstood("This is too long to add up.")
    labels = [part for part in node.conditions if isinstance(part, Label)]
    if labels:
        avoid = {instance.fixed_index(name) for name in (context.excluded or setting.fixed)}
        return letter, [place for place in range(first, last + 1) if place not in avoid]
    return letter, [
        place
        for place in range(first, last + 1)
        if all(satisfies(condition, {**indices, letter: place}, instance) for condition in node.conditions)
    ]


def is_unknown_count(upper: Expression | None, scope: Scope, indices: Mapping[str, int]) -> bool:
    """True if a sum runs up to a letter that nothing explains: it is read as the number of all members."""
    if not isinstance(upper, Symbol) or upper.subscripts:
        return False
    return not (upper.name in indices or scope.is_constant(upper) or scope.knows(upper))


def _unnamed_index(node: BigOperator, setting: Setting, indices: Mapping[str, int]) -> str:
    """A sum that names no index runs over a letter of its body: best a free one that is not in use outside."""
    letters = letters_in(node.body)
    free = [letter for letter in letters if letter in setting.free]
    unused = [letter for letter in free if letter not in indices]
    fixed = [letter for letter in letters if letter in setting.fixed]
    return (unused or free or fixed or ["·"])[0]


def _size_of(node: BigOperator, letter: str, context: SumContext) -> int:
    scope, instance = context.scope, context.instance
    for symbol in symbols(node.body):
        is_picked = any(isinstance(script, Symbol) and script.name == letter for script in symbol.subscripts)
        over = _range_of(symbol, letter, scope) if is_picked else None
        if over is not None:
            return instance.size(over)
        shape = context.shape_of(Symbol(symbol.name)) if is_picked and not scope.knows(symbol) else None
        if shape is not None:
            return shape[min(_place_of(letter, symbol), 1)] if len(symbol.subscripts) > 1 else max(shape)
    size = scope.setting.free.get(letter) or next(iter(scope.setting.free.values()), None)
    if size is None:
        raise NotUnderstood("It is not clear what this sum runs over.")
    return instance.size(size)


def ranges(nodes: Iterable[Expression], scope: Scope) -> dict[str, str]:
    """The size that each free letter runs over: that of the family it picks from, else the setting's."""
    found: dict[str, str] = {}
    for symbol in (symbol for node in nodes for symbol in symbols(node)):
        for script in symbol.subscripts:
            if isinstance(script, Symbol) and script.name in scope.setting.free:
                size = _range_of(symbol, script.name, scope)
                found.setdefault(script.name, size or scope.setting.free[script.name])
    return {**scope.setting.free, **found}


def _range_of(symbol: Symbol, letter: str, scope: Scope) -> str | None:
    """The size that a letter runs over below a symbol: that of a family, of a vector, of a matrix's rows or columns."""
    if scope.knows(symbol):
        return scope.find(symbol).meaning.over
    whole = scope.lookup(Symbol(symbol.name))
    if whole is None or whole.meaning.formula is not None or whole.meaning.is_number:
        return None
    return whole.meaning.shape[min(_place_of(letter, symbol), 1)]


def _place_of(letter: str, symbol: Symbol) -> int:
    """Whether a letter is the first or the second below a symbol."""
    return [isinstance(script, Symbol) and script.name == letter for script in symbol.subscripts].index(True)


def assignments(
    letters: Mapping[str, str],
    conditions: Sequence[Condition],
    instance: Instance,
    *,
    avoid_fixed: bool,
    is_distinct: bool,
) -> list[dict[str, int]]:
    """A few telling assignments of free letters (with the sizes they run over): fixed places, and two others."""
    setting = instance.setting
    choices = []
    for size_name in letters.values():
        fixed = [instance.fixed_index(name) for name, over in setting.fixed.items() if over == size_name]
        others = [place for place in range(instance.size(size_name)) if place not in fixed]
        others = others[: 2 if len(letters) == 1 else 3]
        choices.append(others if avoid_fixed else [*fixed, *others])
    known = {*letters, *setting.fixed}
    relevant = [condition for condition in conditions if _letters_under(condition, instance) <= known]
    found = [
        dict(zip(letters, places, strict=True))
        for places in itertools.product(*choices)
        if not is_distinct or len(set(places)) == len(places)
    ]
    return [chosen for chosen in found if all(satisfies(each, chosen, instance) for each in relevant)][:_MOST]


def _letters_under(condition: Condition, instance: Instance) -> set[str]:
    """The indices that a condition is about; the n of i < n is none."""
    names = {symbol.name for symbol in symbols(condition) if not symbol.subscripts and len(symbol.name) == 1}
    return names - set(instance.sizes)
