"""A second problem, written in TOML alone, is judged like the first."""

import pytest

from regard.derivations.context.questions import guess_problem
from regard.derivations.problems.problem import load_problem
from regard.derivations.reading.files import read_text
from regard.derivations.verify import judge_document

TRUE = r"""# Layer normalisation

## 1a Centring is a projection

Take $M = I - \frac1d\mathbf 1\mathbf 1^\top$. Then
$$Mx = x - \frac1d\mathbf 1\mathbf 1^\top x = x - \mu\mathbf 1.$$
Also $M^2 = M$ and $M\mathbf 1 = 0$.

## 1b Mean zero and length √d

$$\sum_i \hat{x}_i = \frac{1}{\sigma}\sum_i (x_i - \mu) = \frac{1}{\sigma}(d\mu - d\mu) = 0$$
$$\|\hat{x}\|^2 = \frac{1}{\sigma^2}\sum_i (x_i - \mu)^2 = \frac{d\sigma^2}{\sigma^2} = d$$

## 1c Shifts and scales are forgotten

$LN(x + c\mathbf 1) = LN(x)$ since $M(x + c\mathbf 1) = Mx$. And $LN(a x) = LN(x)$.

## 1d Is layer normalisation linear?

No, $LN(2x) = LN(x) \neq 2 LN(x)$.
"""

FLAWS = {
    r"M = I - \frac1d\mathbf 1\mathbf 1^\top$": r"M = I - \mathbf 1\mathbf 1^\top$",
    r"\frac{d\sigma^2}{\sigma^2} = d": r"\frac{\sigma^2}{\sigma^2} = 1",
    r"\frac{1}{\sigma}(d\mu - d\mu) = 0": r"\frac{1}{\sigma}(d\mu - \mu) = 0",
    r"M(x + c\mathbf 1) = Mx": r"M(x + c\mathbf 1) = Mx + c\mathbf 1",
    "LN(a x) = LN(x)": "LN(a x) = a LN(x)",
    r"No, $LN(2x) = LN(x) \neq 2 LN(x)$.": "Yes, it is linear.",
}


def verdicts(text: str):
    return judge_document(read_text(text), load_problem("layer-norm")).verdicts


def test_every_step_of_a_true_answer_holds():
    found = verdicts(TRUE)
    assert [verdict.statement for verdict in found if verdict.status != "holds"] == []
    assert {verdict.question for verdict in found} == {"1a", "1b", "1c", "1d"}
    assert {"design", "choice", "step"} <= {verdict.kind for verdict in found}


@pytest.mark.parametrize("true", FLAWS)
def test_each_flaw_is_refuted_where_it_stands(true):
    assert TRUE.count(true) == 1
    refuted = [verdict for verdict in verdicts(TRUE.replace(true, FLAWS[true])) if verdict.status == "refuted"]
    line = TRUE[: TRUE.index(true)].count("\n") + 1
    assert refuted
    assert {verdict.where.line for verdict in refuted if verdict.where} == {line}
    assert all(verdict.counterexample for verdict in refuted)


def test_the_problem_is_recognised():
    assert guess_problem(read_text(TRUE)).name == "layer-norm"
