"""Attention falls with distance at the declared slopes."""

from collections.abc import Iterator

import numpy as np

from regard.attention import masked_softmax
from regard.conformance.law import Comparison, InputSize, Law, LawTrial, NotTried
from regard.conformance.laws.support import declared_support
from regard.conformance.reference_layer import ReferenceLayer
from regard.conformance.rounding import in_float64
from regard.conformance.subject import Spec, Subject
from regard.positions.alibi import alibi_slopes

# Slopes that are no slopes of ALiBi's differ by far more, rounding by far less.
_TOLERANCE = 2e-3
# So small that logits of tokens are nothing beside those of distances.
_STEP = 1e-3


def _compare(trial: LawTrial) -> Iterator[Comparison]:
    """One quiet token among silent ones: its shares at two distances have the ratio that ALiBi's slopes give them.

        A_i = ∂y_i/∂x_0 = Σ_h w_h(i) V_h,   tr A_1⁻¹ A_i = d_head Σ_h w_h(i) / w_h(1)

    Logits of silent tokens are −m_h |i − j| alone, so w_h(i) = softmax_j(−m_h |i − j|)₀. The trace depends on no
    weights, nor on what comes after attention, as long as the V_h of all heads together have full rank.
    """
    if trial.size.length < 3:
        return
    trial = in_float64(trial)
    spec, length = trial.spec, trial.size.length
    size = float(np.max([np.abs(trial.subject.call(trial.inputs(name))).max() for name in ("inputs", "others")]))
    if not size > 0:
        yield Comparison(what="falling with distance", error=0.0 * size, tolerance=_TOLERANCE, control=0.0)
        return
    found, again = (_mean_ratios(trial, step) for step in (_STEP, 2 * _STEP))
    if not np.abs(found - again).max() < _TOLERANCE / 4:
        raise NotTried("its values do not span the width, or are rounded too much to be told apart")
    shares = np.stack([_share(spec, slope, length) for slope in alibi_slopes(spec.num_heads)])
    wanted = np.mean(shares[:, 1:] / shares[:, 1:2], axis=0)
    gaps = np.abs(found - wanted)
    yield Comparison(
        what="the share of a token does not fall with distance as at ALiBi's slopes",
        error=float(gaps.max()),
        tolerance=_TOLERANCE,
        control=None,
        place={"distance": 1 + int(np.argmax(gaps))},
        signature={"found": found.tolist(), "wanted": wanted.tolist()},
    )


def _mean_ratios(trial: LawTrial, step: float) -> np.ndarray:
    """The mean over heads of what each token from the second on gives the first one, relative to the second."""
    among = _jacobians(trial, trial.size.length, step)[1:]
    if np.linalg.matrix_rank(among[0]) < trial.spec.width:
        raise NotTried("its values do not span the width")
    return np.trace(np.linalg.solve(among[0], among), axis1=1, axis2=2) / trial.spec.width


def _jacobians(trial: LawTrial, length: int, step: float) -> np.ndarray:
    """How each output moves with the first input, where all are silent [output, input's width, output's width]."""
    width = trial.spec.width
    x = np.zeros((width, length, width), dtype=trial.inputs().dtype)
    x[np.arange(width), 0, np.arange(width)] = step
    up, down = (trial.subject.call(sign * x).astype(np.float64) for sign in (1, -1))
    return ((up - down) / (2 * step)).transpose(1, 0, 2)


def _share(spec: Spec, slope: float, length: int) -> np.ndarray:
    """What each token gives the first one if only distances count."""
    gaps = np.abs(np.arange(length)[:, None] - np.arange(length)[None, :])
    return masked_softmax(-slope * gaps.astype(np.float64), declared_support(spec, length), empty="zero")[:, 0]


class _OtherSlopes(ReferenceLayer):
    """Has slopes that are twice as steep."""

    def slopes(self) -> np.ndarray:
        return alibi_slopes(self.spec.num_heads) * 2


def _broken_example() -> Subject:
    return _OtherSlopes(Spec(causal=True, positions="alibi"), name="slopes twice as steep")


def _applies(spec: Spec) -> str | None:
    if spec.positions != "alibi":
        said = "nothing is declared" if spec.positions is None else f"it is {spec.positions}"
        return f"only for positions = alibi, and {said}"
    if spec.causal is None:
        return "only for causal = True or False, and nothing is declared"
    if spec.num_kv_heads != spec.num_heads or spec.num_heads * spec.head_width != spec.width:
        return "only for heads with values of their own that fill the width"
    if spec.sink:
        return "a sink takes a share that is not known"
    return None if spec.depth == 1 else f"slopes mix in {spec.depth} layers"


LAW = Law(
    id="SLOPES",
    statement="among silent tokens, the share of a token falls with distance as ALiBi's slopes say",
    applies=_applies,
    compare=_compare,
    broken_example=_broken_example,
    suspects=(
        "alibi: the slopes belong to another number of heads",
        "alibi: the bias is scaled with the logits",
        "alibi: all heads have one slope",
    ),
    size=InputSize(batch=2, length=16),
)
