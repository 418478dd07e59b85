"""The slips people make, as changes of a term at one place; whether one makes its step false is decided elsewhere."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction

from derivations.planting.terms import (
    Apply,
    Number,
    Over,
    Plus,
    Power,
    Symbol,
    Term,
    Times,
    Transposed,
    half,
    one,
    plus,
    subterms,
    term,
    times,
    zero,
)

Rule = Callable[[Term], Iterator[Term]]

SCALARS = {"scale", "gamma", "noise", "n", "d", "t", "s", "u", "theta", "coefficient", "omega", "imaginary"}
POSITIONS = {"t", "s", "u"}
MATRICES = {*"ABPXQKVHZW", "Sigma"}
SHUFFLED = {*"XQKVHZ"}
SWAPPED = {"a": "b", "b": "a", "1": "2", "2": "1"}
SWAPPABLE = {"k", "v", "w", "mu", "q", "c", "z", "t", "b", "x", "W"}


def everywhere(value: Term, rule: Rule) -> Iterator[Term]:
    """Every term that one use of a rule makes of a term, at its root or inside."""
    yield from rule(value)
    for place, child in enumerate(value.children):
        for new in everywhere(child, rule):
            yield value.with_children((*value.children[:place], new, *value.children[place + 1 :]))


def _is_scalar(factor: Term) -> bool:
    is_letter = isinstance(factor, Symbol) and factor.name in SCALARS
    return is_letter or isinstance(factor, Number | Power | Apply) and not _is_matrix(factor)


def _is_matrix(factor: Term) -> bool:
    return isinstance(factor, Apply) and factor.name in ("softmax", "ReLU", "R", "Phi")


def _without(parts: tuple, place: int) -> tuple:
    return parts[:place] + parts[place + 1 :]


def lost_factor(value: Term) -> Iterator[Term]:
    if isinstance(value, Times):
        for place, factor in enumerate(value.factors):
            if _is_scalar(factor) and factor != Symbol("scale"):
                yield times(_without(value.factors, place))


def lost_scale(value: Term) -> Iterator[Term]:
    if isinstance(value, Times) and Symbol("scale") in value.factors:
        yield times(_without(value.factors, value.factors.index(Symbol("scale"))))


def changed_factor(value: Term) -> Iterator[Term]:
    if isinstance(value, Times):
        for place, factor in enumerate(value.factors):
            if isinstance(factor, Number) and factor.value != 0:
                for new in {2 * factor.value, factor.value / 2, factor.value + 1} - {1}:
                    yield times((*value.factors[:place], term(new), *value.factors[place + 1 :]))


def flipped_sign(value: Term) -> Iterator[Term]:
    if isinstance(value, Plus) and not _are_positions(value):
        for place, (sign, summand) in enumerate(value.summands):
            yield plus((*value.summands[:place], (-sign, summand), *value.summands[place + 1 :]))


def flipped_positions(value: Term) -> Iterator[Term]:
    """t_1 − t_2 for t_1 + t_2, and the other way round."""
    if isinstance(value, Plus) and _are_positions(value):
        (first, left), (second, right) = value.summands
        yield Plus(((first, left), (-second, right)))
        if {first, second} == {1, -1}:
            yield Plus(((first, right), (second, left)))


def _are_positions(value: Plus) -> bool:
    names = [part.name for part in value.children if isinstance(part, Symbol)]
    return len(value.summands) == len(names) == 2 and POSITIONS.issuperset(names)


def dropped_term(value: Term) -> Iterator[Term]:
    if isinstance(value, Plus) and len(value.summands) > 1:
        for place in range(len(value.summands)):
            yield plus(_without(value.summands, place))


def dropped_transpose(value: Term) -> Iterator[Term]:
    if isinstance(value, Transposed):
        yield value.body


def added_transpose(value: Term) -> Iterator[Term]:
    is_matrix = isinstance(value, Symbol) and value.name in MATRICES
    if is_matrix or isinstance(value, Apply) and value.name == "R":
        yield Transposed(value)


def swapped_product(value: Term) -> Iterator[Term]:
    if isinstance(value, Times):
        for place in range(len(value.factors) - 1):
            pair = value.factors[place : place + 2]
            if not any(map(_is_scalar, pair)):
                yield times((*value.factors[:place], *reversed(pair), *value.factors[place + 2 :]))


def dropped_matrix(value: Term) -> Iterator[Term]:
    if isinstance(value, Times):
        for place, factor in enumerate(value.factors):
            inner = factor.body if isinstance(factor, Transposed) else factor
            if isinstance(inner, Symbol) and inner.name in MATRICES or _is_matrix(inner):
                yield times(_without(value.factors, place))


def off_by_one(value: Term) -> Iterator[Term]:
    if isinstance(value, Plus) and Symbol("n") in value.children:
        for place, (sign, summand) in enumerate(value.summands):
            if isinstance(summand, Number):
                new = (sign, term(summand.value - 1))
                yield plus((*value.summands[:place], new, *value.summands[place + 1 :]))


def lost_root(value: Term) -> Iterator[Term]:
    if isinstance(value, Over) and isinstance(value.bottom, Apply) and value.bottom.name == "sqrt":
        yield value.top
    if isinstance(value, Apply) and value.name == "sqrt":
        yield value.arguments[0]


def lost_square(value: Term) -> Iterator[Term]:
    if isinstance(value, Power):
        yield value.body


def dropped_conjugate(value: Term) -> Iterator[Term]:
    if isinstance(value, Apply) and value.name == "conj":
        yield value.arguments[0]


def swapped_index(value: Term) -> Iterator[Term]:
    if isinstance(value, Symbol) and value.name in SWAPPABLE and value.index in SWAPPED:
        yield replace(value, index=SWAPPED[value.index])


def wrong_limit(value: Term) -> Iterator[Term]:
    """What a sequence is said to tend to, taken for another plain number."""
    if isinstance(value, Number):
        yield from (new for new in (zero, one, half, Number(Fraction(1, 4))) if new != value)


def stray_gamma(value: Term) -> Iterator[Term]:
    if isinstance(value, Symbol) and (value.name == "scale" or value == Symbol("mu", "b")):
        yield times((Symbol("gamma"), value))


def mixed_up_shuffle(value: Term) -> Iterator[Term]:
    """H for H_perm, and the other way round."""
    if isinstance(value, Symbol) and value.name in SHUFFLED:
        yield replace(value, is_shuffled=not value.is_shuffled)


def sine_for_cosine(value: Term) -> Iterator[Term]:
    other = {"sin": "cos", "cos": "sin"}
    if isinstance(value, Apply) and value.name in other:
        yield replace(value, name=other[value.name])


def lost_exponential(value: Term) -> Iterator[Term]:
    if isinstance(value, Apply) and value.name == "exp":
        yield value.arguments[0]


RULES: dict[str, Rule] = {
    "lost factor": lost_factor,
    "changed factor": changed_factor,
    "sign flipped": flipped_sign,
    "sum of positions for their difference": flipped_positions,
    "dropped term": dropped_term,
    "dropped transpose": dropped_transpose,
    "added transpose": added_transpose,
    "product in the wrong order": swapped_product,
    "dropped matrix": dropped_matrix,
    "off by one": off_by_one,
    "lost root": lost_root,
    "lost square": lost_square,
    "dropped conjugate": dropped_conjugate,
    "swapped index": swapped_index,
    "wrong limit": wrong_limit,
    "stray gamma": stray_gamma,
    "lost scale": lost_scale,
    "unpermuted for permuted": mixed_up_shuffle,
    "sine for cosine": sine_for_cosine,
    "lost exponential": lost_exponential,
}


def slips(value: Term, family: str, *, is_limit: bool) -> list[Term]:
    """The terms that a slip of this family makes of a term; `is_limit` if it stands after ≈ or →."""
    if family == "wrong limit":
        return list(wrong_limit(value)) if is_limit else []
    found = dict.fromkeys(everywhere(value, RULES[family]))
    return [new for new in found if new != value and not any(map(_is_odd, subterms(new)))]


def _is_odd(value: Term) -> bool:
    """Nobody writes a transpose of a transpose."""
    return isinstance(value, Transposed) and isinstance(value.body, Transposed)
