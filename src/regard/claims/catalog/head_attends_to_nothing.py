"""Misconception: very negative logits switch a softmax head off."""

from regard.analysis.closed_forms.softmax import share
from regard.claims._retrieval import SINK_HEAD, SINK_KEYS, SINK_METHODS, beside_a_sink
from regard.claims.claim import Claim, Form, NearMiss

CLAIM = Claim(
    id="head-attends-to-nothing",
    section="7 softmax",
    statement="a softmax head without a sink outputs (nearly) nothing when all its logits are very negative: its "
    "output c = Σ a_i v_i tends to 0 as they go to −∞ together",
    latex=r"z_1,\dots,z_n\to-\infty\ \Rightarrow\ c=\sum_ia_iv_i\to0",
    expected="refuted",
    parameters=(SINK_KEYS,),
    conditions=("finite logits", "no sink", "values of any kind"),
    form=Form(**{**vars(SINK_HEAD), "has_sink": False}),
    near_misses=(
        NearMiss(
            "the coefficients sum to 1 whatever the logits, so equal values come out unchanged",
            {"limit": 1, "weight": lambda own, rest, sink: share(own, rest) + 0 * sink},
        ),
        NearMiss("with a sink of logit 0 and value 0 the output does tend to 0", {"has_sink": True}),
    ),
    methods=SINK_METHODS,
    derivation="Only differences of logits matter: lowering all of them by D cancels in e^{z_i−D}/Σe^{z_j−D}. Weights "
    "sum to 1, so values that are all v give c = v, whether the logits are −600 or 0. A head can only output nothing "
    "through a key whose value is 0 (see `sink-takes-the-rest`) or through values that cancel.",
    source="Miller 2023, Attention is off by one; Xiao et al. 2023, Efficient streaming language models with attention "
    "sinks",
    figure=beside_a_sink,
)
