"""One relation, all its sensible readings: it is false only if every reading that can be evaluated fails."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from flint import ctx

from regard.derivations.judging.arithmetic import BALLS
from regard.derivations.judging.indices import free_letters, index_letters
from regard.derivations.judging.limits import decide_growth, decide_limit, regime_of
from regard.derivations.judging.outcome import Finding
from regard.derivations.judging.relations import Instances, Relation, decide_exact, decide_rounded
from regard.derivations.judging.scope import SLIP_NOTE, Scope, UnknownSymbol
from regard.derivations.judging.values import IllShaped
from regard.derivations.notation.parser import Reading, parse
from regard.derivations.notation.syntax import (
    BigOperator,
    Condition,
    Expression,
    Infinity,
    Label,
    Number,
    Ones,
    SetOf,
    Symbol,
    children,
    describe,
    symbols,
)
from regard.derivations.notation.tokens import NotUnderstood, Token
from regard.derivations.problems.model import SymbolMeaning

__all__ = ["ANY_NUMBER", "PRECISION", "Sides", "decide", "read_side"]

PRECISION = 320
ANY_NUMBER = "is taken as any number"
_SWAPPED = {"≪": "≫"}


@dataclass(frozen=True, kw_only=True)
class Sides:
    """A relation as written: two sides in tokens, the sign between them, the conditions in force."""

    left: tuple[Token, ...]
    sign: str
    right: tuple[Token, ...]
    conditions: tuple[Condition, ...] = ()
    premises: tuple[Relation, ...] = ()
    is_particular: bool = False


def read_side(tokens: Sequence[Token], scope: Scope) -> Expression:
    """A side read in the plain way."""
    return parse(tokens, Reading(functions=function_names(scope), is_complex=scope.setting.is_complex))


def function_names(scope: Scope) -> frozenset[str]:
    """What is read as a function when a bracket follows: the problem's functions, and σ where it is no symbol."""
    is_free = not any(name.split("_")[0] == "sigma" for name in scope.meanings)
    return frozenset(scope.setting.functions) | ({"\\sigma"} if is_free else frozenset())


def decide(sides: Sides, scope: Scope) -> Finding:
    """The finding on a relation: true under some reading, else false if a reading can be evaluated, else why none can.

    A bare letter that nothing explains may stand for any number: what holds for all of them holds; what doesn't is left open.
    """
    finding = _decide_sides(sides, scope)
    if finding.kind != "unknown" or finding.probability is not None:
        return finding
    unknown = _unknown_letters(sides, scope)
    for name in unknown:
        scope = scope.with_meaning(SymbolMeaning(name=name))
    wider = _decide_sides(sides, scope) if unknown else finding
    return wider.with_notes((f"{', '.join(unknown)} {ANY_NUMBER}",)) if wider.is_true else finding


def _unknown_letters(sides: Sides, scope: Scope) -> list[str]:
    found = {symbol for side in (sides.left, sides.right) for symbol in symbols(read_side(side, scope))}
    indices = index_letters((read_side(side, scope) for side in (sides.left, sides.right)), scope.setting)
    constants = {*scope.setting.sizes, *scope.setting.fixed, *indices, "e", "pi"}
    bare = {symbol.name for symbol in found if not symbol.subscripts and not scope.knows(symbol)}
    return sorted(name for name in bare - constants if len(name) == 1 or name.isalpha())[:3]


def _decide_sides(sides: Sides, scope: Scope) -> Finding:
    failures: list[Finding] = []
    with ctx.workprec(PRECISION), np.errstate(all="ignore"):
        for relation, reading_scope, notes in _readings(sides, scope):
            instances = Instances(scope=reading_scope, relation=relation)
            finding = _decide_reading(instances, is_particular=sides.is_particular).with_notes(notes)
            if finding.is_true:
                return replace(finding, swaps=tuple(reading_scope.swaps.items()))
            failures.append(finding)
    return _charitable(_verdict(failures), sides, scope)


def _charitable(finding: Finding, sides: Sides, scope: Scope) -> Finding:
    """A failure that rests on symbols nobody declared refutes nothing: they may not be the numbers they were taken for."""
    loose = {name for name, m in scope.setting.symbols.items() if "any" in m.assume and m.shape == ("1", "1")}
    open_names = scope.setting.undeclared | (loose - scope.own.keys())
    if not finding.is_false or not open_names:
        return finding
    used = {describe(symbol) for side in (sides.left, sides.right) for symbol in symbols(read_side(side, scope))}
    doubtful = sorted(used & open_names)
    if not doubtful:
        return finding
    reason = f"{', '.join(doubtful)} not declared; taken as numbers, {finding.reason}: {finding.counterexample}"
    return Finding(kind="unknown", reason=reason, notes=finding.notes)


def _verdict(failures: list[Finding]) -> Finding:
    """What to say when no reading is true."""
    false = [finding for finding in failures if finding.is_false]
    if not false:
        return failures[0]
    best = min(false, key=lambda finding: finding.kind == "ill-shaped")
    if any(SLIP_NOTE in note for finding in false for note in finding.notes):
        return Finding(kind="not understood", reason="a token looks like a slip of text recognition", notes=best.notes)
    return best


def _decide_reading(instances: Instances, *, is_particular: bool) -> Finding:
    try:
        places = decimals(instances.relation.right) or decimals(instances.relation.left)
        if is_particular and places and instances.relation.sign in ("=", "≈", "→"):
            return decide_rounded(instances, places)
        if is_particular and instances.relation.sign == "≈" and regime_of(instances):
            return decide_limit(instances, is_particular=True)
        return _decide(instances)
    except UnknownSymbol as error:
        return Finding(kind="unknown", reason=str(error))
    except NotUnderstood as error:
        return Finding(kind="not understood", reason=str(error))
    except IllShaped as error:
        return Finding(
            kind="ill-shaped", reason=f"the shapes do not fit: {error}", method="shapes", counterexample=str(error)
        )


def _decide(instances: Instances) -> Finding:
    relation = instances.relation
    if relation.sign in ("≫", "≪"):
        return _growth(instances)
    if relation.sign == "∈":
        return _membership(instances)
    if relation.sign in ("∼", "∝", "∉"):
        raise NotUnderstood(f"'{relation.sign}' between these two is not judged.")
    if isinstance(relation.right, Infinity):
        return _growth(replace(instances, relation=replace(relation, right=Number(Fraction(1)))))
    if relation.sign in ("≈", "→"):
        return _approximate(instances)
    exact = decide_exact(instances)
    if exact.is_true or exact.kind == "ill-shaped" or not regime_of(instances):
        return exact
    return _in_the_regime(instances, exact)


def _growth(instances: Instances) -> Finding:
    if not regime_of(instances):
        raise NotUnderstood("nothing here grows: no regime is in force.")
    relation = instances.relation
    if relation.sign in _SWAPPED:
        relation = replace(relation, left=relation.right, right=relation.left, sign="≫")
    return decide_growth(replace(instances, relation=relation))


def _approximate(instances: Instances) -> Finding:
    equality = replace(instances, relation=replace(instances.relation, sign="="))
    exact = decide_exact(equality, is_confirmed=False)
    if not exact.kind == "false":
        return exact
    if regime_of(instances):
        return decide_limit(instances).with_notes(exact.notes)
    return _nearly(instances, decide_exact(equality))


def _nearly(instances: Instances, exact: Finding) -> Finding:
    """Without a regime, ≈ between numbers allows the rounding of a printed decimal."""
    for _, left, right, _ in instances.pairs(instances.base(num_draws=1), BALLS):
        if not (left.is_scalar and right.is_scalar and _is_decimal(instances.relation.right)):
            return exact
        x, y = left.array[0, 0, 0], right.array[0, 0, 0]
        if not bool(abs(x - y) <= 0.02 * abs(y)):
            return exact
    return Finding(
        kind="approximate", reason="it is so to within 2 %, the rounding of a decimal", method="certified balls"
    )


def decimals(node: Expression) -> int:
    """How many decimals a printed number has; none for anything else.

    >>> decimals(Number(Fraction("0.2023")))
    4
    """
    if not isinstance(node, Number):
        return 0
    return next((places for places in range(13) if (node.value * 10**places).denominator == 1), 0)


def _is_decimal(node: Expression) -> bool:
    return isinstance(node, Number)


def _in_the_regime(instances: Instances, exact: Finding) -> Finding:
    """An = that fails exactly but holds in the limit means ≈; an inequality may hold for large scales only."""
    if instances.relation.sign in ("=",):
        limit = decide_limit(instances)
        if limit.is_true:
            return replace(limit, reason=f"≈ is meant: {limit.reason}", counterexample=exact.counterexample).with_notes(
                ("≈ is meant: the equality is not exact", *exact.notes)
            )
        return exact
    if instances.relation.sign in ("<", ">", "≤", "≥"):
        eventually = _eventually(instances)
        if eventually:
            return Finding(
                kind="approximate", reason="it is so once the scale is large", method="limit", notes=exact.notes
            )
    return exact


def _eventually(instances: Instances) -> bool:
    meanings = instances.scope.meanings
    driven = {name: (512.0,) if m.tends == "infinity" else (512.0**-8,) for name, m in meanings.items() if m.tends}
    sign = instances.relation.sign
    for _, left, right, _ in instances.pairs(instances.base(seed=3, num_draws=4, driven=driven), BALLS):
        for x, y in zip(*(side.ravel() for side in np.broadcast_arrays(left.array, right.array)), strict=True):
            if not {"<": bool(x < y), ">": bool(x > y), "≤": bool(x <= y), "≥": bool(x >= y)}[sign]:
                return False
    return True


def _membership(instances: Instances) -> Finding:
    """x ∈ ℝ^d compares shapes; other sets are left to the reader."""
    right = instances.relation.right
    if not isinstance(right, SetOf) or right.domain not in ("R", "C"):
        raise NotUnderstood("membership in this set is not judged.")
    instance = instances.base(num_draws=1)
    sizes = tuple(instance.size(describe(dimension)) for dimension in right.dimensions) or (1,)
    wanted = sizes if len(sizes) == 2 else (sizes[0], 1)
    left = replace(instances, relation=replace(instances.relation, right=instances.relation.left))
    value = next(iter(left.pairs(instance, BALLS)))[1]
    if value.shape == wanted or (len(sizes) == 1 and value.shape == wanted[::-1]):
        return Finding(kind="true", reason="the shapes agree", method="shapes")
    return Finding(
        kind="ill-shaped",
        reason=f"the left side is {value.describe_shape()}, not {wanted[0]}×{wanted[1]}",
        method="shapes",
        counterexample=f"shapes {value.describe_shape()} and {wanted[0]}×{wanted[1]}",
    )


# -- readings --------------------------------------------------------------------------------------------------------
def _readings(sides: Sides, scope: Scope) -> Iterator[tuple[Relation, Scope, tuple[str, ...]]]:
    """Every sensible way to read a relation, the plain one first."""
    first: NotUnderstood | None = None
    is_read = False
    for reading in _parse_readings(sides, scope):
        try:
            left, right = parse(sides.left, reading), parse(sides.right, reading)
        except NotUnderstood as error:
            first = first or error
            continue
        is_read = True
        plain = Relation(left=left, sign=sides.sign, right=right, conditions=sides.conditions, premises=sides.premises)
        yield plain, scope, ()
        yield from _other_readings(plain, scope)
    if not is_read:
        assert first is not None
        raise first


def _parse_readings(sides: Sides, scope: Scope) -> Iterator[Reading]:
    functions = function_names(scope)
    tokens = (*sides.left, *sides.right)
    wide_slash = (False, True) if any(token.text == "/" for token in tokens) else (False,)
    has_bare = any(
        a.text[1:] in ("sin", "cos", "log", "exp") and b.kind != "open" for a, b in itertools.pairwise(tokens)
    )
    wide_argument = (True, False) if has_bare else (True,)
    for is_slash_wide, is_argument_wide in itertools.product(wide_slash, wide_argument):
        yield Reading(
            is_slash_wide=is_slash_wide,
            is_argument_wide=is_argument_wide,
            functions=functions,
            is_complex=scope.setting.is_complex,
        )


def _other_readings(plain: Relation, scope: Scope) -> Iterator[tuple[Relation, Scope, tuple[str, ...]]]:
    variants = [plain]
    if scope.setting.ones is not None and any(_holds_one(side) for side in (plain.left, plain.right)):
        vector = replace(plain, is_one_a_vector=True, left=_bare_one(plain.left), right=_bare_one(plain.right))
        variants.append(vector)
        yield vector, scope, ("the 1 is read as a vector of ones",)
    if free_letters(plain.left, scope.setting) or free_letters(plain.right, scope.setting):
        for avoids, distinct in ((False, True), (True, True), (True, False)):
            yield replace(plain, avoids_fixed=avoids, is_distinct=distinct), scope, _index_note(avoids, scope)
    if _counts_with_indices(plain, scope):
        yield replace(plain, first_index=0), scope, ("indices are counted from zero",)
    if _has_label(plain.left) or _has_label(plain.right):
        for name in scope.setting.fixed:
            yield replace(plain, excluded=(name,)), scope, (f"the others are all but {name}",)
    for swaps in _swaps(plain, scope):
        for variant in variants:
            yield variant, replace(scope, swaps=swaps), ()


def _index_note(avoids_fixed: bool, scope: Scope) -> tuple[str, ...]:
    names = ", ".join(sorted(scope.setting.fixed))
    return (
        (f"the index is read as any but {names}",)
        if avoids_fixed and names
        else ("different indices are read as different",)
    )


def _holds_one(node: Expression) -> bool:
    return isinstance(node, Number) and node.value == 1 or any(_holds_one(child) for child in children(node))


def _bare_one(node: Expression) -> Expression:
    return Ones() if isinstance(node, Number) and node.value == 1 else node


def _counts_with_indices(plain: Relation, scope: Scope) -> bool:
    """True if a free index also stands as a number: the k of 10000^{2k/d}."""
    inside = {script for side in (plain.left, plain.right) for symbol in symbols(side) for script in symbol.subscripts}
    bare = {symbol for side in (plain.left, plain.right) for symbol in symbols(side) if not symbol.subscripts}
    return any(symbol.name in scope.setting.free for symbol in bare) and bool(bare - inside)


def _has_label(node: Expression) -> bool:
    if isinstance(node, BigOperator) and any(isinstance(part, Label) for part in node.conditions):
        return True
    return any(_has_label(child) for child in children(node))


def _swaps(relation: Relation, scope: Scope) -> Iterator[dict[str, str]]:
    """Declared names that people also use for another declared symbol."""
    used = set()
    for symbol in (*symbols(relation.left), *symbols(relation.right)):
        if isinstance(symbol, Symbol) and scope.knows(symbol):
            used.add(scope.find(symbol).meaning.name)
    for canonical, others in scope.setting.aliases.items():
        for other in others:
            if other in scope.setting.symbols and other in used and canonical in scope.setting.symbols:
                yield {other: canonical}
