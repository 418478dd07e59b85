"""One relation, all its sensible readings: it is false only if every reading that can be evaluated fails."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import pairwise

import numpy as np
from flint import ctx

from regard.derivations.judging.by_sign import decide_reading
from regard.derivations.judging.calculus import losses_in
from regard.derivations.judging.corrections import corrections_of
from regard.derivations.judging.exact import PRECISION, confirmed
from regard.derivations.judging.explanations import explanations
from regard.derivations.judging.findings import (
    UNEXPECTED,
    Finding,
    Note,
    NoteKind,
    OpenBecause,
    internal_error,
    left_open,
    not_understood,
)
from regard.derivations.judging.indices import index_letters
from regard.derivations.judging.memory import current_memory
from regard.derivations.judging.normal_laws import moments_of_law
from regard.derivations.judging.premises import under_premises
from regard.derivations.judging.probability import NUM_LAWS
from regard.derivations.judging.relations import (
    Instances,
    ReadRelation,
    Relation,
    Sides,
    readings,
    spell,
    unexplained_chances,
)
from regard.derivations.judging.scope import CONSTANTS, Scope, UnknownSymbol
from regard.derivations.judging.setting import Assumption, MomentLaw, Size, SymbolMeaning
from regard.derivations.judging.shapes import SCALAR, Shape, declared_as, well_shaped
from regard.derivations.judging.values import Work
from regard.derivations.notation.syntax import (
    Apply,
    BigOperator,
    Derivative,
    Expression,
    Infinity,
    Inner,
    Matrix,
    Norm,
    Number,
    Ones,
    Symbol,
    Transpose,
    describe,
    outer_symbols,
    symbols,
    walk,
)
from regard.derivations.notation.tokens import FUNCTIONS, NotUnderstood, Token, tokenize

_MOST_UNKNOWN = 3
_MOST_KINDS = 4
_DIGITS = 3  # in a group of thousands
_EITHER_SIGN = {"\\pm": "+-", "±": "+-", "\\mp": "-+", "∓": "-+"}
_OF_LAWS = ("kl", "entropy", "cross-entropy", "density", "probability")
_OF_MATRICES = ("trace", "det", "softmax", "diag", "rank", "span")


def decide(sides: Sides, scope: Scope) -> Finding:
    """The finding on a relation: true under some reading, else false if a reading can be evaluated, else why none can.

    A bare letter that nothing explains may stand for any number: what holds for all of them holds, the rest is open.
    """
    if sides not in scope.findings:
        memory = current_memory()
        try:
            finding = _decide(sides, scope) if memory is None else memory.decide(sides, scope, _decide)
        except (NotUnderstood, UnknownSymbol):
            raise
        except UNEXPECTED as error:
            finding = internal_error(error)
        scope.findings[sides] = finding
    return scope.findings[sides]


def holds(sides: Sides, scope: Scope) -> bool:
    """Whether a relation can be read and is true."""
    try:
        return decide(sides, scope).is_true
    except (NotUnderstood, UnknownSymbol):
        return False


def _decide(sides: Sides, scope: Scope) -> Finding:
    if any(token.text in _EITHER_SIGN for token in (*sides.left, *sides.right)):
        return _decide_both_signs(sides, scope)
    if any(map(_may_be_thousands, (*sides.left, *sides.right))):
        return _decide_both_commas(sides, scope)
    if (moments := moments_of_law(sides, scope)) is not None:
        return _decide_moments(*moments, scope)
    if scope.setting.is_own:
        if not scope.setting.has_differentials and _has_differentials(sides):
            return _decide(sides, replace(scope, setting=replace(scope.setting, has_differentials=True)))
        if (by_some := _decide_bare_gradients(sides, scope)) is not None:
            return by_some
        if scope.setting.ones is None and (sized := _with_sized_ones(sides, scope)) is not None:
            return _decide(sides, sized)
        if (found := _decide_for_kinds(sides, scope) or _decide_for_laws(sides, scope)) is not None:
            return found
    finding = _decide_readings(sides, scope)
    if finding.kind != "unknown" or finding.probability is not None:
        return finding
    unknown = _unknown_letters(sides, scope)
    if not unknown:
        return finding
    for name in unknown:
        scope = scope.with_meaning(SymbolMeaning(name=name))
    wider = _decide_readings(sides, scope)
    if not wider.is_true or _may_be_matrices(unknown, sides.expressions(scope), scope):
        return finding
    return wider.with_notes([NoteKind.ANY_NUMBER.note(", ".join(unknown))])


def _decide_both_signs(sides: Sides, scope: Scope) -> Finding:
    """The finding on a relation with ±: true if it is for the upper and for the lower sign, false if it is for both."""
    findings = []
    for place in (0, 1):
        left, right = (
            tuple(
                replace(t, kind="symbol", text=_EITHER_SIGN[t.text][place]) if t.text in _EITHER_SIGN else t
                for t in side
            )
            for side in (sides.left, sides.right)
        )
        findings.append(confirmed(_decide(replace(sides, left=left, right=right), scope)))
    upper, lower = findings
    if upper.is_true == lower.is_true and upper.is_false == lower.is_false:
        return upper
    return Finding(kind="unknown", reason="True for one of the two signs only")


def _may_be_thousands(token: Token) -> bool:
    """True for 786{,}432, which is a number of thousands or has a decimal comma."""
    whole, _, digits = token.text.partition(".")
    is_comma = token.end - token.start == len(token.text) + len("{,}") - 1
    return token.kind == "number" and is_comma and len(digits) == _DIGITS and len(whole) <= _DIGITS and whole[:1] != "0"


def _decide_both_commas(sides: Sides, scope: Scope) -> Finding:
    """The finding where a comma may be one of thousands: true if it is in one way, false if it is in both."""
    left, right = (
        tuple(replace(t, text=t.text.replace(".", ""), end=t.start) if _may_be_thousands(t) else t for t in side)
        for side in (sides.left, sides.right)
    )
    thousands = confirmed(_decide(replace(sides, left=left, right=right), scope))
    if thousands.is_true:
        return thousands
    left, right = (
        tuple(replace(t, end=t.start) if _may_be_thousands(t) else t for t in side)
        for side in (sides.left, sides.right)
    )
    decimal = confirmed(_decide(replace(sides, left=left, right=right), scope))
    return decimal if decimal.is_true or thousands.is_false else thousands


def _decide_moments(mean: Sides, variance: Sides, of_deviation: Sides, scope: Scope) -> Finding:
    """The finding on a normal law: true if its mean and variance are, and open if its variance is a deviation."""
    first = _decide(mean, scope)
    if not first.is_true:
        return replace(first, reason="The mean is another one") if first.kind == "false" else first
    second = _decide(variance, scope)
    if second.is_false and _decide(of_deviation, scope).is_true:
        return Finding(kind="unknown", reason="The second number may be a standard deviation")
    return replace(second, reason="The variance is another one") if second.kind == "false" else second


def _has_differentials(sides: Sides) -> bool:
    """True for the d(XY) with an upright d, which is nothing else."""
    pairs = (*pairwise(sides.left), *pairwise(sides.right))
    return any(one.text == "d" and one.font == "roman" and _is_taken_of(other) for one, other in pairs)


def _is_taken_of(token: Token) -> bool:
    is_function = token.text.removeprefix("\\").lower() in FUNCTIONS
    return is_function or (token.kind == "open" and token.text in (")", "]"))


def _decide_bare_gradients(sides: Sides, scope: Scope) -> Finding | None:
    """The finding where ∇ names no variable: true if it is by one that is left open; None without such a ∇."""
    tokens = (*sides.left, *sides.right)
    is_bare = any(one.text == "\\nabla" and other.text != "_" for one, other in pairwise(tokens))
    if not is_bare or _is_readable(sides, scope):
        return None
    letters = [Symbol(token.text.removeprefix("\\")) for token in tokens if token.kind == "letter"]
    reached = {name for letter in letters for name in (*scope.reach(letter), describe(letter))}
    meanings = {name: scope.meanings[name] for name in sorted(reached) if name in scope.meanings}
    open_names = [name for name, each in meanings.items() if each.formula is None and each.index is None]
    for name in open_names[:_MOST_UNKNOWN]:
        by = tuple(tokenize(f"_{{{name}}}" if len(name) == 1 else f"_{{\\{name}}}"))
        left, right = (tuple(_with_variable(side, by)) for side in (sides.left, sides.right))
        try:
            finding = _decide(replace(sides, left=left, right=right), scope)
        except NotUnderstood:
            continue
        if finding.is_true or len(open_names) == 1:
            return finding
    return not_understood("It is not clear which variable this gradient is taken by")


def _is_readable(sides: Sides, scope: Scope) -> bool:
    try:
        sides.expressions(scope)
    except NotUnderstood:
        return False
    return True


def _with_variable(side: Sequence[Token], by: Sequence[Token]) -> Iterator[Token]:
    """A side with a variable below each ∇ that has none."""
    for place, token in enumerate(side):
        yield token
        if token.text == "\\nabla" and (place + 1 == len(side) or side[place + 1].text != "_"):
            yield from (replace(each, start=token.end, end=token.end) for each in by)


def _with_sized_ones(sides: Sides, scope: Scope) -> Scope | None:
    """The scope in which vectors of ones have the length that makes a relation well shaped; None without them."""
    try:
        expressions = sides.expressions(scope)
    except NotUnderstood:
        return None
    if not any(isinstance(node, Ones) for side in expressions for node in walk(side)):
        return None
    for size in scope.setting.sizes:
        sized = replace(scope, setting=replace(scope.setting, ones=size))
        names = sorted((scope.reach(*expressions) & scope.setting.undeclared) - scope.own.keys())
        if next(well_shaped(expressions, names, sized, scope.setting.kinds), None) is not None:
            return sized
    return None


def _decide_for_kinds(sides: Sides, scope: Scope) -> Finding | None:
    """The finding where undeclared symbols are whatever makes the relation well shaped; None if that is not known.

    What holds for every kind holds. What fails is left open: nothing says that the symbols are what was tried.
    """
    try:
        expressions = sides.expressions(scope)
    except NotUnderstood:
        return None
    setting = scope.setting
    names = sorted((scope.reach(*expressions) & setting.undeclared) - scope.own.keys())
    if not names:
        return None
    choices = list(well_shaped(expressions, names, scope, setting.kinds))[:_MOST_KINDS]
    findings = [confirmed(_decide_with_shapes(sides, scope, shapes)) for shapes in choices]
    if not findings:
        return None
    if all(finding.is_true for finding in findings):
        return findings[0].with_notes([NoteKind.TAKEN_AS.note(_as_kinds(choices[0]))])
    worst = next(place for place, finding in enumerate(findings) if not finding.is_true)
    if not findings[worst].is_false:
        return findings[worst]
    taken = _as_kinds(choices[worst])
    if any(finding.is_true for finding in findings):
        return Finding(kind="unknown", reason=f"Not true for {taken}, though for other kinds of symbols (not declared)")
    return _doubtful(findings[0], f"Looks wrong for {_as_kinds(choices[0])}, which nothing says")


def _decide_for_laws(sides: Sides, scope: Scope) -> Finding | None:
    """The finding where it is the same for every law that is tried; None if nothing is random."""
    try:
        reached = scope.reach(*sides.expressions(scope))
    except NotUnderstood:
        return None
    laws = [law for name in reached if name in scope.meanings and (law := scope.meanings[name].law) is not None]
    if not any(isinstance(law, MomentLaw) for law in laws):
        return _decide_for_parameters(sides, scope, num_laws=len(laws)) if scope.setting.is_own else None
    if all(isinstance(law, MomentLaw) and law.is_normal for law in laws):
        return _decide_readings(sides, scope)
    findings = [
        confirmed(_decide_readings(sides, replace(scope, setting=replace(scope.setting, law_number=number))))
        for number in range(NUM_LAWS)
    ]
    if all(finding.is_true for finding in findings) or all(finding.is_false for finding in findings):
        return findings[0]
    if not all(finding.is_true or finding.is_false for finding in findings):
        return findings[0] if not findings[0].is_true else findings[1]
    return Finding(kind="unknown", reason="It depends on more than the mean and the variance that the text gives")


def _decide_for_parameters(sides: Sides, scope: Scope, *, num_laws: int) -> Finding | None:
    """The finding under known laws, None without them; false only if it is for either way to write their parameters.

    The text need not say that its random symbols are independent, so that a failure with several of them is left open.
    """
    nodes = [node for side in sides.expressions(scope) for node in walk(side)]
    is_about_laws = num_laws or any(isinstance(node, Apply) and node.function in _OF_LAWS for node in nodes)
    finding = confirmed(_decide_readings(sides, scope)) if is_about_laws else None
    if finding is None or not finding.is_false:
        return finding
    other = replace(scope, setting=replace(scope.setting, has_other_parameters=True))
    if confirmed(_decide_readings(sides, other)).is_true:
        return Finding(kind="unknown", reason="True only for laws written with a standard deviation or a scale")
    if num_laws > 1:
        return Finding(kind="unknown", reason="Not true if the random symbols are independent, which nothing says")
    return finding


def _decide_with_shapes(sides: Sides, scope: Scope, shapes: Mapping[str, Shape]) -> Finding:
    """The finding where undeclared symbols have these shapes; positive, or small, if a side has no value otherwise."""
    shaped = _with_shapes(scope, shapes)
    finding = _decide_for_laws(sides, shaped) or _decide_readings(sides, shaped)
    for assumption in (Assumption.POSITIVE, Assumption.SMALL) if finding.is_undefined else ():
        other = _decide_readings(sides, _with_shapes(scope, shapes, (assumption,)))
        if other.is_true:
            return other.with_notes([NoteKind.WHERE_DEFINED.note()])
    return finding


def _with_shapes(scope: Scope, shapes: Mapping[str, Shape], assume: tuple[Assumption, ...] = ()) -> Scope:
    """The scope in which undeclared symbols have these shapes."""
    setting = scope.setting
    own = {
        name: replace(meaning, assume=meaning.assume or assume)
        for name, meaning in ((name, declared_as(setting.symbols[name], shape)) for name, shape in shapes.items())
    }
    sizes = {size: Size() for meaning in own.values() for size in meaning.shape if not size.isdigit()}
    undeclared = setting.undeclared.difference(shapes)
    wider = replace(setting, sizes={**sizes, **setting.sizes}, undeclared=undeclared, kinds={})
    return replace(scope, setting=wider, own={**scope.own, **own})


def _as_kinds(shapes: Mapping[str, Shape]) -> str:
    """x, y as numbers; W as a matrix."""
    by_kind: dict[str, list[str]] = {}
    for name, shape in shapes.items():
        kind = "number" if shape == SCALAR else "vector" if "1" in shape else "matrix"
        by_kind.setdefault(kind, []).append(spell(name))
    return "; ".join(f"{', '.join(names)} as a {kind}" for kind, names in by_kind.items())


def _may_be_matrices(names: Sequence[str], sides: Sequence[Expression], scope: Scope) -> bool:
    """True if letters that nothing explains look like matrices: large ones in notes, and what is transposed."""
    if scope.setting.undeclared and any(name[0].isupper() for name in names):
        return True
    marked = (inner for side in sides for inner in walk(side) if _is_matrix_mark(inner))
    return any(symbol.name in names for inner in marked for symbol in symbols(inner))


def _is_matrix_mark(node: Expression) -> bool:
    return isinstance(node, Transpose) or (isinstance(node, Apply) and node.function in _OF_MATRICES)


def shown(finding: Finding) -> Finding:
    """A finding ready to be reported: a failure is looked at closely, and gets its counterexample and explanation."""
    with ctx.workprec(PRECISION), np.errstate(all="ignore"):
        finding = confirmed(finding)
        if finding.explained_by is not None and finding.is_false:
            finding = replace(finding, explained_by=None).with_notes(finding.explained_by())
    return finding


def corrected(failure: Finding) -> Finding:
    """A failure with the small change that would make it true, in another reading if there is none in its own."""
    failure = _with_correction(failure)
    if failure.is_correctable or failure.elsewhere is None:
        return failure
    others = (_with_correction(other) for other in failure.elsewhere() if other.is_false)
    return next((other for other in others if other.is_correctable), failure)


def _with_correction(failure: Finding) -> Finding:
    failure = shown(failure)
    if failure.is_correctable or failure.corrected_by is None:
        return failure
    with ctx.workprec(PRECISION), np.errstate(all="ignore"):
        return replace(failure, corrected_by=None).with_notes(failure.corrected_by())


def _unknown_letters(sides: Sides, scope: Scope) -> list[str]:
    expressions = sides.expressions(scope)
    found = {symbol for side in expressions for symbol in symbols(side)}
    indices = index_letters(expressions, scope.setting)
    units = ("i", "j") if scope.setting.is_complex else ()
    constants = {*scope.setting.sizes, *scope.setting.fixed, *indices, *units, *CONSTANTS}
    bare = {symbol.name for symbol in found if not symbol.subscripts and not scope.knows(symbol)}
    return sorted(name for name in bare - constants if len(name) == 1 or name.isalpha())[:_MOST_UNKNOWN]


def _decide_readings(sides: Sides, scope: Scope) -> Finding:
    failures: list[tuple[Finding, ReadRelation]] = []
    turned: Finding | None = None
    work = Work()
    with ctx.workprec(PRECISION), np.errstate(all="ignore"):
        for read in readings(sides, scope):
            finding = decide_reading(read, work, is_particular=sides.is_particular).with_notes(read.notes)
            if finding.is_true and _begins_too_late(read.relation):
                finding = Finding(kind="unknown", reason="True only if a sum from 0 begins with 1")
            if finding.is_true and _is_turned(read):
                turned = Finding(kind="unknown", reason="True only where gradients are laid out as transposes")
            elif finding.is_true:
                return _qualified(replace(finding, swaps=tuple(read.scope.swaps.items())), sides, scope)
            else:
                failures.append((finding, read))
    if turned is not None:
        return turned
    failure, read = _failure(failures)
    reads = [read, *(other for finding, other in failures if finding.is_false and other is not read)]
    corrected_by = partial(corrections_of, reads, is_ill_shaped=failure.kind == "ill-shaped")
    failure = replace(failure, explained_by=partial(_explanations, read), corrected_by=corrected_by)
    return _open_if_unexplained(failure, read, scope) or _open_if_undeclared(failure, sides, scope)


def _is_turned(read: ReadRelation) -> bool:
    """True for a derivative by a square matrix that is laid out the other way, where no shape tells which is meant."""
    if read.relation.convention.layout != "numerator":
        return False
    nodes = (node for side in (read.relation.left, read.relation.right) for node in walk(side))
    bottoms = [node.bottom for node in nodes if isinstance(node, Derivative) and isinstance(node.bottom, Symbol)]
    found = [read.scope.lookup(bottom) for bottom in bottoms if isinstance(bottom, Symbol)]
    shapes = [each.meaning.shape for each in found if each is not None and each.meaning.formula is None]
    return any(rows == columns != "1" for rows, columns in shapes)


def _begins_too_late(relation: Relation) -> bool:
    """True if a sum from 0 counts with its index, the i of Σ_{i=0}^n 2^i, and indices are read from 1."""
    sums = (node for side in (relation.left, relation.right) for node in walk(side) if isinstance(node, BigOperator))
    late = (
        node.lower == Number(Fraction(0))
        and not isinstance(node.upper, Infinity)
        and any(describe(symbol) == node.index for symbol in outer_symbols(node.body))
        for node in sums
    )
    return relation.convention.first_index != 0 and any(late)


def _explanations(read: ReadRelation) -> list[Note]:
    """How the symbols of a failure were read, and by how much it is off."""
    try:
        taken = under_premises(read)
        return list(explanations(Instances(scope=taken.scope, relation=taken.relation)))
    except NotUnderstood:
        return []


def _qualified(finding: Finding, sides: Sides, scope: Scope) -> Finding:
    """A success with undeclared symbols gets a note, or stays open if they may be matrices: only numbers were tried."""
    if not scope.setting.undeclared:
        return finding
    expressions = sides.expressions(scope)
    used = {describe(symbol) for side in expressions for symbol in symbols(side)} & scope.setting.undeclared
    used = used.difference(scope.own)
    if not used:
        return finding
    names = ", ".join(sorted(used))
    if any(name[0].isupper() for name in used) or any(
        _is_of_matrices(node) for side in expressions for node in walk(side)
    ):
        return Finding(kind="unknown", reason=f"True for numbers, but {names} may be matrices (not declared)")
    return finding.with_notes([NoteKind.TAKEN_AS_NUMBERS.note(names)])


def _is_of_matrices(node: Expression) -> bool:
    is_function = isinstance(node, Apply) and node.function in _OF_MATRICES
    return is_function or isinstance(node, Transpose | Norm | Inner | Matrix)


def _failure(failures: list[tuple[Finding, ReadRelation]]) -> tuple[Finding, ReadRelation]:
    """The finding when no reading is true: a failure refutes nothing while the plain reading is open."""
    if not failures[0][0].is_false:
        return failures[0]
    false = [(finding, read) for finding, read in failures if finding.is_false]
    best, read = min(false, key=lambda failure: failure[0].kind == "ill-shaped")
    if any(finding.has_note(NoteKind.RECOGNITION_SLIP) for finding, _ in false):
        best = not_understood("A symbol looks like a text-recognition error").with_notes(best.notes)
    return best, read


def _open_if_unexplained(finding: Finding, read: ReadRelation, scope: Scope) -> Finding | None:
    """A failure that refutes nothing: the text does not say how a loss depends on something, or the law of a symbol."""
    if not finding.is_false:
        return None
    sides = read.relation.left, read.relation.right
    for loss in losses_in(sides, scope).values():
        if not loss.targets:
            sources = ", ".join(map(describe, loss.sources))
            return not_understood(f"It is not known how {loss.name} depends on {sources}")
    if names := ", ".join(map(spell, sorted(unexplained_chances(sides, scope)))):
        return Finding(kind="unknown", reason=f"Not true for every law of {names}, and the text gives none")
    return None


def _open_if_undeclared(finding: Finding, sides: Sides, scope: Scope) -> Finding:
    """A failure with undeclared symbols refutes nothing: they may not be the numbers they were taken for."""
    if not finding.is_false:
        return finding
    loose = {name for name, m in scope.setting.symbols.items() if Assumption.ANY in m.assume and m.is_number}
    undeclared = (scope.setting.undeclared | loose).difference(scope.own)
    doubtful = sorted(map(spell, scope.reach(*sides.expressions(scope)) & undeclared)) if undeclared else []
    if not doubtful:
        return finding
    names = f"{doubtful[0]} is a number" if len(doubtful) == 1 else f"{', '.join(doubtful)} are numbers"
    return _doubtful(finding, f"Looks wrong if {names}, which nothing says")


def _doubtful(failure: Finding, reason: str) -> Finding:
    """A failure that is not certain, with what shows it."""
    failure = confirmed(failure)
    if not failure.is_false:
        return failure
    at = "" if failure.kind == "ill-shaped" else f" ({failure.counterexample})"
    return left_open(OpenBecause.DOUBTFUL, f"{reason}{at}", failure.notes)
