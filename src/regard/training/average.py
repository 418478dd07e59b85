"""`regard train average`: heads learn to average two of n values, and the result is compared with the theory."""

import html
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from typing import Any, Literal, TypeAlias, get_args

import torch
from rich.console import Console
from scipy.optimize import minimize_scalar
from torch import Tensor

from regard.analysis.engines import Estimate, SquaredError, Variance, certified, coefficient
from regard.analysis.scenarios import CourseKeys, QueryDesign, course_keys, one_head, two_heads
from regard.core.axes import Float
from regard.core.errors import InputError
from regard.core.verdict import Status, Verdict
from regard.render.page import Page, notebook_frame, render_page, render_statuses, render_table
from regard.render.terminal import percent, say, show_columns, status_label
from regard.training.statistics import MeanInterval, mean_interval

HeadLayout: TypeAlias = Literal["one head", "two heads", "one head, normalized keys"]
Reach: TypeAlias = Literal["scale", "plane", "free"]
LAYOUTS: tuple[HeadLayout, ...] = get_args(HeadLayout)
REACHES: tuple[Reach, ...] = get_args(Reach)

_RATES: Mapping[Reach, float] = {"scale": 0.12, "plane": 0.3, "free": 0.3}
_REACH_WORDS: Mapping[str, str] = {"scale": "β alone", "plane": "μ_a, μ_b", "free": "any query"}
_COLUMNS = ("", "learned freely", "E‖c − target‖²", "variance of v_a's coefficient", "β")
_METHOD = "trained by gradient descent, judged by the certified engine"
_ERROR = SquaredError(target={"a": 0.5, "b": 0.5})
_VARIANCE = Variance(of=coefficient("a"))
_LEAST_BETA, _MOST_BETA, _NUM_TRIED, _LIMIT_BETA = 0.1, 1e6, 17, 1e9
# Gradient descent stops near a finite best scale, but a limited training stays farther from a limit at infinity.
_NEAR, _NEAR_A_LIMIT = 0.01, 0.05
# A better query must be better by more than the error of the search for the best scale.
_MARGIN, _SEARCH_WIDTH = 1e-4, 1e-6


@dataclass(frozen=True, kw_only=True)
class AveragingTask:
    """n keys with orthonormal means, k_a = γμ_a with γ ~ N(1, σ²), and the target ½(v_a + v_b).

    Each of `num_seeds` models makes `steps` steps of Adam, with a learning rate that falls to zero along a cosine, on
    `draws` new lengths per step.
    """

    n: int = 10
    sigma2: float = 0.5
    num_seeds: int = 5
    steps: int = 600
    draws: int = 128
    seed: int = 0

    def __post_init__(self) -> None:
        if not 3 <= self.n <= 1000:
            raise InputError(f"The task needs keys a, b and at least one other, not n = {self.n}. Give 3 to 1,000.")
        if not 0 < self.sigma2 < math.inf:
            raise InputError(f"A variance of σ² = {self.sigma2} leaves no random length. Give a positive one.")
        if not 2 <= self.num_seeds <= 100:
            raise InputError(f"{self.num_seeds} seeds can't give an interval. Use 2 to 100.")
        if not 1 <= self.steps <= 1_000_000:
            raise InputError(f"Can't make {self.steps} steps. Give 1 to 1,000,000.")

    def keys(self, layout: HeadLayout) -> CourseKeys:
        """The keys that a layout attends to."""
        return course_keys(n=self.n, sigma2=self.sigma2, is_normalized=layout == "one head, normalized keys")

    @property
    def command(self) -> str:
        """The command that repeats the whole task."""
        return (
            f"regard train average --n {self.n} --sigma2 {self.sigma2:g} --seeds {self.num_seeds} "
            f"--steps {self.steps} --seed {self.seed}"
        )

    def __str__(self) -> str:
        return f"n = {self.n}, σ² = {self.sigma2:g}, {self.num_seeds} seeds, {self.steps} steps"


@dataclass(frozen=True, kw_only=True)
class Prescription:
    """The theory's design for a layout at its best scale: E‖c − ½(v_a+v_b)‖² and the variance of v_a's coefficient.

    β is infinite if the error keeps falling as the scale grows; the numbers are then the limits.
    """

    layout: HeadLayout
    design: str
    beta: float
    error: float
    variance: float


@dataclass(frozen=True, kw_only=True)
class LearnedQueries:
    """What the seeds learned: the certified error and variance of every seed, and β if only the scale was learned."""

    layout: HeadLayout
    reach: Reach
    designs: Sequence[QueryDesign]
    errors: Sequence[float]
    variances: Sequence[float]
    error: MeanInterval
    variance: MeanInterval
    beta: MeanInterval | None

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready values."""
        values = asdict(replace(self, designs=()))
        del values["designs"]
        return {**values, "queries": [design.coefficients for design in self.designs]}


@dataclass(frozen=True, kw_only=True)
class AveragingReport:
    """The task, the theory's designs, what was learned, and the verdicts."""

    task: AveragingTask
    prescriptions: Sequence[Prescription]
    learned: Sequence[LearnedQueries]
    verdicts: Sequence[Verdict]

    def _repr_html_(self) -> str:
        title = "Heads that average"
        found = render_statuses((verdict.status, f"{verdict.statement}: {verdict.reason}") for verdict in self.verdicts)
        main = (
            f'<header class="head"><h1>{title}</h1><p>{html.escape(_about(self.task))}</p></header>'
            f"{render_table(_rows(self), _COLUMNS)}{found}"
        )
        page = Page(title=title, main=main, styles=("document.css", "intervals.css"))
        return notebook_frame(render_page(page), title=title)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready values beside the verdicts."""
        return {
            "setting": asdict(self.task),
            "prescriptions": [asdict(prescription) for prescription in self.prescriptions],
            "learned": [learned.to_dict() for learned in self.learned],
        }


def average(task: AveragingTask, progress: Callable[[int, int], None]) -> AveragingReport:
    """Trains every layout with every reach, and judges the result."""
    prescriptions = [prescribe(task, layout) for layout in LAYOUTS]
    wanted: list[tuple[HeadLayout, Reach]] = [(layout, reach) for layout in LAYOUTS for reach in REACHES]
    learned = []
    for done, (layout, reach) in enumerate(wanted):
        progress(done, len(wanted))
        learned.append(evaluate_queries(task, layout, reach, learn_queries(task, layout, reach)))
    verdicts = judge(task, prescriptions, learned)
    return AveragingReport(task=task, prescriptions=prescriptions, learned=learned, verdicts=verdicts)


def theoretical_design(layout: HeadLayout, beta: float) -> QueryDesign:
    """The theory's design: q_1 = βμ_a and q_2 = βμ_b for two heads, else q = β(μ_a + μ_b)."""
    return two_heads(beta) if layout == "two heads" else one_head(beta)


def prescribe(task: AveragingTask, layout: HeadLayout) -> Prescription:
    """The scale at which the theory's design has the least expected squared error."""

    def error(logarithm: float) -> float:
        return _certify(task, layout, theoretical_design(layout, math.exp(logarithm)))[0].value

    step = math.log(_MOST_BETA / _LEAST_BETA) / (_NUM_TRIED - 1)
    grid = [math.log(_LEAST_BETA) + number * step for number in range(_NUM_TRIED)]
    errors = [error(logarithm) for logarithm in grid]
    low = min(range(_NUM_TRIED), key=errors.__getitem__)
    is_falling = low == _NUM_TRIED - 1
    beta = math.inf
    if not is_falling:
        bounds = (grid[max(low - 1, 0)], grid[low + 1])
        best: Any = minimize_scalar(error, bounds=bounds, options={"xatol": _SEARCH_WIDTH})
        beta = math.exp(best.x)
    found = _certify(task, layout, theoretical_design(layout, _LIMIT_BETA if is_falling else beta))
    design = "βμ_a, βμ_b" if layout == "two heads" else "β(μ_a+μ_b)"
    return Prescription(layout=layout, design=design, beta=beta, error=found[0].value, variance=found[1].value)


def learn_queries(task: AveragingTask, layout: HeadLayout, reach: Reach) -> Float[Tensor, "seed head key"]:
    """The queries that each seed learns, as multiples of the keys' means.

    `scale` learns only β of the theory's design, `plane` any query in the plane of μ_a and μ_b, `free` any query.
    """
    index = LAYOUTS.index(layout) * len(REACHES) + REACHES.index(reach)
    generator = torch.Generator().manual_seed(task.seed * 1000 + index)
    free = _initial(task, layout, reach, generator).requires_grad_()
    optimizer = torch.optim.Adam([free], lr=_RATES[reach])
    with _one_thread():
        for step in range(task.steps):
            optimizer.param_groups[0]["lr"] = _RATES[reach] * (1 + math.cos(math.pi * step / task.steps)) / 2
            lengths = _draw_lengths(task, generator)
            if task.keys(layout).is_normalized:
                lengths = lengths.sign()
            # Seeds share nothing, so the sum of their errors trains each on its own.
            error = _squared_errors(_queries(free, task, layout, reach), lengths).mean(dim=-1).sum()
            (free.grad,) = torch.autograd.grad(error, [free])
            optimizer.step()
    return _queries(free, task, layout, reach).detach()


def evaluate_queries(
    task: AveragingTask, layout: HeadLayout, reach: Reach, queries: Float[Tensor, "seed head key"]
) -> LearnedQueries:
    """The certified error and variance of every seed's queries, which involve no sampling."""
    designs = to_designs(queries)
    errors, variances = (
        [each.value for each in some]
        for some in zip(*(_certify(task, layout, design) for design in designs), strict=True)
    )
    return LearnedQueries(
        layout=layout,
        reach=reach,
        designs=designs,
        errors=errors,
        variances=variances,
        error=mean_interval(errors),
        variance=mean_interval(variances),
        beta=mean_interval(queries[:, 0, 0].tolist()) if reach == "scale" else None,
    )


def to_designs(queries: Float[Tensor, "seed head key"]) -> list[QueryDesign]:
    """Each seed's queries as a design that the engines can judge; keys beyond a and b are called o1, o2, …"""
    names = ["a", "b", *(f"o{number}" for number in range(1, queries.shape[-1] - 1))]
    return [
        QueryDesign(coefficients={name: tuple(seed[:, key].tolist()) for key, name in enumerate(names)})
        for seed in queries.double()
    ]


def judge(
    task: AveragingTask, prescriptions: Sequence[Prescription], learned: Sequence[LearnedQueries]
) -> tuple[Verdict, ...]:
    """A verdict on each layout's scale, on the order of the layouts, and on each search for better queries."""
    theory = {each.layout: each for each in prescriptions}
    scales = [each for each in learned if each.reach == "scale"]
    searches = [each for each in learned if each.reach != "scale"]
    return (
        *(_judge_scale(task, each, theory[each.layout]) for each in scales),
        _judge_order(task, scales, prescriptions),
        *(_judge_search(task, each, theory[each.layout]) for each in searches),
    )


def show_averaging(console: Console, report: AveragingReport) -> None:
    """Prints a table of theory and training, then a paragraph per verdict."""
    say(console, _about(report.task), style="dim")
    console.print()
    rows = pairwise([("",), *_rows(report)])
    show_columns(console, [_COLUMNS, *(("" if row[0] == before[0] else row[0], *row[1:]) for before, row in rows)])
    for verdict in report.verdicts:
        console.print()
        say(console, f"{verdict.statement}: {verdict.reason}", lead=status_label(console, verdict.status))


def _about(task: AveragingTask) -> str:
    return f"Average v_a and v_b of n values; k_a = γμ_a with γ ~ N(1, σ²); {task}"


def _rows(report: AveragingReport) -> list[tuple[str, ...]]:
    """A row per layout for the theory and for whatever was learned."""
    rows = []
    for theory in report.prescriptions:
        best = "→ ∞" if math.isinf(theory.beta) else f"{theory.beta:.4g}"
        name = f"{theory.layout}, {theory.design}"
        rows.append((name, "theory", f"{theory.error:.6g}", f"{theory.variance:.6g}", best))
        rows += [
            (name, _REACH_WORDS[each.reach], str(each.error), str(each.variance), str(each.beta or ""))
            for each in report.learned
            if each.layout == theory.layout
        ]
    return rows


def _judge_scale(task: AveragingTask, learned: LearnedQueries, theory: Prescription) -> Verdict:
    near = _NEAR_A_LIMIT if math.isinf(theory.beta) else _NEAR
    status: Status = "undecided"
    if learned.error.upper <= (1 + near) * theory.error:
        status = "holds"
    elif learned.error.lower > (1 + near) * theory.error:
        status = "refuted"
    best = "infinite" if math.isinf(theory.beta) else f"{theory.beta:.4g}"
    verb = {"holds": "is", "refuted": "is not", "undecided": "may be"}[status]
    example = f"{_in_words(learned.designs[0])} has error {learned.errors[0]:.6g}"
    return _verdict(
        task,
        id=f"{_slug(learned.layout)}-learns-the-best-scale",
        statement=f"{learned.layout}, {theory.design}: gradient descent on β alone reaches the theory's least error",
        status=status,
        reason=f"the trained error {learned.error} {verb} within {percent(near)} of the theory's optimum "
        f"{theory.error:.6g}; β is {learned.beta}, the best β is {best}",
        value=learned.error.mean,
        bound=learned.error.half_width,
        counterexample=example if status == "refuted" else None,
    )


def _judge_order(
    task: AveragingTask, scales: Sequence[LearnedQueries], prescriptions: Sequence[Prescription]
) -> Verdict:
    """Compares every seed of a layout with every seed of the next."""
    expected = [each.layout for each in sorted(prescriptions, key=lambda each: each.error)]
    found = sorted(scales, key=lambda each: expected.index(each.layout))
    gaps = [min(worse.errors) - max(better.errors) for better, worse in pairwise(found)]
    order = " < ".join(f"{each.layout} {each.error}" for each in found)
    means = [each.error.mean for each in found]
    status: Status = "holds" if min(gaps) > 0 else "undecided" if means == sorted(means) else "refuted"
    return _verdict(
        task,
        id="trained-layouts-are-ordered-as-predicted",
        statement=f"trained on β alone, the errors are ordered as the theory says: {' < '.join(expected)}",
        status=status,
        reason=order,
        value=min(gaps),
        counterexample=order if status == "refuted" else None,
    )


def _judge_search(task: AveragingTask, learned: LearnedQueries, theory: Prescription) -> Verdict:
    """Holds if every seed is better, else undecided: a search that finds nothing proves nothing."""
    goal = (1 - _MARGIN) * theory.error
    winners, count = sum(error < goal for error in learned.errors), len(learned.errors)
    where = "in the plane of μ_a and μ_b" if learned.reach == "plane" else "anywhere"
    best = min(range(count), key=learned.errors.__getitem__)
    is_found = winners == count
    return _verdict(
        task,
        id=f"{_slug(learned.layout)}-{learned.reach}-beats-the-design",
        statement=f"{learned.layout}: a query {where} does better than {theory.design} at its best scale",
        status="holds" if is_found else "undecided",
        outcome="finding" if is_found else "nothing better found",
        reason=f"{winners} of {count} seeds are better: error {learned.error}, against {theory.error:.6g} in theory; "
        f"{_in_words(learned.designs[best])} has {learned.errors[best]:.6g}",
        value=learned.error.mean,
        bound=learned.error.half_width,
        reproduce=_design_command(task, learned.layout, learned.designs[best]),
    )


def _verdict(task: AveragingTask, **fields: Any) -> Verdict:
    shared = {"method": _METHOD, "domain": str(task), "seed": task.seed, "reproduce": task.command}
    return Verdict(**{**shared, **fields})


def _certify(task: AveragingTask, layout: HeadLayout, design: QueryDesign) -> tuple[Estimate, ...]:
    return certified.answers(task.keys(layout).logits(design), [_ERROR, _VARIANCE])


def _in_words(design: QueryDesign) -> str:
    """Each query as a formula, with one mean coefficient for all keys beyond a and b."""
    texts = []
    for head in range(design.num_heads):
        others = [row[head] for name, row in design.coefficients.items() if name not in ("a", "b")]
        parts = [f"{design.row(name)[head]:.3g} μ_{name}" for name in ("a", "b")]
        if any(others):
            mean = math.fsum(others) / len(others)
            parts.append(f"about {mean:.3g} times each of the {len(others)} others")
        texts.append(" + ".join(parts).replace("+ -", "− "))
    return "; ".join(f"q_{number} = {text}" for number, text in enumerate(texts, start=1))


def _design_command(task: AveragingTask, layout: HeadLayout, design: QueryDesign) -> str:
    """The command that evaluates these queries again."""
    heads = [
        " + ".join(f"({row[head]:.4g})*mu_{{{name}}}" for name, row in design.coefficients.items() if row[head])
        for head in range(design.num_heads)
    ]
    flags = " --qk-norm" if layout == LAYOUTS[2] else ""
    written = " ".join(f'--head "{head}"' for head in heads)
    return f"regard design {written} --n {task.n} --norm-noise a={task.sigma2:g}{flags}"


def _slug(layout: str) -> str:
    return layout.replace(",", "").replace(" ", "-")


@contextmanager
def _one_thread() -> Iterator[None]:
    """Arrays this small take longer to divide among threads than to compute."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _initial(task: AveragingTask, layout: HeadLayout, reach: Reach, generator: torch.Generator) -> Tensor:
    """Small random queries, or a random log β around log 2."""
    if reach == "scale":
        return math.log(2) + torch.randn(task.num_seeds, generator=generator, dtype=torch.float64) / 2
    heads, columns = (2 if layout == "two heads" else 1), (2 if reach == "plane" else task.n)
    return torch.randn(task.num_seeds, heads, columns, generator=generator, dtype=torch.float64)


def _queries(free: Tensor, task: AveragingTask, layout: HeadLayout, reach: Reach) -> Tensor:
    if reach == "free":
        return free
    if reach == "scale":
        unit = theoretical_design(layout, 1.0).coefficients
        free = free.exp()[:, None, None] * torch.tensor([unit["a"], unit["b"]], dtype=torch.float64).T
    return torch.nn.functional.pad(free, (0, task.n - 2))


def _draw_lengths(task: AveragingTask, generator: torch.Generator) -> Float[Tensor, "seed draw"]:
    """γ = 1 + σz, one z from each of `draws` equally likely strata, which makes the mean gradient less noisy."""
    inside = torch.rand(task.num_seeds, task.draws, generator=generator, dtype=torch.float64)
    levels = ((torch.arange(task.draws) + inside) / task.draws).clamp(1e-12, 1 - 1e-12)
    return 1 + math.sqrt(task.sigma2) * torch.special.ndtri(levels)


def _squared_errors(
    queries: Float[Tensor, "seed head key"], lengths: Float[Tensor, "seed draw"]
) -> Float[Tensor, "seed draw"]:
    """‖c − ½(v_a + v_b)‖² for orthonormal values, so that c is the mean of the heads' weights."""
    n = queries.shape[-1]
    factors = torch.ones(*lengths.shape, 1, n, dtype=torch.float64)
    factors[..., 0] = lengths[..., None]
    output = torch.softmax(queries[:, None] * factors, dim=-1).mean(dim=-2)
    target = torch.tensor([0.5, 0.5] + [0.0] * (n - 2), dtype=torch.float64)
    return (output - target).square().sum(dim=-1)
