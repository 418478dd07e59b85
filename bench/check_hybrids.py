"""`regard check` on the classes of transformers that carry a state, and which of them keep packed documents apart.

The second table packs two documents into one row, with positions that start anew and nothing else, and changes the
first: the number is how far the second one moves, for the model as it is and for its attention alone where documents
are kept apart. What is known to fail is in `check_transformers.KNOWN`.
"""

import argparse
import time
from collections.abc import Sequence
from multiprocessing import get_context

import numpy as np
from check_transformers import class_names, figures, run

from regard.conformance.adapters.huggingface import HuggingFaceModel, build_model, is_recurrent
from regard.core.errors import InputError
from regard.core.processes import GIB, limit_resources

_LENGTH, _BORDER = 12, 5
_MEMORY = 6 * GIB


def main() -> None:
    """Prints what builds, the leaks, and unless told otherwise the figures of all laws."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="only classes whose name contains this")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--leaks", action="store_true", help="only the table of leaks")
    chosen = parser.parse_args()
    print("| class | kinds of layers | the second document moves by |\n|---|---|---|")
    names = []
    # One process per class: some classes build large parts that no configuration makes small.
    with get_context("fork").Pool(chosen.jobs, _limit_memory, maxtasksperchild=1) as pool:
        for name, row in pool.imap(_row, class_names(chosen.only)):
            if row is not None:
                names.append(name)
                print(row, flush=True)
    if not chosen.leaks:
        _check_laws(names, chosen.jobs)


def _limit_memory() -> None:
    limit_resources(memory=_MEMORY)


def _row(name: str) -> tuple[str, str | None]:
    """The class's line in the table, None if it does not build or carries no state."""
    try:
        model = build_model(name)
        if not is_recurrent(model):
            return name, None
        kinds = getattr(model.config, "layer_types", None) or ["not named"]
        return name, f"| {name} | {', '.join(dict.fromkeys(kinds))} | {_leak(model)} |"
    except InputError:
        return name, None
    except (MemoryError, RuntimeError) as error:  # torch raises the latter when memory runs out
        return name, f"| {name} | not tried: {str(error)[:80]} | |"


def _leak(model: object) -> str:
    """How far the second document moves, relative to the largest output."""
    subject = HuggingFaceModel(model)
    if not subject.has("positions"):
        return "takes no positions"
    rng = np.random.default_rng(0)
    x = rng.standard_normal((1, _LENGTH, subject.spec.width)).astype(np.float32)
    other = x.copy()
    other[:, :_BORDER] = rng.standard_normal((1, _BORDER, subject.spec.width))
    positions = np.concatenate([np.arange(_BORDER), np.arange(_LENGTH - _BORDER)])[None]
    first, second = (subject.call(each, positions=positions)[:, _BORDER:] for each in (x, other))
    return f"{float(np.abs(first - second).max() / np.abs(first).max()):.2g}"


def _check_laws(names: Sequence[str], jobs: int) -> None:
    start = time.perf_counter()
    print(f"\n{figures(run(names, None, jobs), time.perf_counter() - start)}")


if __name__ == "__main__":
    main()
