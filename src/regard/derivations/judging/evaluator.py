"""Expressions evaluated on an instance, in floats or in balls: shapes are checked on the way, names looked up."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache, partial, reduce
from typing import Any, Literal, Self, cast

import numpy as np
from flint import arb

from regard.derivations.judging.calculus import Loss, direction_meaning, gradient_meaning, in_terms_of, whole
from regard.derivations.judging.findings import Note, NoteKind
from regard.derivations.judging.functions import OF_SEVERAL, of_one
from regard.derivations.judging.indices import (
    MOST_PLACES,
    SumContext,
    index_range,
    index_value,
    is_unknown_count,
    ranges,
    satisfies,
)
from regard.derivations.judging.infinite_sums import sum_to_infinity
from regard.derivations.judging.instances import Instance
from regard.derivations.judging.laws import Bound, ValuedLaw, cross_entropy
from regard.derivations.judging.probability import RandomNumber, RandomPart, centred_product, random_numbers
from regard.derivations.judging.quadrature import over_interval
from regard.derivations.judging.scope import FoundSymbol, Scope, UnknownSymbol, split_digits
from regard.derivations.judging.setting import AnyLaw, Assumption, DefinedFunction, MomentLaw, SymbolMeaning
from regard.derivations.judging.values import BALLS, ORDERS, Arithmetic, IllShaped, Value, Work, add, inner, multiply
from regard.derivations.notation.syntax import (
    Accent,
    Apply,
    BigOperator,
    Cases,
    Condition,
    Derivative,
    Differential,
    Distribution,
    Dots,
    Expectation,
    Expression,
    Identity,
    Infinity,
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
    mapped,
    symbols,
    walk,
)
from regard.derivations.notation.tokens import NotUnderstood

_MAX_DEFINITIONS = 40
_LARGEST_REPEATED, _LARGEST_EXPONENT = 9, 10**12
_COST_OF_A_NODE = 20
_COST_OF_A_QUADRATURE = 60_000
_STEP = Fraction(1, 10**25)
_WORTH_REMEMBERING = frozenset((Apply, BigOperator, Derivative, Expectation, Integral))
_LOOKS_LIKE_ZERO = ("O", "o")
_EXPECTATIONS = ("var", "mean", "probability")
_MOMENTS = ("var", "mean", "cov")
_INFORMATION = ("kl", "entropy", "cross-entropy")
_IMPLIED = Symbol("·")  # the x of E_q[log p]
_NEARLY = 1e-8
_WEIGHTS = (Fraction(1, 8), Fraction(1, 4), Fraction(5, 8))  # of outcomes
_OTHER_SEEDS = 1009


Layout = Literal["mixed", "numerator", "denominator"]


class OutOfRange(NotUnderstood):
    """A member that a family doesn't have, such as the ω_{k+1} after the last."""


@dataclass(frozen=True, kw_only=True)
class Convention:
    """How shorthand is meant.

    Whether a factor 1 is the vector of ones, which fixed members `\\sum_{others}` leaves out (all, if none is named),
    whether indices count from zero or one, and whether free indices avoid the fixed ones and each other. In the mixed
    layout of derivatives a gradient has the shape of its variable and a Jacobian has a row for each entry of the top.
    """

    is_one_a_vector: bool = False
    excluded: tuple[str, ...] = ()
    first_index: int = 1
    avoids_fixed: bool = False
    is_distinct: bool = False
    layout: Layout = "mixed"


PLAIN = Convention()


@dataclass(kw_only=True)
class Evaluator:
    """The values of expressions of one scope on one instance; remembers what it has computed and how it read names.

    `arguments` are values that stand for symbols, or for one member of a family, by the identity of their meaning.
    `known` are the values of symbols, which all evaluators of a scope on an instance share. `work` is what a step may
    still cost.
    """

    scope: Scope
    instance: Instance
    arithmetic: Arithmetic
    convention: Convention = PLAIN
    indices: Mapping[str, int] = field(default_factory=dict)
    arguments: Mapping[tuple[int, int | None], Value] = field(default_factory=dict)
    notes: dict[Note, None] = field(default_factory=dict)
    memory: dict[Any, tuple[Expression, Value]] = field(default_factory=dict)
    known: dict[tuple[int, int | None], Value] | None = None
    resolving: frozenset[tuple[int, int | None]] = frozenset()
    num_derivatives: int = 0
    is_extended: bool = False  # ∞ is a number
    held: Mapping[tuple[int, int | None], None] = field(default_factory=dict)  # random, but given
    losses: Mapping[str, Loss] = field(default_factory=dict)
    varied: tuple[Symbol, ...] = ()  # what differentials vary
    chances: frozenset[str] = frozenset()  # symbols that are random in a way that nothing says
    work: Work = field(default_factory=Work)

    def __call__(self, node: Expression) -> Value:
        """The value of an expression, or IllShaped, UnknownSymbol, NotUnderstood."""
        if type(node) not in _WORTH_REMEMBERING:
            return self._computed(node)
        key = self._key(node)
        known = self.memory.get(key)
        if known is None:
            # The node is kept beside its value: while it lives, no other has its id.
            known = self.memory[key] = (node, self._computed(node))
        return known[1]

    def at(self, **indices: int) -> Self:
        """The evaluator with some indices set; what does not depend on them is shared."""
        return self._changed(indices={**self.indices, **indices})

    def _key(self, node: Expression) -> Any:
        indices = self.indices
        if not indices:
            return id(node)
        letters = [letter for letter in letters_in(node) if letter in indices]
        return (id(node), *((letter, indices[letter]) for letter in letters)) if letters else id(node)

    def _computed(self, node: Expression) -> Value:
        rule = _RULES.get(type(node))
        if rule is None:
            raise NotUnderstood(f"{type(node).__name__} cannot be evaluated.")
        value = rule(self, node)
        self._spend(value.array.size)
        return value

    def _spend(self, num_operations: int) -> None:
        """Count the work of a node, in which balls cost far more than floats; NotUnderstood when it is used up."""
        self._use(_COST_OF_A_NODE + (num_operations if self.arithmetic.is_certified else num_operations // 16))

    def _use(self, work: int) -> None:
        self.work.left -= work
        if self.work.left < 0:
            raise NotUnderstood("This takes too long to check.")

    def _changed(self, **changes: Any) -> Self:
        """What dataclasses.replace gives, at a third of its cost: every sum makes one for each of its terms."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other.__dict__.update(changes)
        return other

    def _elsewhere(self, **changes: Any) -> Self:
        """The evaluator in another scope, on another instance or in another arithmetic; nothing computed is shared."""
        return self._changed(memory={}, known=None, **changes)

    def _with_arguments(self, arguments: Mapping[tuple[int, int | None], Value], **changes: Any) -> Self:
        """The evaluator with values put in for some symbols."""
        return self._changed(arguments=arguments, memory={}, **changes)

    def _remember(self, note: Note) -> None:
        self.notes[note] = None

    # -- numbers and symbols -------------------------------------------------------------------------------------------
    def _number(self, node: Number) -> Value:
        return Value(self.arithmetic.decimal(node.value, node.places), is_zero=node.value == 0)

    def _ones(self, _node: Ones) -> Value:
        size = self.scope.setting.ones
        if size is None:
            raise NotUnderstood("The length of the vector of ones is not known here.")
        return Value(self.arithmetic.array(np.ones((1, self.instance.size(size), 1))))

    def _identity(self, _node: Identity) -> Value:
        return Value(self.arithmetic.number(1), is_identity=True)

    def _infinity(self, _node: Infinity) -> Value:
        if not self.is_extended:
            raise NotUnderstood("∞ is used where a number is needed.")
        return Value(self.arithmetic.array(np.full((1, 1, 1), np.inf)))

    def _dots(self, _node: Dots) -> Value:
        raise NotUnderstood("This ellipsis cannot be filled in.")

    def _symbol(self, node: Symbol) -> Value:
        function = self.scope.setting.functions.get(node.name)
        if function is not None and function.is_subscripted and len(node.subscripts) >= len(function.arguments) > 0:
            return self._apply_defined(Apply(node.name, self._subscripts_as_arguments(node)))
        found = self.scope.lookup(node)
        if found is None:
            return self._symbol_without_meaning(node)
        if found.note is not None:
            self._remember(found.note)
        return self._meant(found)

    def _subscripts_as_arguments(self, node: Symbol) -> tuple[Expression, ...]:
        """The t of R_t; the ts of R_{ts} is a product, the t, 2k of Φ_{t,2k} is not read."""
        scripts = node.subscripts
        if len(scripts) > 1 and scripts[0] == Symbol("theta"):
            scripts = scripts[1:]
        if len(scripts) == len(self.scope.setting.functions[node.name].arguments):
            return scripts
        if not all(isinstance(script, Symbol) for script in scripts):
            raise NotUnderstood(f"The entry '{describe(node)}' is not supported.")
        return (Product(scripts, (False,) * (len(scripts) - 1)),)

    def _meant(self, found: FoundSymbol) -> Value:
        meaning = found.meaning
        place = None if found.member is None else self._place(found.member)
        if place is not None and meaning.name in self.scope.member_formulas:
            for letter in self.scope.member_formulas[meaning.name]:
                if self.instance.fixed_index(letter) == place:
                    return self._meant(FoundSymbol(self.scope.meanings[f"{meaning.name}_{letter}"]))
        if place is not None and place < 0:
            return self._before_first(meaning, place)
        key = (id(meaning), place)
        if self.arguments:
            return self.arguments[key] if key in self.arguments else self._valued(meaning, place)
        values = self._values_of_symbols()
        if key not in values:
            values[key] = self._valued(meaning, place)
        return values[key]

    def _before_first(self, meaning: SymbolMeaning, place: int) -> Value:
        """The m_0 that a recurrence begins with, where it is defined on its own."""
        first = self.scope.meanings.get(f"{meaning.name}_0")
        if place != -1 or first is None or first.index is not None:
            raise OutOfRange(f"The index {place + 1} of '{meaning.name}' is out of range.")
        return self._meant(FoundSymbol(first))

    def _values_of_symbols(self) -> dict[tuple[int, int | None], Value]:
        if self.known is None:
            key = (self.instance.key, self.arithmetic)
            self.known = self.scope.values.setdefault(key, {})
        return self.known

    def _valued(self, meaning: SymbolMeaning, place: int | None) -> Value:
        if meaning.formula is not None:
            indices = {} if place is None or meaning.index is None else {meaning.index: place}
            key = (id(meaning), place)
            if key in self.resolving or len(self.resolving) > _MAX_DEFINITIONS:
                raise NotUnderstood("The definitions are circular.")
            outer = self._changed(resolving=self.resolving | {key})
            return outer._inside(meaning.formula, indices, dict(meaning.swaps))
        array = self.instance.draw(meaning, self.arithmetic)
        if place is None:
            return Value(array)
        if not 0 <= place < array.shape[1]:
            raise OutOfRange(f"The index {place + 1} of '{meaning.name}' is out of range.")
        return Value(array[:, place])

    def _inside(self, formula: Expression, indices: Mapping[str, int], swaps: Mapping[str, str]) -> Value:
        """The value of a symbol's own formula, where the shorthand of the text around it does not reach."""
        is_swapped = swaps or self.scope.swaps
        outer = self._elsewhere(scope=replace(self.scope, swaps=swaps)) if is_swapped else self
        convention = PLAIN if self.convention is PLAIN else Convention(first_index=self.convention.first_index)
        return outer._changed(convention=convention, indices=indices)(formula)

    def _symbol_without_meaning(self, node: Symbol) -> Value:
        """A constant, an entry of a matrix, or a symbol with a prime that transposes."""
        if describe(node) in self.scope.opaque:
            raise UnknownSymbol(node)
        is_size = describe(node) in self.scope.setting.sizes
        constant = self._constant(node) if is_size or not node.subscripts else None
        if constant is not None:
            return constant
        scope, bare = self.scope, Symbol(node.name)
        if not node.subscripts and (whole := self._whole_of(node.name)) is not None:
            return whole
        is_labelled = any(isinstance(script, Label) for script in node.subscripts)
        if node.subscripts and scope.knows(bare) and not is_labelled and not self(bare).is_scalar:
            return self._entry(Scripted(bare, node.subscripts))
        if node.name == "delta" and len(node.subscripts) == 2 and not is_labelled:
            row, column = map(self._place, node.subscripts)
            return Value(self.arithmetic.number(Fraction(int(row == column))))
        unprimed = Symbol(node.name.removesuffix("'"), node.subscripts)
        if unprimed != node and not scope.setting.is_prime_a_label and scope.knows(unprimed):
            self._remember(NoteKind.PRIME_AS_TRANSPOSE.note(describe(node)))
            return self._symbol(unprimed).transposed()
        raise UnknownSymbol(node)

    def _whole_of(self, name: str) -> Value | None:
        """The column of all members of a family of numbers (the p of p_i), or a function at its own arguments."""
        function = self.scope.setting.functions.get(name)
        if function is not None and not function.is_subscripted:
            return self(function.formula)
        family = self.scope.family(name)
        if family is None or not family.is_number or family.over is None:
            return None
        places = range(1, self.instance.size(family.over) + 1)
        members = [self._meant(FoundSymbol(family, Number(Fraction(place)))) for place in places]
        if not all(member.is_scalar for member in members):
            return None
        draws = max(len(member.array) for member in members)
        column = [np.broadcast_to(member.array, (draws, 1, 1)) for member in members]
        return Value(np.concatenate(column, axis=1))

    def _constant(self, node: Symbol) -> Value | None:
        setting, arithmetic, name = self.scope.setting, self.arithmetic, describe(node)
        if name in setting.sizes:
            return Value(arithmetic.number(self.instance.sizes[name]))
        if name in ("i", "j") and setting.is_complex and name not in self.indices:
            return Value(arithmetic.imaginary_unit())
        if name in self.indices or name in setting.fixed:
            return Value(arithmetic.number(self._place(node) + self.convention.first_index))
        if name == "pi":
            return Value(arithmetic.pi())
        if name == "e":
            return Value(arithmetic.exp(arithmetic.number(1)))
        if name in _LOOKS_LIKE_ZERO:
            self._remember(NoteKind.RECOGNITION_SLIP.note(name, "0"))
            return Value(arithmetic.number(Fraction(0)), is_zero=True)
        return None

    def _place(self, subscript: Expression) -> int:
        """The place (from zero) that a subscript points to."""
        return index_value(subscript, self.indices, self.instance)

    # -- sums, products, powers ----------------------------------------------------------------------------------------
    def _sum(self, node: Sum) -> Value:
        if any(isinstance(term, Dots) for term in node.terms):
            return self(_without_ellipsis(node))
        total = self(node.terms[0])
        for term in node.terms[1:]:
            total = add(total, self(term))
        return total

    def _over_an_index(self, node: BigOperator) -> Value:
        """Σ or Π over an index; what does not depend on the index is added or multiplied at once."""
        if isinstance(node.upper, Infinity) and node.operator == "sum" and node.index and not node.conditions:
            return self._to_infinity(node)
        context = SumContext(
            scope=self.scope,
            indices=self.indices,
            instance=self.instance,
            excluded=self.convention.excluded,
            shape_of=self._shape_of,
        )
        letter, places = index_range(node, context)
        if is_unknown_count(node.upper, self.scope, self.indices):
            self._remember(NoteKind.COUNT_OF_ALL.note(describe(node.upper or node)))
        if node.operator in ("max", "min"):
            return self._extreme_over(node, letter, places)
        if node.operator in ("row", "column"):
            return self._stacked(node, letter, places)
        is_sum = node.operator == "sum"
        if isinstance(places, range) and letter not in letters_in(node.body):
            count = Value(self.arithmetic.number(Fraction(len(places))))
            return multiply(count, self(node.body)) if is_sum else self._powered(self(node.body), count)
        if len(places) > MOST_PLACES:
            raise NotUnderstood("This is too long to add up.")
        total = Value(self.arithmetic.number(Fraction(0 if is_sum else 1)), is_zero=is_sum)
        for place in places:
            term = self.at(**{letter: place})(node.body)
            total = add(total, term) if is_sum else multiply(total, term)
        return total

    def _to_infinity(self, node: BigOperator) -> Value:
        """Σ from n = a to ∞ of something that depends on the number n."""
        if not isinstance(node.lower, Number) or node.lower.value.denominator != 1 or self.scope.setting.is_complex:
            raise NotUnderstood("Only sums from a whole number to infinity are supported.")
        meaning = _bound_number(node.index)
        certain = self._certain(scope=self.scope.with_meaning(meaning))

        def term(number: int) -> np.ndarray:
            arguments = {**certain.arguments, (id(meaning), None): Value(BALLS.number(Fraction(number)))}
            return certain._with_arguments(arguments)(node.body).array

        return self._rounded(Value(sum_to_infinity(term, int(node.lower.value))))

    def _shape_of(self, symbol: Symbol) -> tuple[int, int] | None:
        """The shape of a vector or matrix that a formula defines, of which a sum names entries."""
        found = self.scope.lookup(symbol)
        if not self.scope.setting.is_own or found is None or found.meaning.formula is None:
            return None
        value = self(symbol)
        return None if value.is_identity or value.is_scalar else value.shape

    def _extreme_over(self, node: BigOperator, letter: str, places: Sequence[int]) -> Value:
        """The largest or the smallest of some members."""
        if not 0 < len(places) <= MOST_PLACES:
            raise NotUnderstood("It is not clear what this runs over.")
        values = [self.at(**{letter: place})(node.body) for place in places]
        return reduce(lambda most, value: OF_SEVERAL[node.operator](most, value, self.arithmetic), values)

    def _stacked(self, node: BigOperator, letter: str, places: Sequence[int]) -> Value:
        """All the values of an expression side by side, or below each other."""
        if not 0 < len(places) <= MOST_PLACES:
            raise NotUnderstood("It is not clear what this runs over.")
        values = [self.at(**{letter: place})(node.body) for place in places]
        if any(1 not in value.shape or value.is_identity for value in values):
            raise NotUnderstood("An entry here is no number.")
        draws = max(len(value.array) for value in values)
        arrays = [np.broadcast_to(value.array, (draws, *value.shape)) for value in values]
        return Value(np.concatenate(arrays, axis=2 if node.operator == "row" else 1))

    def _negative(self, node: Negative) -> Value:
        return self(node.body).negated()

    def _product(self, node: Product) -> Value:
        nodes = map(_with_ones, node.factors) if self.convention.is_one_a_vector else node.factors
        factors = [self(factor) for factor in nodes]
        total, is_pending = factors[0], False
        for factor, is_dot in zip(factors[1:], node.dots, strict=True):
            # In x · 2 y the dot still waits for the vector after the number.
            is_pending |= is_dot
            self._spend(total.array.size * factor.shape[1])
            total = multiply(total, factor, is_dot=is_pending)
            is_pending &= factor.is_scalar
        return total

    def _quotient(self, node: Quotient) -> Value:
        top, bottom = self(node.top), self(node.bottom)
        if not bottom.is_scalar:
            raise NotUnderstood(f"Can't divide by {bottom.describe_shape()}.")
        return Value(top.array / bottom.array, is_identity=top.is_identity, is_zero=top.is_zero)

    def _power(self, node: Power) -> Value:
        base = self(node.base)
        if isinstance(node.exponent, Negative):
            positive = self._power(Power(node.base, node.exponent.body))
            return positive.with_array(1 / positive.array) if positive.shape == (1, 1) else self._inverse(positive)
        exponent = self(node.exponent)
        if not exponent.is_scalar:
            return self._exponential(node, exponent)
        number = node.exponent.value if isinstance(node.exponent, Number) else Fraction(0)
        if base.shape == (1, 1) and number in range(1, _LARGEST_REPEATED + 1):
            # A ball around zero has products, but no powers.
            return base.with_array(np.prod([base.array] * int(number), axis=0))
        return self._powered(base, exponent)

    def _powered(self, base: Value, exponent: Value) -> Value:
        if base.shape != (1, 1):
            return self._matrix_power(base, _whole(exponent))
        return base.with_array(self.arithmetic.power(base.array, exponent.array))

    def _exponential(self, node: Power, exponent: Value) -> Value:
        """e to the power of a vector or matrix, entry by entry."""
        if node.base != Symbol("e") or self.scope.knows(Symbol("e")) or exponent.is_identity:
            raise NotUnderstood(f"Can't raise to the power of {exponent.describe_shape()}.")
        return Value(self.arithmetic.exp(exponent.array))

    def _matrix_power(self, base: Value, exponent: int) -> Value:
        """A square matrix multiplied by itself, by repeated squaring."""
        if 1 in base.shape or not 0 <= exponent <= _LARGEST_EXPONENT:
            raise NotUnderstood(f"Can't raise {base.describe_shape()} to a power.")
        if base.shape[0] != base.shape[1]:
            raise IllShaped(f"{base.describe_shape()} to the power {exponent}")
        total = Value(self.arithmetic.number(Fraction(1)), is_identity=True)
        while exponent:
            self._spend(2 * base.array.size * base.shape[0])
            total = multiply(total, base) if exponent % 2 else total
            base, exponent = multiply(base, base) if exponent > 1 else base, exponent // 2
        return total

    def _inverse(self, value: Value) -> Value:
        if value.shape[0] != value.shape[1]:
            raise IllShaped(f"the inverse of {value.describe_shape()}")
        self._spend(value.array.size * value.shape[0])
        try:
            return Value(self.arithmetic.inverse(value.array))
        except (ZeroDivisionError, np.linalg.LinAlgError):
            raise NotUnderstood("A matrix here has no inverse.") from None

    # -- matrices and their parts --------------------------------------------------------------------------------------
    def _transpose(self, node: Transpose) -> Value:
        value = self(node.body)
        if not (isinstance(node.body, Matrix) and node.body.is_listed and value.shape[1] == 1):
            value = value.transposed()
        return Value(self.arithmetic.conjugate(value.array)) if node.is_conjugate else value

    def _accent(self, node: Accent) -> Value:
        value, setting = self(node.body), self.scope.setting
        if node.kind == "bar" and setting.is_complex:
            return Value(self.arithmetic.conjugate(value.array))
        if node.kind == "'" and not setting.is_prime_a_label:
            return value.transposed()
        raise NotUnderstood("A bar or star has no meaning here.")

    def _norm(self, node: Norm) -> Value:
        value, arithmetic = self(node.body), self.arithmetic
        if node.order == 0 and value.is_scalar:
            return Value(arithmetic.absolute(value.array))
        if node.order == 0 and value.shape[0] == value.shape[1]:
            return self(Apply("det", (node.body,)))
        if node.order in (1, -1) and 1 not in value.shape:
            raise NotUnderstood("This norm of a matrix is not supported.")
        if node.order == 1:
            return Value(np.sum(arithmetic.absolute(value.array), axis=(1, 2), keepdims=True))
        if node.order == -1:
            sizes = Value(arithmetic.absolute(value.array))
            entries = (Value(sizes.array.reshape(len(sizes.array), -1, 1)[:, [k]]) for k in range(max(value.shape)))
            return reduce(lambda most, entry: OF_SEVERAL["max"](most, entry, arithmetic), entries)
        if node.order in (3, 4) and 1 not in value.shape:
            return self._of_singular_values(value, np.sum if node.order == 3 else np.max)
        squares = arithmetic.real(value.array * arithmetic.conjugate(value.array))
        return Value(arithmetic.sqrt(np.sum(squares, axis=(1, 2), keepdims=True)))

    def _of_singular_values(self, value: Value, function: Callable[..., np.ndarray]) -> Value:
        """The nuclear norm of a matrix, or its spectral norm, in floats only."""
        if self.arithmetic.is_certified or value.is_identity:
            raise NotUnderstood("This norm of a matrix is not certain.")
        return Value(function(np.linalg.svd(value.array, compute_uv=False), axis=1)[:, None, None])

    def _inner(self, node: Inner) -> Value:
        return inner(self(node.left), self(node.right), self.arithmetic)

    def _matrix(self, node: Matrix) -> Value:
        blocks = [[self(cell).array for cell in row] for row in _filled(node, self.scope, self.instance)]
        if node.is_listed and blocks[0][0].shape[1] > 1:
            blocks = [[block for row in blocks for block in row]]
        draws = max(block.shape[0] for row in blocks for block in row)
        filled = [[np.broadcast_to(block, (draws, *block.shape[1:])) for block in row] for row in blocks]
        try:
            return Value(np.concatenate([np.concatenate(row, axis=2) for row in filled], axis=1))
        except ValueError:
            raise NotUnderstood("The blocks of this matrix do not fit together.") from None

    def _entry(self, node: Scripted) -> Value:
        """One entry of a vector, one row or one entry of a matrix."""
        value = self(node.base)
        scripts = node.subscripts if 1 in value.shape or value.shape[0] > 9 else split_digits(node.subscripts)
        places = [self._place(script) for script in scripts]
        if len(places) > 2:
            raise NotUnderstood("This subscript has no meaning here.")
        array = np.swapaxes(value.array, 1, 2) if len(places) == 1 and value.shape[0] == 1 else value.array
        for axis, place in enumerate(places, start=1):
            if not 0 <= place < array.shape[axis]:
                raise OutOfRange(f"The index {place + 1} is out of range.")
            array = np.take(array, [place], axis=axis)
        return Value(array)

    def _cases(self, node: Cases) -> Value:
        for value, conditions in zip(node.values, node.conditions, strict=True):
            if all(satisfies(condition, self.indices, self.instance) for condition in conditions):
                return self(value)
        raise NotUnderstood("No case applies.")

    # -- functions -----------------------------------------------------------------------------------------------------
    def _apply(self, node: Apply) -> Value:
        if node.function in self.scope.setting.functions:
            return self._apply_defined(node)
        if node.function in _EXPECTATIONS and self.scope.setting.is_random:
            return self._expected(node)
        if node.function in _MOMENTS and self.scope.setting.has_laws:
            return self._moment(node, _ALL)
        if node.function == "probability" and self.scope.setting.has_laws:
            return self._probability(node.arguments, ())
        if node.function in _INFORMATION:
            return self._information(node)
        if node.function == "density":
            return self._density(*node.arguments)
        arguments = [self(argument) for argument in node.arguments]
        if node.function == "softmax" and len(arguments) == 1 and arguments[0].is_scalar:
            return self._softmax_over_index(node.arguments[0], arguments[0])
        if node.function in OF_SEVERAL and len(arguments) > 1:
            combine = OF_SEVERAL[node.function]
            return reduce(lambda total, value: combine(total, value, self.arithmetic), arguments)
        if len(arguments) != 1:
            raise NotUnderstood(f"{node.function} takes one argument.")
        if node.function == "log" and isinstance(node.arguments[0], Apply) and node.arguments[0].function == "det":
            arguments = [
                Value(self.arithmetic.absolute(arguments[0].array))
            ]  # what holds then holds where it is defined
        return of_one(node.function, arguments[0], self.arithmetic)

    def _softmax_over_index(self, node: Expression, one: Value) -> Value:
        """The softmax(s_i) of one score among those that its index picks: e^{s_i}/Σ_j e^{s_j}."""
        letters = [letter for letter in letters_in(node) if letter in self.indices]
        if len(letters) != 1:
            raise NotUnderstood("Can't take the softmax of a single number.")
        size = ranges([node], self.scope)[letters[0]]
        scores = [self.at(**{letters[0]: place})(node) for place in range(self.instance.size(size))]
        exp = self.arithmetic.exp
        total = reduce(add, (Value(exp(score.array - one.array)) for score in scores))
        return Value(1 / total.array)

    def _apply_defined(self, node: Apply) -> Value:
        """A function that the problem defines, its arguments put in."""
        function = self.scope.setting.functions[node.function]
        if len(function.arguments) == 1 < len(node.arguments):
            return self._apply_to_entries(node, function)
        if len(function.arguments) != len(node.arguments):
            raise NotUnderstood(f"{node.function} takes {len(function.arguments)} arguments.")
        values = [self(argument) for argument in node.arguments]
        is_vector = values[0].shape[0] > 1
        places = ((id(self.scope.find(Symbol(name)).meaning), None) for name in function.arguments)
        arguments: dict[tuple[int, int | None], Value] = dict(zip(places, values, strict=True))
        key = (id(function), None)
        if key in self.resolving:
            raise NotUnderstood("The definitions are circular.")
        inside = self._with_arguments(arguments, indices={}, resolving=self.resolving | {key})
        return inside(function.vector_formula if is_vector and function.vector_formula else function.formula)

    def _apply_to_entries(self, node: Apply, function: DefinedFunction) -> Value:
        """A function of a vector whose entries are written one by one: f(a, b), where f(z) is defined for z ∈ ℝ^n."""
        meaning = self.scope.find(Symbol(function.arguments[0])).meaning
        rows, columns = meaning.shape
        if rows.isdigit() or columns != "1" or meaning.index is not None:
            raise NotUnderstood(f"{node.function} takes one argument.")
        value = self(Matrix(tuple((argument,) for argument in node.arguments)))
        instance = replace(self.instance, sizes={**self.instance.sizes, rows: len(node.arguments)})
        inside = self._elsewhere(
            instance=instance, indices={}, arguments={**self.arguments, (id(meaning), None): value}
        )
        return inside(function.formula)

    # -- derivatives, by central differences far below any rounding ---------------------------------------------------
    def _derivative(self, node: Derivative) -> Value:
        """∂top/∂bottom, entry by entry of a vector or matrix; what else the top depends on stays as it is."""
        loss = self.losses.get(describe(node.top)) if self.losses and isinstance(node.top, Symbol) else None
        if loss is not None and isinstance(node.bottom, Symbol):
            return self._of_loss(loss, node, node.bottom)
        restated = in_terms_of(node.bottom, node.top, self.scope) if isinstance(node.bottom, Symbol) else None
        if restated is not None:
            return self._elsewhere(scope=restated)._derivative(node)
        if self.num_derivatives > 1 or self.scope.setting.is_complex:
            raise NotUnderstood("Only first and second derivatives of real quantities are supported.")
        if not isinstance(node.bottom, Symbol):
            return self._at_a_place(node)
        certain = self._elsewhere(arithmetic=BALLS, num_derivatives=self.num_derivatives + 1)
        variable, entries = certain._variable(node.bottom, node.top)
        slopes = [certain._slope(node.top, variable, entry) for entry in entries]
        table = np.stack(slopes, axis=1)
        layout = "mixed" if node.is_gradient else self.convention.layout
        laid_out = _laid_out(table, certain(node.bottom).shape, layout)
        if self.num_derivatives:
            return Value(laid_out)
        return Value(_cut(laid_out) if self.arithmetic.is_certified else _midpoints(laid_out))

    def _at_a_place(self, node: Derivative) -> Value:
        """f'(2), f''(x + 1) and the like: how fast a function of one number changes there."""
        order, inner = 1, node.top
        while isinstance(inner, Derivative) and inner.bottom == node.bottom:
            order, inner = order + 1, inner.top
        if not isinstance(inner, Apply) or inner.arguments != (node.bottom,) or order > 2:
            raise NotUnderstood("Derivatives are supported only with respect to a symbol.")
        name, function = inner.function, self.scope.setting.functions.get(inner.function)
        certain = self._elsewhere(arithmetic=BALLS, num_derivatives=2)
        place, step = certain(node.bottom), BALLS.number(_STEP)

        def at(steps: int) -> np.ndarray:
            moved = Value(place.array + steps * step)
            if function is None:
                value = of_one(name, moved, BALLS)
            else:
                key = (id(self.scope.find(Symbol(function.arguments[0])).meaning), None)
                value = certain._with_arguments({**certain.arguments, key: moved}, indices={})(function.formula)
            if not (place.is_scalar and value.is_scalar):
                raise NotUnderstood("Derivatives are supported only with respect to a symbol.")
            return value.array

        slope = (at(1) - at(-1)) / (2 * step) if order == 1 else (at(1) - 2 * at(0) + at(-1)) / (step * step)
        return Value(_cut(slope) if self.arithmetic.is_certified else _midpoints(slope))

    def _of_loss(self, loss: Loss, node: Derivative, bottom: Symbol) -> Value:
        """The derivative of a loss that nothing defines: drawn at random by a source, and what follows for the rest."""
        variable = whole(bottom, self.scope)
        scope = self.scope
        for source in loss.sources:
            meaning = gradient_meaning(loss.gradient(source).name, self(source).shape)
            if meaning.name not in scope.own:  # the text may give a value
                scope = replace(scope, own={**scope.own, meaning.name: meaning})
        inside = self._elsewhere(scope=scope, losses={})
        if variable in loss.sources:
            gradient = Scripted(loss.gradient(variable), bottom.subscripts) if variable != bottom else None
            value = inside(gradient or loss.gradient(variable))
            is_turned = self.convention.layout == "numerator" and not node.is_gradient
            return value.transposed() if is_turned else value
        return inside._derivative(Derivative(loss.linear, bottom, is_gradient=node.is_gradient))

    def _variable(self, bottom: Expression, top: Expression) -> tuple[FoundSymbol, list[tuple[int, int]]]:
        """The symbol to vary, and those of its entries that the bottom of a derivative names."""
        if not isinstance(bottom, Symbol):
            raise NotUnderstood("Derivatives are supported only with respect to a symbol.")
        found = self.scope.lookup(bottom)
        scripts: tuple[Expression, ...] = ()
        if found is not None and found.member is not None and found.meaning.formula is not None:
            whole = self._whole_vector(found.meaning)
            found, scripts = (found, ()) if whole is None else (self.scope.find(whole), (found.member,))
        elif found is None:
            found, scripts = self.scope.find(Symbol(bottom.name)), bottom.subscripts
        self._check_dependence(found.meaning, top)
        rows, columns = self._meant(found).shape
        places = [self._place(script) for script in scripts]
        if len(places) == 1 and rows == 1:
            places.insert(0, 0)
        if any(not 0 <= place < size for place, size in zip(places, (rows, columns), strict=False)):
            raise OutOfRange("The index of this derivative is out of range.")
        entries = [entry for entry in np.ndindex(rows, columns) if list(entry[: len(places)]) == places]
        return found, entries

    def _whole_vector(self, meaning: SymbolMeaning) -> Symbol | None:
        """The x of a family that is defined as its entries: x_i = e_iᵀ x."""
        match meaning.formula:
            case Product(factors=(Transpose(body=Symbol() as unit), Symbol() as whole)):
                found = self.scope.lookup(unit)
                is_unit = found is not None and Assumption.UNIT_VECTORS in found.meaning.assume
                return whole if is_unit and unit.subscripts == (Symbol(meaning.index or ""),) else None
        return None

    def _check_dependence(self, meaning: SymbolMeaning, top: Expression) -> None:
        """Raises NotUnderstood where nothing says how the top depends on a symbol, or where it does in several ways."""
        held = self.scope.with_meaning(replace(meaning, formula=None)).reach(top)
        if meaning.key not in held or not held.isdisjoint(self.scope.setting.undeclared.difference(self.scope.own)):
            raise NotUnderstood(f"It is not known how this depends on '{meaning.key}'.")
        if any(name.startswith("∂") for name in held):  # of a loss, by what it is made of
            return
        below = self.scope.reach(meaning.formula) if meaning.formula is not None else ()
        if any(name in held and not self._is_defined(name) for name in below):
            raise NotUnderstood(f"The derivative by '{meaning.key}' is not clear: it is itself defined by a formula.")

    def _is_defined(self, name: str) -> bool:
        meaning = self.scope.meanings.get(name)
        return meaning is not None and meaning.formula is not None

    def _slope(self, top: Expression, variable: FoundSymbol, entry: tuple[int, int]) -> np.ndarray:
        """How fast each entry of the top changes with one entry of the variable, (draw, entry of the top)."""
        place = None if variable.member is None else self._place(variable.member)
        point, step = self._meant(variable).array, BALLS.number(_STEP)
        values = []
        for sign in (1, -1):
            moved = point.copy()
            moved[:, entry[0], entry[1]] += sign * step[0, 0, 0]
            arguments = {**self.arguments, (id(variable.meaning), place): Value(moved)}
            value = self._with_arguments(arguments)(top)
            num_draws = max(len(point), len(value.array))
            if 1 not in value.shape or value.is_identity:
                raise NotUnderstood("Derivatives of matrices are not supported.")
            values.append(np.broadcast_to(value.array, (num_draws, *value.shape)).reshape(num_draws, -1))
        return (values[0] - values[1]) / (2 * step[0, 0, 0])

    def _differential(self, node: Differential) -> Value:
        """How the body changes as every varied symbol moves in a direction of its own."""
        if not self.varied or self.num_derivatives or self.scope.setting.is_complex:
            raise NotUnderstood("It is not clear what varies here.")
        certain = self._elsewhere(arithmetic=BALLS, num_derivatives=1)
        step, values = BALLS.number(_STEP), []
        for sign in (1, -1):
            arguments = dict(certain.arguments)
            for symbol in self.varied:
                meaning = self.scope.find(symbol).meaning
                point = certain._meant(FoundSymbol(meaning))
                direction = self.instance.draw(direction_meaning(meaning.key, point.shape), BALLS)
                arguments[id(meaning), None] = Value(point.array + sign * step * direction)
            values.append(certain._with_arguments(arguments)(node.body))
        if any(value.is_identity for value in values):
            raise NotUnderstood("The size of this matrix is not known.")
        slope = (values[0].array - values[1].array) / (2 * step)
        return Value(_cut(slope) if self.arithmetic.is_certified else _midpoints(slope))

    # -- integrals -----------------------------------------------------------------------------------------------------
    def _integral(self, node: Integral) -> Value:
        """∫ body dx in one number x."""
        meaning = _bound_number(node.variable)
        certain = self._certain(scope=self.scope.with_meaning(meaning))
        certain._check_values(node.body, node.variable)
        ends = certain._limit(node.lower), certain._limit(node.upper)

        def at(x: np.ndarray) -> Value:
            return certain._with_arguments({**certain.arguments, (id(meaning), None): Value(x)})(node.body)

        one = BALLS.number(1)
        self._use(_COST_OF_A_QUADRATURE)
        return self._rounded(over_interval(at, ends, 0 * one, one))

    def _limit(self, limit: Expression) -> np.ndarray | None:
        if isinstance(limit, Infinity) or (isinstance(limit, Negative) and isinstance(limit.body, Infinity)):
            return None
        return self(limit).array

    def _check_values(self, body: Expression, variable: str) -> None:
        """Raises NotUnderstood for an f(x) that nothing defines: it is no constant where x varies."""
        for name in self.scope.reach(body):
            _, bracket, inside = name.partition("(")
            meaning = self.scope.meanings.get(name)
            if bracket and inside != ")" and variable in inside and (meaning is None or meaning.formula is None):
                raise NotUnderstood(f"'{name}' is not defined here")

    def _certain(self, **changes: Any) -> Self:
        """The evaluator in balls, also for the values put in for symbols."""
        arguments = {
            key: value if value.array.dtype == object else value.with_array(BALLS.array(value.array))
            for key, value in self.arguments.items()
        }
        return self._elsewhere(arithmetic=BALLS, arguments=arguments, **changes)

    def _rounded(self, value: Value) -> Value:
        """A value in balls as one of the evaluator's own arithmetic."""
        return value if self.arithmetic.is_certified else Value(_midpoints(value.array))

    # -- laws ----------------------------------------------------------------------------------------------------------
    def _law_of(self, node: Expression) -> Distribution:
        """The law that an expression names: itself, that of a random symbol, or a vector of probabilities."""
        match node:
            case Distribution():
                return node
            case Apply("density", (_, law)):
                return self._law_of(law)
            case Symbol() if (found := self.scope.lookup(node)) is not None:
                law = found.meaning.law if found.meaning.formula is None else found.meaning.formula
                if isinstance(law, Distribution):
                    return law
        return Distribution("categorical", (node,))

    def _valued_law(self, law: AnyLaw) -> ValuedLaw:
        """A law with values for its parameters; NotUnderstood if they are random themselves."""
        given = (law.mean, law.variance) if isinstance(law, MomentLaw) else law.parameters
        reached = (self.scope.meanings.get(name) for name in self.scope.reach(*given))
        fixed = {**self.held, **self.arguments}
        if any(each is not None and each.law is not None and (id(each), None) not in fixed for each in reached):
            raise NotUnderstood("A law here has random parameters.")
        values = tuple(map(self, given))
        if isinstance(law, MomentLaw):
            return ValuedLaw(family="normal", parameters=values)
        last = values[-1]
        if self.scope.setting.has_other_parameters and last.shape == (1, 1) and not isinstance(given[-1], Power):
            other = {"normal": last.array**2, "exponential": 1 / last.array, "gamma": 1 / last.array}
            values = (*values[:-1], last.with_array(other.get(law.family, last.array)))
        return ValuedLaw(family=law.family, parameters=values)

    def _information(self, node: Apply) -> Value:
        """The entropy of a law, the cross-entropy or the divergence of two."""
        certain = self._certain()
        laws = [certain._valued_law(certain._law_of(argument)) for argument in node.arguments]
        if node.function == "cross-entropy" and any(map(self._is_random, node.arguments)):
            raise NotUnderstood("The entropy of several random symbols is not supported.")
        found = cross_entropy(laws[0], laws[-1])
        if node.function == "kl":
            found = Value(found.array - cross_entropy(laws[0], laws[0]).array)
        return self._rounded(found)

    def _is_random(self, node: Expression) -> bool:
        found = self.scope.lookup(node) if isinstance(node, Symbol) else None
        return found is not None and found.meaning.law is not None

    def _density(self, place: Expression, law: Expression) -> Value:
        found = self._valued_law(self._law_of(law))
        return Value(self.arithmetic.exp(found.log_density(self(place), self.arithmetic).array))

    # -- means, variances and covariances under the laws that a document gives ----------------------------------------
    def _expectation(self, node: Expectation) -> Value:
        """A mean or variance under one law, or a mean, variance or probability under a condition."""
        if not isinstance(node.body, Apply):
            raise NotUnderstood("This is no mean.")
        if not self.scope.setting.has_laws:
            if node.given:
                raise NotUnderstood("Conditions are not supported here.")
            return self(node.body)
        if node.body.function == "probability":
            return self._probability(node.body.arguments, node.given)
        if node.law is None:
            inside, chance = self._under(node.given)
            return inside._moment(node.body, chance)
        if node.given:
            raise NotUnderstood("A condition under a law is not supported.")
        if node.variable is None and self._is_random(node.law):
            return self._moment(node.body, _Chance(over=self.scope.find(cast("Symbol", node.law)).meaning))
        variable = node.variable or _IMPLIED
        if not isinstance(variable, Symbol):
            raise NotUnderstood("The variable of this mean is not supported.")
        law = self._law_of(node.law)
        meaning = _bound_random(describe(variable), law, self._length(law, variable))
        inside = self._elsewhere(scope=self.scope.with_meaning(meaning))
        inside._check_values(node.body, describe(variable))
        body = mapped(node.body, partial(inside._as_density, variable=variable))
        return inside._moment(cast("Apply", body), _Chance(over=meaning))

    def _length(self, law: Distribution, variable: Symbol) -> int:
        """How many numbers a law is of."""
        parameters = self._valued_law(law).parameters
        lengths = {parameter.shape[0] for parameter in parameters if not (parameter.is_zero or parameter.is_identity)}
        if any(parameter.is_identity for parameter in parameters) and max(lengths, default=1) == 1:
            found = self.scope.lookup(variable)
            if found is None or found.meaning.is_number:
                raise NotUnderstood("The length of these vectors is not known.")
            return self.instance.size(found.meaning.shape[0])
        return max(lengths, default=1)

    def _as_density(self, node: Expression, variable: Symbol) -> Expression:
        """The bare p of E_q[log p] is p(x)."""
        found = self.scope.lookup(node) if isinstance(node, Symbol) and variable == _IMPLIED else None
        is_law = found is not None and isinstance(found.meaning.formula, Distribution)
        return Apply("density", (variable, node)) if is_law else node

    def _under(self, given: tuple[Expression, ...]) -> tuple[Self, "_Chance"]:
        """The evaluator with what a condition fixes put in, and what is left to chance."""
        held = dict(self.held)
        arguments = dict(self.arguments)
        bounds: list[Condition] = []
        for part in given:
            fixed = part.left if isinstance(part, Condition) and part.sign == "=" else part
            if isinstance(fixed, Symbol) and self._is_random(fixed) and not fixed.subscripts:
                key = (id(self.scope.find(fixed).meaning), None)
                held[key] = None
                if isinstance(part, Condition):
                    arguments[key] = self(part.right[0])
            elif isinstance(part, Condition) and part.sign in ORDERS:
                bounds.append(part)
            else:
                raise NotUnderstood("This condition is not supported.")
        return self._with_arguments(arguments, held=held), _Chance(bounds=tuple(bounds))

    def _moment(self, node: Apply, chance: "_Chance") -> Value:
        """E, Var or Cov of quantities in random numbers whose laws are known."""
        if node.function == "mean":
            return self._mean_of(node.arguments[:1], chance)
        one, other = node.arguments[0], node.arguments[-1]
        if node.function == "cov" and len(node.arguments) > 2:
            raise NotUnderstood("A covariance is of one quantity, or of two.")
        middle = centred_product(self._mean_of((one,), chance), self._mean_of((other,), chance))
        product = self._mean_of((one, other), chance)
        return Value(product.array - middle.array)

    def _mean_of(self, factors: tuple[Expression, ...], chance: "_Chance") -> Value:
        """The mean of a quantity, or of the product of two."""

        def at(inside: Evaluator) -> Value:
            return inside(factors[0]) if len(factors) == 1 else centred_product(*map(inside, factors))

        if self.chances and chance == _ALL:
            return self._mean_over_outcomes(at)
        numbers = self._random_numbers(factors, chance)

        if len(numbers) == 1 and isinstance(numbers[0].meaning.law, Distribution):
            number = numbers[0].meaning
            if number.is_number and factors == (Symbol(number.name),) and not chance.bounds:
                return self._rounded(self._certain()._valued_law(numbers[0].meaning.law).mean)
            return self._mean_in_one(numbers[0], at, chance.bounds)
        if chance.bounds:
            raise NotUnderstood("A condition on several random numbers is not supported.")
        laws = {law: self._valued_law(law) for each in numbers if (law := each.meaning.law) is not None}
        part = RandomPart(
            numbers=numbers,
            num_draws=self.instance.total_draws,
            laws=laws,
            law_number=self.scope.setting.law_number,
            arithmetic=self.arithmetic,
        )
        return part.mean(lambda values, num_points: at(self._repeated(num_points, values)))

    def _repeated(self, times: int, arguments: Mapping[tuple[int, int | None], Value]) -> Self:
        """The evaluator with every draw repeated, and with values put in for some symbols."""
        kept = {key: value.repeated(times) for key, value in self.arguments.items()}
        instance = replace(self.instance, repeated=self.instance.repeated * times)
        return self._elsewhere(instance=instance, arguments={**kept, **arguments})

    def _mean_over_outcomes(self, at: Callable[["Evaluator"], Value]) -> Value:
        """A mean where nothing says how symbols are random: together they have a few outcomes, at which all differ."""
        total: Value | None = None
        for place, weight in enumerate(_WEIGHTS):
            outcome = replace(self.instance, seed=self.instance.seed + _OTHER_SEEDS * (place + 1))
            arguments = dict(self.arguments)
            for meaning in (self.scope.meanings[name] for name in sorted(self.chances)):
                array = outcome.draw(meaning, self.arithmetic)
                if meaning.over is None:
                    arguments[id(meaning), None] = Value(array)
                else:
                    arguments |= {(id(meaning), member): Value(array[:, member]) for member in range(array.shape[1])}
            value = at(self._with_arguments(arguments))
            if value.is_identity:
                raise NotUnderstood("The size of this matrix is not known.")
            part = multiply(Value(self.arithmetic.number(weight)), value)
            total = part if total is None else add(total, part)
        assert total is not None
        return total

    def _random_numbers(self, nodes: Sequence[Expression], chance: "_Chance") -> list[RandomNumber]:
        """The random numbers that expressions depend on and nothing holds; those of a condition if it is a mean."""
        if chance.over is not None:
            meanings = [chance.over]
        else:
            whole = [part for node in nodes for part in (_given(node) or (node,))]
            names = sorted(self.scope.reach(*whole, *chance.bounds))
            meanings = [self.scope.meanings[name] for name in names if name in self.scope.meanings]
        numbers = random_numbers(meanings, self.instance.size)
        numbers = [each for each in numbers if (id(each.meaning), each.place) not in self.held]
        if not numbers:
            raise NotUnderstood("Nothing says how this is random.")
        return numbers

    def _mean_in_one(
        self, number: RandomNumber, at: Callable[["Evaluator"], Value], conditions: Sequence[Condition]
    ) -> Value:
        """The mean of a function of one random number, under conditions on it."""
        certain = self._certain()
        law = number.meaning.law
        assert law is not None
        self._use(_COST_OF_A_QUADRATURE)
        found, key = certain._valued_law(law), (id(number.meaning), number.place)
        if not found.is_of_a_number:
            raise NotUnderstood("The law of this number is not one of numbers.")

        def put_in(x: Value) -> Self:
            return certain._with_arguments({**certain.arguments, key: x})

        bounds = [Bound(gap=lambda x, c=condition: _gap(put_in(x), c), sign=condition.sign) for condition in conditions]
        total = found.mean_of(lambda x: at(put_in(x)), bounds)
        if bounds:
            one = BALLS.number(1)
            total = Value(total.array / found.mean_of(lambda _: Value(one), bounds).array)
        return self._rounded(total)

    def _probability(self, event: tuple[Expression, ...], given: tuple[Expression, ...]) -> Value:
        """P(event | given) of conditions on one random number, or of one that is linear in normal numbers."""
        inside, chance = self._under(given)
        conditions = tuple(part for part in event if isinstance(part, Condition))
        numbers = inside._random_numbers(conditions, chance)
        if len(numbers) > 1:
            return inside._probability_in_normals(conditions, chance)
        certain, law = inside._certain(), numbers[0].meaning.law
        if not isinstance(law, Distribution):
            raise NotUnderstood("Only the mean and the variance of this are known.")
        found, key, one = certain._valued_law(law), (id(numbers[0].meaning), numbers[0].place), BALLS.number(1)

        def mass(parts: Sequence[Condition]) -> np.ndarray:
            put_in = lambda x: certain._with_arguments({**certain.arguments, key: x})  # noqa: E731
            bounds = [Bound(gap=lambda x, c=part: _gap(put_in(x), c), sign=part.sign) for part in parts]
            return found.mean_of(lambda _: Value(one), bounds).array

        whole = mass(chance.bounds) if chance.bounds else one
        return self._rounded(Value(mass((*conditions, *chance.bounds)) / whole))

    def _probability_in_normals(self, conditions: Sequence[Condition], chance: "_Chance") -> Value:
        """P(x > 0) = Φ(mean/√variance) of an x whose third and fourth moments are those of a normal number."""
        gap = _above_zero(conditions[0])
        if len(conditions) != 1 or chance.bounds or conditions[0].sign == "=":
            raise NotUnderstood("The probability of this event is not supported.")
        mean = self._mean_of((gap,), chance)
        squares = Product((gap, gap), (False,))
        powers = [
            self._mean_of((squares,), chance),
            self._mean_of((squares, gap), chance),
            self._mean_of((squares, squares), chance),
        ]
        first, second, third, fourth = (value.array for value in (mean, *powers))
        variance = second - first**2
        skew = third - 3 * first * variance - first**3
        rest = fourth - 4 * first * third + 6 * first**2 * second - 3 * first**4 - 3 * variance**2
        if not all(bool(abs(each) < _NEARLY) for each in (*skew.flat, *rest.flat)):
            raise NotUnderstood("The probability of this event is not supported.")
        arithmetic = self.arithmetic
        return Value((1 + arithmetic.erf(first / arithmetic.sqrt(2 * variance))) / 2)

    # -- means, variances and probabilities of quantities linear in Gaussian symbols, without sampling -----------------
    def _expected(self, node: Apply) -> Value:
        """E, Var or P of something linear in the random symbols; E and Var of anything that depends on one number."""
        first, *others = node.arguments
        if others:
            return self._between(node.arguments)
        body = _above_zero(first)
        if node.function != "probability" and (number := self._only_number(body)) is not None:
            mean = self._mean_over(number, body)
            if node.function == "mean":
                return mean
            square = self._mean_over(number, Power(body, Number(Fraction(2))))
            return Value(square.array - mean.array * mean.array)
        once, twice = (self._moved(body, size) for size in (1.0, 2.0))
        mean, variance = _moments(once, twice, self.instance)
        if node.function != "probability":
            return Value(mean if node.function == "mean" else variance)
        # P(x > 0) = Φ(mean/√variance) of a Gaussian x.
        arithmetic = self.arithmetic
        return Value((1 + arithmetic.erf(mean / arithmetic.sqrt(arithmetic.number(2) * variance))) / 2)

    def _only_number(self, body: Expression) -> SymbolMeaning | None:
        """The one random number of which something is a function; None if it is linear in random symbols instead."""
        random = self._random_symbols(body)
        bent = [node for node in walk(body) if isinstance(node, Apply | Power | Quotient | Norm)]
        if len(random) == 1 and random[0].is_random_number:
            return random[0] if bent else None
        if any(isinstance(node, Norm) and self._random_symbols(node) for node in bent):  # linear on one side of zero
            raise NotUnderstood("Means of absolute values are supported only for one random number.")
        return None

    def _random_symbols(self, body: Expression) -> list[SymbolMeaning]:
        """The random symbols that something depends on."""
        found = {m.key: m for name in self.scope.reach(body) if (m := self.scope.meanings.get(name)) is not None}
        return [meaning for meaning in found.values() if meaning.variance is not None and meaning.formula is None]

    def _mean_over(self, number: SymbolMeaning, body: Expression) -> Value:
        """E f(x) of a normal number x: ∫ f(m + s t) e^{−t²/2} dt / √(2π)."""
        certain, one = self._certain(), BALLS.number(1)
        deviation = BALLS.sqrt(BALLS.number(Fraction(number.variance or 0)))
        middle = BALLS.number(Fraction(number.mean))

        def at(t: np.ndarray) -> Value:
            value = certain._with_arguments({**certain.arguments, (id(number), None): Value(middle + deviation * t)})
            density = BALLS.exp(-t * t / 2) / BALLS.sqrt(2 * BALLS.pi())
            return Value(value(body).array * density)

        self._use(_COST_OF_A_QUADRATURE)
        return self._rounded(over_interval(at, (None, None), 0 * one, one))

    def _between(self, event: tuple[Expression, ...]) -> Value:
        """P(a < x < b) = P(a < x) + P(x < b) − 1, which is negative unless a < b."""
        signs = {part.sign for part in event if isinstance(part, Condition)}
        if len(event) != 2 or not (signs <= {"<", "≤"} or signs <= {">", "≥"}):
            raise NotUnderstood("The probability of this event is not supported.")
        first, second = (self._expected(Apply("probability", (part,))).array for part in event)
        return Value(first + second - 1)

    def _moved(self, body: Expression, size: float) -> np.ndarray:
        """The values with random symbols at their means, then moved by `size` one component at a time."""
        inside = self._elsewhere(instance=replace(self.instance, moved=size))
        value = inside(body)
        if not value.is_scalar:
            raise NotUnderstood("Means and variances of vectors are not supported.")
        return np.broadcast_to(value.array, (inside.instance.total_draws, 1, 1))


@dataclass(frozen=True, kw_only=True)
class _Chance:
    """What a mean runs over: one random symbol (all, if none is named), where it meets the bounds."""

    over: SymbolMeaning | None = None
    bounds: tuple[Condition, ...] = ()


_ALL = _Chance()


@lru_cache(maxsize=1024)
def _bound_number(name: str) -> SymbolMeaning:
    """The variable of an integral; the same object for the same name."""
    return SymbolMeaning(name=name)


@lru_cache(maxsize=1024)
def _bound_random(name: str, law: Distribution, length: int) -> SymbolMeaning:
    """The variable of a mean under a law; the same object for the same name, law and length."""
    return SymbolMeaning(name=name, shape=(str(length), "1"), law=law)


def _given(node: Expression) -> tuple[Expression, ...]:
    return node.given if isinstance(node, Expectation) else ()


def _gap(evaluate: Evaluator, condition: Condition) -> Value:
    return add(evaluate(condition.left), evaluate(condition.right[0]).negated())


_RULES: Mapping[type[Expression], Callable[[Evaluator, Any], Value]] = {
    Number: Evaluator._number,
    Ones: Evaluator._ones,
    Identity: Evaluator._identity,
    Infinity: Evaluator._infinity,
    Dots: Evaluator._dots,
    Symbol: Evaluator._symbol,
    Sum: Evaluator._sum,
    BigOperator: Evaluator._over_an_index,
    Negative: Evaluator._negative,
    Product: Evaluator._product,
    Quotient: Evaluator._quotient,
    Power: Evaluator._power,
    Transpose: Evaluator._transpose,
    Accent: Evaluator._accent,
    Norm: Evaluator._norm,
    Inner: Evaluator._inner,
    Matrix: Evaluator._matrix,
    Scripted: Evaluator._entry,
    Cases: Evaluator._cases,
    Apply: Evaluator._apply,
    Derivative: Evaluator._derivative,
    Differential: Evaluator._differential,
    Integral: Evaluator._integral,
    Expectation: Evaluator._expectation,
}


def _with_ones(factor: Expression) -> Expression:
    if isinstance(factor, Transpose):
        return Transpose(_with_ones(factor.body))
    return Ones() if isinstance(factor, Number) and factor.value == 1 else factor


def _whole(exponent: Value) -> int:
    """The exponent of a matrix, the same whole number in every draw."""
    numbers = {float(number.real) for number in exponent.array.flat}
    if len(numbers) != 1 or not (number := numbers.pop()).is_integer():
        raise NotUnderstood("Only whole powers of matrices are supported.")
    return int(number)


# -- c_1a_1 + … + c_ma_m -----------------------------------------------------------------------------------------------
def _without_ellipsis(node: Sum) -> Expression:
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
    return BigOperator("sum", letter, (), Number(Fraction(1)), upper, _with_index(last, name, Symbol(letter)))


def _filled(node: Matrix, scope: Scope, instance: Instance) -> Sequence[Sequence[Expression]]:
    """The rows of a matrix; x_1, x_2, …, x_n in a column or a row are all that the last one counts."""
    cells = list(node.rows[0]) if len(node.rows) == 1 else [row[0] for row in node.rows if len(row) == 1]
    is_listed = len(cells) > 2 and isinstance(cells[-2], Dots) and len(cells) == len(node.rows) * len(node.rows[0])
    if not is_listed:
        return node.rows
    last = cells[-1]
    uppers = {describe(script): script for symbol in symbols(last) for script in symbol.subscripts}
    sizes = [name for name in uppers if name in scope.setting.sizes]
    if len(sizes) != 1 or any(isinstance(cell, Dots) for cell in cells[:-2]):
        raise NotUnderstood("It is not clear what this ellipsis stands for.")
    counts = range(1, instance.size(sizes[0]) + 1)
    filled = [_with_index(last, sizes[0], Number(Fraction(count))) for count in counts]
    if any(cell != filled[place] for place, cell in enumerate(cells[:-2]) if place < len(filled)):
        raise NotUnderstood("It is not clear what this ellipsis stands for.")
    return [filled] if len(node.rows) == 1 else [[cell] for cell in filled]


def _with_index(node: Any, name: str, letter: Expression) -> Any:
    """The tree with the subscript `name` replaced by another."""
    if isinstance(node, Symbol):
        scripts = tuple(letter if describe(script) == name else script for script in node.subscripts)
        return Symbol(node.name, scripts)
    if isinstance(node, tuple):
        return tuple(_with_index(item, name, letter) for item in node)
    if isinstance(node, Expression):
        return type(node)(*(_with_index(getattr(node, item), name, letter) for item in node.__slots__))
    return node


# -- derivatives and moments -------------------------------------------------------------------------------------------
def _laid_out(slopes: np.ndarray, shape: tuple[int, int], layout: Layout) -> np.ndarray:
    """The table (draw, entry of the bottom, entry of the top) as a number, gradient or Jacobian in its layout."""
    num_entries, num_tops = slopes.shape[1:]
    if num_entries == 1:
        return slopes.reshape(-1, num_tops, 1)
    if num_tops == 1:
        gradient = slopes.reshape(-1, *shape)
        return np.swapaxes(gradient, 1, 2) if layout == "numerator" else gradient
    if 1 not in shape:
        raise NotUnderstood("The derivative of a vector by a matrix is not supported.")
    return slopes if layout == "denominator" else np.swapaxes(slopes, 1, 2)


def _cut(slope: np.ndarray) -> np.ndarray:
    """Balls whose last digits are not to be trusted, cut to 20 digits."""
    cut = np.empty_like(slope)
    for place, ball in np.ndenumerate(slope):
        cut[place] = arb(ball.mid().str(20, radius=False))
    return cut


def _midpoints(balls: np.ndarray) -> np.ndarray:
    return np.array([float(ball.mid()) for ball in balls.flat]).reshape(balls.shape)


def _above_zero(body: Expression) -> Expression:
    """What must be above zero for a condition to be met: x − y for x > y."""
    if not isinstance(body, Condition):
        return body
    if body.sign == "=":
        raise NotUnderstood("The probability of an equation is not supported.")
    larger, smaller = (body.left, body.right[0]) if body.sign in (">", "≥") else (body.right[0], body.left)
    return Sum((larger, Negative(smaller)))


def _moments(once: np.ndarray, twice: np.ndarray, instance: Instance) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of a linear quantity x(r) of independent components r_j, moved by one component at a time.

    Var x = Σ_j (x(m + e_j) − x(m))² Var r_j; `once` and `twice` hold x(m + e_j) and x(m + 2e_j), (draw·move, 1, 1).
    """
    weights = instance.component_variances()
    shape = (-1, 1 + len(weights), 1, 1)
    first, second = once.reshape(shape), twice.reshape(shape)
    slopes = first[:, 1:] - first[:, :1]
    bends = second[:, 1:] - second[:, :1] - 2 * slopes
    if any(not bool(abs(bend) < 1e-9) for bend in bends.flat):
        raise NotUnderstood("Means and variances are supported only for quantities linear in the random symbols.")
    variance = np.sum(slopes * slopes * weights.reshape(1, -1, 1, 1), axis=1)
    return first[:, 0], variance
