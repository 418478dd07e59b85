"""The report on a design in a terminal: weights, output, histogram, and other scales."""

from collections.abc import Iterable, Mapping, Sequence

from rich.console import Console
from rich.text import Text

from regard.core.estimate import Estimate
from regard.designs.expressions import GREEK
from regard.designs.report import DesignReport, Head, ScaleFinding, Scales
from regard.render.terminal import quantity, say, show_columns, spelled, status_label

_BARS = " ▏▎▍▌▋▊▉█"
_WIDEST_BAR = 40


def show_design(console: Console, report: DesignReport) -> None:
    """Prints the setting, each head, the output, the scales, and the verdict on what was required."""
    say(console, setting_line(report), style="dim")
    for number, head in enumerate(report.heads, start=1):
        _title(console, f"Head {number}", f"{head.source} = {written_sum(head.coefficients, 'μ')}")
        show_columns(console, [("key", "weight", "variance"), *weight_rows(head)])
    _title(console, "Output", f"c compared with {written_sum(report.output.target, 'v')}")
    show_columns(console, output_rows(report), has_header=False)
    levels = [f"{level:.0%} below {_short(found, 4)}" for level, found in report.output.quantiles.items()]
    _title(console, "Distribution of v_a's coefficient in c", " · ".join(levels))
    _histogram(console, report.histogram)
    if report.scales is not None:
        _title(console, "Scale", "the same queries at other scales")
        show_columns(console, scale_rows(report.scales, report.output.epsilon), has_header=False)
    if report.require is not None:
        verdict = next(verdict for verdict in report.verdicts if verdict.id == "within")
        console.print()
        say(console, f"{verdict.statement}: {verdict.reason}", lead=status_label(console, verdict.status))


def written_sum(coefficients: Mapping[str, float], letter: str, *, is_latex: bool = False) -> str:
    """A sum of vectors as people write it.

    >>> written_sum({"a": 20.0, "b": -1.0}, "μ"), written_sum({"a": 0.5, "b": 0.5}, "v"), written_sum({"a": 0.0}, "v")
    ('20 μ_a − μ_b', '0.5 v_a + 0.5 v_b', '0')
    """
    minus, text = ("-" if is_latex else "−"), ""
    for key, factor in coefficients.items():
        if factor == 0:
            continue
        size = "" if abs(factor) == 1 else f"{abs(factor):.6g} "
        sign = (minus if factor < 0 else "") if not text else (f" {minus} " if factor < 0 else " + ")
        text += f"{sign}{size}{letter}_{{{key}}}" if is_latex else f"{sign}{size}{letter}_{key}"
    return text or "0"


def setting_line(report: DesignReport) -> str:
    """The scenario in one line."""
    setting = report.setting
    letters = {name: letter for letter, name in GREEK.items()}
    parts = [f"n = {setting['n']}"]
    parts += [f"{letters.get(name, name)} = {value:g}" for name, value in setting["scalars"].items()]
    parts += [f"γ_{key} ~ N(1, {noise + setting['alpha']:g})" for key, noise in setting["norm_noise"].items()]
    parts += [f"α = {setting['alpha']:g}"] if setting["alpha"] else []
    parts += ["keys normalized"] if setting["qk_norm"] else []
    if report.given is not None and report.chance is not None:
        parts.append(f"given {report.given} (probability {number(report.chance)})")
    error = report.output.squared_error
    sampled = f"sampled: {error.draws} draws, seed {error.seed}, {error.confidence or 1:.1%} confidence"
    return " · ".join([*parts, "certified" if error.is_certain else sampled])


def scale_rows(scales: Scales, epsilon: float) -> Iterable[tuple[str, str, str]]:
    """What other scales would give: name, scale, what was found there."""
    if scales.best is None:
        far = scales.farthest
        trend = "smaller is better" if scales.is_rising else f"still falling at {_scale(scales, far)}"
        yield "least error", trend, f"E = {number(far.found)}{' at the largest scale' if scales.is_rising else ''}"
    else:
        yield "least error", _scale(scales, scales.best), f"E = {number(scales.best.found)}"
    yield f"rms error {epsilon:g} needs", _needed(scales), ""
    most = scales.most_often
    where = _scale(scales, most) if most.found.upper > 0 else "never"
    yield f"most often within {epsilon:g}", where, f"P = {number(most.found)}, among the scales tried"
    yield "ceiling", f"{_unit(scales)} → ∞", f"P = {number(scales.ceiling)}"


def _needed(scales: Scales) -> str:
    if scales.is_always_enough:
        return "any scale tried"
    if scales.needed is None:
        return "no scale"
    return _scale(scales, scales.needed) if scales.needed.scale > 0 else "queries of length zero"


def _unit(scales: Scales) -> str:
    return "β" if scales.unit == "beta" else "factor"


def _scale(scales: Scales, finding: ScaleFinding) -> str:
    name = _unit(scales)
    return f"{name} = {finding.scale:.4g}" if name == "β" else f"{finding.scale:.4g} times as long"


def number(estimate: Estimate) -> str:
    """The value to twelve digits, or with its sampling error."""
    if estimate.is_certain:
        return f"{estimate.value:.12g}" if estimate.value or not estimate.upper else f"below {estimate.upper:.2g}"
    return quantity(estimate.value, max(estimate.upper - estimate.value, estimate.value - estimate.lower))


def _short(estimate: Estimate, digits: int) -> str:
    """The value to a few digits if it is certain, else with its sampling error."""
    return f"{estimate.value:.{digits}g}" if estimate.is_certain else number(estimate)


def weight_rows(head: Head) -> Iterable[tuple[str, str, str]]:
    """The weight of each key, or of each of several with the same law: name, mean, variance."""
    for weight in head.weights:
        name = weight.key if weight.count == 1 else f"{weight.key} (each of {weight.count})"
        yield name, number(weight.mean), number(weight.variance)


def output_rows(report: DesignReport) -> Iterable[tuple[str, str, str]]:
    """What was found out about c: name, number, remark."""
    output = report.output
    yield "E‖c − target‖²", number(output.squared_error), ""
    yield f"P(‖c − target‖ ≤ {output.epsilon:g})", number(output.within), ""
    ratio = output.variance_ratio
    compared = "" if ratio is None else f"one head β(μ_a+μ_b): {_short(ratio, 6)} times that"
    yield "variance of v_a's coefficient", number(output.coefficient_variance), compared
    yield "tr Cov(c)", number(output.total_variance), ""


def _title(console: Console, title: str, rest: str) -> None:
    console.print()
    say(console, rest, lead=Text(f"{spelled(title, console.encoding)}  ", style="bold"))


def _histogram(console: Console, bins: Sequence[tuple[float, float, float]]) -> None:
    tallest = max(share for _, _, share in bins)
    for low, high, share in bins:
        eighths = round(share / tallest * _WIDEST_BAR * 8) if share else 0
        bar = "█" * (eighths // 8) + _BARS[eighths % 8].strip() if eighths else ("▏" if share else "")
        text = f"  {low:4.2f}–{high:4.2f}  {bar} {share:.1%}" if share else f"  {low:4.2f}–{high:4.2f}"
        console.print(Text(_plain(text, console.encoding)), soft_wrap=True)


def _plain(text: str, encoding: str) -> str:
    """The bars in block characters, or in number signs where the encoding has no blocks."""
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return spelled("".join("#" if sign == "█" else "" if sign in _BARS[1:] else sign for sign in text), encoding)
    return text
