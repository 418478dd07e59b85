"""The result of comparing variants of a training: by seed, on the same questions, corrected for the number of pairs."""

import html
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from rich.console import Console

from regard.core.axes import Bool
from regard.core.errors import InputError
from regard.core.verdict import Verdict
from regard.render.charts import IntervalRow, draw_intervals
from regard.render.figures import Axis
from regard.render.page import Page, notebook_frame, render_page, render_statuses, render_table
from regard.render.terminal import percent, plural, say, show_columns, status_label
from regard.training.evaluation import Accuracy
from regard.training.statistics import MeanInterval, holm, holm_levels, mcnemar, mean_interval, paired_difference

ALPHA = 0.05
"""The probability that a comparison calls any pair different by chance."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Variant:
    """One way of training: which of the same questions the runs answer correctly, seed by seed.

    `mean` estimates how other seeds would do; `pooled` treats all answers as independent.
    """

    recipe: str
    positions: str
    steps: int
    right: Bool[np.ndarray, "seed question"]
    name: str = ""

    @cached_property
    def shares(self) -> list[float]:
        """The accuracy of each seed."""
        return self.right.mean(axis=1).tolist()

    @cached_property
    def mean(self) -> MeanInterval:
        """The mean over seeds."""
        return mean_interval(self.shares, alpha=ALPHA, resolution=1 / self.right.shape[1])

    @cached_property
    def pooled(self) -> Accuracy:
        """The accuracy over all seeds' answers."""
        return Accuracy(right=int(self.right.sum()), asked=self.right.size)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready values."""
        interval = [self.pooled.lower, self.pooled.upper]
        return {
            "name": self.name,
            "recipe": self.recipe,
            "positions": self.positions,
            "steps": self.steps,
            "shares": self.shares,
            "mean": asdict(self.mean),
            "pooled": {"value": self.pooled.value, "n": self.pooled.asked, "interval": interval},
        }


@dataclass(frozen=True, kw_only=True)
class PairResult:
    """How far apart two variants are; `better` is the one with more right answers.

    `difference` is paired by seed, with the interval of the corrected test: it excludes zero exactly if the pair is
    decided. `seeds_needed` would decide if nothing else changed (None: more than 10,000). `only_better` and
    `only_worse` count the answers that only one of the two got right, over all seeds.
    """

    better: str
    worse: str
    difference: MeanInterval
    p: float
    p_holm: float
    seeds_needed: int | None
    only_better: int
    only_worse: int

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready values."""
        return {**asdict(self), "status": self.verdict().status}

    def verdict(self, reproduce: str | None = None) -> Verdict:
        """Whether the better variant is better beyond chance."""
        is_one_seed = self.difference.count == 1
        is_decided = not is_one_seed and self.p_holm <= ALPHA
        return Verdict(
            id=f"{self.better.replace(' ', '-')}-beats-{self.worse.replace(' ', '-')}",
            statement=f"{self.better} answers more questions than {self.worse}",
            status="holds" if is_decided else "undecided",
            method="McNemar's exact test" if is_one_seed else "paired by seed, Student's t, Holm",
            reason=self._reason_for_one_seed() if is_one_seed else self._reason(is_decided=is_decided),
            value=self.difference.mean,
            bound=None if math.isinf(self.difference.half_width) else self.difference.half_width,
            probability=self.p_holm,
            reproduce=reproduce,
        )

    def _reason(self, *, is_decided: bool) -> str:
        count = self.difference.count
        apart = f"{_percent(self.difference.mean)} ± {_percent(self.difference.half_width)} points"
        if is_decided:
            return f"{self.better} is better by {apart} ({count} seeds, paired; {self._p_values()})"
        enough = "more than 10,000" if self.seeds_needed is None else f"about {self.seeds_needed}"
        return (
            f"{self.better} − {self.worse}: undecided at {count} seeds ({apart}, {self._p_values()}); {enough} would "
            "decide if the difference stayed the same"
        )

    def _reason_for_one_seed(self) -> str:
        return (
            f"{self.better} − {self.worse} is {_percent(self.difference.mean)} points with one seed, which can't tell "
            f"how other seeds would do. Questions that only one of the two models answers correctly: {self.better} "
            f"{self.only_better}, {self.worse} {self.only_worse} (McNemar: {self._p_values()})"
        )

    def _p_values(self) -> str:
        return f"p = {self.p:.2g}, {self.p_holm:.2g} corrected"


@dataclass(frozen=True, kw_only=True)
class ComparisonReport:
    """All variants, and every pair compared."""

    folder: str
    data: str
    questions: str
    num_questions: int
    num_seeds: int
    baseline: Accuracy
    variants: Sequence[Variant]
    pairs: Sequence[PairResult]
    reproduce: str | None = None

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """One per pair."""
        return tuple(pair.verdict(self.reproduce) for pair in self.pairs)

    @property
    def assurance(self) -> str:
        """How many comparisons were made, and how often one of them is a false alarm."""
        return (
            f"{plural(len(self.pairs), 'comparison')} on the same {self.num_questions} questions; with Holm's "
            f"correction, the probability that any of them holds by chance is at most {percent(ALPHA)}."
        )

    def _repr_html_(self) -> str:
        return notebook_frame(render_comparison(self), title="Trainings compared")

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready values beside the verdicts."""
        return {
            "folder": self.folder,
            "data": self.data,
            "questions": self.questions,
            "num_questions": self.num_questions,
            "num_seeds": self.num_seeds,
            "num_comparisons": len(self.pairs),
            "false_alarm_rate": ALPHA,
            "correction": "Holm",
            "baseline_majority": self.baseline.value,
            "variants": [variant.to_dict() for variant in self.variants],
            "pairs": [pair.to_dict() for pair in self.pairs],
        }


def name_variants(variants: Sequence[Variant]) -> list[Variant]:
    """The variants, named by recipe or positions, whichever tells them apart; by both if both vary."""
    recipes, positions = ({getattr(each, part) for each in variants} for part in ("recipe", "positions"))
    if len(recipes) == 1:
        return [replace(each, name=each.positions) for each in variants]
    has_one_code = len(positions) == 1
    return [replace(each, name=each.recipe + ("" if has_one_code else f" {each.positions}")) for each in variants]


def compare_variants(variants: Sequence[Variant], *, against: str | None = None) -> list[PairResult]:
    """Every pair that differs in one thing, or every variant against the one named."""
    # The better one first. The tests are two-sided, so choosing the order by the result costs nothing.
    pairs = [sorted(pair, key=lambda each: -each.right.sum()) for pair in _pairs(variants, against)]
    differences = [paired_difference(b.shares, w.shares, resolution=1 / b.right.shape[1]) for b, w in pairs]
    by_question = [mcnemar(b.right.ravel().tolist(), w.right.ravel().tolist()) for b, w in pairs]
    is_one_seed = bool(variants) and variants[0].right.shape[0] == 1
    p_values = [by_question[k][2] if is_one_seed else each.p_value for k, each in enumerate(differences)]
    corrected, levels = holm(p_values), holm_levels(p_values, ALPHA)
    return [
        PairResult(
            better=better.name,
            worse=worse.name,
            difference=differences[k].interval(levels[k]),
            p=p_values[k],
            p_holm=corrected[k],
            seeds_needed=None if is_one_seed else differences[k].decisive_count(levels[k]),
            only_better=by_question[k][0],
            only_worse=by_question[k][1],
        )
        for k, (better, worse) in enumerate(pairs)
    ]


def _pairs(variants: Sequence[Variant], against: str | None) -> list[tuple[Variant, Variant]]:
    if against is None:
        return [
            (first, second)
            for first, second in combinations(variants, 2)
            if first.recipe == second.recipe or first.positions == second.positions
        ]
    chosen = next((each for each in variants if each.name == against), None)
    if chosen is None:
        names = ", ".join(each.name for each in variants)
        raise InputError(f"No variant is called {against!r}. Compare with one of: {names}.")
    return [(each, chosen) for each in variants if each is not chosen]


_COLUMNS = ("", "right, mean over seeds", "pooled, Wilson 95 %", "by seed", "steps")


def show_comparison(console: Console, report: ComparisonReport) -> None:
    """Prints a table of the variants and a verdict per pair."""
    say(console, f"{report.data}; {report.num_questions} questions {report.questions}", style="dim")
    console.print()
    show_columns(console, [_COLUMNS, *map(_cells, report.variants)])
    say(console, f"baseline (always the most common answer): {report.baseline}", style="dim", indent=2)
    for verdict in report.verdicts:
        console.print()
        say(console, verdict.reason or "", lead=status_label(console, verdict.status))
    console.print()
    say(console, report.assurance, style="dim")


def render_comparison(report: ComparisonReport) -> str:
    """The comparison as an HTML page."""
    decided = sum(verdict.status == "holds" for verdict in report.verdicts)
    finding = f"{decided} of {len(report.pairs)} differences hold"
    about = f"{report.data}; {report.num_questions} questions {report.questions}."
    verdicts = render_statuses((verdict.status, verdict.reason or "") for verdict in report.verdicts)
    main = (
        f'<header class="head"><p class="problem">{html.escape(report.folder)}</p><h1>Trainings compared</h1>'
        f"<p>{html.escape(about)}</p></header>"
        f'<section id="variants"><h2>Variants</h2>{_draw_variants(report)}'
        f"{render_table(map(_cells, report.variants), _COLUMNS)}"
        f"<p>Baseline (always the most common answer): {html.escape(str(report.baseline))}.</p></section>"
        f'<section id="pairs"><h2>Pairs</h2>{_draw_pairs(report)}<p>{html.escape(report.assurance)}</p>'
        f"{verdicts}</section>"
    )
    return render_page(
        Page(
            title=f"Trainings compared: {finding}",
            main=main,
            margin=f'<p>{html.escape(finding)}.</p><ul class="contents"><li><a href="#variants">Variants</a></li>'
            '<li><a href="#pairs">Pairs</a></li></ul>',
            styles=("document.css", "charts.css", "intervals.css"),
        )
    )


def _cells(variant: Variant) -> tuple[str, ...]:
    mean, pooled = variant.mean, variant.pooled
    over = "one seed" if mean.count == 1 else f"± {_percent(mean.half_width)} over {mean.count} seeds"
    by_seed = ", ".join(_percent(share) for share in variant.shares)
    pooled_text = f"{_percent(pooled.lower)} to {_percent(pooled.upper)}"
    return variant.name, f"{_percent(mean.mean)} % {over}", pooled_text, by_seed, str(variant.steps)


def _draw_variants(report: ComparisonReport) -> str:
    rows = []
    for variant in report.variants:
        interval = variant.pooled if math.isinf(variant.mean.half_width) else variant.mean
        rows.append(
            IntervalRow(
                name=variant.name,
                value=100 * variant.mean.mean,
                lower=100 * interval.lower,
                upper=100 * interval.upper,
                points=[100 * share for share in variant.shares],
            )
        )
    meaning = "Student's over seeds" if report.num_seeds > 1 else "Wilson's over questions, since there is one seed"
    return draw_intervals(
        rows,
        Axis(label="% right", lower=0.0, upper=100.0),
        title="Questions answered correctly",
        caption=f"Small dots are seeds; the 95 % interval is {meaning}. The dotted line is the baseline.",
        at=100 * report.baseline.value,
    )


def _draw_pairs(report: ComparisonReport) -> str:
    rows = [
        pair.difference.row(f"{pair.better} − {pair.worse}", scale=100, status=pair.verdict().status)
        for pair in report.pairs
    ]
    if not rows:
        return ""
    return draw_intervals(
        rows,
        Axis(label="points"),
        title="Differences",
        caption="Paired by seed, with the interval of the corrected test: a difference is decided if it excludes zero.",
        at=0.0,
    )


def _percent(share: float) -> str:
    """A share, or a difference of shares, in percentage points; ∞ for an infinite half-width."""
    return "∞" if math.isinf(share) else f"{100 * share:.1f}"
