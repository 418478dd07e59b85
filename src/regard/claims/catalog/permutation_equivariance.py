"""A layer without position codes is permutation equivariant."""

from regard.claims._order import GENERATED, ORDER_METHODS, OrderRelation, swap_figure
from regard.claims.claim import Claim, NearMiss, integer

CLAIM = Claim(
    id="permutation-equivariance",
    section="4 order",
    statement="for every permutation matrix P: Z(PX) = P Z(X)",
    latex=r"Z(PX)=P\,Z(X),\qquad Z=\mathrm{ReLU}(HW_1+\mathbf 1b_1)W_2+\mathbf 1b_2,\quad "
    r"H=\mathrm{softmax}(QK^\top/\sqrt d)\,V",
    expected="proved",
    parameters=(integer("T", 6, lower=1), integer("d", 4, lower=1)),
    conditions=("every permutation P", "no mask", "no position codes"),
    assumes=(GENERATED,),
    form=OrderRelation(becomes=lambda order, z: order @ z),
    near_misses=(
        NearMiss("Z(PX) = Z(X)", OrderRelation(becomes=lambda _, z: z)),
        NearMiss("Z(PX) = PᵀZ(X)", OrderRelation(becomes=lambda order, z: order.T @ z)),
        NearMiss("with a causal mask, too", OrderRelation(becomes=lambda order, z: order @ z, is_causal=True)),
        NearMiss(
            "with position codes added to X, too", OrderRelation(becomes=lambda order, z: order @ z, has_positions=True)
        ),
    ),
    methods=ORDER_METHODS,
    derivation="Q, K and V become PQ, PK and PV. softmax acts on each row, whatever the order of its entries: "
    "softmax(PAPᵀ) = P softmax(A) Pᵀ. So H becomes P softmax(A) PᵀP V = PH, since PᵀP = I. "
    "ReLU acts on each entry and P1 = 1, so Z becomes ReLU(PHW_1 + P1b_1)W_2 + P1b_2 = PZ. "
    "It is enough to show this for swaps of two neighbours and all X, because such swaps generate all permutations.",
    source="CS224N assignment 4, question 2(a)",
    figure=lambda at: swap_figure(
        at,
        title="Every row moves with its token",
        caption="Nothing is left but float64's rounding, about 10⁻¹⁶.",
        relation=CLAIM.form,
    ),
    demonstration="shuffle?",
)
