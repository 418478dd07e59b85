"""What the symbols of a group of questions mean: sizes, indices, shapes, assumptions, formulas."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property, lru_cache
from typing import Literal

from regard.derivations.notation.syntax import Distribution, Expression, renamed

Kind = Literal["number", "column", "matrix"]


class Assumption(StrEnum):
    """What may be assumed of a symbol, in the words of a problem file."""

    ORTHONORMAL = "orthonormal"
    ORTHONORMAL_COLUMNS = "orthonormal columns"
    PERMUTATION = "permutation"
    POSITIVE = "positive"
    INTEGER = "integer"
    COMPLEX = "complex"
    UNIT_VECTORS = "unit vectors"
    ONE_HOT = "one-hot"
    DISTRIBUTION = "distribution"
    SYMMETRIC = "symmetric"
    POSITIVE_DEFINITE = "positive definite"
    DIAGONAL = "diagonal"
    SMALL = "small"
    UNIT = "unit"
    PROBABILITY = "probability"
    ANY = "any"
    FREQUENCIES = "frequencies"
    USUAL = "usual"  # many write it for this, though the assignment does not: elsewhere it may mean something else


UNNAMED = "#"  # before the number of a size that the text does not name
OF_SQUARES = frozenset(
    {
        Assumption.ORTHONORMAL_COLUMNS,
        Assumption.PERMUTATION,
        Assumption.SYMMETRIC,
        Assumption.POSITIVE_DEFINITE,
        Assumption.DIAGONAL,
    }
)


@dataclass(frozen=True, kw_only=True)
class Size:
    """A whole number such as n or d: at least `minimum` and the sum of the sizes `above`, or `twice` another."""

    minimum: int = 2
    above: tuple[str, ...] = ()
    is_even: bool = False
    twice: str | None = None


@dataclass(frozen=True, kw_only=True)
class MomentLaw:
    """The mean and variance of a random number, of every entry where it is a vector; all entries are independent.

    Unless it is normal, nothing else is known of it.
    """

    mean: Expression
    variance: Expression
    is_normal: bool = False


AnyLaw = MomentLaw | Distribution


@dataclass(frozen=True, kw_only=True, eq=False)
class SymbolMeaning:
    """What a symbol stands for: drawn at random under assumptions, or given by a formula.

    `index` is the bound letter of a family (the i of k_i), `over` the size that it runs over; its columns are
    orthogonal to those of the matrices `orthogonal_to`. A symbol that `tends` somewhere is driven there in limits; one
    with a `variance` is random. `swaps` are names that its formula uses for others.
    """

    name: str
    index: str | None = None
    over: str | None = None
    shape: tuple[str, str] = ("1", "1")
    assume: tuple[Assumption, ...] = ()
    orthogonal_to: tuple[str, ...] = ()
    formula: Expression | None = None
    tends: Literal["zero", "infinity"] | None = None
    mean: float = 0.0
    variance: float | None = None
    law: AnyLaw | None = None
    swaps: tuple[tuple[str, str], ...] = ()

    @property
    def key(self) -> str:
        """The name, with the index letter of a family: k_i."""
        return f"{self.name}_{self.index}" if self.index else self.name

    @property
    def is_number(self) -> bool:
        """True for a single number, or a family of them."""
        return self.shape == ("1", "1")

    @property
    def is_law(self) -> bool:
        """True for a distribution, a random symbol whose law is known, and a vector of probabilities."""
        is_known = isinstance(self.law, Distribution) or isinstance(self.formula, Distribution)
        return is_known or Assumption.DISTRIBUTION in self.assume

    @property
    def is_random_number(self) -> bool:
        """True for a single random number such as γ."""
        return self.variance is not None and self.index is None and self.is_number


@dataclass(frozen=True, kw_only=True)
class DefinedFunction:
    """A function that the problem defines by a formula in its arguments; a subscripted one is written R_t.

    `vector_formula` is its formula where the first argument is a vector.
    """

    arguments: tuple[str, ...]
    formula: Expression
    is_subscripted: bool = False
    vector_formula: Expression | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class Setting:
    """What the symbols of a group of questions mean; compared by identity, so that draws can be remembered.

    A step that fails is tried again in the setting `otherwise`, and in the one after that, which is `assuming` more
    than the question says: what holds there is left open, not refuted, and holds where the text itself says so, in one
    of the words `said_by`.
    A setting that is only another `reading` of the same letters assumes nothing: what holds there holds. `changed` are
    the symbols that mean something else there, None if more than symbols has changed. `opaque_functions` are names of
    functions that nothing defines, `kinds` what each undeclared symbol may be; `is_own` says that only the document
    itself explains them.
    """

    name: str
    sizes: Mapping[str, Size]
    fixed: Mapping[str, str]
    free: Mapping[str, str]
    symbols: Mapping[str, SymbolMeaning]
    functions: Mapping[str, DefinedFunction] = field(default_factory=dict)
    opaque_functions: frozenset[str] = frozenset()
    aliases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    ones: str | None = None
    is_complex: bool = False
    is_own: bool = False
    undeclared: frozenset[str] = frozenset()
    kinds: Mapping[str, tuple[Kind, ...]] = field(default_factory=dict)
    permutations: Mapping[str, str] = field(default_factory=dict)
    otherwise: "Setting | None" = None
    assuming: str = ""
    said_by: tuple[str, ...] = ()
    reading: str = ""
    changed: frozenset[str] | None = None
    seed: int = 0
    has_usual_functions: bool = False  # σ is the sigmoid, Φ the normal distribution function
    has_differentials: bool = False  # dX is the differential of X
    has_other_parameters: bool = False  # N(μ, s) has the deviation s, Exp(s) and Gamma(a, s) the scale s
    law_number: int = 0  # of the laws to try for random numbers whose mean and variance alone are known

    @property
    def is_random(self) -> bool:
        """True if a symbol is random."""
        return any(meaning.variance is not None for meaning in self.symbols.values())

    @cached_property
    def has_laws(self) -> bool:
        """True if means are taken under laws that symbols have."""
        return self.is_own or any(meaning.law is not None for meaning in self.symbols.values())

    @property
    def is_prime_a_label(self) -> bool:
        """True if a prime marks permuted quantities, so that it does not transpose."""
        return "'" in self.aliases.get("_perm", ())


@lru_cache(maxsize=128)
def keeping_apart(setting: Setting, name: str) -> Setting:
    """The setting in which one of its numbers has a name that nobody writes, so that an author may have its letter."""
    names = {name: f"{name}′"}
    symbols = {}
    for key, meaning in setting.symbols.items():
        formula = None if meaning.formula is None else renamed(meaning.formula, names)
        symbols[names.get(key, key)] = replace(meaning, name=names.get(meaning.name, meaning.name), formula=formula)
    other = None if setting.otherwise is None else keeping_apart(setting.otherwise, name)
    return replace(setting, symbols=symbols, otherwise=other)
