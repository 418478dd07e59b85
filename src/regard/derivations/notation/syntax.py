"""The tree that a formula is parsed into; what a symbol means is decided later, by the problem."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any


class Expression:
    """Any node of the tree; two nodes are equal if they read the same, wherever they stand.

    Trees are walked all the time, so a node remembers what it consists of.
    """

    __slots__ = ("_children", "_letters", "_symbols")
    _children: "tuple[Expression, ...]"
    _letters: tuple[str, ...]
    _symbols: "tuple[Symbol, ...]"


@dataclass(frozen=True, slots=True)
class Number(Expression):
    """A literal number, exact; `places` is how many decimals are printed, which says how far it may be rounded."""

    value: Fraction
    places: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Ones(Expression):
    """The bold 1: a vector of ones whose length the context gives."""


@dataclass(frozen=True, slots=True)
class Identity(Expression):
    """The identity matrix, its size given by the context."""

    size: Expression | None = None


@dataclass(frozen=True, slots=True)
class Infinity(Expression):
    """∞."""


@dataclass(frozen=True, slots=True)
class Dots(Expression):
    """An ellipsis inside a sum."""


@dataclass(frozen=True, slots=True)
class Label(Expression):
    """A subscript that is a name and not an index: the `perm` of X_perm."""

    text: str


@dataclass(frozen=True, slots=True)
class Condition(Expression):
    """A relation in a subscript: the i ≠ j under a sum."""

    left: Expression
    sign: str
    right: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Symbol(Expression):
    """A letter with its subscripts; accents, primes and bracketed superscripts belong to the name."""

    name: str
    subscripts: tuple[Expression, ...] = ()


@dataclass(frozen=True, slots=True)
class Scripted(Expression):
    """A compound expression with subscripts: softmax(z)_i."""

    base: Expression
    subscripts: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Sum(Expression):
    """Terms that are added; a subtracted term is a Negative."""

    terms: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Negative(Expression):
    """−x."""

    body: Expression


@dataclass(frozen=True, slots=True)
class Product(Expression):
    """Neighbouring factors; `dots[k]` says whether a \\cdot stands between factor k and k+1."""

    factors: tuple[Expression, ...]
    dots: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class Quotient(Expression):
    """top/bottom."""

    top: Expression
    bottom: Expression


@dataclass(frozen=True, slots=True)
class Power(Expression):
    """base^exponent."""

    base: Expression
    exponent: Expression


@dataclass(frozen=True, slots=True)
class Transpose(Expression):
    """The transpose; `is_conjugate` for the dagger."""

    body: Expression
    is_conjugate: bool = False


@dataclass(frozen=True, slots=True)
class Accent(Expression):
    """A bar or star over a compound expression: conjugation in complex settings."""

    kind: str
    body: Expression


@dataclass(frozen=True, slots=True)
class Apply(Expression):
    """A named function of arguments."""

    function: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class BigOperator(Expression):
    """Σ, Π or max over an index; `index` is empty for a sum that names none."""

    operator: str
    index: str
    conditions: tuple[Expression, ...]
    lower: Expression | None
    upper: Expression | None
    body: Expression


@dataclass(frozen=True, slots=True)
class Norm(Expression):
    """‖x‖ (order 2), ‖x‖₁, ‖x‖_∞ (order −1), ‖A‖_F (order −2) or |x| (order 0 stands for the absolute value).

    Of a matrix, ‖A‖_* (order 3) is the nuclear norm and ‖A‖_op (order 4) the spectral one.
    """

    body: Expression
    order: int = 2


@dataclass(frozen=True, slots=True)
class Inner(Expression):
    """⟨x, y⟩."""

    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Matrix(Expression):
    """A bare matrix, row by row; (a_1, …, a_m) `is_listed`: a column of numbers, but a row of vectors."""

    rows: tuple[tuple[Expression, ...], ...]
    is_listed: bool = False


@dataclass(frozen=True, slots=True)
class Cases(Expression):
    """A definition by cases: each value with the conditions it needs; no condition means otherwise."""

    values: tuple[Expression, ...]
    conditions: tuple[tuple[Expression, ...], ...]


@dataclass(frozen=True, slots=True)
class SetOf(Expression):
    """A set by its members, or a number domain such as ℝ^d by its name and dimensions."""

    members: tuple[Expression, ...]
    domain: str = ""
    dimensions: tuple[Expression, ...] = ()


@dataclass(frozen=True, slots=True)
class Differential(Expression):
    """How something changes with what it depends on: d(XY) = dX Y + X dY."""

    body: Expression


@dataclass(frozen=True, slots=True)
class Derivative(Expression):
    """∂top/∂bottom; a gradient has the shape of the bottom in every layout."""

    top: Expression
    bottom: Expression
    is_gradient: bool = False


@dataclass(frozen=True, slots=True)
class Distribution(Expression):
    """A law with its parameters: N(μ, σ²), Poisson(λ)."""

    family: str
    parameters: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Expectation(Expression):
    """E_{variable ∼ law}[body | given]; without a law, over everything that is random and not given.

    The body may be a variance or the probability of an event.
    """

    body: Expression
    variable: Expression | None = None
    law: Expression | None = None
    given: tuple[Expression, ...] = ()


@dataclass(frozen=True, slots=True)
class Integral(Expression):
    """∫ body d variable from lower to upper."""

    body: Expression
    variable: str
    lower: Expression
    upper: Expression


@dataclass(frozen=True, slots=True)
class Extremum(Expression):
    """arg max or arg min of the body by a variable; a `sign` of −1 for the minimum."""

    body: Expression
    variable: Expression
    sign: int


def bound_name(node: Expression) -> str:
    """The letter that a sum or an integral binds, empty if it binds none."""
    if isinstance(node, BigOperator):
        return node.index
    if isinstance(node, Integral):
        return node.variable
    variable = node.variable if isinstance(node, Expectation | Extremum) else None
    return describe(variable) if isinstance(variable, Symbol) else ""


def children(node: Expression) -> tuple[Expression, ...]:
    """The expressions directly below a node."""
    try:
        return node._children
    except AttributeError:
        return _remember(node, "_children", tuple(_expressions_in(getattr(node, name) for name in node.__slots__)))


def _expressions_in(parts: Iterable[Any]) -> Iterator[Expression]:
    for part in parts:
        if isinstance(part, Expression):
            yield part
        elif isinstance(part, tuple):
            yield from _expressions_in(part)


def _remember(node: Expression, name: str, value: Any) -> Any:
    object.__setattr__(node, name, value)
    return value


def walk(node: Expression) -> Iterator[Expression]:
    """The node and every expression below it, from left to right."""
    pending = [node]
    while pending:
        node = pending.pop()
        yield node
        pending += reversed(children(node))


def symbols(node: Expression) -> tuple[Symbol, ...]:
    """Every symbol in the tree, subscripts' symbols included, from left to right."""
    try:
        return node._symbols
    except AttributeError:
        return _remember(node, "_symbols", tuple(each for each in walk(node) if isinstance(each, Symbol)))


def outer_symbols(node: Expression) -> Iterator[Symbol]:
    """The symbols of a formula, without those that only stand in subscripts."""
    if isinstance(node, Symbol):
        yield node
        return
    for child in children(node):
        yield from outer_symbols(child)


def letters_in(node: Expression) -> tuple[str, ...]:
    """Every bare name that an expression depends on, those bound by a sum left out, sorted."""
    try:
        return node._letters
    except AttributeError:
        own = {node.name} if isinstance(node, Symbol) and not node.subscripts else set()
        bound = {bound_name(node)}
        below = {letter for child in children(node) for letter in letters_in(child)}
        return _remember(node, "_letters", tuple(sorted((own | below) - bound)))


def mapped(node: Expression, change: Callable[[Expression], Expression]) -> Expression:
    """A tree with a change made at each of its nodes, leaves first."""

    def inside(value: Any) -> Any:
        if isinstance(value, Expression):
            return mapped(value, change)
        return tuple(map(inside, value)) if isinstance(value, tuple) else value

    return change(type(node)(*(inside(getattr(node, name)) for name in node.__slots__)))


def renamed(node: Expression, names: Mapping[str, str]) -> Expression:
    """A tree with other names for some of its symbols."""

    def change(each: Expression) -> Expression:
        return Symbol(names.get(each.name, each.name), each.subscripts) if isinstance(each, Symbol) else each

    return mapped(node, change)


def describe(node: Expression) -> str:
    """The spelling of a symbol in messages and tables: k_a, X_perm, W_Q.

    >>> describe(Symbol("k", (Symbol("a"),)))
    'k_a'
    """
    if isinstance(node, Symbol):
        inside = ",".join(describe(script) for script in node.subscripts)
        return f"{node.name}_{inside}" if inside else node.name
    if isinstance(node, Label):
        return node.text
    if isinstance(node, Number):
        return str(node.value)
    if isinstance(node, Sum):
        return "+".join(describe(term) for term in node.terms).replace("+-", "-")
    if isinstance(node, Negative):
        return "-" + describe(node.body)
    if isinstance(node, Product):
        return "".join(describe(factor) for factor in node.factors)
    return type(node).__name__.lower()
