"""Causal layers of a sliding window see a little further each, and no further."""

from functools import reduce

import numpy as np

from regard.analysis.closed_forms.distances import window_reach
from regard.analysis.engines.symbolic import Field, identity
from regard.attention import Rule, attend, causal_mask, combine_masks, window_mask
from regard.claims._comparisons import all_parts, of_smaller_case
from regard.claims.claim import Claim, Rival, Trial
from regard.claims.figures import distances
from regard.claims.parameters import Parameter
from regard.core.verdict import Evidence

_MOST_LAYERS, _MOST_WINDOW = 6, 9


def _sizes(trial: Trial) -> tuple[int, int, str]:
    layers, window = min(trial.at.layers, _MOST_LAYERS), min(trial.at.window, _MOST_WINDOW)
    is_smaller = (layers, window) != (trial.at.layers, trial.at.window)
    note = f" (thinned from {trial.at.layers:g} and {trial.at.window:g})" if is_smaller else ""
    return layers, window, f"L = {layers}, w = {window}{note}"


def _by_algebra(trial: Trial) -> Evidence:
    """Induction: no layer reaches the token itself, and one more layer adds w−1, because lags 0…r−1 and 0…w−1 add up.

    Lag x ≤ r+w−2 is x + 0 if x ≤ r−1, else (r−1) + (x−r+1); no sum is larger. Lag 0 is among them, so a residual
    connection adds nothing; if all weights are positive nothing cancels.
    """
    field, rng = Field(counts=("L", "w", "r")), trial.rng("algebra")
    layers, window, reach = (field[name] for name in field.symbols)
    try:
        first, more = trial.form(0 * layers, window), trial.form(layers + 1, window) - trial.form(layers, window)
    except TypeError:
        return Evidence(route="algebra", status="undecided", detail="the claimed reach is no rational function of L, w")
    return all_parts(
        "algebra",
        [
            identity(first, field.constant(1), rng=rng, what="without layers a token sees itself only"),
            identity(more, window - 1, rng=rng, what="one more layer adds w−1 tokens"),
            identity((reach - 1) + (window - 1), reach + window - 2, rng=rng, what="lags 0…r−1 and 0…w−1 make 0…r+w−2"),
        ],
    )


def _by_boolean_powers(trial: Trial) -> Evidence:
    """Who is reached by whom: the window's matrix multiplied L times, true or false, with residual connections."""
    layers, window, at = _sizes(trial)
    tokens = layers * window + 3
    sees = combine_masks(causal_mask(tokens, tokens), window_mask(tokens, tokens, window=window))
    step = sees | np.eye(tokens, dtype=bool)
    reached = reduce(lambda now, _: now @ step, range(layers), np.eye(tokens, dtype=bool))[-1]
    return _weighed("boolean powers", trial, reached, at)


def _by_reference_layer(trial: Trial) -> Evidence:
    """The reference layer, residual: which tokens, when nudged, move the last row."""
    layers, window, at = _sizes(trial)
    tokens, rng = layers * window + 3, trial.rng("layer")
    mask = combine_masks(causal_mask(tokens, tokens), window_mask(tokens, tokens, window=window))
    x = rng.normal(size=(tokens, 2))
    nudged = np.broadcast_to(x, (tokens, tokens, 2)).copy()
    nudged[np.arange(tokens), np.arange(tokens)] += 1.0
    both = np.concatenate([x[None], nudged])
    for _ in range(layers):
        # Halving keeps logits small, so that every visible token has a weight that counts.
        both = (both + attend(0.1 * both, both, both, mask=mask, rule=Rule(scale=1.0))) / 2
    gaps = np.abs(both[1:, -1] - both[0, -1]).max(axis=-1)
    # A token out of reach enters no number that the last row is made of, so that its row does not move by one bit.
    return _weighed("reference layer", trial, gaps > 0, at)


def _weighed(route: str, trial: Trial, reached: np.ndarray, at: str) -> Evidence:
    """Whether the last token is reached by exactly so many of the last ones as is claimed."""
    layers, window, _ = _sizes(trial)
    found, claimed = int(reached.sum()), trial.form(layers, window)
    is_run = bool(reached[-found:].all())
    told = f"{at}: the last token is reached by {found} tokens{', the last ones' if is_run else ''}"
    if found == claimed and is_run:
        evidence = Evidence(route=route, status="holds", detail=told, value=float(found))
        return of_smaller_case(evidence, tried=layers * window, asked=trial.at.layers * trial.at.window)
    return Evidence(
        route=route,
        status="refuted",
        detail=told,
        value=float(found),
        counterexample=f"{told}; the statement says {claimed}",
    )


CLAIM = Claim(
    id="windows-reach-this-far",
    section="4 order",
    statement="L causal layers of sliding window w (each token sees itself and the w−1 before it), with residual "
    "connections or without, see exactly the last L(w−1)+1 tokens",
    latex=r"\{u:\ x_u\text{ can move row }t\text{ of layer }L\}=\{t-L(w-1),\dots,t\}",
    expected="proved",
    parameters=(
        Parameter(name="layers", default=4, lower=1, is_integer=True),
        Parameter(name="window", default=4, lower=2, is_integer=True),
    ),
    conditions=("at least L(w−1)+1 tokens",),
    assumes=("induction over the layers",),
    form=window_reach,
    rivals=(
        Rival(statement="L·w tokens", form=lambda layers, window: layers * window),
        Rival(statement="w^L tokens: each layer multiplies the reach", form=lambda layers, window: window**layers),
        Rival(statement="L(w−1) tokens", form=lambda layers, window: layers * (window - 1)),
        Rival(
            statement="w tokens, however many layers: what is masked stays masked",
            form=lambda layers, window: window + 0 * layers,
        ),
    ),
    routes=(_by_boolean_powers, _by_reference_layer, _by_algebra),
    figure=distances.windows,
    derivation="One layer lets lags 0…w−1 through. Lags add up along a path of layers, and 0…r−1 plus 0…w−1 is all of "
    "0…r+w−2: each layer adds w−1. L = 4, w = 4: 13 tokens, not 16; Mistral 7B's 32 layers of window 4096 see "
    "131,041. Residual connections are lag 0, which the window has anyway.",
    source="Beltagy, Peters and Cohan 2020, Longformer: the long-document transformer; Jiang et al. 2023, Mistral 7B",
)
