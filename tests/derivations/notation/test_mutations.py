"""Formulas with a few characters changed: read or refused, and no relation sign is lost."""

import random

import pytest

from regard.core.errors import InputError
from regard.derivations.notation.parser import parse
from regard.derivations.notation.signs import relation_signs, unread_signs
from regard.derivations.notation.statements import read_chains
from regard.derivations.notation.tokens import NotUnderstood

SOURCES = [
    r"k_a^\top q = \beta(k_a^\top k_a + k_a^\top k_b) = \beta, \quad \forall i \neq a, b",
    r"\alpha_a \approx \frac{\exp(\beta)}{2\exp(\beta) + n - 2} \to \frac12 \because \beta \gg 0",
    r"\left\{\begin{array}{rcl} a & = & b \\ c & \approx & d \end{array}\right. \Rightarrow {\color{red} x = y}",
    r"f(x) = \begin{cases} 1 & x > 0 \\ 0 & \text{if } x \le 0 \end{cases}",
    r"\begin{aligned} c &= \sum_{i=1}^n v_i\alpha_i \\ &\overset{(1)}{=} \underbrace{v_j}_{i = j} \end{aligned}",
    r"(q_1, q_2) = (\beta\mu_a, \beta\mu_b), \quad \text{where $\beta \gg 0$ and } i \in \{1, \dots, n\}",
]
PIECES = [
    *r"{}()[]$&^_,.;=<>\ ",
    r"\left",
    r"\right.",
    r"\begin{cases}",
    r"\end{aligned}",
    r"\text{",
    r"\not",
    "→",
    "~~",
    "是",
]
NUM_MUTANTS = 150


def mutant(source: str, random_source: random.Random) -> str:
    for _ in range(random_source.randint(1, 4)):
        place = random_source.randrange(len(source) + 1)
        length = random_source.choice((0, 0, 1, 1, 2, 8))
        inserted = random_source.choice(PIECES) if random_source.random() < 0.7 else ""
        source = source[:place] + inserted + source[place + length :]
    return source


@pytest.mark.parametrize("source", SOURCES)
def test_mutants_are_read_or_refused_and_lose_no_sign(source):
    random_source = random.Random(source)
    for _ in range(NUM_MUTANTS):
        written = mutant(source, random_source)
        signs = relation_signs(written)
        try:
            chains = read_chains(written)
        except NotUnderstood:
            continue
        covered = {(sign.start, sign.end) for chain in chains for sign in chain.signs}
        unread = unread_signs(written, chains)
        for offset, meaning in signs:
            is_read = any(start <= offset < end for start, end in covered)
            assert is_read or offset in unread or meaning in "→←↦", written
        for side in (side for chain in chains for side in chain.sides if side):
            try:
                assert parse(side) == parse(list(side))
            except InputError:
                continue
