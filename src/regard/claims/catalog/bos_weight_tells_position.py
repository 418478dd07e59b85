"""One token of its own kind at the beginning is enough for a causal layer to know where it is."""

import numpy as np

from regard.analysis.closed_forms.order import bos_weight
from regard.analysis.closed_forms.retrieval import share
from regard.analysis.engines.symbolic import Field, identity, positive
from regard.attention import attend, causal_mask
from regard.claims._comparisons import all_parts, of_smaller_case
from regard.claims._turns import worst_entry
from regard.claims.claim import Claim, Rival, Trial
from regard.claims.figures import distances
from regard.claims.parameters import Parameter
from regard.core.verdict import Evidence

_MOST_TOKENS = 256


def _by_algebra(trial: Trial) -> Evidence:
    """The share of one exponential among t equal ones, and that it falls from each position to every later one."""
    field, rng = Field("later", counts=("t",)), trial.rng("algebra")
    later, t = field["later"], field["t"]
    weight = trial.form(t)
    return all_parts(
        "algebra",
        [
            identity(weight, share(field.constant(1), t - 1), rng=rng, what="BOS's weight among t equal logits"),
            positive(weight - trial.form(t + 1 + later), rng=rng, what="it falls with t, so no two positions share it"),
            identity(1 / weight, t, rng=rng, what="its inverse is the position"),
        ],
    )


def _by_reference_layer(trial: Trial) -> Evidence:
    """The reference layer with queries 0 and a value that is 1 for BOS and 0 for every other token."""
    tokens, rng = min(trial.at.T, _MOST_TOKENS), trial.rng("keys")
    keys, is_bos = rng.normal(size=(tokens, 4)), np.zeros((tokens, 1))
    is_bos[0] = 1.0
    read = attend(np.zeros((tokens, 4)), keys, is_bos, mask=causal_mask(tokens, tokens))[:, 0]
    positions = np.arange(1.0, tokens + 1)
    found = worst_entry(
        "what the layer reads",
        claimed=trial.form(positions),
        measured=read,
        tolerance=1e-13,
        at=lambda row: f"T = {tokens}, zero logits, values 1 for BOS and 0 for the others, position {row + 1}",
    )
    is_read_off = bool((np.rint(1 / read) == positions).all())
    status = "holds" if is_read_off else "refuted"
    told = Evidence(route="brute force", status=status, detail=f"1/(what it reads) is the position up to {tokens}")
    return of_smaller_case(all_parts("brute force", [found, told]), tried=tokens, asked=trial.at.T)


CLAIM = Claim(
    id="bos-weight-tells-position",
    section="4 order",
    statement="a causal layer without position codes, all logits equal, the first token (BOS) unlike the others: at "
    "position t = 1, 2, … BOS's weight is 1/t, so the position can be read off the output",
    latex=r"z_{tu}=0\ (u\le t)\;\Rightarrow\;a_{t,\mathrm{BOS}}=\frac1t,\qquad t=1/a_{t,\mathrm{BOS}}",
    expected="proved",
    parameters=(Parameter(name="T", default=64, lower=2, is_integer=True),),
    conditions=("a causal mask", "W_Q = 0, so that all logits are 0"),
    form=bos_weight,
    rivals=(
        Rival(statement="1/(t+1): BOS comes on top of the t tokens", form=lambda position: 1 / (position + 1)),
        Rival(
            statement="½ at every position: BOS shares with the present token",
            form=lambda position: (1 + 0 * position) / 2,
        ),
        Rival(statement="1/t²", form=lambda position: 1 / (position * position)),
    ),
    routes=(_by_reference_layer, _by_algebra),
    figure=distances.bos,
    derivation="Position t sees t tokens with equal logits, so each weighs 1/t. With a value that is 1 for BOS and 0 "
    "elsewhere the output is 1/t: another number at every position, 1, 1/2, 1/3, … In float64 1/(1/t) still rounds to "
    "t at the 256 positions tried; in bfloat16 1/t and 1/(t+1) first merge at t = 190.",
    source="Kazemnejad et al. 2023, The impact of positional encoding on length generalization in transformers, "
    "theorem 1",
)
