"""Applying rotary codes in float32, compared side by side with other libraries: `python bench/rotary.py`.

Only one file of torchtune is used, so `pip install --no-deps torchtune` is enough.
"""

import importlib.util
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import torch

from regard.positions.rotary import Rotary
from regard.training.model.positions import RotaryAngles, rotate

ROUNDS = 60
BATCH, HEADS, LENGTH, WIDTH = 8, 8, 256, 64


def main() -> None:
    """Prints the median time of each, and its ratio to ours; all rotate the same queries by the same angles."""
    torch.set_num_threads(1)
    queries = torch.randn(BATCH, HEADS, LENGTH, WIDTH)
    ways = {"Regard": ours(), **peers()}
    expected = Rotary(base=10_000.0, layout="half-split").rotate(queries.double(), torch.arange(LENGTH).numpy())
    for name, (way, is_half_split) in ways.items():
        if is_half_split:
            assert torch.allclose(way(queries).double(), expected, atol=1e-4), name
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(ROUNDS):
        for name, (way, _) in ways.items():
            begun = time.perf_counter()
            way(queries)
            times[name].append(time.perf_counter() - begun)
    base = statistics.median(times["Regard"])
    print(f"{BATCH}×{HEADS}×{LENGTH}×{WIDTH} queries, float32, one thread, median of {ROUNDS} interleaved rounds")
    for name, taken in times.items():
        print(f"{name:28} {1000 * statistics.median(taken):7.3f} ms   {statistics.median(taken) / base:5.2f}× ours")


Way = tuple[Callable[[torch.Tensor], torch.Tensor], bool]


def ours() -> Way:
    """Ours, with the angles looked up once per step, as in training."""
    angles = RotaryAngles(Rotary(base=10_000.0, layout="half-split"), WIDTH, LENGTH).at(
        torch.arange(LENGTH), torch.float32
    )
    return (lambda queries: rotate(queries, *angles)), True


def peers() -> dict[str, Way]:
    """The libraries that are installed."""
    found: dict[str, Way] = {}
    try:
        from transformers.models.llama.modeling_llama import rotate_half

        angles = torch.arange(LENGTH)[:, None] * 10_000.0 ** (-torch.arange(0, WIDTH, 2) / WIDTH)
        cos, sin = (torch.cat([f(angles)] * 2, dim=-1) for f in (torch.cos, torch.sin))
        # What its apply_rotary_pos_emb does to queries, and then again to keys.
        found["Hugging Face transformers"] = (lambda q: q * cos + rotate_half(q) * sin), True
    except ImportError:
        pass
    try:
        from rotary_embedding_torch import RotaryEmbedding

        embedding = RotaryEmbedding(WIDTH)
        found["rotary-embedding-torch"] = embedding.rotate_queries_or_keys, False
    except ImportError:
        pass
    if (package := importlib.util.find_spec("torchtune")) is not None and package.submodule_search_locations:
        file = Path(package.submodule_search_locations[0]) / "modules" / "position_embeddings.py"
        spec = importlib.util.spec_from_file_location("position_embeddings", file)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        tuned = module.RotaryPositionalEmbeddings(WIDTH, LENGTH)
        # It expects positions before heads, so its queries are laid out that way.
        native = torch.randn(BATCH, LENGTH, HEADS, WIDTH)
        found["torchtune"] = (lambda _: tuned(native)), False
    return found


if __name__ == "__main__":
    main()
