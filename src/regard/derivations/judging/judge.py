"""One relation, all its sensible readings: it is false only if every reading that can be evaluated fails."""

from dataclasses import replace

import numpy as np
from flint import ctx

from regard.derivations.judging.by_sign import decide_reading
from regard.derivations.judging.findings import Finding, NoteKind, not_understood
from regard.derivations.judging.indices import index_letters
from regard.derivations.judging.readings import Sides, readings
from regard.derivations.judging.relations import Instances
from regard.derivations.judging.scope import CONSTANTS, Scope
from regard.derivations.notation.syntax import (
    Apply,
    Expression,
    Inner,
    Matrix,
    Norm,
    Transpose,
    children,
    describe,
    symbols,
)
from regard.derivations.problems.model import SymbolMeaning

PRECISION = 320
_MOST_UNKNOWN = 3
_OF_MATRICES = ("trace", "det", "softmax", "diag", "rank", "span")


def decide(sides: Sides, scope: Scope) -> Finding:
    """The finding on a relation: true under some reading, else false if a reading can be evaluated, else why none can.

    A bare letter that nothing explains may stand for any number: what holds for all of them holds, the rest is open.
    """
    finding = _decide(sides, scope)
    if finding.kind != "unknown" or finding.probability is not None:
        return finding
    unknown = _unknown_letters(sides, scope)
    if not unknown:
        return finding
    for name in unknown:
        scope = scope.with_meaning(SymbolMeaning(name=name))
    wider = _decide(sides, scope)
    return wider.with_notes([NoteKind.ANY_NUMBER.note(", ".join(unknown))]) if wider.is_true else finding


def shown(finding: Finding) -> Finding:
    """A finding that is to be reported: a failure comes with its counterexample."""
    if finding.shown_by is None:
        return finding
    with ctx.workprec(PRECISION), np.errstate(all="ignore"):
        counterexample, value = finding.shown_by()
    return replace(finding, counterexample=counterexample, value=value, shown_by=None)


def _unknown_letters(sides: Sides, scope: Scope) -> list[str]:
    expressions = sides.expressions(scope)
    found = {symbol for side in expressions for symbol in symbols(side)}
    indices = index_letters(expressions, scope.setting)
    constants = {*scope.setting.sizes, *scope.setting.fixed, *indices, *CONSTANTS}
    bare = {symbol.name for symbol in found if not symbol.subscripts and not scope.knows(symbol)}
    return sorted(name for name in bare - constants if len(name) == 1 or name.isalpha())[:_MOST_UNKNOWN]


def _decide(sides: Sides, scope: Scope) -> Finding:
    failures: list[Finding] = []
    with ctx.workprec(PRECISION), np.errstate(all="ignore"):
        for read in readings(sides, scope):
            instances = Instances(scope=read.scope, relation=read.relation)
            finding = decide_reading(instances, is_particular=sides.is_particular).with_notes(read.notes)
            if finding.is_true:
                return _careful(replace(finding, swaps=tuple(read.scope.swaps.items())), sides, scope)
            failures.append(finding)
    return _charitable(_failure(failures), sides, scope)


def _careful(finding: Finding, sides: Sides, scope: Scope) -> Finding:
    """A success that rests on symbols nobody declared says so; what may be matrices is confirmed for numbers only."""
    expressions = sides.expressions(scope)
    used = {describe(symbol) for side in expressions for symbol in symbols(side)} & scope.setting.undeclared
    if not used:
        return finding
    names = ", ".join(sorted(used))
    if any(name[0].isupper() for name in used) or any(_looks_like_matrices(side) for side in expressions):
        return Finding(kind="unknown", reason=f"it is so for numbers, but {names} may be matrices: not declared")
    return finding.with_notes([NoteKind.TAKEN_AS_NUMBERS.note(names)])


def _looks_like_matrices(node: Expression) -> bool:
    is_mark = isinstance(node, Transpose | Norm | Inner | Matrix) or (
        isinstance(node, Apply) and node.function in _OF_MATRICES
    )
    return is_mark or any(_looks_like_matrices(child) for child in children(node))


def _failure(failures: list[Finding]) -> Finding:
    """What to say when no reading is true: one that fails refutes nothing while the plain one is open."""
    if not failures[0].is_false:
        return failures[0]
    false = [finding for finding in failures if finding.is_false]
    best = min(false, key=lambda finding: finding.kind == "ill-shaped")
    if any(finding.has_note(NoteKind.RECOGNITION_SLIP) for finding in false):
        return not_understood("a token looks like a slip of text recognition").with_notes(best.notes)
    return best


def _charitable(finding: Finding, sides: Sides, scope: Scope) -> Finding:
    """A failure that rests on symbols nobody declared refutes nothing: they may not be what they were taken for."""
    loose = {name for name, m in scope.setting.symbols.items() if "any" in m.assume and m.shape == ("1", "1")}
    undeclared = scope.setting.undeclared | (loose - scope.own.keys())
    if not finding.is_false or not undeclared:
        return finding
    used = {describe(symbol) for side in sides.expressions(scope) for symbol in symbols(side)}
    doubtful = ", ".join(sorted(used & undeclared))
    if not doubtful:
        return finding
    reason = f"{doubtful} not declared: taken as numbers, {finding.reason}: {shown(finding).counterexample}"
    return Finding(kind="unknown", reason=reason, notes=finding.notes)
