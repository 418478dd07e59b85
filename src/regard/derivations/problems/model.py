"""A problem: what the symbols of a course's questions mean, and what is asked."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from regard.derivations.notation.syntax import Expression


@dataclass(frozen=True, kw_only=True)
class Size:
    """A whole number such as n or d: at least `minimum` and the sum of the sizes `above`, or `twice` another."""

    minimum: int = 2
    above: tuple[str, ...] = ()
    is_even: bool = False
    twice: str | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class SymbolMeaning:
    """What a symbol stands for: drawn at random under assumptions, or given by a formula.

    `index` is the bound letter of a family (the i of k_i), `over` the size that it runs over. A symbol that `tends`
    somewhere is driven there in limits; one with a `variance` is random. `swaps` are names that its formula uses for
    others.
    """

    name: str
    index: str | None = None
    over: str | None = None
    shape: tuple[str, str] = ("1", "1")
    assume: tuple[str, ...] = ()
    formula: Expression | None = None
    tends: str | None = None
    mean: float = 0.0
    variance: float | None = None
    swaps: tuple[tuple[str, str], ...] = ()

    @property
    def is_random_number(self) -> bool:
        """True for a single random number such as γ."""
        return self.variance is not None and self.index is None and self.shape == ("1", "1")


@dataclass(frozen=True, kw_only=True)
class Function:
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

    A step that fails is tried once more in the setting `otherwise`, which is `assuming` more than the question says:
    what is so there is left open, not refuted, and holds where the text itself says so, in one of the words `said_by`.
    A setting that is only another `reading` of the same letters assumes nothing: what is so there holds. `changed` are
    the symbols that mean something else there, None if more than symbols has changed.
    """

    name: str
    sizes: Mapping[str, Size]
    fixed: Mapping[str, str]
    free: Mapping[str, str]
    symbols: Mapping[str, SymbolMeaning]
    functions: Mapping[str, Function] = field(default_factory=dict)
    aliases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    ones: str | None = None
    is_complex: bool = False
    undeclared: frozenset[str] = frozenset()
    permutations: Mapping[str, str] = field(default_factory=dict)
    otherwise: "Setting | None" = None
    assuming: str = ""
    said_by: tuple[str, ...] = ()
    reading: str = ""
    changed: frozenset[str] | None = None
    seed: int = 0


@dataclass(frozen=True, kw_only=True)
class Design:
    """Symbols left open to the student, the goal that they must reach, and solutions that do.

    A design that fails is shown by the quantity `show`, called `show_as`, at the sizes `show_at`, beside its `target`.
    """

    symbols: tuple[str, ...]
    goal: str
    solutions: tuple[Mapping[str, str], ...]
    show_at: Mapping[str, int] = field(default_factory=dict)
    show: str | None = None
    show_as: str = ""
    target: float = 0.5


@dataclass(frozen=True, kw_only=True)
class Choice:
    """A yes/no question: the right answer, phrases that give either in prose, `cues` that tell the question itself."""

    answer: str
    yes: tuple[str, ...] = ()
    no: tuple[str, ...] = ()
    cues: tuple[str, ...] = ()
    why: str = ""


@dataclass(frozen=True, kw_only=True)
class Question:
    """One question: where it stands, what its symbols mean, what is given and asked."""

    id: str
    title: str
    setting: Setting
    path: tuple[str, ...]
    titles: tuple[str, ...] = ()
    points: float = 0.0
    is_optional: bool = False
    given: tuple[str, ...] = ()
    design: Design | None = None
    show: tuple[str, ...] = ()
    choice: Choice | None = None
    claims: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Problem:
    """A set of questions by the name of their course."""

    name: str
    title: str
    questions: tuple[Question, ...]
    source: str = ""

    def question(self, question_id: str) -> Question:
        """The question of that id."""
        return next(question for question in self.questions if question.id == question_id)
