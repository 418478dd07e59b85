"""A key with value 0 lets a softmax head attend to nothing."""

from regard.claims._retrieval import SINK_HEAD, SINK_KEYS, SINK_METHODS, beside_a_sink
from regard.claims.claim import Claim, NearMiss, real

CLAIM = Claim(
    id="sink-takes-the-rest",
    section="7 softmax",
    statement="n real keys with logits z_i, Z = Σ e^{z_i}, and a sink key of logit s and value 0: a_i = "
    "e^{z_i}/(e^s+Z), the softmax with one more logit (s = 0: e^{z_i}/(1+Z), “softmax-one”); the sink takes "
    "e^s/(e^s+Z), the real keys keep Z/(e^s+Z) in total, which lies between 0 and 1 and tends to 0 as their logits "
    "go to −∞",
    latex=r"a_i=\frac{e^{z_i}}{e^s+\sum_je^{z_j}},\qquad0<\sum_ia_i=1-\frac{e^s}{e^s+\sum_je^{z_j}}<1,\qquad"
    r"\sum_ia_i\xrightarrow{z\to-\infty}0",
    expected="proved",
    parameters=(SINK_KEYS, real("s", 0.0)),
    conditions=("finite logits",),
    form=SINK_HEAD,
    near_misses=(
        NearMiss(
            "softmax-one is right for every s: a_i = e^{z_i}/(1+Z)",
            {"weight": lambda own, rest, sink: own / (1 + own + rest) + 0 * sink},
        ),
        NearMiss(
            "the sink takes e^s/(1+e^s), whatever the other logits are",
            {"sink": lambda total, sink: sink / (1 + sink) + 0 * total},
        ),
        NearMiss("the real keys' weights still sum to 1 far below the sink", {"limit": 1}),
        NearMiss("the same holds without a sink", {"has_sink": False}),
    ),
    methods=SINK_METHODS,
    derivation="The sink is one more key in the denominator, and adds e^s/(e^s+Z)·0 to the output. So the output is "
    "Z/(e^s+Z) times that of plain softmax: a gate that closes when every logit is far below s. Models without such a "
    "key learn to use one, often the first token. Adding 1 to the denominator is the case s = 0.",
    source="Xiao et al. 2023, Efficient streaming language models with attention sinks; Miller 2023, Attention is off "
    "by one",
    figure=beside_a_sink,
)
