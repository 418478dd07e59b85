"""What `check_transformers.KNOWN` says of strides and packed documents, with transformers and torch alone.

Each class has its own initial weights, on the tiny config that Regard builds. A row has two columns: what the model
raises for embeddings whose first two axes are exchanged in memory, and how far a second document in the row moves when
the first one is changed and `position_ids` start anew between them (without a cache), relative to the largest output.
"""

import argparse
import gc
from typing import Any

import torch
from check_transformers import class_names

from regard.conformance.adapters.huggingface import build_model, quiet_transformers
from regard.core.errors import InputError
from regard.core.processes import GIB, limit_resources

_LENGTH, _BORDER = 6, 3
_MEMORY = 6 * GIB


def main() -> None:
    """Prints one line per class that builds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="only classes whose name contains this")
    chosen = parser.parse_args()
    limit_resources(memory=_MEMORY)
    print("| class | strided embeddings | the second document moves by |\n|---|---|---|")
    for name in class_names(chosen.only):
        try:
            model = build_model(name)
        except (InputError, MemoryError, RuntimeError) as error:  # torch raises the latter when memory runs out
            print(f"| {name} | not built: {type(error).__name__} | |", flush=True)
            continue
        with quiet_transformers(), torch.no_grad():
            print(f"| {name} | {_strided(model)} | {_leak(model)} |", flush=True)
        del model
        gc.collect()


def _outputs(model: Any, x: torch.Tensor, **options: Any) -> torch.Tensor:
    return model(inputs_embeds=x, **options)[0]


def _embeddings(model: Any, seed: int, *shape: int) -> torch.Tensor:
    width = model.config.get_text_config(decoder=True).hidden_size
    return torch.randn(*shape, width, generator=torch.Generator().manual_seed(seed))


def _strided(model: Any) -> str:
    """How far equal embeddings with other strides move the output, or the first words of what they raise."""
    x = _embeddings(model, 0, _LENGTH, 2).transpose(0, 1)
    plain = _outputs(model, x.contiguous())
    try:
        return f"{float((_outputs(model, x) - plain).abs().max()):.2g}"
    except RuntimeError as error:
        return " ".join(str(error).split()[:5])


def _leak(model: Any) -> str:
    """How far the second document moves; what the call raises if the class takes no positions or no `use_cache`."""
    x, positions = _embeddings(model, 0, 1, _LENGTH), torch.arange(_LENGTH)[None] % _BORDER
    other = torch.cat([_embeddings(model, 1, 1, _BORDER), x[:, _BORDER:]], dim=1)
    try:
        y, z = (_outputs(model, each, position_ids=positions, use_cache=False) for each in (x, other))
    except Exception as error:  # noqa: BLE001 - a class may raise anything for what it does not know
        return type(error).__name__
    return f"{float((y - z)[:, _BORDER:].abs().max() / y.abs().max()):.2g}"


if __name__ == "__main__":
    main()
