"""Leaves: numbers, and symbols looked up in the scope; drawn, defined by a formula, or read in another way."""

from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from regard.derivations.judging.evaluation import Evaluation, OutOfRange, Rule
from regard.derivations.judging.findings import NoteKind
from regard.derivations.judging.functions import apply_defined
from regard.derivations.judging.operations import entry
from regard.derivations.judging.scope import Found, UnknownSymbol
from regard.derivations.judging.values import Value
from regard.derivations.notation.syntax import (
    Apply,
    Dots,
    Expression,
    Identity,
    Infinity,
    Label,
    Number,
    Ones,
    Product,
    Scripted,
    Symbol,
    describe,
)
from regard.derivations.notation.tokens import NotUnderstood
from regard.derivations.problems.model import SymbolMeaning

_LOOKS_LIKE_ZERO = ("D", "O", "o")


def _number(evaluate: Evaluation, node: Number) -> Value:
    return Value(evaluate.arithmetic.number(node.value), is_zero=node.value == 0)


def _ones(evaluate: Evaluation, _node: Ones) -> Value:
    size = evaluate.scope.setting.ones
    if size is None:
        raise NotUnderstood("The length of the vector of ones is not known here.")
    return Value(evaluate.arithmetic.array(np.ones((1, evaluate.instance.size(size), 1))))


def _identity(evaluate: Evaluation, _node: Identity) -> Value:
    return Value(evaluate.arithmetic.number(1), is_identity=True)


def _infinity(_evaluate: Evaluation, _node: Infinity) -> Value:
    raise NotUnderstood("∞ stands where a number is needed.")


def _dots(_evaluate: Evaluation, _node: Dots) -> Value:
    raise NotUnderstood("An ellipsis stands where it cannot be filled in.")


def _symbol(evaluate: Evaluation, node: Symbol) -> Value:
    if _is_function_of_its_subscript(evaluate, node):
        return apply_defined(evaluate, Apply(node.name, _subscripts_as_arguments(evaluate, node)))
    found = evaluate.scope.lookup(node)
    if found is None:
        return _read_otherwise(evaluate, node)
    if found.note is not None:
        evaluate.remember(found.note)
    return _meant(evaluate, found)


def _is_function_of_its_subscript(evaluate: Evaluation, node: Symbol) -> bool:
    function = evaluate.scope.setting.functions.get(node.name)
    return function is not None and function.is_subscripted and len(node.subscripts) >= len(function.arguments) > 0


def _subscripts_as_arguments(evaluate: Evaluation, node: Symbol) -> tuple[Expression, ...]:
    """The t of R_t; the ts of R_{ts} is a product, the t, 2k of Φ_{t,2k} is not read."""
    scripts = node.subscripts
    if len(scripts) > 1 and scripts[0] == Symbol("theta"):
        scripts = scripts[1:]
    if len(scripts) == len(evaluate.scope.setting.functions[node.name].arguments):
        return scripts
    if not all(isinstance(script, Symbol) for script in scripts):
        raise NotUnderstood(f"the entry '{describe(node)}' is not read.")
    return (Product(scripts, (False,) * (len(scripts) - 1)),)


# -- symbols with a meaning --------------------------------------------------------------------------------------------
def _meant(evaluate: Evaluation, found: Found) -> Value:
    meaning = found.meaning
    place = None if found.member is None else evaluate.place(found.member)
    if place is not None and meaning.name in evaluate.scope.member_formulas:
        for letter, formula in evaluate.scope.member_formulas[meaning.name].items():
            if evaluate.instance.fixed_index(letter) == place:
                return evaluate.inside(formula, {}, {})
    if id(meaning) in evaluate.arguments:
        return evaluate.arguments[id(meaning)]
    if evaluate.arguments:
        return _valued(evaluate, meaning, place)
    values, key = evaluate.values_of_symbols(), (id(meaning), place)
    if key not in values:
        values[key] = _valued(evaluate, meaning, place)
    return values[key]


def _valued(evaluate: Evaluation, meaning: SymbolMeaning, place: int | None) -> Value:
    if meaning.formula is None:
        return _drawn(evaluate, meaning, place)
    indices: Mapping[str, int] = {} if place is None or meaning.index is None else {meaning.index: place}
    return evaluate.inside(meaning.formula, indices, dict(meaning.swaps))


def _drawn(evaluate: Evaluation, meaning: SymbolMeaning, place: int | None) -> Value:
    array = evaluate.instance.draw(meaning, evaluate.arithmetic)
    if place is None:
        return Value(array)
    if not 0 <= place < array.shape[1]:
        raise OutOfRange(f"the index {place + 1} of '{meaning.name}' is out of range.")
    return Value(array[:, place])


# -- symbols without one -----------------------------------------------------------------------------------------------
def _read_otherwise(evaluate: Evaluation, node: Symbol) -> Value:
    """A symbol without a meaning of its own: a constant, an entry of a matrix, or a prime that transposes."""
    constant = None if node.subscripts else _constant(evaluate, node)
    if constant is not None:
        return constant
    scope, bare = evaluate.scope, Symbol(node.name)
    is_labelled = any(isinstance(script, Label) for script in node.subscripts)
    if node.subscripts and scope.knows(bare) and not is_labelled:
        return entry(evaluate, Scripted(bare, node.subscripts))
    unprimed = Symbol(node.name.removesuffix("'"), node.subscripts)
    is_label = "'" in scope.setting.aliases.get("_perm", ())
    if unprimed != node and not is_label and scope.knows(unprimed):
        evaluate.remember(NoteKind.PRIME_AS_TRANSPOSE.note(describe(node)))
        return _symbol(evaluate, unprimed).transposed()
    raise UnknownSymbol(node)


def _constant(evaluate: Evaluation, node: Symbol) -> Value | None:
    setting, arithmetic, name = evaluate.scope.setting, evaluate.arithmetic, node.name
    if name in setting.sizes:
        return Value(arithmetic.number(evaluate.instance.sizes[name]))
    if name in ("i", "j") and setting.is_complex:
        return Value(arithmetic.imaginary_unit())
    if name in evaluate.indices or name in setting.fixed:
        return Value(arithmetic.number(evaluate.place(node) + evaluate.convention.first_index))
    if name == "pi":
        return Value(arithmetic.pi())
    if name == "e":
        return Value(arithmetic.exp(arithmetic.number(1)))
    if name in _LOOKS_LIKE_ZERO:
        evaluate.remember(NoteKind.RECOGNITION_SLIP.note(name, "0"))
        return Value(arithmetic.number(Fraction(0)), is_zero=True)
    return None


LEAVES: Mapping[type[Expression], Rule] = {
    Number: _number,
    Ones: _ones,
    Identity: _identity,
    Infinity: _infinity,
    Dots: _dots,
    Symbol: _symbol,
}
