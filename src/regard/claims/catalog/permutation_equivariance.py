"""A layer without position codes is permutation equivariant."""

from regard.claims._order import GENERATED, Relation, by_balls, by_reference_layer, by_words
from regard.claims.claim import Claim, Rival
from regard.claims.figures import order
from regard.claims.parameters import Parameter

CLAIM = Claim(
    id="permutation-equivariance",
    section="4 order",
    statement="for every permutation matrix P: Z(PX) = P Z(X)",
    latex=r"Z(PX)=P\,Z(X),\qquad Z=\mathrm{ReLU}(HW_1+\mathbf 1b_1)W_2+\mathbf 1b_2,\quad "
    r"H=\mathrm{softmax}(QK^\top/\sqrt d)\,V",
    expected="proved",
    parameters=(
        Parameter(name="T", default=6, lower=1, is_integer=True),
        Parameter(name="d", default=4, lower=1, is_integer=True),
    ),
    conditions=("every permutation P", "no mask", "no position codes"),
    form=Relation(becomes=lambda order, z: order @ z),
    rivals=(
        Rival(statement="Z(PX) = Z(X)", form=Relation(becomes=lambda _, z: z)),
        Rival(statement="Z(PX) = PᵀZ(X)", form=Relation(becomes=lambda order, z: order.T @ z)),
        Rival(statement="with a causal mask, too", form=Relation(becomes=lambda order, z: order @ z, is_causal=True)),
        Rival(
            statement="with position codes added to X, too",
            form=Relation(becomes=lambda order, z: order @ z, has_positions=True),
        ),
    ),
    routes=(by_balls, by_words, by_reference_layer),
    assumes=(GENERATED,),
    derivation="Q, K and V become PQ, PK and PV. softmax acts on each row, however its entries are ordered: "
    "softmax(PAPᵀ) = P softmax(A) Pᵀ. So H becomes P softmax(A) PᵀP V = PH, since PᵀP = I. "
    "ReLU acts on each entry and P1 = 1, so Z becomes ReLU(PHW_1 + P1b_1)W_2 + P1b_2 = PZ. "
    "A swap of two neighbours is enough, each for all X, because such swaps generate the permutations.",
    source="CS224N assignment 4, question 2(a)",
    figure=order.equivariant,
)
