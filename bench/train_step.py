"""A training step in the course's configuration, ours and nanoGPT's: `python bench/train_step.py --nanogpt model.py`.

The peer is nanoGPT's own model.py, which you download yourself. Both take steps of 128 rows of 128 characters with 4
layers, 8 heads and width 256: forward, backward, clipping and AdamW, without dropout, on all cores, alternating.
nanoGPT runs as one process with one thread per core, its default; Regard runs as `regard train` would, with the layout
of processes and threads that a first measurement found fastest. For comparison, the last row has only the products with
the layers' matrices, in float32, as Regard computes them.
"""

import argparse
import importlib.util
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from regard.training.data.batches import pack_pass
from regard.training.data.biographies import Biographies, make_biographies
from regard.training.data.corpus import TrainingData
from regard.training.data.lessons import LessonSet
from regard.training.launching import ProcessLayout
from regard.training.model.layers import Dense
from regard.training.planning import (
    LayoutSpeed,
    calibrate,
    layouts_to_try,
    pick_precision,
    prepare_lessons,
    read_files,
    usable_cores,
)
from regard.training.recipe import Recipe, RunPlan, load_recipe
from regard.training.run_folder import RunFolder

ROWS, LENGTH, VOCABULARY = 128, 128, 256
LAYERS, WIDTH = 4, 256
# Rows of a product, so that its operands stay in the cache.
PIECE = 1024


def main() -> None:
    """Prints seconds per step, tokens per second, and the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nanogpt", type=Path, help="nanoGPT's model.py")
    parser.add_argument("--data", type=Path, help="a folder with wiki.txt and train.tsv; made-up people without it")
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=8.0, help="seconds of steps per round")
    parser.add_argument("--peer", choices=["float32", "bfloat16", "products"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.nanogpt is None:
        print("skipped: give nanoGPT's model.py, --nanogpt FILE")
        return
    if options.peer == "products":
        print(time_products(options.seconds))
        return
    if options.peer:
        print(time_peer(options.nanogpt, options.seconds, is_narrow=options.peer == "bfloat16"))
        return
    with tempfile.TemporaryDirectory() as scratch:
        compare(options, Path(scratch))


def compare(options: argparse.Namespace, scratch: Path) -> None:
    """Measures Regard and the peer alternately."""
    recipe = load_recipe("classic", ["model.dropout=0.0"])
    data = load_data(options.data)
    lessons = prepare_lessons(data, recipe)
    folder = RunFolder(scratch / "run")
    folder.create(data, lessons)
    plan = RunPlan(recipe=recipe, steps=1_000_000, seed=0, vocab_size=len(lessons.vocabulary))
    # Without native bfloat16 instructions, a step in it takes a minute.
    precisions = ["float32"] if pick_precision() == "float32" else ["float32", "bfloat16"]
    plans = {precision: replace(plan, precision=precision) for precision in precisions}

    def ours(precision: str, layouts: list[ProcessLayout]) -> LayoutSpeed:
        return calibrate(folder, plans[precision], layouts, seconds=options.seconds, announce=lambda _: None)[0]

    chosen = {precision: ours(precision, layouts_to_try(ROWS)).layout for precision in precisions}
    times: dict[str, list[float]] = {}
    for number in range(options.rounds):
        for precision, layout in chosen.items():
            turns = {
                f"Regard, {precision}": lambda p=precision, by=layout: ours(p, [by]).seconds,
                f"nanoGPT, {precision}": lambda p=precision: run_peer(options, p),
            }
            # They take turns at going first.
            for name in list(turns)[:: -1 if number % 2 else 1]:
                times.setdefault(name, []).append(turns[name]())
        times.setdefault("products alone, float32", []).append(run_peer(options, "products"))
    medians = {name: statistics.median(taken) for name, taken in times.items()}
    mine, theirs = (min(s for name, s in medians.items() if name.startswith(who)) for who in ("Regard", "nanoGPT"))
    print(f"{ROWS} × {LENGTH} characters per step on {usable_cores()} cores, median of {options.rounds} rounds")
    print("Regard's layouts:", ", ".join(f"{layout.in_words} in {precision}" for precision, layout in chosen.items()))
    for name, seconds in medians.items():
        print(f"{name:24} {seconds:7.3f} s  {ROWS * LENGTH / seconds:8.0f} tokens/s  {seconds / mine:5.2f}× ours")
    for precision in precisions:
        print(describe_ratio(times, precision))
    packed, padded = filled_shares(lessons, recipe)
    gain = packed / padded * theirs / mine
    print(f"rows are {packed:.1%} full if packed, {padded:.1%} with one document per row")
    print(f"useful tokens per second: {packed / padded:.2f}× by packing, {gain:.2f}× by packing and speed together")


def describe_ratio(times: dict[str, list[float]], precision: str) -> str:
    """The ratio of the peer's time to ours, round by round: the machine's load is similar within a round."""
    pairs = zip(times[f"nanoGPT, {precision}"], times[f"Regard, {precision}"], strict=True)
    ratios = [theirs / mine for theirs, mine in pairs]
    by_round = ", ".join(f"{ratio:.2f}" for ratio in ratios)
    return f"nanoGPT takes {statistics.median(ratios):.2f}× our time in {precision} (by round: {by_round})"


def load_data(folder: Path | None) -> TrainingData:
    """The course's files, or made-up people."""
    if folder is not None:
        return read_files(folder / "wiki.txt", folder / "train.tsv", held_out=0)
    return make_biographies(Biographies(people=2000), seed=0)


def filled_shares(lesson_set: LessonSet, recipe: Recipe) -> tuple[float, float]:
    """How full the rows of the first stage are, and how full they would be with one document per row."""
    objective, rng = recipe.stages[0].objective, np.random.default_rng(0)
    shown = (
        example
        for lesson in lesson_set.lessons
        for example in objective.examples(lesson, rng, max_length=LENGTH, shows_question=False)
    )
    rows = pack_pass(shown, rng, max_length=LENGTH)
    lengths = [len(example) for row in rows for example in row.examples]
    return sum(lengths) / (LENGTH * len(rows)), float(np.mean(lengths)) / LENGTH


def run_peer(options: argparse.Namespace, peer: str) -> float:
    """Measures the peer in a process of its own, with one thread per core."""
    arguments = ["--nanogpt", str(options.nanogpt), "--peer", peer, "--seconds", str(options.seconds)]
    environment = {**os.environ, "OMP_NUM_THREADS": str(usable_cores()), "OMP_WAIT_POLICY": "active"}
    found = subprocess.run(
        [sys.executable, __file__, *arguments], env=environment, check=True, capture_output=True, text=True
    )
    return float(found.stdout.splitlines()[-1])


def time_peer(path: Path, seconds: float, *, is_narrow: bool) -> float:
    """Seconds per step of nanoGPT's model, without the first one."""
    spec = importlib.util.spec_from_file_location("nanogpt_model", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    config = module.GPTConfig(
        block_size=LENGTH, vocab_size=VOCABULARY, n_layer=LAYERS, n_head=8, n_embd=WIDTH, dropout=0.0, bias=True
    )
    model = module.GPT(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    drawn = torch.randint(0, VOCABULARY, (ROWS, LENGTH + 1))
    tokens, following = drawn[:, :-1].contiguous(), drawn[:, 1:].contiguous()

    def step() -> None:
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=is_narrow):
            _, loss = model(tokens, following)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return time_steps(step, seconds)


def time_products(seconds: float) -> float:
    """Seconds per step for the products with the layers' matrices: forward, and back to inputs and weights."""
    shapes = [(WIDTH, 3 * WIDTH), (WIDTH, WIDTH), (WIDTH, 4 * WIDTH), (4 * WIDTH, WIDTH)]
    made = [(Dense(n, m), torch.randn(PIECE, n, requires_grad=True), torch.randn(PIECE, m)) for n, m in shapes]

    def step() -> None:
        for _ in range(LAYERS * ROWS * LENGTH // PIECE):
            for dense, inputs, gradient in made:
                torch.autograd.grad(dense(inputs), [inputs, dense.weight], gradient)

    return time_steps(step, seconds)


def time_steps(step: Callable[[], None], seconds: float) -> float:
    """Seconds per step, without the first one."""
    taken: list[float] = []
    while len(taken) < 2 or sum(taken[1:]) < seconds:
        begun = time.perf_counter()
        step()
        taken.append(time.perf_counter() - begun)
    return statistics.mean(taken[1:])


if __name__ == "__main__":
    main()
