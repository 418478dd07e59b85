"""Remembered findings: the same verdicts as without, from fewer decisions, and never those of another environment."""

import pytest

from regard.derivations.judging import judge
from regard.derivations.judging.memory import FindingMemory, environment_key, remembering, without_idle_numbers
from regard.derivations.judging.relations import Sides, read_side
from regard.derivations.judging.scope import Scope
from regard.derivations.judging.setting import SymbolMeaning
from regard.derivations.notation.tokens import tokenize
from regard.derivations.problems.problem import load_problem
from regard.derivations.verify import example_answers, verify

NOTES = (
    "Let $W$ be a $2 \\times 2$ matrix and $x = 3$.\n\nThen $x^2 = 9$ and $x + 1 = 5$, so $W^\\top W = W W^\\top$.\n"
)
# The vector x̂ is that of all x̂_i, which depend on μ.
OF_MEMBERS = (
    "Let $x \\in \\mathbb{R}^d$, $\\mu = \\frac1d\\sum_{i=1}^d x_i$ and $\\hat x_i = x_i - \\mu$.\n\n"
    "Then $\\mathbf 1^\\top \\hat x = 0$.\n"
)


@pytest.fixture
def decisions(monkeypatch):
    """The statements that are decided and not remembered."""
    made = []
    original = judge._decide

    def counted(sides, scope):
        made.append(sides)
        return original(sides, scope)

    monkeypatch.setattr(judge, "_decide", counted)
    return made


@pytest.mark.parametrize("text", [example_answers(), NOTES, OF_MEMBERS])
def test_a_document_is_judged_as_without_a_memory_and_nothing_is_decided_twice(text, decisions):
    plain, memory = verify(text), FindingMemory()
    with remembering(memory):
        assert verify(text).verdicts == plain.verdicts
        decisions.clear()
        again = verify(f"{text}\n\nSome words more.\n")
    assert decisions == []
    assert [verdict.status for verdict in again.verdicts] == [verdict.status for verdict in plain.verdicts]
    assert [verdict.counterexample for verdict in again.verdicts] == [each.counterexample for each in plain.verdicts]
    assert len(memory) > 0


def test_what_a_symbol_meant_first_is_part_of_what_is_true_in_general():
    said, claim = "Let $x$ be a number and $y = x^2$.\n\n", "Set $y = x + 1$.\n\nThen $y - x^2 = 0$.\n"
    with remembering(FindingMemory()):
        statuses = [verify(first + claim).verdicts[-1].status for first in (said, "Let $x$ be a number.\n\n", said)]
    assert statuses == ["holds", "undecided", "holds"]


def test_a_name_of_two_tokens_is_reached():
    text = (
        r"Let $A \in \mathbb{R}^{n \times m}$ and $V \in \mathbb{R}^{m \times p}$ and $Y = AV$. "
        r"Let $\mathrm{d}Y = \partial L / \partial Y$. Then $\mathrm{d}A = \mathrm{d}Y\, V^\top$."
    )
    with remembering(FindingMemory()):
        assert verify(text).verdicts[-1].status == "holds"


def test_another_definition_is_another_environment():
    with remembering(FindingMemory()):
        assert [verdict.status for verdict in verify("Let $x = 3$. Then $x^2 = 9$.").verdicts][-1] == "holds"
        assert [verdict.status for verdict in verify("Let $x = 4$. Then $x^2 = 9$.").verdicts][-1] != "holds"


HOMEWORK = (
    "1.(b) An average of two\n\n{}Take $q = \\beta(k_a + k_b)$. Then $k_a^\\top q = \\beta$ and $c \\approx v_a$.\n"
)


@pytest.mark.parametrize("name", ["r", "\\zeta_2", "\\eta"])
def test_a_new_number_changes_the_environment_only_of_what_depends_on_it(name, decisions):
    with remembering(FindingMemory()):
        verify(HOMEWORK.format(""), "cs224n-a4")
        decisions.clear()
        verify(HOMEWORK.format(f"Let ${name} = 7$.\n\n"), "cs224n-a4")
    assert [sides for sides in decisions if sides.left != sides.right] == []  # the definition itself is 7 = 7


@pytest.mark.parametrize("definition", ["Let $\\beta = 7$.", "Let $r = 7$ and $\\beta = r$.", "Let $v_a = k_a$."])
def test_a_new_number_that_a_statement_may_reach_is_part_of_its_environment(definition, decisions):
    text = HOMEWORK.format(f"{definition}\n\n")
    plain = verify(text, "cs224n-a4")
    with remembering(FindingMemory()):
        verify(HOMEWORK.format(""), "cs224n-a4")
        decisions.clear()
        assert verify(text, "cs224n-a4").verdicts == plain.verdicts
    assert [sides for sides in decisions if sides.left != sides.right] != []


@pytest.mark.parametrize(
    ("statement", "own", "kept"),
    [
        ("k_a = k_b", {"zeta": "2", "eta": r"\zeta + 1"}, ""),
        (r"\zeta = 2", {"zeta": "2", "eta": r"\zeta + 1"}, "zeta"),
        (r"\eta = 3", {"zeta": "2", "eta": r"\zeta + 1"}, "zeta eta"),
        ("k_a = k_b", {"zeta": "2", "gamma": r"\zeta^2"}, "zeta gamma"),  # the problem has a γ, too
        ("k_a = k_b", {"zeta": "2", "u": r"\zeta k_a"}, "zeta u"),
        ("g = k_b", {"zeta": "2", "q": r"\zeta"}, "zeta q"),  # g may be a q that was misread
    ],
)
def test_only_numbers_that_nothing_else_names_are_left_out(statement, own, kept):
    scope = Scope(setting=load_problem("cs224n-a4").question("1c.ii").setting)
    for name, source in own.items():
        shape = ("d", "1") if name == "u" else ("1", "1")
        scope = scope.with_meaning(SymbolMeaning(name=name, shape=shape, formula=read_side(tokenize(source), scope)))
    left, right = (tuple(tokenize(side)) for side in statement.split("="))
    narrowed = without_idle_numbers(scope, Sides(left=left, sign="=", right=right))
    assert list(narrowed.own) == kept.split()


def test_scopes_have_the_same_key_exactly_if_their_contents_agree():
    setting = load_problem("cs224n-a4").questions[0].setting
    scope = Scope(setting=setting)
    key = environment_key(scope)
    assert key == environment_key(Scope(setting=setting))
    number = SymbolMeaning(name="zeta")
    others = [scope.with_meaning(number), scope.without("q"), scope.reseeded(), Scope(setting=setting, sizes={"n": 4})]
    assert len({key, *map(environment_key, others)}) == 5
    assert environment_key(others[0]) == environment_key(scope.with_meaning(SymbolMeaning(name="zeta")))


def test_the_oldest_findings_are_forgotten(decisions):
    with remembering(FindingMemory(most=2)) as nothing:
        assert nothing is None
        verify(NOTES)
        decisions.clear()
        verify(NOTES)
        assert decisions != []


def test_what_is_raised_before_a_decision_ends_the_judging_and_keeps_what_was_found(decisions):
    allowed = [3]

    def stop() -> None:
        allowed[0] -= 1
        if allowed[0] < 0:
            raise InterruptedError

    memory = FindingMemory(before_each=stop)
    with remembering(memory):
        with pytest.raises(InterruptedError):
            verify(example_answers())
        assert 0 < len(memory) <= 3
        allowed[0], first = 10_000, len(decisions)
        verify(example_answers())
        assert len(decisions) > first
