"""What the real keys of a head get in all, with and without a sink: the routes that both such claims share."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import arb, ctx

from regard.analysis.closed_forms.sharpness import sink_weight, weight_beside_a_sink
from regard.analysis.engines.symbolic import Field, identity, positive
from regard.attention import masked_softmax
from regard.claims._comparisons import Measured, agreement, all_parts, of_smaller_case
from regard.claims._retrieval import counted, rounding, thinned
from regard.claims.claim import Trial
from regard.claims.parameters import Parameter
from regard.core.axes import Float
from regard.core.verdict import Evidence

KEYS = Parameter(name="n", default=10, lower=1, is_integer=True)
# Real logits are lowered by as much to look at the limit; exponentials of it are still ordinary doubles.
_DEPTH = 600.0
_LARGEST_SINK = 300.0


@dataclass(frozen=True, kw_only=True)
class SinkHead:
    """A key's weight as a function of its exponential, the others' sum and e^s, and the sink's as one of Z and e^s.

    `limit` is what the real keys keep in all as their logits go to −∞ together. Without a sink e^s is 0.
    """

    weight: Callable[[Any, Any, Any], Any] = weight_beside_a_sink
    sink: Callable[[Any, Any], Any] = sink_weight
    limit: int = 0
    has_sink: bool = True


def by_algebra(trial: Trial) -> Evidence:
    """One key at a time: the first keys together weigh what one key of their exponentials' sum would.

    Lowering all real logits by D divides Z by e^D: the limit of Z/e^D over its sum with e^s, as e^D → ∞.
    """
    field, rng, form = Field("own", "rest", "earlier", "e^s", "Z", "e^D"), trial.rng("algebra"), trial.form
    own, rest, earlier, sink, total, depth = (field[name] for name in field.symbols)
    sink = sink if form.has_sink else 0 * sink
    true = own / (own + rest + sink)
    kept = total / depth / (total / depth + sink)
    parts = [
        identity(form.weight(own, rest, sink), true, rng=rng, what="a_i is the softmax's with the sink among the keys"),
        identity(
            form.weight(earlier, own + rest, sink) + form.weight(own, earlier + rest, sink),
            form.weight(earlier + own, rest, sink),
            rng=rng,
            what="the real keys' weights add up",
        ),
        identity(form.sink(total, sink), sink / (sink + total), rng=rng, what="the sink's weight"),
        identity(form.weight(total, 0 * total, sink), 1 - form.sink(total, sink), rng=rng, what="the rest is theirs"),
        identity(
            kept.limit("e^D"),
            field.constant(form.limit),
            rng=rng,
            what="what the real keys keep as their logits go to −∞",
        ),
    ]
    if form.has_sink:
        parts += [
            positive(kept, rng=rng, what="the real keys keep more than 0"),
            positive(1 - kept, rng=rng, what="and less than 1"),
        ]
    return all_parts("algebra", parts)


def by_brute_force(trial: Trial) -> Evidence:
    """The softmax of random logits with the sink's appended, here and with the real logits lowered."""
    n, form = thinned(trial.at.n), trial.form
    logits = trial.rng("logits").normal(size=n)
    asked = getattr(trial.at, "s", 0.0)
    level = min(max(asked, -_LARGEST_SINK), _LARGEST_SINK) if form.has_sink else -np.inf
    told = f", sink at s = {level:g}" if form.has_sink else ", no sink"
    told += f" (thinned from {asked:g})" if form.has_sink and level != asked else ""
    parts = [
        *_weights(form, logits, level, at=f"{counted(trial.at.n)} logits drawn from N(0, 1){told}"),
        _depth_part(form, n, level, at=f"{counted(trial.at.n)} logits of {-_DEPTH:g} each, values all 1{told}"),
    ]
    return of_smaller_case(all_parts("brute force", parts), tried=n, asked=trial.at.n)


def _weights(form: SinkHead, logits: Float[np.ndarray, " key"], level: float, *, at: str) -> list[Evidence]:
    found = masked_softmax(np.append(logits, level)[None, :])[0]
    tolerance = rounding(len(logits), abs(level) if form.has_sink else 1.0)
    with ctx.workprec(128):
        exponentials = [arb(float(logit)).exp() for logit in logits]
        sink, total = arb(level).exp() if form.has_sink else arb(0), sum(exponentials, arb(0))
        claimed = [float(arb(form.weight(own, total - own, sink))) for own in exponentials]
        claimed_sink = float(arb(form.sink(total, sink)))
    worst = int(np.argmax(np.abs(found[:-1] - claimed)))
    return [
        agreement(
            name, claimed=said, measured=Measured(value=float(seen), tolerance=tolerance), at=at, route="brute force"
        )
        for name, said, seen in (
            ("the sink's weight", claimed_sink, found[-1]),
            (f"the weight of key {worst + 1}", claimed[worst], found[worst]),
        )
    ]


def _depth_part(form: SinkHead, n: int, level: float, *, at: str) -> Evidence:
    """Values of 1 make the output the sum of the coefficients."""
    found = masked_softmax(np.append(np.full(n, -_DEPTH), level)[None, :])[0, :-1].sum()
    return agreement(
        "c",
        claimed=float(form.limit),
        measured=Measured(value=float(found), tolerance=1e-12),
        at=at,
        route="brute force",
    )
