"""Each causal layer with a sliding window sees a little further, and no further."""

from functools import reduce

import numpy as np

from regard.analysis.closed_forms.position_codes import window_reach
from regard.analysis.engines.symbolic import identity
from regard.attention import AttentionRule, attend, causal_mask, combine_masks, window_mask
from regard.claims._evidence import Evidence, one_case, smaller_case
from regard.claims.claim import Claim, NearMiss, Settings, Trial, integer
from regard.render.figures import Axis, HeatMap

_MOST_LAYERS, _MOST_WINDOW = 6, 9


def _sizes(trial: Trial) -> tuple[int, int, str]:
    layers, window = min(trial.at.layers, _MOST_LAYERS), min(trial.at.window, _MOST_WINDOW)
    is_smaller = (layers, window) != (trial.at.layers, trial.at.window)
    note = f" (reduced from {trial.at.layers:g} and {trial.at.window:g})" if is_smaller else ""
    return layers, window, f"L = {layers}, w = {window}{note}"


def _by_algebra(trial: Trial) -> list[Evidence]:
    """Induction: without layers a token reaches itself, and each layer adds w−1, because lags 0…r−1 and 0…w−1 add up.

    Lag x ≤ r+w−2 is x + 0 if x ≤ r−1, else (r−1) + (x−r+1); no sum is larger. Lag 0 is among them, so a residual
    connection adds nothing; if all weights are positive nothing cancels.
    """
    layers, window, reach = trial.field(counts=("L", "w", "r"))
    try:
        first, more = trial.form(0 * layers, window), trial.form(layers + 1, window) - trial.form(layers, window)
    except TypeError:
        return [Evidence(status="undecided", detail="the claimed reach is not a rational function of L and w")]
    return [
        identity(first, 1, "without layers a token sees only itself"),
        identity(more, window - 1, "one more layer adds w−1 tokens"),
        identity((reach - 1) + (window - 1), reach + window - 2, "lags 0…r−1 and 0…w−1 make 0…r+w−2"),
    ]


def _by_boolean_powers(trial: Trial) -> list[Evidence]:
    """Which tokens reach which: the L-th boolean power of the window's mask, with residual connections."""
    layers, window, at = _sizes(trial)
    tokens = layers * window + 3
    sees = combine_masks(causal_mask(tokens, tokens), window_mask(tokens, tokens, window=window))
    step = sees | np.eye(tokens, dtype=bool)
    reached = reduce(lambda now, _: now @ step, range(layers), np.eye(tokens, dtype=bool))[-1]
    return _compared(trial, reached, at)


def _by_reference_layer(trial: Trial) -> list[Evidence]:
    """The reference layer with residual connections: which tokens change the last row when they are changed."""
    layers, window, at = _sizes(trial)
    tokens, rng = layers * window + 3, trial.rng("layer")
    mask = combine_masks(causal_mask(tokens, tokens), window_mask(tokens, tokens, window=window))
    x = rng.normal(size=(tokens, 2))
    nudged = np.broadcast_to(x, (tokens, tokens, 2)).copy()
    nudged[np.arange(tokens), np.arange(tokens)] += 1.0
    both = np.concatenate([x[None], nudged])
    for _ in range(layers):
        # Halving keeps logits small, so that every visible token has a noticeable weight.
        both = (both + attend(0.1 * both, both, both, mask=mask, rule=AttentionRule(scale=1.0))) / 2
    gaps = np.abs(both[1:, -1] - both[0, -1]).max(axis=-1)
    # The last row is not computed from tokens out of reach, so they do not change a single bit of it.
    return _compared(trial, gaps > 0, at)


def _compared(trial: Trial, reached: np.ndarray, at: str) -> list[Evidence]:
    """Whether the last token is reached by exactly as many of the last tokens as is claimed."""
    layers, window, _ = _sizes(trial)
    found, claimed = int(reached.sum()), trial.form(layers, window)
    is_run = bool(reached[-found:].all())
    shown = f"{at}: the last token is reached by {found} tokens{', the last ones' if is_run else ''}"
    evidence = one_case(shown, agrees=is_run and found == claimed, said=str(claimed), value=float(found))
    return smaller_case(evidence, tried=layers * window, asked=trial.at.layers * trial.at.window)


def _figure(at: Settings) -> HeatMap:
    window, layers = int(min(at.window, 12)), int(min(at.layers, 8))
    tokens = min(layers * (window - 1) + 6, 48)
    behind = np.arange(tokens)[:, None] - np.arange(tokens)[None, :]
    needed = np.ceil(behind / (window - 1))
    return HeatMap(
        title="Each layer adds a window",
        caption=f"The number of layers of window {window} that token j needs to reach token i; blank where {layers} "
        f"are not enough or j comes after i. The band is {layers}·{window - 1}+1 = {layers * (window - 1) + 1} tokens "
        "wide.",
        x=Axis(label="token j that is seen", lower=1.0),
        y=Axis(label="token i that looks", lower=1.0),
        values=np.where((behind >= 0) & (needed <= layers), needed, np.nan),
        lower=0.0,
        upper=float(layers),
    )


CLAIM = Claim(
    id="windows-reach-this-far",
    section="4 order",
    statement="L causal layers with sliding window w (each token sees itself and the w−1 before it), with or without "
    "residual connections, see exactly the last L(w−1)+1 tokens",
    latex=r"\{u:\ x_u\text{ can move row }t\text{ of layer }L\}=\{t-L(w-1),\dots,t\}",
    expected="proved",
    parameters=(integer("layers", 4, lower=1), integer("window", 4, lower=2)),
    conditions=("at least L(w−1)+1 tokens",),
    assumes=("induction over the layers",),
    form=window_reach,
    near_misses=(
        NearMiss("L·w tokens", lambda layers, window: layers * window),
        NearMiss("w^L tokens: each layer multiplies the reach", lambda layers, window: window**layers),
        NearMiss("L(w−1) tokens", lambda layers, window: layers * (window - 1)),
        NearMiss(
            "w tokens, however many layers: what is masked stays masked", lambda layers, window: window + 0 * layers
        ),
    ),
    methods={"boolean powers": _by_boolean_powers, "reference layer": _by_reference_layer, "algebra": _by_algebra},
    derivation="One layer passes lags 0…w−1. Lags add up along a path through the layers, and 0…r−1 plus 0…w−1 gives "
    "all of 0…r+w−2: each layer adds w−1. L = 4, w = 4: 13 tokens, not 16; Mistral 7B's 32 layers of window 4096 see "
    "131,041. Residual connections are lag 0, which the window contains anyway.",
    source="Beltagy, Peters and Cohan 2020, Longformer: the long-document transformer; Jiang et al. 2023, Mistral 7B",
    figure=_figure,
)
