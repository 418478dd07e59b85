"""False alarms: random layers that are correct by construction, against all laws at all sizes.

Positions, windows, groups, softcaps, scales, widths, precisions and seeds are drawn; a refutation is an error of ours.
"""

import argparse
import math
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Literal

import numpy as np

from regard.conformance.judging import check_subject
from regard.conformance.reference_layer import ReferenceLayer
from regard.conformance.subject import Positions, Spec

_CODES: tuple[Positions, ...] = ("none", "rotary", "rotary", "alibi")
_EMPTY: tuple[Literal["zero", "uniform", "nan"], ...] = ("zero", "uniform", "nan")


def drawn_spec(seed: int) -> Spec:
    """A random layer."""
    rng = np.random.default_rng([seed, 24])
    heads, head_width = int(rng.choice([1, 2, 3, 4, 6])), int(rng.choice([4, 8, 16]))
    positions: Positions = _CODES[rng.integers(4)]
    is_partial = positions == "rotary" and rng.random() < 0.3
    return Spec(
        width=heads * head_width,
        num_heads=heads,
        num_kv_heads=int(rng.choice([each for each in range(1, heads + 1) if heads % each == 0])),
        causal=bool(rng.random() < 0.75),
        window=int(rng.choice([1, 3, 4, 7, 16, 33])) if rng.random() < 0.3 else None,
        positions=positions,
        rotary_base=float(rng.choice([1e3, 1e4, 5e5])),
        rotary_width=head_width // 2 if is_partial else None,
        rotary_layout="interleaved" if rng.random() < 0.5 else "half-split",
        scale=float(rng.choice([0.1, 0.25, 0.5])) if rng.random() < 0.3 else None,
        softcap=float(rng.choice([2.0, 20.0, 50.0])) if rng.random() < 0.3 else None,
        empty=_EMPTY[rng.integers(3)] if rng.random() < 0.5 else None,
        align="top-left" if rng.random() < 0.3 else "bottom-right",
        dtype=str(rng.choice(["float32", "float32", "float32", "float64", "bfloat16"])),
    )


def judge(seed: int) -> tuple[int, list[str], float]:
    """The failures of one layer, and the CPU time it took."""
    start = time.process_time()
    report = check_subject(ReferenceLayer(drawn_spec(seed), seed=seed))
    failures = [f"{each.law} {each.outcome}: {each.counterexample or each.reason}" for each in report.failures]
    return seed, failures, time.process_time() - start


def main() -> None:
    """Prints every false alarm and a summary."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--number", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--minutes", type=float, default=math.inf, help="stop after so many minutes")
    chosen = parser.parse_args()
    number, alarms, laws, seconds = 0, 0, Counter(), 0.0
    end = time.perf_counter() + 60 * chosen.minutes
    with ProcessPoolExecutor(chosen.jobs, mp_context=get_context("spawn")) as pool:
        seeds = range(chosen.first, chosen.first + chosen.number)
        for seed, failures, taken in pool.map(judge, seeds, chunksize=4):
            number, seconds = number + 1, seconds + taken
            alarms += bool(failures)
            laws.update(failure.split()[0] for failure in failures)
            if failures:
                print(f"{seed}: {drawn_spec(seed).non_defaults()}", *failures, sep="\n  ", flush=True)
            if time.perf_counter() > end:
                pool.shutdown(wait=False, cancel_futures=True)
                break
    found = ", ".join(f"{law} {count}" for law, count in laws.most_common()) or "none"
    print(f"{alarms} of {number} correct layers refuted ({found}); {seconds / max(number, 1):.1f} s CPU per layer")


if __name__ == "__main__":
    main()
