"""One training step at the course's configuration against nanoGPT's: `python bench/train_step.py --nanogpt model.py`.

The peer is nanoGPT's own model.py, which you fetch yourself. Both make steps of 32 rows of 128 characters with 4
layers, 8 heads and width 256: forward, backward and AdamW, without dropout, in turns.
"""

import argparse
import importlib.util
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from regard.data.biographies import Biographies, biographies
from regard.data.packing import rows_of_pass
from regard.training.crew import solo
from regard.training.plan import Plan
from regard.training.preparing import Material, prepare
from regard.training.recipe import load_recipe
from regard.training.trainer import Trainer

ROWS, LENGTH, VOCABULARY = 32, 128, 256


def main() -> None:
    """Prints seconds for a step of each, tokens a second, and the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nanogpt", type=Path, required=True, help="nanoGPT's model.py")
    parser.add_argument("--rounds", type=int, default=6)
    options = parser.parse_args()
    trainer, useful = ours()
    peer = theirs(options.nanogpt)
    ways: dict[str, Callable[[], None]] = {
        f"Regard, {trainer.plan.precision}": lambda: (trainer.advance(), None)[1],
        "nanoGPT, float32": lambda: peer(False),
        "nanoGPT, bfloat16": lambda: peer(True),
    }
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(options.rounds + 1):
        for name, way in ways.items():
            begun = time.perf_counter()
            way()
            times[name].append(time.perf_counter() - begun)
    medians = {name: statistics.median(taken[1:]) for name, taken in times.items()}
    ours_at = next(iter(medians.values()))
    print(f"{ROWS} × {LENGTH} tokens a step, {torch.get_num_threads()} thread(s), median of {options.rounds}")
    for name, seconds in medians.items():
        print(f"{name:20} {seconds:7.3f} s  {ROWS * LENGTH / seconds:8.0f} places/s  {seconds / ours_at:5.2f}× ours")
    padded = float(np.mean([useful["padded"]]))
    print(f"places that hold a token: {useful['packed']:.1%} packed, {padded:.1%} in the course's padded rows")
    print(f"useful tokens by packing: {useful['packed'] / padded:.2f}×")


def ours() -> tuple[Trainer, dict[str, float]]:
    """A trainer of the classic recipe, and how full its rows are against rows of one document each."""
    changes = [f"batch.rows={ROWS}", "model.dropout=0.0", "precision=float32"]
    recipe = load_recipe("classic", changes)
    world = biographies(Biographies(people=2000), seed=0)
    material = Material(documents=world.documents, questions=world.questions, held_out=(), sources=("made up",))
    prepared = prepare(material, recipe)
    plan = Plan(recipe=recipe, steps=1000, seed=0, vocab_size=VOCABULARY)
    lessons = prepared.encoded.lessons
    rows = rows_of_pass(lessons, recipe.stages[0].objective, np.random.default_rng(0), max_length=LENGTH)
    lengths = [len(example) for row in rows for example in row.examples]
    full = {"packed": sum(lengths) / (LENGTH * len(rows)), "padded": float(np.mean(lengths)) / LENGTH}
    return Trainer(plan, lessons, solo()), full


def theirs(path: Path) -> Callable[[bool], None]:
    """A step of nanoGPT's model."""
    spec = importlib.util.spec_from_file_location("nanogpt_model", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    config = module.GPTConfig(
        block_size=LENGTH, vocab_size=VOCABULARY, n_layer=4, n_head=8, n_embd=256, dropout=0.0, bias=True
    )
    model = module.GPT(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    drawn = torch.randint(0, VOCABULARY, (ROWS, LENGTH + 1))
    tokens, following = drawn[:, :-1].contiguous(), drawn[:, 1:].contiguous()

    def step(is_narrow: bool) -> None:
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=is_narrow):
            _, loss = model(tokens, following)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return step


if __name__ == "__main__":
    main()
