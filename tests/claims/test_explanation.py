import io

from rich.console import Console

from regard.claims.explanation import Explanation, RivalOutcome, show_explanation
from regard.core.verdict import ClaimVerdict, Evidence

VERDICT = ClaimVerdict(
    id="copy", statement="a_j ≥ 1/(1+(n−1)e^{−Δ})", status="proved", expected="proved", domain="n ≥ 3",
    assumes=("exp is increasing",), value=0.5, bound=1e-9, reproduce="regard claims copy --seed 0 " + "--set n=3 " * 9,
    evidence=(Evidence(route="algebra", status="proved", detail="an identity", value=0.5),),
)  # fmt: skip
REFUTED = ClaimVerdict(id="copy", statement="s", status="refuted", expected="proved", counterexample="n = 4")


def shown(verdict: ClaimVerdict = VERDICT, becomes="refuted") -> str:
    stream = io.StringIO()
    opened = Explanation(
        verdict=verdict, latex=r"\alpha_j", settings={"n": 3, "beta": 2.5}, derivation="Divide by e^β.",
        source="a book", rivals=(RivalOutcome(statement="n instead of n−1", becomes=becomes, verdict=REFUTED),),
    )  # fmt: skip
    show_explanation(Console(file=stream, width=80, highlight=False), opened)
    return stream.getvalue()


def test_everything_there_is_to_say_is_said():
    text = shown()
    for part in (
        "copy  ✓ proved", VERDICT.statement, "n ≥ 3", "n = 3, beta = 2.5", "exp is increasing", "0.5 ± 1e-9",
        "Divide by e^β.", "algebra", "an identity; value 0.5", "n instead of n−1", "n = 4", "a book", r"\alpha_j",
    ):  # fmt: skip
        assert part in text


def test_the_command_can_be_copied_whole():
    assert VERDICT.reproduce in shown()


def test_a_rival_that_stands_its_ground_is_named():
    assert "must come out" not in shown()
    assert "n instead of n−1, but it must come out holds" in shown(becomes="holds")


def test_a_myth_is_called_one_and_a_surprise_too():
    myth = ClaimVerdict(id="a", statement="s", status="refuted", expected="refuted")
    assert "as a myth should be" in shown(myth)
    assert "but the catalogue expects proved" in shown(REFUTED)
