"""The myth that shuffling the tokens leaves a layer's output as it is."""

from regard.claims._order import GENERATED, Relation, by_balls, by_reference_layer, by_words
from regard.claims.claim import Claim, Rival
from regard.claims.figures import order
from regard.claims.parameters import Parameter

CLAIM = Claim(
    id="permutation-invariance",
    section="4 order",
    statement="Z does not change when the tokens are shuffled: Z(PX) = Z(X)",
    latex=r"Z(PX)=Z(X)",
    expected="refuted",
    parameters=(
        Parameter(name="T", default=6, lower=2, is_integer=True),
        Parameter(name="d", default=4, lower=1, is_integer=True),
    ),
    conditions=("every permutation P", "no mask", "no position codes"),
    form=Relation(becomes=lambda _, z: z),
    rivals=(
        Rival(
            statement="its rows are shuffled the same way: Z(PX) = P Z(X)",
            form=Relation(becomes=lambda order, z: order @ z),
            becomes="proved",
        ),
        Rival(
            statement="the sum of its rows does not change: 1ᵀZ(PX) = 1ᵀZ(X)",
            form=Relation(becomes=lambda _, pooled: pooled, pool=lambda ones, z: ones.T @ z),
            becomes="proved",
        ),
    ),
    routes=(by_balls, by_words, by_reference_layer),
    assumes=(GENERATED,),
    derivation="A layer without position codes is equivariant, Z(PX) = P Z(X): each token keeps its own output row and "
    "takes it along. That is Z(X) again only if P happens to leave Z alone. Invariance comes after symmetric pooling, "
    "since 1ᵀPZ = 1ᵀZ.",
    source="CS224N assignment 4, question 2(a)",
    figure=order.invariant,
)
