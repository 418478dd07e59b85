"""AAᵀ takes v_a out of the sum v_a + v_b of vectors in orthogonal subspaces."""

from regard.claims._subspaces import PARAMETERS, Extraction, by_random_subspaces, by_words
from regard.claims.claim import Claim, Rival

CLAIM = Claim(
    id="subspace-extraction",
    section="1 retrieval",
    statement="A (d×m), B (d×p) with orthonormal columns and AᵀB = 0, v_a ∈ col A, v_b ∈ col B, s = v_a+v_b: "
    "M = AAᵀ gives Ms = v_a",
    latex=r"A^\top A=I,\ A^\top B=0,\ v_a=Ax,\ v_b=By\;\Rightarrow\;AA^\top(v_a+v_b)=v_a",
    expected="proved",
    parameters=PARAMETERS,
    conditions=("d = m + p + spare",),
    form=Extraction(matrix=lambda a, _b: a @ a.T),
    rivals=(
        Rival(statement="M = Aᵀ gives Ms = v_a", form=Extraction(matrix=lambda a, _b: a.T)),
        Rival(statement="M = BBᵀ gives Ms = v_a", form=Extraction(matrix=lambda _a, b: b @ b.T)),
        Rival(statement="M = AAᵀ+BBᵀ gives Ms = v_a", form=Extraction(matrix=lambda a, b: a @ a.T + b @ b.T)),
    ),
    routes=(by_random_subspaces, by_words),
    derivation="v_a = Ax and v_b = By for some x and y, so AAᵀ(v_a+v_b) = A(AᵀA)x + A(AᵀB)y = Ax = v_a. "
    "AAᵀ projects onto col A; one matrix serves every pair of vectors, without knowing either.",
    source="CS224N, attention assignment, question 1(b)(i) (assignment 5 in the years that asked it)",
)
