"""Shapes inferred from use: which kinds of symbols make a relation well shaped, with sizes found by unification.

A symbol that nothing declares may be a number, a column or a matrix. Once its kind is chosen, its sizes are unknowns,
and every sum and product equates some of them.
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from regard.derivations.judging.calculus import is_loss
from regard.derivations.judging.indices import ranges
from regard.derivations.judging.scope import Scope
from regard.derivations.judging.setting import OF_SQUARES, UNNAMED, Kind, SymbolMeaning
from regard.derivations.notation.syntax import (
    Accent,
    Apply,
    BigOperator,
    Cases,
    Derivative,
    Differential,
    Distribution,
    Dots,
    Expectation,
    Expression,
    Extremum,
    Identity,
    Inner,
    Integral,
    Label,
    Matrix,
    Negative,
    Norm,
    Number,
    Ones,
    Power,
    Product,
    Quotient,
    Scripted,
    Sum,
    Symbol,
    Transpose,
    describe,
    letters_in,
    symbols,
    walk,
)

Dimension = str | int  # the name of a size, or an unknown one
Shape = tuple[Dimension, Dimension]
SCALAR: Shape = ("1", "1")
_OF_SQUARES = ("trace", "det", "logdet")
_OF_MATRICES = ("rank",)
_BY_ENTRY = frozenset(
    (
        "exp log sqrt sin cos tan arctan arcsin arccos tanh relu erf sinh cosh sign softplus elu gelu sigmoid "
        "\\sigma \\Phi mean re im"
    ).split()
)
_OF_NUMBERS = frozenset("factorial floor ceiling binomial probability".split())
_CHANGES = ("d", "Δ")
_MOST_COMBINATIONS = 300


class Untyped(Exception):
    """An expression whose shape does not follow from what is known."""


class Mismatch(Exception):
    """Two shapes that do not go together."""


# -- unification -------------------------------------------------------------------------------------------------------
@dataclass
class _Unifier:
    """Unknown sizes, each with what it is equal to."""

    equal: dict[int, Dimension] = field(default_factory=dict)
    count: int = 0

    def fresh(self) -> int:
        self.count += 1
        return self.count

    def found(self, dimension: Dimension) -> Dimension:
        while isinstance(dimension, int) and dimension in self.equal:
            dimension = self.equal[dimension]
        return dimension

    def shape(self, shape: Shape) -> Shape:
        return self.found(shape[0]), self.found(shape[1])

    def equate(self, one: Dimension, other: Dimension) -> None:
        one, other = self.found(one), self.found(other)
        if one == other:
            return
        if isinstance(one, int):
            self.equal[one] = other
        elif isinstance(other, int):
            self.equal[other] = one
        else:
            raise Mismatch

    def unify(self, one: Shape, other: Shape) -> Shape:
        self.equate(one[0], other[0])
        self.equate(one[1], other[1])
        return self.shape(one)


@dataclass
class _Typing:
    """The shapes of the expressions of one scope, where symbols without a declaration have chosen shapes."""

    scope: Scope
    chosen: Mapping[str, Shape]
    unifier: _Unifier
    bound: Mapping[str, Shape] = field(default_factory=dict)
    depth: int = 0

    def __call__(self, node: Expression) -> Shape:
        return self.unifier.shape(self._of(node))

    def _of(self, node: Expression) -> Shape:
        match node:
            case Number():
                return self._anything() if node.value == 0 else SCALAR
            case Symbol():
                return self._symbol(node)
            case Sum():
                return self._alike(node.terms)
            case Negative() | Accent() | Differential():
                return self(node.body)
            case Product():
                return self._product(node)
            case Quotient():
                self._must_be(node.bottom, SCALAR)
                return self(node.top)
            case Power():
                return self._power(node)
            case Transpose():
                rows, columns = self(node.body)
                return columns, rows
            case Norm():
                self(node.body)
                return SCALAR
            case Inner():
                self._alike((node.left, node.right))
                return SCALAR
            case Apply():
                return self._applied(node)
            case Expectation():
                return self(node.body)
            case BigOperator(operator="row" | "column"):
                return self._stacked(node)
            case BigOperator():
                return self(node.body)
            case Matrix() if any(isinstance(cell, Dots) for row in node.rows for cell in row):
                return self._listed(node)
            case Matrix():
                for cell in (cell for row in node.rows for cell in row):
                    self._must_be(cell, SCALAR)
                return str(len(node.rows)), str(len(node.rows[0]))
            case Cases():
                return self._alike(node.values)
            case Derivative():
                top = SCALAR if is_loss(node.top, self.scope) else self(node.top)
                return self._derivative(top, self(node.bottom))
            case Identity():
                size = self.unifier.fresh()
                return size, size
            case Ones():
                return self.scope.setting.ones or self.unifier.fresh(), "1"
            case Integral():
                inner = _Typing(
                    self.scope, self.chosen, self.unifier, {**self.bound, node.variable: SCALAR}, self.depth
                )
                return inner(node.body)
            case Distribution():
                return self._parameters(node)
            case Extremum():
                self._must_be(node.body, SCALAR)
                return self(node.variable)
            case Scripted():
                return self._part(self(node.base), len(node.subscripts))
        raise Untyped

    def _stacked(self, node: BigOperator) -> Shape:
        """The shape of what runs over an index to the right, or downwards."""
        rows, columns = self(node.body)
        size = ranges([node.body], self.scope).get(node.index)
        if size is None:
            raise Untyped
        return (rows, size) if node.operator == "row" else (size, columns)

    def _listed(self, node: Matrix) -> Shape:
        """The shape of x_1, …, x_n in a column or a row, from that of the last."""
        rows, columns = self(node.rows[-1][-1])
        is_row = len(node.rows) == 1
        scripts = {describe(each) for symbol in symbols(node.rows[-1][-1]) for each in symbol.subscripts}
        sizes = [name for name in scripts if name in self.scope.setting.sizes]
        if len(sizes) != 1 or len(node.rows[0]) > 1 != is_row:
            raise Untyped
        if is_row:
            self.unifier.equate(columns, "1")
            return rows, sizes[0]
        self.unifier.equate(rows, "1")
        return sizes[0], columns

    def _anything(self) -> Shape:
        return self.unifier.fresh(), self.unifier.fresh()

    def _alike(self, nodes: Iterable[Expression]) -> Shape:
        shapes = [self(node) for node in nodes]
        for shape in shapes[1:]:
            self.unifier.unify(shapes[0], shape)
        return shapes[0]

    def _must_be(self, node: Expression, shape: Shape) -> None:
        self.unifier.unify(self(node), shape)

    def _symbol(self, node: Symbol) -> Shape:
        key = describe(node)
        if key in self.bound:
            return self.bound[key]
        function = self.scope.setting.functions.get(node.name)
        if function is not None and function.is_subscripted and node.subscripts:
            for script in node.subscripts:
                self._must_be(script, SCALAR)
            inside = {**self.bound, **dict.fromkeys(function.arguments, SCALAR)}
            return _Typing(self.scope, self.chosen, self.unifier, inside, self.depth)._inside(function.formula)
        found = self.scope.lookup(node)
        if found is None:
            return self._without_meaning(node)
        meaning = found.meaning
        if meaning.formula is not None:
            return self._inside(meaning.formula)
        shape = self.chosen.get(meaning.key, meaning.shape)
        if isinstance(meaning.law, Distribution) and meaning.law.family == "normal":
            mean, variance = map(self, meaning.law.parameters)
            if mean != SCALAR:
                self.unifier.unify(shape, mean)
            if variance != SCALAR:
                self.unifier.unify(shape, (variance[0], "1"))
        return shape

    def _inside(self, formula: Expression) -> Shape:
        if self.depth > 12:
            raise Untyped
        self.depth += 1
        shape = self(formula)
        self.depth -= 1
        return shape

    def _without_meaning(self, node: Symbol) -> Shape:
        setting = self.scope.setting
        if self.scope.is_constant(node) or node.name in setting.free or (setting.is_complex and node == Symbol("i")):
            return SCALAR
        function = setting.functions.get(node.name)
        if function is not None and not node.subscripts:
            return self._inside(function.formula)
        family = self.scope.family(node.name)
        if family is not None and not node.subscripts and family.over is not None:
            member = self._inside(family.formula) if family.formula else self.chosen.get(family.key, family.shape)
            self.unifier.unify(member, SCALAR)
            return family.over, "1"
        if node.subscripts and self.scope.knows(Symbol(node.name)) and not isinstance(node.subscripts[0], Label):
            return self._part(self._symbol(Symbol(node.name)), len(node.subscripts))
        if node.name == "delta" and len(node.subscripts) == 2:
            return SCALAR
        raise Untyped

    def _part(self, whole: Shape, num_subscripts: int) -> Shape:
        """The shape of an entry of a vector, of a row or an entry of a matrix."""
        if self.unifier.shape(whole) == SCALAR:
            raise Mismatch
        is_vector = "1" in self.unifier.shape(whole)
        return SCALAR if is_vector or num_subscripts > 1 else ("1", whole[1])

    def _product(self, node: Product) -> Shape:
        total = self(node.factors[0])
        for factor, is_dot in zip(node.factors[1:], node.dots, strict=True):
            shape, total = self(factor), self.unifier.shape(total)
            if SCALAR in (shape, total):
                total = shape if total == SCALAR else total
            elif is_dot and total[1] == shape[1] == "1":
                self.unifier.unify(total, shape)
                total = SCALAR
            else:
                self.unifier.equate(total[1], shape[0])
                total = (total[0], shape[1])
        return self.unifier.shape(total)

    def _power(self, node: Power) -> Shape:
        base, exponent = self(node.base), self(node.exponent)
        if exponent != SCALAR:
            if node.base != Symbol("e"):
                raise Mismatch
            return exponent
        if base != SCALAR:
            power = node.exponent.body if isinstance(node.exponent, Negative) else node.exponent
            if not isinstance(power, Number) or power.value.denominator != 1:
                raise Mismatch
            self.unifier.equate(*base)
        return base

    def _applied(self, node: Apply) -> Shape:
        function = self.scope.setting.functions.get(node.function)
        shapes = [self(argument) for argument in node.arguments]
        if function is not None:
            inside = dict(zip(function.arguments, shapes, strict=False))
            if len(function.arguments) == 1 < len(shapes):
                inside = {function.arguments[0]: (str(len(shapes)), "1")}
            inner = _Typing(self.scope, self.chosen, self.unifier, {**self.bound, **inside}, self.depth)
            return inner._inside(function.formula)
        if node.function == "exp" and self.scope.setting.is_complex and shapes[0] != SCALAR:
            raise Mismatch  # e^{iφ} is one number
        if node.function in _BY_ENTRY:
            return shapes[0]
        if node.function == "softmax":
            is_member = any(letter in self.scope.setting.free for letter in letters_in(node))
            if shapes[0] == SCALAR and not is_member:
                raise Mismatch
            return shapes[0]
        if node.function in _OF_SQUARES:
            self.unifier.equate(*shapes[0])
            return SCALAR
        if node.function in _OF_MATRICES:
            return SCALAR
        if node.function in _OF_NUMBERS:
            for shape in shapes:
                self.unifier.unify(shape, SCALAR)
            return SCALAR
        if node.function in ("max", "min", "⊙") and len(shapes) > 1:
            others = [shape for shape in shapes if shape != SCALAR] if node.function == "⊙" else shapes
            for shape in others[1:]:
                self.unifier.unify(others[0], shape)
            return others[0] if others else SCALAR
        if node.function == "⊗" and SCALAR not in shapes:
            is_outer = all(shape[1] == "1" for shape in shapes)
            return (shapes[0][0], shapes[1][0]) if is_outer else self._anything()
        if node.function == "vec":
            return self.unifier.fresh(), "1"
        if node.function == "diag":
            return (shapes[0][0], shapes[0][0]) if shapes[0][1] == "1" else (shapes[0][0], "1")
        if node.function in ("var", "cov"):
            for shape in shapes:
                self.unifier.equate(shape[1], "1")
            return SCALAR if shapes[0] == SCALAR else (shapes[0][0], shapes[-1][0])
        if node.function in ("kl", "cross-entropy"):
            self.unifier.unify(*shapes)
        if node.function in ("kl", "entropy", "cross-entropy", "density"):
            return SCALAR
        raise Untyped

    def _parameters(self, law: Distribution) -> Shape:
        """The shape of what has a law: that of the mean of a normal one, a number for the others."""
        if law.family == "categorical":
            return self(law.parameters[0])
        if law.family != "normal" or len(law.parameters) != 2:
            for parameter in law.parameters:
                self._must_be(parameter, SCALAR)
            return SCALAR
        mean, variance = map(self, law.parameters)
        if variance != SCALAR:
            self.unifier.unify(variance, (mean[0], mean[0]))
        self.unifier.equate(mean[1], "1")
        return mean

    def _derivative(self, top: Shape, bottom: Shape) -> Shape:
        if bottom == SCALAR:
            return top
        if top == SCALAR:
            return bottom
        if top[1] == bottom[1] == "1":
            return top[0], bottom[0]
        raise Untyped


# -- kinds -------------------------------------------------------------------------------------------------------------
def likely_kinds(name: str) -> tuple[Kind, ...]:
    """What a name that nothing declares may stand for: small letters are no matrices, large ones no columns.

    The value of a probability is a number: p(x), P(A|B), P(A,B); P(x) may be a product.
    """
    letter, _, inside = name.lstrip("\\").partition("(")
    if letter.startswith("∇"):  # of a function that nothing defines
        return ("matrix", "number") if letter.startswith("∇²") else ("column", "number")
    if inside and (letter in ("p", "Pr") or (letter == "P" and any(mark in inside for mark in "|,"))):
        return ("number",)
    if "matrix" in letter.lower():  # the name of a macro
        return ("matrix",)
    if letter[:1] in _CHANGES and len(letter.split("_")[0]) == 2:  # dX and ΔX are what X is
        letter = letter[1:]
    return ("matrix", "number") if letter[:1].isupper() and len(letter.split("_")[0]) <= 6 else ("number", "column")


def marked_as_vectors(node: Expression) -> set[str]:
    """The names that are transposed, or of which a norm, trace or softmax is taken: they are no numbers."""
    found: set[str] = set()
    for inner in walk(node):
        is_mark = isinstance(inner, Transpose) or (isinstance(inner, Norm) and inner.order != 0)
        is_mark |= isinstance(inner, Apply) and inner.function in (*_OF_SQUARES, "softmax", "diag", "vec")
        body = (inner.arguments[0] if isinstance(inner, Apply) else inner.body) if is_mark else None  # pyright: ignore[reportAttributeAccessIssue]
        if isinstance(body, Symbol):
            found.add(describe(body))
    return found


def well_shaped(
    sides: Sequence[Expression], names: Sequence[str], scope: Scope, kinds: Mapping[str, Sequence[Kind]]
) -> Iterator[dict[str, Shape]]:
    """Every choice of shapes for some names that makes a relation well shaped; sizes that stay open are numbered.

    Nothing comes where the shape of a side does not follow, or where there are too many choices.
    """
    options = [kinds[name] for name in names]
    num_combinations = 1
    for option in options:
        num_combinations *= len(option)
    if num_combinations > _MOST_COMBINATIONS:
        return
    for combination in itertools.product(*options):
        unifier = _Unifier()
        chosen = {name: _shape_of(kind, unifier) for name, kind in zip(names, combination, strict=True)}
        typing = _Typing(scope, chosen, unifier)
        squares = [name for name in names if not OF_SQUARES.isdisjoint(scope.setting.symbols[name].assume)]
        try:
            for name in squares:
                unifier.equate(*chosen[name])
            typing._alike(sides)
        except Untyped:
            return
        except (Mismatch, RecursionError):
            continue
        found = {name: unifier.shape(shape) for name, shape in chosen.items()}
        # A column or matrix whose sizes come out as one is a number, which is another choice.
        if all(kind == "number" or _has_kind(kind, found[name]) for name, kind in zip(names, combination, strict=True)):
            yield found


def _has_kind(kind: Kind, shape: Shape) -> bool:
    return shape[0] != "1" and (kind == "column" or shape[1] != "1")


def _shape_of(kind: Kind, unifier: _Unifier) -> Shape:
    if kind == "number":
        return SCALAR
    return unifier.fresh(), ("1" if kind == "column" else unifier.fresh())


def declared_as(meaning: SymbolMeaning, shape: Shape) -> SymbolMeaning:
    """A symbol or family of numbers as one of that shape; a size without a name is called #1, #2, …."""
    rows, columns = (size if isinstance(size, str) else f"{UNNAMED}{size}" for size in shape)
    return replace(meaning, shape=(rows, columns))
