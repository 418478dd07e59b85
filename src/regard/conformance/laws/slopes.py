"""Attention falls with distance at ALiBi's slopes."""

import numpy as np

from regard.attention import masked_softmax
from regard.conformance.law import BlindSpot, Comparison, Comparisons, InputSize, Law, LawTrial, NotTried, only_if
from regard.conformance.laws.support import declared_support
from regard.conformance.reference_layer import ReferenceLayer
from regard.conformance.subject import Spec
from regard.conformance.verdict import Diagnosis
from regard.positions.alibi import alibi_slopes

# Wrong slopes differ by far more than this, rounding by far less.
_TOLERANCE = 2e-3
# So small that the logits of tokens are negligible beside those of distances.
_STEP = 1e-3


def _compare(trial: LawTrial) -> Comparisons:
    """One small token among zeros: its weights at two distances have the ratio that ALiBi's slopes give them.

        A_i = ∂y_i/∂x_0 = Σ_h w_h(i) V_h,   tr A_1⁻¹ A_i = d_head Σ_h w_h(i) / w_h(1)

    Logits of zero tokens are just −m_h |i − j|, so w_h(i) = softmax_j(−m_h |i − j|)₀. The trace depends neither on the
    projections nor on what follows attention, as long as the V_h of all heads together have full rank.
    """
    if trial.size.length < 3:
        return
    trial = trial.in_float64()
    spec, length = trial.spec, trial.size.length
    size = float(np.max([np.abs(trial.call(trial.inputs(name))).max() for name in ("inputs", "others")]))
    if not size > 0:
        yield Comparison(what="all outputs are zero", error=0.0 * size, tolerance=_TOLERANCE, control=0.0)
        return
    found, again = (_mean_ratios(trial, step) for step in (_STEP, 2 * _STEP))
    if not np.abs(found - again).max() < _TOLERANCE / 4:
        raise NotTried("its values do not span the width, or are rounded too coarsely")
    # The weights [head, token] that each token gives the first one if only distances count.
    apart = np.abs(np.arange(length)[:, None] - np.arange(length)[None, :])
    logits = -alibi_slopes(spec.num_heads)[:, None, None] * apart.astype(np.float64)
    seen = np.broadcast_to(declared_support(spec, length), logits.shape)
    weights = masked_softmax(logits, seen, empty="zero")[:, :, 0]
    wanted = np.mean(weights[:, 1:] / weights[:, 1:2], axis=0)
    gaps = np.abs(found - wanted)
    yield Comparison(
        what="the weight of a token does not fall with distance at ALiBi's slopes",
        error=float(gaps.max()),
        tolerance=_TOLERANCE,
        place={"distance": 1 + int(np.argmax(gaps))},
    )


def _mean_ratios(trial: LawTrial, step: float) -> np.ndarray:
    """The weight that each token from the second on gives the first one, relative to the second; mean over heads."""
    width = trial.spec.width
    x = np.zeros((width, trial.size.length, width), dtype=trial.inputs().dtype)
    x[np.arange(width), 0, np.arange(width)] = step
    up, down = (trial.call(sign * x).astype(np.float64) for sign in (1, -1))
    # How each output changes with the first input [output, input's width, output's width].
    jacobians = ((up - down) / (2 * step)).transpose(1, 0, 2)[1:]
    if np.linalg.matrix_rank(jacobians[0]) < width:
        raise NotTried("its values do not span the width")
    return np.trace(np.linalg.solve(jacobians[0], jacobians), axis1=1, axis2=2) / width


def _applies(spec: Spec) -> str | None:
    unsuitable = only_if(positions="alibi", causal=(True, False))(spec)
    if unsuitable:
        return unsuitable
    if spec.num_kv_heads != spec.num_heads or spec.num_heads * spec.head_width != spec.width:
        return "only if every head has values of its own and together they fill the width"
    if spec.sink:
        return "a sink takes an unknown share"
    return None if spec.depth == 1 else f"slopes mix in {spec.depth} layers"


class _SteeperSlopes(ReferenceLayer):
    def slopes(self) -> np.ndarray:
        return alibi_slopes(self.spec.num_heads) * 2


LAW = Law(
    id="SLOPES",
    statement="among zero tokens, the weight of a token falls with distance as ALiBi's slopes say",
    family="alibi",
    rank=220,
    applies=_applies,
    compare=_compare,
    means=Diagnosis("alibi", "weights do not fall with distance as declared"),
    reveals=(BlindSpot.ALIBI_SLOPES,),
    broken_example=lambda: _SteeperSlopes(Spec(causal=True, positions="alibi"), name="slopes twice as steep"),
    suspects=(
        "the slopes belong to another number of heads",
        "the bias is scaled with the logits",
        "all heads have the same slope",
    ),
    size=InputSize(batch=2, length=16),
)
