"""Attention over fixed keys: what the claims about retrieval, narrow heads, subspaces and sinks share."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from flint import arb, ctx

from regard.analysis.closed_forms.softmax import average_weight, sink_weight, uniform_weight, weight_beside_a_sink
from regard.analysis.engines.matrix_algebra import Algebra, matrix_identity
from regard.analysis.engines.symbolic import identity, limit_identity, positive
from regard.attention import AttentionRule, attention_weights, masked_softmax
from regard.claims._evidence import Evidence, agreement, conjunction, in_balls, one_case, smaller_case, yes_or_no
from regard.claims._figures import counts, guide_at
from regard.claims.claim import Form, Method, Settings, Trial, integer
from regard.core.axes import Float
from regard.render.figures import Axis, Chart, Guide, Series

# What "≈" means where a statement says that a weight is about ½ or about 1.
APPROXIMATELY = 0.05
MOST_KEYS = 64
LARGEST_SCALE = 1e6
WEIGHT_AXIS = Axis(label="weight", lower=0.0, upper=1.05)
KEYS_AXIS = Axis(label="number of keys n", is_log=True)


def few_keys(n: int, most: int = MOST_KEYS) -> tuple[int, str]:
    """The number of keys that a brute-force method uses when n are asked for, and its description.

    The algebra covers every n.

    >>> few_keys(10), few_keys(10**6)
    ((10, 'n = 10'), (64, 'n = 64 (reduced from 1e+06)'))
    """
    return (n, f"n = {n}") if n <= most else (most, f"n = {most} (reduced from {n:g})")


def tempered(scale: float) -> float:
    """The scale that a float64 method uses: beyond a million, a logit's own rounding would change the weights."""
    return float(np.clip(scale, -LARGEST_SCALE, LARGEST_SCALE))


def rounding(n: int, scale: float) -> float:
    """8nu(1+|β|), u = 2⁻⁵²: allows for rounding n products and sums of size β, which exp turns into relative error."""
    return 8 * n * float(np.finfo(float).eps) * (1 + abs(scale))


def orthonormal_keys(n: int, rng: np.random.Generator) -> Float[np.ndarray, "key width"]:
    """Random orthonormal keys, n of them in n+3 dimensions."""
    columns, _ = np.linalg.qr(rng.normal(size=(n + 3, n)))
    return columns.T


def weights(query: Float[np.ndarray, " width"], keys: Float[np.ndarray, "key width"]) -> Float[np.ndarray, " key"]:
    """The reference layer's weights for one query, without the 1/√d."""
    return attention_weights(query[None, :], keys, rule=AttentionRule(scale=1.0))[0]


def log_odds(logits: Float[np.ndarray, " key"], num_hot: int) -> float:
    """Log of (weight on the other keys)/(weight on the first num_hot): accurate even for weights near 0 or 1."""
    return float(np.logaddexp.reduce(logits[num_hot:]) - np.logaddexp.reduce(logits[:num_hot]))


def crossing(is_enough: Callable[[float], bool]) -> float:
    """The point in (−2000, 2000) from which on `is_enough` is true, by bisection to the last bit."""
    low, high = -2000.0, 2000.0
    while low < (middle := (low + high) / 2) < high:
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high


def hot_weight(beta: Any, n: Any, num_hot: int) -> Any:
    """Softmax of num_hot logits β and n − num_hot logits 0, term by term: the weight on one of the hot keys."""
    total = sum((beta.exp() for _ in range(num_hot)), start=0 * beta)
    return beta.exp() / (total + (n - num_hot) * (0 * beta).exp())


def weight_methods(name: str, query: str, *, num_hot: int, beta: float) -> Mapping[str, Method]:
    """Two methods for a statement "q = β·(sum of num_hot of the orthonormal keys) puts about this weight on each"."""

    def by_algebra(trial: Trial) -> Evidence:
        count, scale = trial.field(counts=("n",), exponentials=("beta",))
        found = identity(trial.form(scale, count), hot_weight(scale, count, num_hot), name)
        if found.status == "proved":
            return found
        n = trial.at.n
        truth = in_balls(lambda scale, count: hot_weight(scale, count, num_hot), beta, n)
        at, claimed = f"n = {n:.12g} orthonormal keys, {query}", in_balls(trial.form, beta, n)
        found = agreement(name, claimed=claimed, found=truth, tolerance=APPROXIMATELY, at=at)
        return replace(found, bound=rounding(1, 0.0))

    def by_brute_force(trial: Trial) -> list[Evidence]:
        n, size = few_keys(trial.at.n)
        keys = orthonormal_keys(n, trial.rng("keys"))
        found = weights(beta * keys[:num_hot].sum(axis=0), keys)[:num_hot]
        at, claimed = f"{size} random orthonormal keys, {query}", in_balls(trial.form, beta, n)
        parts = [agreement(name, claimed=claimed, found=weight, tolerance=APPROXIMATELY, at=at) for weight in found]
        return smaller_case(replace(conjunction(*parts), bound=rounding(n, beta)), tried=n, asked=trial.at.n)

    return {"algebra": by_algebra, "brute force": by_brute_force}


def short_of_half(at: Settings, *, beta: float, name: str) -> Chart:
    """The weight that q = β(k_a+k_b) gives each of the two keys at a fixed β, against the number of keys."""
    keys = counts(3, 1000)
    return Chart(
        title="Far from the average",
        caption=f"The weight on each of the two keys under {name}. It falls towards 1/n, and the rest goes to keys "
        "that the query did not ask for. A scale that grows like log n keeps it near ½.",
        x=KEYS_AXIS,
        y=Axis(label="weight a_a = a_b", lower=0.0, upper=0.6),
        series=(
            Series(label=name, x=keys, y=average_weight(beta, keys)),
            Series(label="q = β(k_a+k_b), β = 3 + log n", x=keys, y=average_weight(3 + np.log(keys), keys)),
            Series(label="1/n", x=keys, y=uniform_weight(keys), style="dashed"),
        ),
        guides=(Guide(at=0.5, label="the misconception: ½"), *guide_at(at.n, f"n = {at.n:g}", keys)),
    )


@dataclass(frozen=True, kw_only=True)
class LeastWidth:
    """The true least width, a head of that width that does the task, and why a narrower one cannot."""

    width: int
    can: str
    cannot: str


def least_width_proved(trial: Trial, *, can: Evidence, cannot: Evidence, known: LeastWidth) -> list[Evidence]:
    """Proofs that the least width is enough and the one below is not, compared with the claimed least width."""
    claimed = trial.form.least(trial.at.n)
    said = f"the statement says that width {claimed:.12g}"
    too_much, too_little = f"{known.can}; {said} is needed", f"{known.cannot}; {said} is enough"
    return [
        yes_or_no(can, claimed=claimed <= known.width, truth=True, counterexample=too_much),
        yes_or_no(cannot, claimed=claimed >= known.width, truth=True, counterexample=too_little),
    ]


def least_width_tried(trial: Trial, *, n: int, weight: float, wanted: float, known: LeastWidth) -> Evidence:
    """The smallest weight that a head of the least width reached, compared with the weight that is wanted."""
    claimed, at = trial.form.least(n), f"{known.can}: the smallest of the weights is {weight:.9g}"
    if not weight >= wanted:
        against = f"{at}, but {wanted:.9g} is wanted"
        return Evidence(status="refuted", detail="a weight is too small", value=weight, counterexample=against)
    if claimed < known.width:
        return Evidence(status="undecided", detail=at, value=weight)
    return one_case(at, agrees=claimed == known.width, said=f"that width {claimed} is needed", value=weight)


SUBSPACES = (integer("m", 3, lower=1), integer("p", 2, lower=0), integer("spare", 3, lower=0))
MOST_COLUMNS = 16


def _extraction_by_algebra(trial: Trial) -> Evidence:
    """Matrix products with AᵀA = I, BᵀB = I and AᵀB = 0, for every d, m and p; if p = spare = 0 then m = d."""
    algebra, columns = Algebra(), "d" if trial.at.p == trial.at.spare == 0 else "m"
    a, b = algebra.orthonormal("A", "d", columns), algebra.orthonormal("B", "d", "p")
    x, y = algebra.matrix("x", columns, "1"), algebra.matrix("y", "p", "1")
    algebra.let_vanish(a.T, b)
    return matrix_identity(
        lambda: trial.form.matrix(a, b) @ (a @ x + b @ y), lambda: trial.form.target(a, x), "M(v_a+v_b)"
    )


def _extraction_by_draws(trial: Trial) -> Evidence:
    """Random orthonormal columns: the first m are A and the next p are B."""
    m, p, spare = (min(number, MOST_COLUMNS) for number in (trial.at.m, trial.at.p, trial.at.spare))
    rng, d = trial.rng("subspaces"), m + p + spare
    basis, _ = np.linalg.qr(rng.normal(size=(d, d)))
    # The sign keeps A from being the identity by chance when m = d = 1.
    a, b = -np.copysign(1.0, basis[0, 0]) * basis[:, :m], basis[:, m : m + p]
    x, y = rng.normal(size=(m, 1)), rng.normal(size=(p, 1))
    at = f"d = {d}, m = {m}, p = {p}, seed {trial.seed}, random subspaces"
    matrix, wanted = trial.form.matrix(a, b), trial.form.target(a, x)
    if matrix.shape == (len(wanted), d):
        found = matrix @ (a @ x + b @ y)
        gap = float(np.abs(found - wanted).max())
        # d products and sums, each rounded once, of numbers of the size of x and y.
        tolerance = 32 * d * float(np.finfo(float).eps) * float(1 + np.abs(x).sum() + np.abs(y).sum())
        if gap <= tolerance:
            return Evidence(status="holds", detail=f"{at}: agree to {gap:.1e}", value=gap, bound=tolerance)
        sides = [", ".join(f"{entry:.4g}" for entry in side.ravel()[:3]) for side in (found, wanted)]
        shown = f"{at}: Ms = ({sides[0]}, …), the statement says ({sides[1]}, …), off by {gap:.3g}"
    else:
        rows, columns = matrix.shape
        shown = f"{at}: M is {rows}×{columns}, so Ms has {rows} entries, but the statement's vector has {len(wanted)}"
    return Evidence(status="refuted", detail="M does not give that vector", counterexample=shown)


EXTRACTION_METHODS: Mapping[str, Method] = {"random subspaces": _extraction_by_draws, "algebra": _extraction_by_algebra}


def subspace_chart(
    at: Settings, *, title: str, caption: str, name: str, matrix: Callable[[np.ndarray], np.ndarray]
) -> Chart:
    """A random v_a in the span of A's columns and what M(A) makes of v_a + v_b, coordinate by coordinate."""
    m, p, spare = (int(min(number, MOST_COLUMNS)) for number in (at.m, at.p, at.spare))
    width, rng = m + p + spare, np.random.default_rng(0)
    basis = np.linalg.qr(rng.normal(size=(width, width)))[0]
    first, second = basis[:, :m], basis[:, m : m + p]
    value = first @ rng.normal(size=m)
    found = matrix(first) @ (value + second @ rng.normal(size=p))
    return Chart(
        title=title,
        caption=caption,
        x=Axis(label="coordinate"),
        y=Axis(label="value"),
        series=(
            Series(label="v_a", x=np.arange(1, width + 1), y=value, style="points"),
            Series(label=name, x=np.arange(1, len(found) + 1), y=found),
        ),
        guides=(Guide(at=0.0, label=""),),
    )


SINK_KEYS = integer("n", 10, lower=1)
# Real logits are lowered by this much to look at the limit; e^{−600} is still an ordinary double.
_DEPTH = 600.0
_LARGEST_SINK = 300.0


# A key's weight as a function of its exponential, the others' sum and e^s, and the sink's as one of Z and e^s.
# `limit` is what the real keys keep in total as their logits go to −∞ together. Without a sink e^s is 0.
SINK_HEAD = Form(weight=weight_beside_a_sink, sink=sink_weight, limit=0, has_sink=True)


def _sink_by_algebra(trial: Trial) -> list[Evidence]:
    """One key at a time: the first keys together weigh as much as one key with the sum of their exponentials.

    Lowering all real logits by D divides Z by e^D: the limit of Z/e^D over its sum with e^s, as e^D → ∞.
    """
    own, rest, earlier, sink, total, depth = trial.field("own", "rest", "earlier", "e^s", "Z", "e^D")
    form = trial.form
    sink = sink if form.has_sink else 0 * sink
    kept = total / depth / (total / depth + sink)
    added = form.weight(earlier, own + rest, sink) + form.weight(own, earlier + rest, sink)
    parts = [
        identity(form.weight(own, rest, sink), own / (own + rest + sink), "a_i, with the sink as a key"),
        identity(added, form.weight(earlier + own, rest, sink), "the real keys' weights add up"),
        identity(form.sink(total, sink), sink / (sink + total), "the sink's weight"),
        identity(form.weight(total, 0 * total, sink), 1 - form.sink(total, sink), "the real keys' total"),
        limit_identity(kept, "e^D", form.limit, "what the real keys keep as their logits go to −∞"),
    ]
    if form.has_sink:
        parts += [positive(kept, "the real keys keep more than 0"), positive(1 - kept, "and less than 1")]
    return parts


def _sink_by_brute_force(trial: Trial) -> list[Evidence]:
    """The softmax of random logits with the sink's logit appended, first as drawn and then with real logits lowered."""
    (n, size), form = few_keys(trial.at.n), trial.form
    logits = trial.rng("logits").normal(size=n)
    asked = getattr(trial.at, "s", 0.0)
    level = min(max(asked, -_LARGEST_SINK), _LARGEST_SINK) if form.has_sink else -np.inf
    note = f", sink at s = {level:g}" if form.has_sink else ", no sink"
    note += f" (reduced from {asked:g})" if form.has_sink and level != asked else ""
    # Values of 1 make the output the sum of the coefficients.
    output = masked_softmax(np.append(np.full(n, -_DEPTH), level)[None, :])[0, :-1].sum()
    deep = f"{size} logits of {-_DEPTH:g} each, values all 1{note}"
    parts = [
        *_sink_weights(form, logits, level, at=f"{size} logits drawn from N(0, 1){note}"),
        agreement("c", claimed=float(form.limit), found=output, tolerance=1e-12, at=deep),
    ]
    return smaller_case(parts, tried=n, asked=trial.at.n)


def _sink_weights(form: Form, logits: Float[np.ndarray, " key"], level: float, *, at: str) -> list[Evidence]:
    found = masked_softmax(np.append(logits, level)[None, :])[0]
    tolerance = rounding(len(logits), abs(level) if form.has_sink else 1.0)
    with ctx.workprec(128):
        exponentials = [arb(float(logit)).exp() for logit in logits]
        sink, total = arb(level).exp() if form.has_sink else arb(0), sum(exponentials, arb(0))
        claimed = [float(arb(form.weight(own, total - own, sink))) for own in exponentials]
        claimed_sink = float(arb(form.sink(total, sink)))
    worst = int(np.argmax(np.abs(found[:-1] - claimed)))
    return [
        agreement("the sink's weight", claimed=claimed_sink, found=found[-1], tolerance=tolerance, at=at),
        agreement(
            f"the weight of key {worst + 1}", claimed=claimed[worst], found=found[worst], tolerance=tolerance, at=at
        ),
    ]


SINK_METHODS: Mapping[str, Method] = {"brute force": _sink_by_brute_force, "algebra": _sink_by_algebra}


def beside_a_sink(at: Settings) -> Chart:
    """The total weight of the real keys against their common logit, with a sink and without one."""
    n, sink = float(min(at.n, 10**6)), float(np.clip(getattr(at, "s", 0.0), -50.0, 50.0))
    middle = sink - math.log(n)
    logits = np.linspace(middle - 8, middle + 8, 120)
    kept = 1 - sink_weight(n * np.exp(logits), math.exp(sink))
    return Chart(
        title="Only a sink lets a head switch off",
        caption=f"The total weight of n = {n:g} keys that share one logit. Without a sink it is 1, however low the "
        f"logit; with a sink of logit {sink:g} the head switches off once log n + z is well below it.",
        x=Axis(label="common logit z of the keys"),
        y=WEIGHT_AXIS,
        series=(
            Series(label="with a sink", x=logits, y=kept),
            Series(label="the sink itself", x=logits, y=1 - kept, style="dashed"),
            Series(label="without a sink", x=logits, y=np.ones_like(logits)),
        ),
        guides=(Guide(at=middle, label="s − log n", is_vertical=True),),
    )
