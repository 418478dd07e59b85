"""The one small change that makes a false relation true: another sign, a factor, an inverse, n − 2 for n.

A slip leaves most of a formula right, so it can be corrected. Where nothing small corrects a formula, the reading of
its symbols is as likely to be wrong as the formula.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import chain, islice, permutations
from typing import Any

from regard.derivations.judging.by_sign import decide_reading
from regard.derivations.judging.exact import holds_decimals, may_be_equal
from regard.derivations.judging.findings import Note, NoteKind
from regard.derivations.judging.limits import stay_apart
from regard.derivations.judging.premises import under_premises
from regard.derivations.judging.relations import Instances, ReadRelation, Relation, SharedInputs, spell
from regard.derivations.judging.scope import CONSTANTS, Scope, UnknownSymbol
from regard.derivations.judging.setting import Assumption
from regard.derivations.judging.values import IllShaped, Work
from regard.derivations.notation.syntax import (
    Accent,
    Apply,
    BigOperator,
    Expression,
    Extremum,
    Identity,
    Infinity,
    Label,
    Negative,
    Number,
    Ones,
    Power,
    Product,
    Quotient,
    Sum,
    Symbol,
    Transpose,
    describe,
    mapped,
    outer_symbols,
    renamed,
    symbols,
    walk,
)
from regard.derivations.notation.tokens import NotUnderstood

_MOST_CORRECTED = 3  # readings of a failure
_WORK_ON_CORRECTIONS = 20_000_000
_MOST_TRIED = 600
_MOST_NODES = 80
_PAIR = 2
_OTHER_SIGNS = {"<": ">", ">": "<", "≤": "≥", "≥": "≤", "≫": "≪", "≪": "≫"}
_COFUNCTIONS = {"sin": "cos", "cos": "sin", "sinh": "cosh", "cosh": "sinh"}
_ZERO, _ONE, _TWO, _HALF = (Number(Fraction(value)) for value in ("0", "1", "2", "1/2"))


@dataclass(frozen=True, slots=True)
class Edit:
    """A changed expression, and what the change is."""

    node: Expression
    words: str


def corrections_of(reads: Sequence[ReadRelation], *, is_ill_shaped: bool) -> list[Note]:
    """The small change that would make a failure true under one of its readings."""
    work = Work(left=_WORK_ON_CORRECTIONS)
    changes = (_of_reading(read, work, is_ill_shaped=is_ill_shaped) for read in reads[:_MOST_CORRECTED])
    return [NoteKind.CORRECTED.note(change) for change in islice(filter(None, changes), 1)]


def _of_reading(read: ReadRelation, work: Work, *, is_ill_shaped: bool) -> str | None:
    """What would make a relation true under one reading; its premises are looked at once for all changes."""
    try:
        taken = under_premises(read)
    except NotUnderstood:
        return None
    nodes = (node for side in (taken.relation.left, taken.relation.right) for node in walk(side))
    is_quick = not any(isinstance(node, Extremum | Infinity) for node in nodes)
    is_quick &= not holds_decimals(Instances(scope=taken.scope, relation=taken.relation))
    is_true = partial(_is_true, taken, work, SharedInputs() if is_quick else None)
    found = correction(taken.relation, taken.scope, is_true, is_ill_shaped=is_ill_shaped)
    noisy = _with_fixed_scales(taken) if found is None and taken.relation.sign == "=" else None
    if noisy is not None:
        is_nearly_true = partial(_is_nearly_true, noisy, work, SharedInputs())
        found = correction(noisy.relation, noisy.scope, is_nearly_true, is_ill_shaped=is_ill_shaped)
    return found


def _with_fixed_scales(read: ReadRelation) -> ReadRelation | None:
    """A relation in whose limit nothing grows, so that it only leaves out a noise that vanishes; None without one."""
    meanings = read.scope.meanings
    scope = read.scope
    for key in sorted(scope.reach(read.relation.left, read.relation.right) & meanings.keys()):
        if meanings[key].tends == "infinity":
            scope = scope.with_meaning(replace(meanings[key], tends=None, assume=(Assumption.POSITIVE,)))
    fixed = replace(read, scope=scope)
    return fixed if Instances(scope=scope, relation=fixed.relation).regime else None


def _is_true(read: ReadRelation, work: Work, shared: SharedInputs | None, relation: Relation) -> bool:
    """Whether a changed relation is true; nearly none is, so with shared inputs it must first survive a quick look."""
    quick = Instances(scope=read.scope, relation=relation, work=work, shared=shared)
    try:
        if shared is not None and not _may_be_true(quick):
            return False
        finding = decide_reading(replace(read, relation=relation), work)
    except (ArithmeticError, ValueError, TypeError, LookupError):
        return False
    return finding.is_true and not finding.is_approximation_meant


def _is_nearly_true(read: ReadRelation, work: Work, shared: SharedInputs, relation: Relation) -> bool:
    """Whether a changed = holds where a noise vanishes: γβ for k_aᵀq."""
    quick = Instances(scope=read.scope, relation=replace(relation, sign="≈"), work=work, shared=shared)
    try:
        return _may_be_true(quick) and decide_reading(replace(read, relation=relation), work).is_true
    except (ArithmeticError, ValueError, TypeError, LookupError):
        return False


def _may_be_true(instances: Instances) -> bool:
    """False if both sides of an = or ≈ clearly differ, for some input or in the limit, or cannot be evaluated."""
    sign = instances.relation.sign
    if sign not in ("=", "≈", "→"):
        return True
    try:
        if sign == "=":
            return may_be_equal(instances)
        return not instances.regime or not stay_apart(instances)
    except (UnknownSymbol, NotUnderstood, IllShaped):
        return False


# -- the changes that a slip may have made -----------------------------------------------------------------------------
def correction(
    relation: Relation, scope: Scope, is_true: Callable[[Relation], bool], *, is_ill_shaped: bool = False
) -> str | None:
    """What would make a false relation true, in words; None if no small change does.

    One with a symbol less does not correct shapes that do not match: A(X) = … may be meant as a function. Nor does one
    with the X on the other side as well. And what stands before ∈ alone is declared there, not claimed.
    """
    if relation.sign == "∈" and not isinstance(relation.left, Product | Transpose | Apply | Quotient | Sum):
        return None
    if sum(1 for side in (relation.left, relation.right) for _ in walk(side)) > _MOST_NODES:
        return None
    for changed, words in islice(_changed(relation, scope), _MOST_TRIED):
        if is_ill_shaped and (_has_less(changed, relation) or _cancels(changed, relation)):
            continue
        if is_true(changed) and (_is_long(changed.left) or not _says_nothing(changed)):
            return words
    return None


def _says_nothing(changed: Relation) -> bool:
    """True for x = x."""
    return mapped(changed.left, _undone) == mapped(changed.right, _undone)


def _cancels(changed: Relation, relation: Relation) -> bool:
    """True if a side has a factor more that begins or ends the other side."""
    sides = (changed.left, relation.left, relation.right), (changed.right, relation.right, relation.left)
    for new, old, other in sides:
        if isinstance(new, Product) and old in new.factors and isinstance(other, Product):
            return any(factor in (other.factors[0], other.factors[-1]) for factor in new.factors if factor != old)
    return False


def _is_long(side: Expression) -> bool:
    """True for a product of three factors: where another one differs from it by one change, it is the same one."""
    return isinstance(side, Product) and len(side.factors) > _PAIR


def _has_less(changed: Relation, relation: Relation) -> bool:
    pairs = ((changed.left, relation.left), (changed.right, relation.right))
    return any(not {*symbols(one)} >= {*symbols(other)} for one, other in pairs)


def _changed(relation: Relation, scope: Scope) -> Iterator[tuple[Relation, str]]:
    """The relation with one change, in its sign or in a side; nearly any makes an ≠ true, so there only = counts."""
    if relation.sign == "≠":
        yield replace(relation, sign="="), "= instead of ≠"
        return
    if relation.sign in _OTHER_SIGNS:
        yield replace(relation, sign=_OTHER_SIGNS[relation.sign]), "the opposite relation sign"
    for edit in _edits(relation.right, relation.left, scope):
        yield replace(relation, right=edit.node), edit.words
    for edit in _edits(relation.left, relation.right, scope):
        yield replace(relation, left=edit.node), edit.words


def _edits(side: Expression, other: Expression, scope: Scope) -> Iterator[Edit]:
    """A side with one change anywhere in it, the whole of it included, or with one exchange of names throughout."""
    seen = {side}
    scaled = _scaled(side, scope) if other != _ZERO else ()  # what is small enough is always close to 0
    for edit in chain(
        (Edit(_times(_HALF, side), "a factor 1/2"),),
        _rooted(side),
        scaled,
        _throughout(side, scope),
        _inside(side, scope),
        _turned(side),
        _extended(side, other, scope),
    ):
        if edit.node not in seen:
            seen.add(edit.node)
            yield edit


def _rooted(side: Expression) -> Iterator[Edit]:
    root = Apply("sqrt", (_TWO,))
    yield Edit(_times(root, side), "a factor √2")
    yield Edit(Quotient(side, root), "a factor 1/√2")


def _turned(side: Expression) -> Iterator[Edit]:
    """A side with a matrix and its transpose exchanged, wherever they stand."""
    for matrix in dict.fromkeys(node.body for node in walk(side) if isinstance(node, Transpose)):
        turned = mapped(side, lambda node, matrix=matrix: Transpose(matrix) if node == matrix else node)
        yield Edit(mapped(turned, _undone), f"{spell(describe(matrix))} and its transpose exchanged")


def _extended(side: Expression, other: Expression, scope: Scope) -> Iterator[Edit]:
    """A product with a matrix as a further factor that the relation has already."""
    if not isinstance(side, Product):
        return
    found = dict.fromkeys(symbol for each in (side, other) for symbol in outer_symbols(each))
    for matrix in (symbol for symbol in found if _is_matrix(symbol, scope)):
        for factor in (matrix, Transpose(matrix)):
            yield Edit(_times(factor, side), f"a factor {spell(describe(matrix))}")
            yield Edit(_times(side, factor), f"a factor {spell(describe(matrix))}")


def _is_matrix(symbol: Symbol, scope: Scope) -> bool:
    found = scope.lookup(symbol)
    return found is not None and len(found.meaning.shape) == _PAIR and "1" not in found.meaning.shape


def _scaled(side: Expression, scope: Scope) -> Iterator[Edit]:
    """A side with one of the scales or sizes as a factor that it lacks."""
    scales = (key for key, meaning in scope.meanings.items() if meaning.tends is not None and "_" not in key)
    for scale in map(Symbol, dict.fromkeys((*scales, *scope.setting.sizes))):
        yield Edit(_times(scale, side), f"a factor {spell(scale.name)}")
        yield Edit(Quotient(side, scale), f"a factor 1/{spell(scale.name)}")
    for size, offset in ((size, offset) for size in scope.setting.sizes for offset in (1, 2)):
        yield Edit(_times(_less(size, offset), side), f"a factor {size} − {offset}")


def _throughout(side: Expression, scope: Scope) -> Iterator[Edit]:
    """A side with two index letters exchanged, or one symbol left out or put for another, wherever they stand."""
    fixed = [letter for letter in scope.setting.fixed if any(symbol.name == letter for symbol in symbols(side))]
    for first, second in permutations(scope.setting.fixed, 2):
        if first in fixed and (second not in fixed or first < second):
            yield Edit(renamed(side, {first: second, second: first}), f"{first} and {second} exchanged")
    families = {
        meaning.name: meaning.shape
        for meaning in scope.meanings.values()
        if meaning.index is not None and Assumption.USUAL not in meaning.assume
    }
    used = dict.fromkeys(symbol.name for symbol in symbols(side) if symbol.subscripts and symbol.name in families)
    for name in used:
        for other in (other for other in families if other != name and families[other] == families[name]):
            yield Edit(renamed(side, {name: other}), f"{spell(other)} instead of {spell(name)}")
    for symbol in dict.fromkeys(symbol for symbol in symbols(side) if symbol.name not in CONSTANTS):
        yield Edit(mapped(side, lambda node, out=symbol: _without(node, out)), f"no {spell(describe(symbol))}")


def _inside(node: Expression, scope: Scope, *, is_factor: bool = False) -> Iterator[Edit]:
    """A node with one change in it, here or below; a factor's own sign and size are its product's."""
    yield from _local(node, scope, is_factor=is_factor)
    if isinstance(node, Symbol):
        yield from _other_members(node, scope)
        return
    for name in node.__slots__:
        is_factor = isinstance(node, Product | Negative) or (isinstance(node, Quotient) and name == "top")
        for part, words in _inside_part(getattr(node, name), scope, is_factor=is_factor):
            yield Edit(type(node)(*(part if item == name else getattr(node, item) for item in node.__slots__)), words)


def _inside_part(part: Any, scope: Scope, *, is_factor: bool) -> Iterator[tuple[Any, str]]:
    """A field of a node, which may be a tuple of nodes, with one change in it."""
    if isinstance(part, Expression):
        yield from ((edit.node, edit.words) for edit in _inside(part, scope, is_factor=is_factor))
    elif isinstance(part, tuple):
        for place, inner in enumerate(part):
            for changed, words in _inside_part(inner, scope, is_factor=is_factor):
                yield (*part[:place], changed, *part[place + 1 :]), words


def _local(node: Expression, scope: Scope, *, is_factor: bool) -> Iterator[Edit]:
    """What a slip may have made of a node."""
    match node:
        case Number():
            yield from _other_numbers(node)
        case Symbol() if node.name in scope.setting.sizes and not node.subscripts:
            for offset in (2, 1):
                yield Edit(_less(node.name, offset), f"{node.name} − {offset} instead of {node.name}")
            yield Edit(Sum((node, _ONE)), f"{node.name} + 1 instead of {node.name}")
            for size in (size for size in scope.setting.sizes if size != node.name):
                yield Edit(Symbol(size), f"{size} instead of {node.name}")
        case Negative():
            yield Edit(node.body, "the opposite sign")
        case Sum():
            for place, term in enumerate(node.terms):
                opposite = term.body if isinstance(term, Negative) else Negative(term)
                yield Edit(Sum((*node.terms[:place], opposite, *node.terms[place + 1 :])), "the opposite sign")
                others = (*node.terms[:place], *node.terms[place + 1 :])
                yield Edit(_sum(*others), "one term less")
                yield from _taken_in(term, others)
                for size in scope.setting.sizes:
                    scaled = (*node.terms[:place], _times(Symbol(size), term), *node.terms[place + 1 :])
                    yield Edit(Sum(scaled), f"a factor {size}")
            if len(node.terms) == _PAIR:
                yield Edit(_times(*node.terms), "a product instead of a sum")
        case Product():
            yield from _of_product(node)
        case Quotient():
            yield Edit(Quotient(node.bottom, node.top), "numerator and denominator exchanged")
            yield Edit(Quotient(_ONE, node.bottom), "1 as the numerator")
        case Power():
            yield Edit(node.base, "no exponent")
            yield Edit(Power(node.base, Negative(node.exponent)), "the opposite sign in the exponent")
        case Transpose():
            yield Edit(node.body, "no transpose")
        case Accent(kind="bar"):
            yield Edit(node.body, "no conjugate")
        case Identity():
            yield Edit(Ones(), "a vector of ones instead of I")
        case Apply() if len(node.arguments) == 1:
            yield Edit(node.arguments[0], f"no {node.function}")
            if node.function in _COFUNCTIONS:
                other = _COFUNCTIONS[node.function]
                yield Edit(Apply(other, node.arguments), f"{other} instead of {node.function}")
        case _:
            pass
    if not isinstance(node, Number | Label | BigOperator):
        yield from _wrapped(node, scope)
        if not is_factor:
            yield Edit(_times(_TWO, node), "a factor 2")
            yield Edit(Negative(node), "the opposite sign")
        yield from _multiplied(node, scope)


def _of_product(node: Product) -> Iterator[Edit]:
    """A product with a factor less, two factors exchanged, a sum in its place, or turned as a whole."""
    for place in range(len(node.factors)):
        yield Edit(_times(*node.factors[:place], *node.factors[place + 1 :]), "one factor less")
    for place in range(len(node.factors) - 1):
        first, second = node.factors[place : place + 2]
        swapped = (*node.factors[:place], second, first, *node.factors[place + 2 :])
        yield Edit(_times(*swapped), "two factors exchanged")
    if len(node.factors) == _PAIR:
        yield Edit(Sum(node.factors), "a sum instead of a product")
    if isinstance(last := node.factors[-1], Transpose):
        whole = (last, *(Transpose(factor) for factor in reversed(node.factors[:-1])))
        yield Edit(_times(*whole), "the transpose of the whole product")


def _taken_in(term: Expression, others: tuple[Expression, ...]) -> Iterator[Edit]:
    """A term that is a function's value, maybe times something, with the other terms inside the function."""
    factors = term.factors if isinstance(term, Product) else (term,)
    if isinstance(last := factors[-1], Apply) and len(last.arguments) == 1:
        inside = Apply(last.function, (Sum((last.arguments[0], *others)),))
        yield Edit(_times(*factors[:-1], inside), f"all terms inside the {last.function}")


def _wrapped(node: Expression, scope: Scope) -> Iterator[Edit]:
    """A node with something around it that it lacks."""
    yield Edit(Transpose(node), "a transpose")
    yield Edit(Power(node, Negative(_ONE)), "an inverse")
    yield Edit(Power(node, _TWO), "a square")
    yield Edit(Apply("sqrt", (node,)), "a square root")
    yield Edit(Apply("exp", (node,)), "an exponential")
    if scope.setting.is_complex:
        yield Edit(Accent("bar", node), "a conjugate")


def _multiplied(node: Expression, scope: Scope) -> Iterator[Edit]:
    """A node with a permutation as a factor that it lacks, on either side."""
    for key, meaning in scope.setting.symbols.items():
        if Assumption.PERMUTATION in meaning.assume and node not in (Symbol(key), Identity()):
            for factor in (Symbol(key), Transpose(Symbol(key))):
                yield Edit(_times(factor, node), f"a factor {key}")
                yield Edit(_times(node, factor), f"a factor {key}")


def _other_numbers(node: Number) -> Iterator[Edit]:
    value = node.value
    near = [value - 2, value - 1, value + 1, value + 2] if value.denominator == 1 else []
    for other in dict.fromkeys((*near, 2 * value, value / 2, value * value, *_with_digits_exchanged(node))):
        if other >= 0 and other != value:
            yield Edit(Number(other, node.places), f"{_printed(other)} instead of {_printed(value)}")
    if value > 1:
        yield Edit(Apply("sqrt", (node,)), f"√{_printed(value)} instead of {_printed(value)}")
    if value:
        yield from _rooted(node)


def _with_digits_exchanged(node: Number) -> Iterator[Fraction]:
    """The values of a decimal with two neighbouring digits exchanged: 0.4869 for 0.4689."""
    digits = str(int(node.value * 10**node.places)) if node.places else ""
    for place in range(len(digits) - 1):
        exchanged = digits[:place] + digits[place + 1] + digits[place] + digits[place + 2 :]
        yield Fraction(int(exchanged), 10**node.places)


def _printed(value: Fraction) -> str:
    return str(value) if value.denominator == 1 else f"{float(value):g}"


def _other_members(symbol: Symbol, scope: Scope) -> Iterator[Edit]:
    """Another member of a symbol's family: k_b for k_a, q_2 for q_1."""
    script = symbol.subscripts[0] if len(symbol.subscripts) == 1 else None
    others: Iterable[Expression] = ()
    if isinstance(script, Symbol):
        others = (Symbol(letter) for letter in scope.setting.fixed if letter != script.name)
    elif isinstance(script, Number):
        others = (Number(Fraction(number)) for number in (1, 2, 3) if number != script.value)
    for other in others:
        member = Symbol(symbol.name, (other,))
        if scope.knows(member):
            yield Edit(member, f"{spell(describe(member))} instead of {spell(describe(symbol))}")


# -- trees -------------------------------------------------------------------------------------------------------------
def _without(node: Expression, out: Symbol) -> Expression:
    """A product or sum without a symbol."""
    if isinstance(node, Product) and out in node.factors:
        return _times(*(factor for factor in node.factors if factor != out))
    if isinstance(node, Sum) and (out in node.terms or Negative(out) in node.terms):
        return _sum(*(term for term in node.terms if term not in (out, Negative(out))))
    return node


def _undone(node: Expression) -> Expression:
    """What a transpose, sign or bar leaves that stands around another one."""
    match node:
        case Transpose(Transpose(body)) | Negative(Negative(body)) | Accent(_, Accent(_, body)):
            return body
        case _:
            return node


def _times(*factors: Expression) -> Expression:
    if not factors:
        return _ONE
    return factors[0] if len(factors) == 1 else Product(factors, (False,) * (len(factors) - 1))


def _less(size: str, offset: int) -> Expression:
    return Sum((Symbol(size), Negative(Number(Fraction(offset)))))


def _sum(*terms: Expression) -> Expression:
    if not terms:
        return _ZERO
    return terms[0] if len(terms) == 1 else Sum(terms)
