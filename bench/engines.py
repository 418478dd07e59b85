"""Figures of the engines, side by side in one run: speed, digits, memory.

python bench/engines.py [--write docs/figures-engines.md] [--long]
"""

import argparse
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import NamedTuple

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))

from regard.analysis.engines import Mean, Variance, certified, coefficient, monte_carlo, weight  # noqa: E402
from regard.analysis.scenarios import course_keys, one_head, two_heads  # noqa: E402

TRUE_VARIANCE = 0.222018627920073740
NUMBERS_PER_BLOCK = 10**6
TABLE = [(n, beta) for n in (10, 1000) for beta in (1.0, 2.0, 5.0, 10.0, 20.0, 50.0)]


class Row(NamedTuple):
    """A line of the summary."""

    what: str
    measured: str
    target: str


def seconds(action: Callable[[], object], *, repeats: int = 1) -> float:
    """Median time of an action."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return median(times)


def sample_keys(*, n: int, width: int, design: str, draws: int, alpha: float) -> tuple[float, float]:
    """The usual way: draw every key in full, read the weight on a, and return its mean and variance."""
    block = max(1, NUMBERS_PER_BLOCK // (n * width))
    rng = np.random.default_rng(0)
    means = np.eye(n, width)
    queries = 20.0 * (means[:1] + means[1:2] if design == "one head" else means[:2])
    total = square = 0.0
    for start in range(0, draws, block):
        size = min(block, draws - start)
        keys = means + math.sqrt(alpha) * rng.standard_normal((size, n, width))
        keys[:, 0] += math.sqrt(0.5) * rng.standard_normal((size, 1)) * means[0]
        logits = keys @ queries.T
        powers = np.exp(logits - logits.max(axis=1, keepdims=True))
        weights = (powers / powers.sum(axis=1, keepdims=True))[:, 0, 0]
        total += weights.sum()
        square += weights @ weights
    return total / draws, square / draws - (total / draws) ** 2


def certified_against_sampling() -> list[Row]:
    """Mean and variance at n = 10, β = 20: an enclosure against a million draws of keys of width 64."""
    law = course_keys(n=10).logits(one_head(20.0))
    questions = [Mean(of=weight("a")), Variance(of=weight("a"))]
    proof = certified.answers(law, questions)[1]
    proof_time = seconds(lambda: certified.answers(law, questions), repeats=51)
    results: list[tuple[float, float]] = []
    draws = 1_000_000
    sample_time = seconds(
        lambda: results.append(sample_keys(n=10, width=64, design="one head", draws=draws, alpha=1e-12))
    )
    error = abs(results[0][1] - TRUE_VARIANCE)
    # The precision of a million draws is their standard error, not the luck of one run.
    sampled = monte_carlo.answer(law, questions[1], draws=draws, confidence=0.6827)
    digits = -math.log10(proof.width / proof.value), -math.log10(sampled.width / 2 / sampled.value)
    return [
        Row("certified mean and variance, n = 10, β = 20", f"{proof_time * 1e3:.2f} ms", ""),
        Row("a million draws of keys, d = 64, numpy", f"{sample_time:.2f} s (off by {error:.1e})", ""),
        Row("speed ratio", f"{sample_time / proof_time:.0f}×", "≥ 1000×"),
        Row("correct digits of the variance", f"{digits[0]:.1f} against {digits[1]:.1f}", "nine more"),
    ]


def logits_against_keys() -> list[Row]:
    """Time per draw at n = 1000, d = 1024, two heads, every key noisy."""
    law = course_keys(n=1000, alpha=1e-4).logits(two_heads(20.0))
    fast_draws, slow_draws = 20_000, 100
    question = Variance(of=weight("a"))
    fast = seconds(lambda: monte_carlo.answer(law, question, draws=fast_draws), repeats=3) / fast_draws
    slow = (
        seconds(lambda: sample_keys(n=1000, width=1024, design="two heads", draws=slow_draws, alpha=1e-4)) / slow_draws
    )
    return [
        Row("logits of 1000 noisy keys, two heads", f"{fast * 1e6:.1f} µs per draw", ""),
        Row("the same from keys, d = 1024", f"{slow * 1e3:.2f} ms per draw", ""),
        Row("speed ratio", f"{slow / fast:.0f}×", "≥ 100×"),
    ]


def peak_memory(question: str, *, draws: int, alpha: float) -> tuple[float, float]:
    """Megabytes at the peak and seconds of one run at n = 1000 in a process of its own."""
    code = f"""
import resource, time
from pathlib import Path
from regard.analysis.engines import *
from regard.analysis.engines import monte_carlo
from regard.analysis.scenarios import course_keys, two_heads
law = course_keys(n=1000, alpha={alpha}).logits(two_heads(20.0))
start = time.perf_counter()
monte_carlo.answer(law, {question}, draws={draws})
status = Path("/proc/self/status")
peak = status.read_text().split("VmHWM:")[1].split()[0] if status.exists() else \
    resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(peak, time.perf_counter() - start)
"""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    kilobytes, elapsed = map(float, done.stdout.split())
    return kilobytes / 1000, elapsed


def memory(*, is_long: bool) -> list[Row]:
    """Peak memory of long runs."""
    runs = [
        ("variance, 10⁷ draws, n = 1000", "Variance(of=weight('a'))", 10**7, 0.0),
        ("quantile, 10⁷ draws, n = 1000", "Quantile(of=weight('a'), level=0.5)", 10**7, 0.0),
        ("variance, 10⁵ draws, 1000 noisy keys", "Variance(of=weight('a'))", 10**5, 1e-4),
    ]
    if is_long:
        runs.append(("variance, 10⁷ draws, 1000 noisy keys", "Variance(of=weight('a'))", 10**7, 1e-4))
    rows = []
    for what, question, draws, alpha in runs:
        megabytes, elapsed = peak_memory(question, draws=draws, alpha=alpha)
        rows.append(Row(f"peak memory: {what}", f"{megabytes:.0f} MB, {elapsed:.1f} s", "< 300 MB"))
    return rows


def a_million_keys() -> list[Row]:
    """A thousand draws of a million noisy keys."""
    rows = []
    for name, design in (("one head", one_head(20.0)), ("two heads", two_heads(20.0))):
        law = course_keys(n=10**6, alpha=1e-4).logits(design)
        processor = time.process_time()
        elapsed = seconds(lambda law=law: monte_carlo.answer(law, Variance(of=weight("a")), draws=1000))
        processor = time.process_time() - processor
        measured = f"{elapsed:.1f} s ({processor:.1f} s of CPU time)"
        rows.append(Row(f"1000 draws, a million noisy keys, {name}", measured, "seconds"))
    return rows


def table_entries() -> list[str]:
    """Every entry of the tables on one and two heads: its enclosure and its time."""
    lines = ["| n | β | question | enclosure | ms |", "|---|---|---|---|---|"]
    worst = 0.0
    for n, beta in TABLE:
        keys = course_keys(n=n)
        for what, law, question in (
            ("one head, E w_a", keys.logits(one_head(beta)), Mean(of=weight("a"))),
            ("one head, Var w_a", keys.logits(one_head(beta)), Variance(of=weight("a"))),
            ("two heads, E w_a", keys.logits(two_heads(beta)), Mean(of=weight("a"))),
            ("two heads, Var c_a", keys.logits(two_heads(beta)), Variance(of=coefficient("a"))),
        ):
            elapsed = seconds(lambda law=law, question=question: certified.answer(law, question), repeats=9)
            worst = max(worst, elapsed)
            enclosure = certified.answer(law, question).enclosure
            lines.append(f"| {n} | {beta:g} | {what} | {enclosure} | {elapsed * 1e3:.1f} |")
    return [f"Slowest entry: {worst * 1e3:.1f} ms (target ≤ 20 ms).", "", *lines]


def main() -> None:
    """Measures, prints, and writes the figures with --write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", type=Path, help="also write the figures to this file")
    parser.add_argument("--long", action="store_true", help="also run ten million draws of a thousand noisy keys")
    options = parser.parse_args()
    rows = [*certified_against_sampling(), *logits_against_keys(), *memory(is_long=options.long), *a_million_keys()]
    summary = ["| figure | measured | target |", "|---|---|---|", *(f"| {' | '.join(row)} |" for row in rows)]
    busy = f"load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "load unknown"
    machine = f"{os.cpu_count()} cores ({busy}), Python {sys.version.split()[0]}, numpy {np.__version__}"
    title = ["# Figures of the engines", "", f"`python bench/engines.py` on {machine}; all in one run.", ""]
    text = "\n".join([*title, *summary, "", "## Table entries, certified", "", *table_entries(), ""])
    print(text)
    if options.write:
        options.write.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
