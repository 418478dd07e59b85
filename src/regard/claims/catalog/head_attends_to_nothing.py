"""The myth that very negative logits switch a softmax head off."""

from regard.analysis.closed_forms.retrieval import share
from regard.claims._sinks import KEYS, SinkHead, by_algebra, by_brute_force
from regard.claims.claim import Claim, Rival
from regard.claims.figures import softmax

CLAIM = Claim(
    id="head-attends-to-nothing",
    section="7 softmax",
    statement="a softmax head without a sink gives (nearly) nothing when all its logits are very negative: its output "
    "c = Σ a_i v_i tends to 0 as they go to −∞ together",
    latex=r"z_1,\dots,z_n\to-\infty\ \Rightarrow\ c=\sum_ia_iv_i\to0",
    expected="refuted",
    parameters=(KEYS,),
    conditions=("finite logits", "no sink", "values of any kind"),
    form=SinkHead(has_sink=False, limit=0),
    rivals=(
        Rival(
            statement="the coefficients sum to 1 whatever the logits: equal values come out unchanged",
            form=SinkHead(has_sink=False, limit=1, weight=lambda own, rest, sink: share(own, rest) + 0 * sink),
            becomes="proved",
        ),
        Rival(statement="with a sink of logit 0 and value 0 it does", form=SinkHead(), becomes="proved"),
    ),
    routes=(by_brute_force, by_algebra),
    figure=softmax.beside_a_sink,
    derivation="Only differences of logits count: lowering all of them by D cancels in e^{z_i−D}/Σe^{z_j−D}. Weights "
    "sum to 1, so values that are all v give c = v, with logits of −600 as with logits of 0. A head can only say "
    "nothing by a key that says nothing (see `sink-takes-the-rest`) or by values that cancel.",
    source="Miller 2023, Attention is off by one; Xiao et al. 2023, Efficient streaming language models with attention "
    "sinks",
)
