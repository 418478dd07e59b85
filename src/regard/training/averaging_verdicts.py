"""What was learned in the averaging task, held against the theory's designs."""

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

from torch import Tensor

from regard.analysis.engines import Estimate, SquaredError, Variance, certified, coefficient
from regard.analysis.scenarios import QueryDesign
from regard.core.axes import Float
from regard.core.verdict import Status, Verdict
from regard.training.averaged import Learned, Prescription
from regard.training.averaging import LAYOUTS, AveragingTask, Layout, Reach, prescribed, to_designs
from regard.training.statistics import mean_interval

_ERROR = SquaredError(target={"a": 0.5, "b": 0.5})
_VARIANCE = Variance(of=coefficient("a"))
_SOFTEST, _SHARPEST, _TRIED, _FAR = 0.1, 1e6, 17, 1e9
# Gradient descent stops near a best scale; of a limit at infinite scale a finite training is short by more.
_NEAR, _NEAR_A_LIMIT = 0.01, 0.05
# A better query must be better by more than the search for the best scale can be off.
_MARGIN, _FINEST = 1e-4, 1e-4
_WORDS = {"one head": "β(μ_a+μ_b)", "two heads": "βμ_a, βμ_b", "one head, normalised keys": "β(μ_a+μ_b)"}


def prescribe(task: AveragingTask, layout: Layout) -> Prescription:
    """The scale at which the theory's design has the least expected squared error, by golden section."""

    def error(logarithm: float) -> float:
        return _answers(task, layout, prescribed(layout, math.exp(logarithm)))[0].value

    step = math.log(_SHARPEST / _SOFTEST) / (_TRIED - 1)
    grid = [math.log(_SOFTEST) + number * step for number in range(_TRIED)]
    errors = [error(place) for place in grid]
    low = min(range(_TRIED), key=errors.__getitem__)
    is_falling = low == _TRIED - 1
    beta = math.inf if is_falling else math.exp(_golden_section(error, grid[max(low - 1, 0)], grid[low + 1]))
    found = _answers(task, layout, prescribed(layout, _FAR if is_falling else beta))
    return Prescription(layout=layout, design=_WORDS[layout], beta=beta, error=found[0].value, variance=found[1].value)


def judged_by_theory(
    task: AveragingTask, layout: Layout, reach: Reach, queries: Float[Tensor, "seed head key"]
) -> Learned:
    """The certified error and variance of every seed's queries: what was learned is not sampled again."""
    designs = to_designs(queries)
    errors, variances = zip(*(_answers(task, layout, design) for design in designs), strict=True)
    betas = queries[:, 0, 0].tolist()
    return Learned(
        layout=layout,
        reach=reach,
        queries=_in_words(designs[0]),
        designs=[design.coefficients for design in designs],
        errors=[each.value for each in errors],
        variances=[each.value for each in variances],
        error=mean_interval([each.value for each in errors]),
        variance=mean_interval([each.value for each in variances]),
        beta=mean_interval(betas) if reach == "scale" else None,
    )


def judge(
    task: AveragingTask, prescriptions: Sequence[Prescription], learned: Sequence[Learned]
) -> tuple[Verdict, ...]:
    """A verdict on each layout's scale, on each search for better queries, and on the order of the layouts."""
    theory = {each.layout: each for each in prescriptions}
    scales = [each for each in learned if each.reach == "scale"]
    searches = [each for each in learned if each.reach != "scale"]
    return (
        *(_on_scale(task, each, theory[each.layout]) for each in scales),
        _on_order(task, scales, prescriptions),
        *(_on_search(task, each, theory[each.layout]) for each in searches),
    )


def _on_scale(task: AveragingTask, learned: Learned, theory: Prescription) -> Verdict:
    near = _NEAR_A_LIMIT if math.isinf(theory.beta) else _NEAR
    status: Status = "undecided"
    if learned.error.upper <= (1 + near) * theory.error:
        status = "holds"
    elif learned.error.lower > (1 + near) * theory.error:
        status = "refuted"
    best = "ever larger" if math.isinf(theory.beta) else f"{theory.beta:.4g}"
    verb = {"holds": "is", "refuted": "is not", "undecided": "may be"}[status]
    return Verdict(
        id=f"{_slug(learned.layout)}-learns-the-best-scale",
        statement=f"{learned.layout}, {theory.design}: gradient descent on β alone ends at the theory's least error",
        status=status,
        method="trained by gradient descent, judged by the certified engine",
        reason=f"the trained error {learned.error} {verb} the theory's optimum {theory.error:.6g} to within "
        f"{near:.0%}; β is {learned.beta}, the best one {best}",
        domain=_domain(task),
        value=learned.error.mean,
        bound=learned.error.half,
        seed=task.seed,
        reproduce=_command(task),
        counterexample=f"{learned.queries} has error {learned.errors[0]:.6g}" if status == "refuted" else None,
    )


def _on_order(task: AveragingTask, scales: Sequence[Learned], prescriptions: Sequence[Prescription]) -> Verdict:
    """Every seed of a layout against every seed of the next."""
    expected = [each.layout for each in sorted(prescriptions, key=lambda each: each.error)]
    found = sorted(scales, key=lambda each: expected.index(each.layout))
    gaps = [min(worse.errors) - max(better.errors) for better, worse in pairwise(found)]
    told = " < ".join(f"{each.layout} {each.error}" for each in found)
    is_apart = all(gap > 0 for gap in gaps)
    means = [each.error.mean for each in found]
    status: Status = "holds" if is_apart else "undecided" if means == sorted(means) else "refuted"
    return Verdict(
        id="trained-layouts-are-ordered-as-predicted",
        statement=f"trained on β alone, the errors are ordered as the theory says: {' < '.join(expected)}",
        status=status,
        method="trained by gradient descent, judged by the certified engine",
        reason=told,
        domain=_domain(task),
        value=min(gaps),
        seed=task.seed,
        reproduce=_command(task),
        counterexample=told if status == "refuted" else None,
    )


def _on_search(task: AveragingTask, learned: Learned, theory: Prescription) -> Verdict:
    """Found if every seed is better, and undecided else: that gradient descent finds nothing proves nothing."""
    goal = (1 - _MARGIN) * theory.error
    winners = sum(error < goal for error in learned.errors)
    place = "in the plane of μ_a and μ_b" if learned.reach == "plane" else "anywhere"
    best = min(range(len(learned.errors)), key=learned.errors.__getitem__)
    is_found = winners == len(learned.errors)
    example = _in_words(QueryDesign(coefficients=learned.designs[best]))
    reason = (
        f"{winners} of {len(learned.errors)} seeds are better: error {learned.error} against {theory.error:.6g}; "
        f"{example} has {learned.errors[best]:.6g}"
    )
    return Verdict(
        id=f"{_slug(learned.layout)}-{learned.reach}-beats-the-design",
        statement=f"{learned.layout}: a query {place} does better than {theory.design} at its best scale",
        status="holds" if is_found else "undecided",
        outcome="finding" if is_found else "nothing better found",
        method="trained by gradient descent, judged by the certified engine",
        reason=reason,
        domain=_domain(task),
        value=learned.error.mean,
        bound=learned.error.half,
        seed=task.seed,
        reproduce=_design_command(task, learned, best),
    )


def _answers(task: AveragingTask, layout: Layout, design: QueryDesign) -> tuple[Estimate, ...]:
    return certified.answers(task.keys(layout).logits(design), [_ERROR, _VARIANCE])


def _golden_section(function: Callable[[float], float], low: float, high: float) -> float:
    """Where a function with one valley between two places is least."""
    ratio = (math.sqrt(5) - 1) / 2
    left, right = high - ratio * (high - low), low + ratio * (high - low)
    at_left, at_right = function(left), function(right)
    while high - low > _FINEST:
        if at_left < at_right:
            high, right, at_right = right, left, at_left
            left = high - ratio * (high - low)
            at_left = function(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + ratio * (high - low)
            at_right = function(right)
    return (low + high) / 2


def _in_words(design: QueryDesign) -> str:
    """Each query as a reader writes it, the others' coefficients as one mean where there are many."""
    texts = []
    for head in range(design.num_heads):
        others = [row[head] for name, row in design.coefficients.items() if name not in ("a", "b")]
        parts = [f"{design.row(name)[head]:.3g} μ_{name}" for name in ("a", "b")]
        if any(others):
            mean = math.fsum(others) / len(others)
            parts.append(f"about {mean:.3g} times each of the {len(others)} others")
        texts.append(" + ".join(parts).replace("+ -", "− "))
    return "; ".join(f"q_{number} = {text}" for number, text in enumerate(texts, start=1))


def _design_command(task: AveragingTask, learned: Learned, best: int) -> str:
    """What evaluates the best seed's queries again."""
    design = QueryDesign(coefficients=learned.designs[best])
    heads = [
        " + ".join(f"({row[head]:.4g})*mu_{{{name}}}" for name, row in design.coefficients.items() if row[head])
        for head in range(design.num_heads)
    ]
    flags = " --qk-norm" if learned.layout == LAYOUTS[2] else ""
    written = " ".join(f'--head "{head}"' for head in heads)
    return f"regard design {written} --n {task.n} --norm-noise a={task.sigma2:g}{flags}"


def _domain(task: AveragingTask) -> str:
    return f"n = {task.n}, σ² = {task.sigma2:g}, {task.num_seeds} seeds, {task.steps} steps"


def _command(task: AveragingTask) -> str:
    return (
        f"regard train average --n {task.n} --sigma2 {task.sigma2:g} --seeds {task.num_seeds} "
        f"--steps {task.steps} --seed {task.seed}"
    )


def _slug(layout: str) -> str:
    return layout.replace(",", "").replace(" ", "-")
