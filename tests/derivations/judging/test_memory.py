"""Remembered findings: the same verdicts as without, from fewer decisions, and never those of another environment."""

import pytest

from regard.derivations.judging import judge
from regard.derivations.judging.memory import FindingMemory, environment_key, remembering
from regard.derivations.judging.scope import Scope
from regard.derivations.judging.setting import SymbolMeaning
from regard.derivations.problems.problem import load_problem
from regard.derivations.verify import example_answers, verify

NOTES = (
    "Let $W$ be a $2 \\times 2$ matrix and $x = 3$.\n\nThen $x^2 = 9$ and $x + 1 = 5$, so $W^\\top W = W W^\\top$.\n"
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


@pytest.mark.parametrize("text", [example_answers(), NOTES])
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


def test_another_definition_is_another_environment():
    with remembering(FindingMemory()):
        assert [verdict.status for verdict in verify("Let $x = 3$. Then $x^2 = 9$.").verdicts][-1] == "holds"
        assert [verdict.status for verdict in verify("Let $x = 4$. Then $x^2 = 9$.").verdicts][-1] != "holds"


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
