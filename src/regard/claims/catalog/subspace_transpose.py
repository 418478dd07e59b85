"""The myth that Aᵀ alone takes v_a out of the sum v_a + v_b."""

from regard.claims._subspaces import PARAMETERS, Extraction, by_random_subspaces, by_words
from regard.claims.claim import Claim, Rival

CLAIM = Claim(
    id="subspace-transpose",
    section="1 retrieval",
    statement="A (d×m), B (d×p) with orthonormal columns and AᵀB = 0, v_a ∈ col A, v_b ∈ col B, s = v_a+v_b: "
    "M = Aᵀ gives Ms = v_a",
    latex=r"A^\top A=I,\ A^\top B=0,\ v_a=Ax,\ v_b=By\;\Rightarrow\;A^\top(v_a+v_b)=v_a",
    expected="refuted",
    parameters=PARAMETERS,
    conditions=("d = m + p + spare",),
    form=Extraction(matrix=lambda a, _b: a.T),
    rivals=(
        Rival(statement="M = AAᵀ gives Ms = v_a", form=Extraction(matrix=lambda a, _b: a @ a.T), becomes="proved"),
        Rival(
            statement="M = Aᵀ gives the m coordinates of v_a in A",
            form=Extraction(matrix=lambda a, _b: a.T, target=lambda _a, x: x),
            becomes="proved",
        ),
    ),
    routes=(by_random_subspaces, by_words),
    derivation="Aᵀ(Ax+By) = x: the m coordinates of v_a in A, a vector of m entries, while v_a = Ax has d. "
    "They agree for all v_a only if m = d and Ax = x for all x, that is A = I. Multiplying by A again, AAᵀs = v_a.",
    source="CS224N, attention assignment, question 1(b)(i) (assignment 5 in the years that asked it)",
)
