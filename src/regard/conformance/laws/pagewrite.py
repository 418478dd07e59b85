"""A writer of pages writes exactly its slots."""

from collections.abc import Iterator

import numpy as np

from regard.conformance.kernel_cases import draw_heads
from regard.conformance.law import Comparison, Comparisons, Diagnoses, Diagnosis, InputSize, Law, LawTrial, distance
from regard.conformance.reference_kernels import paged_kernel, write

_NUM_PAGES = 5


def _compare(trial: LawTrial) -> Comparisons:
    """Scattered, consecutive and single slots, padding if there is such, in pools full of other numbers."""
    shape = (_NUM_PAGES, trial.subject.traits.page_size)
    pools = [
        draw_heads(trial, f"pool {part}", int(np.prod(shape))).reshape(*shape, -1, trial.spec.head_width)
        for part in "kv"
    ]
    for case, slots in _slots(trial):
        tokens = [draw_heads(trial, f"written {case} {part}", len(slots)) for part in "kv"]
        wanted = [pool.copy() for pool in pools]
        real = slots >= 0
        for pool, new in zip(wanted, tokens, strict=True):
            pool[slots[real] // shape[1], slots[real] % shape[1]] = new[real]
        given = (*tokens, *(pool.copy() for pool in pools), slots)
        try:
            found = trial.subject.run_kernel("write", *given)
        except Exception:
            if len(slots):
                raise
            return  # a writer need not be called for nothing
        for name, ours, theirs, other in zip(("keys", "values"), found, wanted, wanted[::-1], strict=True):
            wrong = np.argwhere((ours != theirs).any(axis=(2, 3))) if ours.shape == theirs.shape else np.zeros((0, 2))
            yield Comparison(
                what=f"the pages of {name} differ from what was to be written ({case})",
                error=distance(ours, theirs),
                tolerance=0.0,
                place={"slots": slots.tolist(), **({"page and slot": wrong[0].tolist()} if len(wrong) else {})},
                signature={"case": case, "is_swapped": distance(ours, other) == 0},
            )


def _slots(trial: LawTrial) -> Iterator[tuple[str, np.ndarray]]:
    """Slots to write, by what is special about them."""
    size, length = trial.subject.traits.page_size, trial.size.length
    everywhere = trial.rng("slots").permutation(_NUM_PAGES * size)
    yield "one slot", everywhere[:1]
    yield "slots over the border of a page", np.arange(size - 1, size - 1 + min(length, size + 2))
    yield "scattered slots", everywhere[: min(length, len(everywhere) // 2)]
    yield "all slots of the first page", np.arange(size)[::-1].copy()
    padding = trial.subject.traits.padding_slot
    if padding is not None:
        yield "padding", np.array([everywhere[0], padding, everywhere[1], padding], dtype=np.int64)
    yield "no slots", everywhere[:0]


def _signs(_trial: LawTrial, broken: list[Comparison]) -> Diagnoses:
    if all(each.signature["is_swapped"] for each in broken):
        yield Diagnosis("paged", "keys are written to the pages of values, and values to those of keys")
    elif {each.signature["case"] for each in broken} == {"padding"}:
        yield Diagnosis("paged", "tokens of padding are written")
    elif {each.signature["case"] for each in broken} == {"slots over the border of a page"}:
        yield Diagnosis("paged", "slots after the border of a page are wrong")


def _stays_in_first_page(k: np.ndarray, v: np.ndarray, keys: np.ndarray, values: np.ndarray, slots: np.ndarray) -> None:
    write(
        k,
        v,
        keys,
        values,
        np.where(slots < 0, slots, slots % keys.shape[1] + slots[:1] // keys.shape[1] * keys.shape[1]),
    )


LAW = Law(
    id="PAGEWRITE",
    statement="a writer writes exactly the given slots, keys to keys and values to values, and nothing else",
    family="paged",
    rank=405,
    needs=("paged", "writer"),
    compare=_compare,
    signs=_signs,
    diagnosed_by="suspects",
    broken_example=lambda: paged_kernel(write=_stays_in_first_page),
    suspects=(
        "page and slot are computed wrongly from the slot's number",
        "slots that were not given are written",
        "keys and values are exchanged",
    ),
    size=InputSize(batch=1, length=10),
)
