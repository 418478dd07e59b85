"""Expressions evaluated on an instance: shapes are checked on the way, symbols looked up in the scope."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

from regard.derivations.judging.arithmetic import BALLS, Arithmetic
from regard.derivations.judging.indices import index_range, index_value, letters_in, satisfies
from regard.derivations.judging.instances import Instance
from regard.derivations.judging.randomness import moments, moved, normal_share
from regard.derivations.judging.scope import SLIP_NOTE, Found, Scope, UnknownSymbol
from regard.derivations.judging.values import IllShaped, Value, add, inner, multiply
from regard.derivations.notation.syntax import (
    Accent,
    Apply,
    BigOperator,
    Cases,
    Condition,
    Derivative,
    Dots,
    Expression,
    Identity,
    Infinity,
    Inner,
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
    symbols,
)
from regard.derivations.notation.tokens import NotUnderstood

__all__ = ["Evaluator", "OutOfRange"]

MAX_DEFINITIONS = 40


class OutOfRange(NotUnderstood):
    """A member that a family doesn't have, such as the ω_{k+1} after the last."""


@dataclass(kw_only=True)
class Evaluator:
    """Evaluates expressions of one scope on one instance; remembers what it has computed and how it read names."""

    scope: Scope
    instance: Instance
    arithmetic: Arithmetic
    is_one_a_vector: bool = False
    excluded: tuple[str, ...] = ()
    first_index: int = 1
    indices: dict[str, int] = field(default_factory=dict)
    notes: dict[str, None] = field(default_factory=dict)
    _memo: dict[Any, Value] = field(default_factory=dict)
    _arguments: Mapping[int, Value] = field(default_factory=dict)
    _kept: list[Expression] = field(default_factory=list)
    _depth: int = 0

    def __call__(self, node: Expression) -> Value:
        """The value of an expression, or IllShaped, UnknownSymbol, NotUnderstood."""
        indices = self.indices
        key = (id(node), *((letter, indices[letter]) for letter in letters_in(node) if letter in indices))
        if key not in self._memo:
            self._kept.append(node)
            self._memo[key] = self._dispatch(node)
        return self._memo[key]

    def _dispatch(self, node: Expression) -> Value:
        method = getattr(self, "_" + type(node).__name__.lower(), None)
        if method is None:
            raise NotUnderstood(f"{type(node).__name__} cannot be evaluated.")
        return method(node)

    def at(self, **indices: int) -> "Evaluator":
        """The evaluator with some indices set; what does not depend on them is shared."""
        return replace(self, indices={**self.indices, **indices})

    # -- leaves ------------------------------------------------------------------------------------------------------
    def _number(self, node: Number) -> Value:
        return Value(self.arithmetic.number(node.value), is_zero=node.value == 0)

    def _ones(self, node: Ones) -> Value:
        size = self.scope.setting.ones
        if size is None:
            raise NotUnderstood("The length of the vector of ones is not known here.")
        return Value(self.arithmetic.array(np.ones((1, self.instance.size(size), 1))))

    def _identity(self, node: Identity) -> Value:
        return Value(self.arithmetic.number(1), is_identity=True)

    def _infinity(self, node: Infinity) -> Value:
        raise NotUnderstood("∞ stands where a number is needed.")

    def _dots(self, node: Dots) -> Value:
        raise NotUnderstood("An ellipsis stands where it cannot be filled in.")

    def _symbol(self, node: Symbol) -> Value:
        if self._is_subscript_function(node):
            return self._defined(Apply(node.name, self._one_argument(node)))
        try:
            found = self.scope.find(node)
        except UnknownSymbol:
            return self._read_otherwise(node)
        if found.note:
            self.notes[found.note] = None
        return self._meaning(found)

    def _one_argument(self, node: Symbol) -> tuple[Expression, ...]:
        """The subscripts of R_t as arguments; the ts of R_{ts} is a product, the t, 2k of Φ_{t,2k} is not read."""
        scripts = node.subscripts
        if len(scripts) > 1 and scripts[0] == Symbol("theta"):
            scripts = scripts[1:]
        if len(scripts) == len(self.scope.setting.functions[node.name].arguments):
            return scripts
        if not all(isinstance(script, Symbol) for script in scripts):
            raise NotUnderstood(f"the entry '{describe(node)}' is not read.")
        return (Product(scripts, (False,) * (len(scripts) - 1)),)

    def _read_otherwise(self, node: Symbol) -> Value:
        """A symbol without a meaning of its own: a constant, an entry of a matrix, or a prime that transposes."""
        constant = self._constant(node)
        if constant is not None:
            return constant
        bare = Symbol(node.name)
        if (
            node.subscripts
            and self.scope.knows(bare)
            and not any(isinstance(script, Label) for script in node.subscripts)
        ):
            return self._scripted(Scripted(bare, node.subscripts))
        unprimed = Symbol(node.name.removesuffix("'"), node.subscripts)
        is_label = "'" in self.scope.setting.aliases.get("_perm", ())
        if unprimed != node and not is_label and self.scope.knows(unprimed):
            self.notes[f"the prime of '{describe(node)}' is read as a transpose"] = None
            return self._symbol(unprimed).transposed()
        raise UnknownSymbol(node)

    def _is_subscript_function(self, node: Symbol) -> bool:
        function = self.scope.setting.functions.get(node.name)
        return function is not None and function.is_subscripted and len(node.subscripts) >= len(function.arguments) > 0

    def _constant(self, node: Symbol) -> Value | None:
        setting = self.scope.setting
        if node.subscripts:
            return None
        if node.name in setting.sizes:
            return Value(self.arithmetic.number(self.instance.sizes[node.name]))
        if node.name in ("i", "j") and setting.is_complex:
            return Value(self.arithmetic.imaginary_unit())
        if node.name in self.indices or node.name in setting.fixed:
            return Value(self.arithmetic.number(index_value(node, self.indices, self.instance) + self.first_index))
        if node.name == "pi":
            return Value(self.arithmetic.pi())
        if node.name == "e":
            return Value(self.arithmetic.exp(self.arithmetic.number(1)))
        if node.name in ("D", "O", "o"):
            self.notes[f"{SLIP_NOTE}: '{node.name}' is read as 0"] = None
            return Value(self.arithmetic.number(Fraction(0)), is_zero=True)
        return None

    def _meaning(self, found: Found) -> Value:
        meaning, member = found.meaning, found.member
        place = None if member is None else index_value(member, self.indices, self.instance)
        if place is not None:
            override = self._override(meaning.name, place)
            if override is not None:
                return self._formula(override, {}, {})
        known = self._arguments.get(id(meaning))
        if known is not None:
            return known
        key = (self.instance.key, self.arithmetic.is_certified, id(meaning), place)
        if self._arguments:
            return self._valued(found, place)
        if key not in self.scope.values:
            self.scope.values[key] = self._valued(found, place)
        return self.scope.values[key]

    def _valued(self, found: Found, place: int | None) -> Value:
        meaning = found.meaning
        if meaning.formula is None:
            return self._drawn(found, place)
        indices = {} if place is None or meaning.index is None else {meaning.index: place}
        return self._formula(meaning.formula, indices, dict(meaning.swaps))

    def _override(self, name: str, place: int) -> Expression | None:
        """The formula of k_a where the family k has its own formula for the member a."""
        for letter in self.scope.setting.fixed:
            meaning = self.scope.meanings.get(f"{name}_{letter}")
            if meaning is not None and meaning.index is None and self.instance.fixed_index(letter) == place:
                return meaning.formula
        return None

    def _drawn(self, found: Found, place: int | None) -> Value:
        array = self.instance.draw(found.meaning, self.arithmetic)
        if place is None:
            return Value(array)
        if not 0 <= place < array.shape[1]:
            raise OutOfRange(f"the index {place + 1} of '{found.meaning.name}' is out of range.")
        return Value(array[:, place])

    def _formula(self, formula: Expression, indices: Mapping[str, int], swaps: Mapping[str, str]) -> Value:
        if self._depth > MAX_DEFINITIONS:
            raise NotUnderstood("The definitions go round in a circle.")
        scope = replace(self.scope, swaps=swaps) if swaps or self.scope.swaps else self.scope
        inside = replace(
            self, scope=scope, indices=dict(indices), is_one_a_vector=False, excluded=(), _depth=self._depth + 1
        )
        return inside(formula)

    # -- arithmetic --------------------------------------------------------------------------------------------------
    def _sum(self, node: Sum) -> Value:
        if any(isinstance(term, Dots) for term in node.terms):
            return self(_spelt_out(node))
        total = self(node.terms[0])
        for term in node.terms[1:]:
            total = add(total, self(term))
        return total

    def _negative(self, node: Negative) -> Value:
        return self(node.body).negated()

    def _product(self, node: Product) -> Value:
        factors = [self(factor) for factor in node.factors]
        first = node.factors[0]
        if self.is_one_a_vector and isinstance(first, Number) and first.value == 1:
            factors[0] = self._ones(Ones())
        total, is_pending = factors[0], False
        for factor, is_dot in zip(factors[1:], node.dots, strict=True):
            is_pending |= is_dot
            total = multiply(total, factor, is_dot=is_pending)
            is_pending &= factor.is_scalar
        return total

    def _quotient(self, node: Quotient) -> Value:
        top, bottom = self(node.top), self(node.bottom)
        if not bottom.is_scalar:
            raise IllShaped(f"{top.describe_shape()} divided by {bottom.describe_shape()}")
        return Value(top.array / bottom.array, is_identity=top.is_identity, is_zero=top.is_zero)

    def _power(self, node: Power) -> Value:
        base = self(node.base)
        exponent = node.exponent
        if isinstance(exponent, Negative):
            positive = self(Power(node.base, exponent.body))
            return Value(1 / positive.array) if positive.is_scalar else self._inverse(positive)
        if not base.is_scalar and not base.is_identity:
            if not isinstance(exponent, Number) or exponent.value.denominator != 1 or not 1 <= exponent.value <= 9:
                raise IllShaped(f"{base.describe_shape()} to the power {describe(exponent)}")
            total = base
            for _ in range(int(exponent.value) - 1):
                total = multiply(total, base)
            return total
        power = self(exponent)
        if not power.is_scalar:
            raise IllShaped(f"a number to the power of {power.describe_shape()}")
        if isinstance(exponent, Number) and exponent.value.denominator == 1:
            return Value(base.array ** int(exponent.value), is_identity=base.is_identity)
        return Value(self.arithmetic.power(base.array, power.array))

    def _inverse(self, value: Value) -> Value:
        if value.shape[0] != value.shape[1]:
            raise IllShaped(f"the inverse of {value.describe_shape()}")
        return Value(self.arithmetic.inverse(value.array))

    def _transpose(self, node: Transpose) -> Value:
        value = self(node.body).transposed()
        return Value(self.arithmetic.conjugate(value.array)) if node.is_conjugate else value

    def _accent(self, node: Accent) -> Value:
        value = self(node.body)
        if node.kind == "bar" and self.scope.setting.is_complex:
            return Value(self.arithmetic.conjugate(value.array))
        if node.kind == "'" and "'" not in self.scope.setting.aliases.get("_perm", ()):
            return value.transposed()
        raise NotUnderstood("A bar or star has no meaning here.")

    # -- functions ---------------------------------------------------------------------------------------------------
    def _apply(self, node: Apply) -> Value:
        defined = self.scope.setting.functions.get(node.function)
        if defined is not None:
            return self._defined(node)
        if node.function in ("var", "mean", "probability") and self._is_random():
            return self._expected(node)
        arguments = [self(argument) for argument in node.arguments]
        if node.function in ("max", "min") and len(arguments) == 2:
            return self._extreme(node.function, *arguments)
        if len(arguments) != 1:
            raise NotUnderstood(f"{node.function} takes one argument.")
        x = arguments[0]
        elementwise = {
            "exp": "exp",
            "log": "log",
            "sqrt": "sqrt",
            "sin": "sin",
            "cos": "cos",
            "tanh": "tanh",
            "relu": "relu",
            "re": "real",
            "im": "imag",
        }
        if node.function in elementwise:
            if x.is_identity:
                raise IllShaped(f"{node.function} of a square matrix of unknown size")
            return Value(getattr(self.arithmetic, elementwise[node.function])(x.array))
        if node.function == "softmax" or node.function == "\\sigma" and not x.is_scalar:
            return self._softmax(x)
        if node.function in ("\\sigma", "sigmoid"):
            return Value(1 / (1 + self.arithmetic.exp(-x.array)))
        if node.function == "det" and x.shape[0] == x.shape[1]:
            return Value(self.arithmetic.determinant(x.array))
        if node.function == "mean" and not x.is_scalar:
            return Value(np.sum(x.array, axis=(1, 2), keepdims=True) / (x.shape[0] * x.shape[1]))
        if node.function == "trace" and x.shape[0] == x.shape[1]:
            return Value(np.trace(x.array, axis1=1, axis2=2)[:, None, None])
        raise NotUnderstood(f"The function {node.function} is not evaluated.")

    def _defined(self, node: Apply) -> Value:
        function = self.scope.setting.functions[node.function]
        if len(function.arguments) != len(node.arguments):
            raise NotUnderstood(f"{node.function} takes {len(function.arguments)} arguments.")
        values = dict(zip(function.arguments, (self(argument) for argument in node.arguments), strict=True))
        first = values[function.arguments[0]]
        formula = (
            function.vector_formula if function.vector_formula is not None and first.shape[0] > 1 else function.formula
        )
        arguments = {id(self.scope.find(Symbol(name)).meaning): value for name, value in values.items()}
        return replace(self, _memo={}, _arguments=arguments, _depth=self._depth + 1, indices={})(formula)

    def _is_random(self) -> bool:
        return any(meaning.variance is not None for meaning in self.scope.setting.symbols.values())

    def _expected(self, node: Apply) -> Value:
        """E, Var or P of something linear in the random symbols."""
        body = node.arguments[0]
        if isinstance(body, Condition):
            sides = (
                (body.left, Negative(body.right[0]))
                if body.sign in (">", "≥")
                else (body.right[0], Negative(body.left))
            )
            body = Sum(sides)
        values = []
        for size in (1.0, 2.0):
            inside = replace(self, instance=moved(self.instance, size), _memo={})
            value = inside(body)
            if not value.is_scalar:
                raise NotUnderstood("the mean or variance of a vector is not evaluated.")
            values.append(np.broadcast_to(value.array, (inside.instance.total_draws, 1, 1)))
        mean, variance = moments(values[0], values[1], self.instance)
        if node.function == "probability":
            return Value(normal_share(mean, variance, self.arithmetic))
        return Value(mean if node.function == "mean" else variance)

    def _extreme(self, function: str, left: Value, right: Value) -> Value:
        gap = add(left, right.negated())
        half = self.arithmetic.absolute(gap.array) * (0.5 if function == "max" else -0.5)
        return Value(add(left, right).array * 0.5 + half)

    def _softmax(self, x: Value) -> Value:
        axis = 1 if x.shape[1] == 1 else 2
        if x.is_scalar:
            raise IllShaped("the softmax of a number")
        array = x.array if self.arithmetic.is_certified else x.array - x.array.max(axis=axis, keepdims=True)
        weights = self.arithmetic.exp(array)
        return Value(weights / np.sum(weights, axis=axis, keepdims=True))

    def _norm(self, node: Norm) -> Value:
        value = self(node.body)
        if node.order == 0 and value.is_scalar:
            return Value(self.arithmetic.absolute(value.array))
        squares = self.arithmetic.real(value.array * self.arithmetic.conjugate(value.array))
        return Value(self.arithmetic.sqrt(np.sum(squares, axis=(1, 2), keepdims=True)))

    def _inner(self, node: Inner) -> Value:
        return inner(self(node.left), self(node.right), self.arithmetic)

    def _matrix(self, node: Matrix) -> Value:
        blocks = [[self(cell).array for cell in row] for row in node.rows]
        draws = max(block.shape[0] for row in blocks for block in row)
        filled = [[np.broadcast_to(block, (draws, *block.shape[1:])) for block in row] for row in blocks]
        try:
            return Value(np.concatenate([np.concatenate(row, axis=2) for row in filled], axis=1))
        except ValueError:
            raise IllShaped("the blocks of this matrix do not fit together") from None

    def _scripted(self, node: Scripted) -> Value:
        value = self(node.base)
        places = [index_value(script, self.indices, self.instance) for script in node.subscripts]
        if len(places) == 1 and 1 in value.shape:
            column = value.array if value.shape[1] == 1 else np.swapaxes(value.array, 1, 2)
            return Value(column[:, places[0] : places[0] + 1])
        if len(places) == 1:
            return Value(value.array[:, places[0] : places[0] + 1])
        if len(places) == 2:
            return Value(value.array[:, places[0] : places[0] + 1, places[1] : places[1] + 1])
        raise NotUnderstood("This subscript has no meaning here.")

    def _cases(self, node: Cases) -> Value:
        for value, conditions in zip(node.values, node.conditions, strict=True):
            if all(satisfies(condition, self.indices, self.instance) for condition in conditions):
                return self(value)
        raise NotUnderstood("No case applies.")

    def _derivative(self, node: Derivative) -> Value:
        """∂top/∂bottom for a number that the problem leaves open, by central differences far below any rounding."""
        if not isinstance(node.bottom, Symbol) or self.scope.find(node.bottom).meaning.formula is not None:
            raise NotUnderstood("a derivative is taken with respect to a number that the problem leaves open.")
        meaning = self.scope.find(node.bottom).meaning
        certain = replace(self, arithmetic=BALLS, _memo={})
        point, step = certain(node.bottom), BALLS.number(Fraction(1, 10**25))
        sides = []
        for sign in (1, -1):
            moved_there = {id(meaning): Value(point.array + sign * step)}
            sides.append(replace(certain, _memo={}, _arguments=moved_there)(node.top).array)
        slope = (sides[0] - sides[1]) / (2 * step)
        if self.arithmetic.is_certified:
            return Value(BALLS.rounded(slope))
        return Value(np.array([float(entry.mid()) for entry in slope.flat]).reshape(slope.shape))

    def _bigoperator(self, node: BigOperator) -> Value:
        if node.operator != "sum":
            raise NotUnderstood(f"A {node.operator} over an index is not evaluated.")
        letter, places = index_range(node, self.scope, self.indices, self.instance, self.excluded)
        total = Value(self.arithmetic.number(Fraction(0)), is_zero=True)
        for place in places:
            total = add(total, self.at(**{letter: place})(node.body))
        return total


def _spelt_out(node: Sum) -> Expression:
    """c_1a_1 + … + c_ma_m as a sum over an index, from the term after the dots."""
    place = next(k for k, term in enumerate(node.terms) if isinstance(term, Dots))
    if place == 0 or place != len(node.terms) - 2:
        raise NotUnderstood("An ellipsis must stand before the last term.")
    last = node.terms[-1]
    uppers = {
        describe(script): script
        for symbol in symbols(last)
        for script in symbol.subscripts
        if isinstance(script, Symbol)
    }
    if len(uppers) != 1:
        raise NotUnderstood("It is not clear which index the ellipsis runs over.")
    name, upper = next(iter(uppers.items()))
    letter = "i" if name != "i" else "l"
    body = _with_index(last, name, letter)
    return BigOperator("sum", letter, (), Number(Fraction(1)), upper, body)


def _with_index(node: Any, name: str, letter: str) -> Any:
    if isinstance(node, Symbol):
        scripts = tuple(Symbol(letter) if describe(script) == name else script for script in node.subscripts)
        return Symbol(node.name, scripts)
    if isinstance(node, tuple):
        return tuple(_with_index(item, name, letter) for item in node)
    if isinstance(node, Expression):
        return type(node)(*(_with_index(getattr(node, item), name, letter) for item in node.__dataclass_fields__))
    return node
