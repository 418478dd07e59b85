"""A distinctive first token is enough for a causal layer to know its position."""

import numpy as np

from regard.analysis.closed_forms.softmax import share, uniform_weight
from regard.analysis.engines.symbolic import identity, positive
from regard.attention import attend, causal_mask
from regard.claims._evidence import Evidence, smaller_case, worst_entry
from regard.claims.claim import Claim, NearMiss, Settings, Trial, integer
from regard.render.figures import Axis, Chart, Series

_MOST_TOKENS = 256


def _by_algebra(trial: Trial) -> list[Evidence]:
    """One of t equal exponentials as a fraction of their sum, which falls from each position to every later one."""
    later, t = trial.field("later", counts=("t",))
    weight = trial.form(t)
    return [
        identity(weight, share(1, t - 1), "BOS's weight among t equal logits"),
        positive(weight - trial.form(t + 1 + later), "it falls with t, so no two positions share it"),
        identity(1 / weight, t, "its inverse is the position"),
    ]


def _by_reference_layer(trial: Trial) -> list[Evidence]:
    """The reference layer with queries 0 and a value that is 1 for BOS and 0 for every other token."""
    tokens, rng = min(trial.at.T, _MOST_TOKENS), trial.rng("keys")
    keys, is_bos = rng.normal(size=(tokens, 4)), np.zeros((tokens, 1))
    is_bos[0] = 1.0
    read = attend(np.zeros((tokens, 4)), keys, is_bos, mask=causal_mask(tokens, tokens))[:, 0]
    positions = np.arange(1.0, tokens + 1)
    found = worst_entry(
        "the layer's output",
        claimed=trial.form(positions),
        found=read,
        tolerance=1e-13,
        at=lambda row: f"T = {tokens}, zero logits, values 1 for BOS and 0 for the others, position {row + 1}",
    )
    status = "holds" if (np.rint(1 / read) == positions).all() else "refuted"
    inverse = Evidence(status=status, detail=f"1/output is the position up to {tokens}")
    return smaller_case([found, inverse], tried=tokens, asked=trial.at.T)


def _figure(at: Settings) -> Chart:
    positions = np.arange(1, int(min(max(at.T, 16), 256)) + 1)
    return Chart(
        title="The first token's weight gives the position",
        caption="The weight of the beginning-of-sequence token at position t of a causal layer whose logits are all "
        "equal. It is different at every position, so the output determines t, though ever more faintly.",
        x=Axis(label="position t", is_log=True),
        y=Axis(label="weight of the first token", is_log=True),
        series=(Series(label="1/t", x=positions, y=uniform_weight(positions), style="points"),),
    )


CLAIM = Claim(
    id="bos-weight-tells-position",
    section="4 order",
    statement="a causal layer without position codes, all logits equal, the first token (BOS) different from the "
    "others: at position t = 1, 2, … BOS's weight is 1/t, so the position can be read off the output",
    latex=r"z_{tu}=0\ (u\le t)\;\Rightarrow\;a_{t,\mathrm{BOS}}=\frac1t,\qquad t=1/a_{t,\mathrm{BOS}}",
    expected="proved",
    parameters=(integer("T", 64, lower=2),),
    conditions=("a causal mask", "W_Q = 0, so that all logits are 0"),
    form=uniform_weight,
    near_misses=(
        NearMiss("1/(t+1): BOS comes in addition to the t tokens", lambda position: 1 / (position + 1)),
        NearMiss("½ at every position: BOS and the current token share", lambda position: (1 + 0 * position) / 2),
        NearMiss("1/t²", lambda position: 1 / (position * position)),
    ),
    methods={"brute force": _by_reference_layer, "algebra": _by_algebra},
    derivation="Position t sees t tokens with equal logits, so each weighs 1/t. With a value that is 1 for BOS and 0 "
    "elsewhere the output is 1/t, a different number at every position: 1, 1/2, 1/3, … In float64 1/(1/t) still "
    "rounds to t at the 256 positions tried; in bfloat16 1/t and 1/(t+1) first merge at t = 190.",
    source="Kazemnejad et al. 2023, The impact of positional encoding on length generalization in transformers, "
    "theorem 1",
    figure=_figure,
)
