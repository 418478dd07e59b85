"""Misconception: shuffling the tokens leaves a layer's output unchanged."""

from regard.claims._order import GENERATED, ORDER_METHODS, OrderRelation, swap_figure
from regard.claims.claim import Claim, NearMiss, integer

CLAIM = Claim(
    id="permutation-invariance",
    section="4 order",
    statement="Z does not change when the tokens are shuffled: Z(PX) = Z(X)",
    latex=r"Z(PX)=Z(X)",
    expected="refuted",
    parameters=(integer("T", 6, lower=2), integer("d", 4, lower=1)),
    conditions=("every permutation P", "no mask", "no position codes"),
    assumes=(GENERATED,),
    form=OrderRelation(becomes=lambda _, z: z),
    near_misses=(
        NearMiss(
            "its rows are shuffled in the same way: Z(PX) = P Z(X)", OrderRelation(becomes=lambda order, z: order @ z)
        ),
        NearMiss(
            "the sum of its rows does not change: 1ᵀZ(PX) = 1ᵀZ(X)",
            OrderRelation(becomes=lambda _, pooled: pooled, pool=lambda ones, z: ones.T @ z),
        ),
    ),
    methods=ORDER_METHODS,
    derivation="A layer without position codes is equivariant, Z(PX) = P Z(X): each token keeps its own output row "
    "and takes it along. That is Z(X) again only if P happens to leave Z unchanged. Invariance takes symmetric "
    "pooling, since 1ᵀPZ = 1ᵀZ.",
    source="CS224N assignment 4, question 2(a)",
    figure=lambda at: swap_figure(
        at,
        title="The swapped rows change places",
        caption="The two rows that were swapped differ, so Z does change; all others stay.",
        relation=CLAIM.form,
        gap="Z(PX) − Z(X)",
    ),
    demonstration="shuffle?",
)
