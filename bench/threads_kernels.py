"""Bugs of public threads about serving kernels, put back into small correct kernels: caught before, clean after.

Each function is one of `regard.conformance.reference_kernels`, or a short one of torch, with the bug of one thread. The
threads' own kernels run on GPUs; what is put back is the mistake, in our own words and code.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from regard import LatentKernel, Spec, Subject, VarlenKernel, check
from regard.conformance import reference_kernels as correct

_SPEC = Spec(num_heads=4, num_kv_heads=2, head_width=8, causal=True)
_SCALED = Spec(num_heads=4, head_width=8, causal=True, scale=0.4)
FIGURES = Path(__file__).parents[1] / "docs" / "figures-kernels.md"


@dataclass(frozen=True, kw_only=True)
class ThreadBug:
    """The bug of a thread: where it was reported, what it is, the kernel with it and the kernel without."""

    thread: str
    what: str
    family: str
    broken: Callable[[], Subject]
    fixed: Callable[[], Subject]


def _paged(attend: Any, **options: Any) -> Callable[[], Subject]:
    return lambda: correct.paged_kernel(attend, **options)


# -- pages -------------------------------------------------------------------------------------------------------------
def _gather_all(q: Any, keys: Any, *rest: Any, mask_values: bool) -> np.ndarray:
    """All slots of all pages of the table, with a mask of the logits; values masked as well, or not."""
    values, table, lengths = rest
    size, outputs = keys.shape[1], []
    for row, length in enumerate(lengths):
        k, v = (pool[table[row]].reshape(-1, *pool.shape[2:]) for pool in (keys, values))
        real = np.arange(len(k)) < length
        k = np.where(real[:, None, None], k, 0)
        v = np.where(real[:, None, None], v, 0) if mask_values else v
        places = length - q.shape[1] + np.arange(q.shape[1])
        outputs.append(
            correct.attend_tokens(q[row], k, v, (np.arange(size * table.shape[1]) <= places[:, None]) & real)
        )
    return np.stack(outputs)


def _zero_times_nan(*given: Any) -> np.ndarray:
    return _gather_all(*given, mask_values=False)


def _masks_values(*given: Any) -> np.ndarray:
    return _gather_all(*given, mask_values=True)


def _nan_plus_mask(q: Any, keys: Any, values: Any, table: Any, lengths: Any) -> np.ndarray:
    """−∞ is added to logits of unused slots, which leaves NaN what it was."""
    outputs = []
    for row, length in enumerate(lengths):
        k, v = (pool[table[row]].reshape(-1, *pool.shape[2:]).repeat(2, axis=1) for pool in (keys, values))
        places = length - q.shape[1] + np.arange(q.shape[1])
        hidden = np.where(np.arange(len(k)) <= places[:, None], 0.0, -np.inf)
        logits = np.einsum("qhd,khd->hqk", q[row], k) / math.sqrt(q.shape[-1]) + hidden
        weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
        outputs.append(np.einsum("hqk,khd->qhd", weights / weights.sum(axis=-1, keepdims=True), np.nan_to_num(v)))
    return np.stack(outputs).astype(q.dtype)


def _contiguous_pages(q: Any, keys: Any, values: Any, table: Any, lengths: Any) -> np.ndarray:
    consecutive = table[:, :1] + np.arange(table.shape[1])
    return np.where(
        (table == consecutive).all(axis=1)[:, None, None, None], correct.paged(q, keys, values, table, lengths), 0
    )


def _short_lengths(q: Any, keys: Any, values: Any, table: Any, lengths: Any) -> np.ndarray:
    """Below 16 keys another kernel runs, which reads the pool as if it were one sequence."""
    if lengths.max() >= 16:
        return correct.paged(q, keys, values, table, lengths)
    return correct.paged(q, keys, values, np.tile(np.arange(table.shape[1]), (len(q), 1)) % len(keys), lengths)


def _first_row_of_table(q: Any, keys: Any, values: Any, table: Any, lengths: Any) -> np.ndarray:
    return correct.paged(q, keys, values, np.tile(table[:1], (len(q), 1)), lengths)


def _writes_whole_pages(k: Any, v: Any, key_pages: Any, value_pages: Any, slots: Any) -> None:
    """Each token reads, changes and writes back its page as it was before the call, so that the last one wins."""
    size = key_pages.shape[1]
    before = key_pages.copy(), value_pages.copy()
    for place, slot in enumerate(slots):
        for pool, old, new in zip((key_pages, value_pages), before, (k, v), strict=True):
            page = old[slot // size].copy()
            page[slot % size] = new[place]
            pool[slot // size] = page


# -- packed sequences --------------------------------------------------------------------------------------------------
def _packed_in_torch(q: Any, k: Any, v: Any, starts_q: Any, starts_k: Any, *_: int) -> torch.Tensor:
    rows = [torch.zeros_like(q[:0])]
    for row in range(len(starts_q) - 1):
        queries, keys = slice(starts_q[row], starts_q[row + 1]), slice(starts_k[row], starts_k[row + 1])
        heads = [each.transpose(0, 1) for each in (q[queries], k[keys], v[keys])]
        seen = torch.ones(heads[0].shape[1], heads[1].shape[1], dtype=torch.bool).tril(
            heads[1].shape[1] - heads[0].shape[1]
        )
        attend = torch.nn.functional.scaled_dot_product_attention
        rows.append(attend(*heads, attn_mask=seen, enable_gqa=True).transpose(0, 1))
    rows.append(torch.zeros_like(q[starts_q[-1] :]))
    return torch.cat(rows)


class _NeverWritten(torch.autograd.Function):
    """The identity, whose gradient is never written after the last offset."""

    @staticmethod
    def forward(ctx: Any, x: Any, end: int) -> Any:
        ctx.end = end
        return x.clone()

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        gradient = gradients[0].clone()
        gradient[ctx.end :] = math.nan
        return gradient, None


def _unwritten_gradients(q: Any, k: Any, v: Any, starts_q: Any, starts_k: Any, *longest: int) -> torch.Tensor:
    heads = [_NeverWritten.apply(each, int(end[-1])) for each, end in ((q, starts_q), (k, starts_k), (v, starts_k))]
    return _packed_in_torch(*heads, starts_q, starts_k, *longest)


def _one_query_each(q: Any, k: Any, v: Any, starts_q: Any, starts_k: Any, *longest: int) -> np.ndarray:
    """If the longest sequence has one query, every sequence is taken to have one."""
    if longest[0] == 1:
        return correct.varlen(q, k, v, np.arange(len(starts_q)).clip(max=len(q)), starts_k)
    return correct.varlen(q, k, v, starts_q, starts_k)


def _offsets_dropped(q: Any, k: Any, v: Any, *_: Any) -> np.ndarray:
    return correct.attend_tokens(q, k, v)


# -- quantized keys and values -----------------------------------------------------------------------------------------
def _scales_of_first_blocks(k: Any, v: Any) -> Any:
    """Of the values' scales, each of the first is stored four times, and the others never."""
    keys, (integers, step) = correct.quantize(k, v)
    return [keys, (integers, step[..., np.arange(step.shape[2]) // 4, :])]


def _scale_dropped(q: Any, stored: Any) -> np.ndarray:
    """The fast path casts stored keys to floats, and forgets their scale."""
    (keys, step), values = stored
    return correct.attend_stored(q, [(keys, np.ones_like(step)), values])


def _value_scale_ignored(q: Any, stored: Any) -> np.ndarray:
    keys, (values, step) = stored
    return correct.attend_stored(q, [keys, (values, np.ones_like(step))])


def _scales_not_passed(k: Any, v: Any) -> Any:
    """The scales were loaded, but never reach the function that stores: they are one."""
    return [(np.clip(np.round(x), -127, 127), np.ones((*x.shape[:-1], 1), x.dtype)) for x in (k, v)]


def _scales_uninitialised(k: Any, v: Any) -> Any:
    return [(integers, np.zeros_like(step)) for integers, step in correct.quantize(k, v)]


def _values_along_tokens(k: Any, v: Any) -> Any:
    step = np.abs(v).max(axis=2, keepdims=True) / 127
    return [correct.quantize(k, v)[0], (np.round(v / step), np.broadcast_to(step, v.shape))]


# -- trees, latents, merging, ranks ------------------------------------------------------------------------------------
def _siblings_visible(q: Any, k: Any, v: Any, _parents: Any) -> np.ndarray:
    return np.stack([correct.attend_tokens(*row) for row in zip(q, k, v, strict=True)])


def _declared_scale(q_nope: Any, q_rope: Any, *rest: Any) -> np.ndarray:
    factor = q_nope.dtype.type((_SCALED.scale or 1) * math.sqrt(q_nope.shape[-1] + q_rope.shape[-1]))
    return correct.latent(q_nope * factor, q_rope * factor, *rest)


def _not_a_number(out_a: Any, lse_a: Any, out_b: Any, lse_b: Any) -> Any:
    top = np.maximum(lse_a, lse_b)
    a, b = np.exp(lse_a - top), np.exp(lse_b - top)
    return (a[..., None] * out_a + b[..., None] * out_b) / (a + b)[..., None], top + np.log(a + b)


def _base_two(out_a: Any, lse_a: Any, out_b: Any, lse_b: Any) -> Any:
    out, lse = correct.merge(out_a, lse_a * math.log(2), out_b, lse_b * math.log(2))
    return out, lse / math.log(2)


def _strides_of_prefix(out_a: Any, lse_a: Any, out_b: Any, lse_b: Any) -> Any:
    """The second part is read with the strides of a wider first one, from the second head on."""
    wide = np.zeros((*out_b.shape[:2], out_b.shape[2] + 2), out_b.dtype)
    wide[..., :-2] = out_b
    flat = wide.reshape(len(out_b), -1)[:, : out_b[0].size]
    return correct.merge(out_a, lse_a, flat.reshape(out_b.shape), lse_b)


def _finite_for_empty(out_a: Any, lse_a: Any, out_b: Any, lse_b: Any) -> Any:
    """Empty parts come with a finite log-sum-exp, and count as one key more."""
    return correct.merge(out_a, np.maximum(lse_a, 0), out_b, np.maximum(lse_b, 0))


def _ring_without_rotation(q: Any, k: Any, v: Any, comm: Any) -> np.ndarray:
    """Ranks never pass their keys and values on: each sees its own."""
    comm.ring((k, v))
    return correct.attend_tokens(q, k, v)


def _rounds_lengths_down(q: Any, k: Any, v: Any, comm: Any) -> np.ndarray:
    """Ranks take the whole length for a multiple of their number, and the last tokens are not seen."""
    k, v = (np.concatenate(comm.all_gather(each)) for each in (k, v))
    start = sum(len(each) for each in comm.all_gather(q)[: comm.rank])
    end = len(k) // comm.world_size * comm.world_size
    seen = np.arange(end) <= (start + np.arange(len(q)))[:, None]
    return correct.attend_tokens(q, k[:end], v[:end], seen)


THREADS = (
    ThreadBug(
        thread="Dao-AILab/flash-attention#1745, ROCm/aiter#5401",
        what="values after the last token get the weight zero, and zero times NaN is NaN",
        family="paged",
        broken=_paged(_zero_times_nan),
        fixed=_paged(_masks_values),
    ),
    ThreadBug(
        thread="deepbeepmeep/Wan2GP#1628",
        what="−∞ is added to logits of unused slots, and NaN stays NaN",
        family="paged",
        broken=_paged(_nan_plus_mask),
        fixed=_paged(_nan_plus_mask, garbage="finite"),
    ),
    ThreadBug(
        thread="flashinfer-ai/flashinfer#3219",
        what="pages that are not contiguous in the pool give zeros",
        family="paged",
        broken=_paged(_contiguous_pages),
        fixed=correct.paged_kernel,
    ),
    ThreadBug(
        thread="flashinfer-ai/flashinfer#3106",
        what="fewer than 16 keys go to a kernel that does not read pages",
        family="paged",
        broken=_paged(_short_lengths),
        fixed=correct.paged_kernel,
    ),
    ThreadBug(
        thread="tenstorrent/tt-metal#45302",
        what="every sequence of a batch uses the first row of the table",
        family="paged",
        broken=_paged(_first_row_of_table),
        fixed=correct.paged_kernel,
    ),
    ThreadBug(
        thread="mudler/vllm.cpp#2672",
        what="tokens of one page write the whole page back, and the last one wins",
        family="paged",
        broken=lambda: correct.paged_kernel(write=_writes_whole_pages, padding_slot=None),
        fixed=correct.paged_kernel,
    ),
    ThreadBug(
        thread="pytorch/pytorch#176793, Dao-AILab/flash-attention#2324",
        what="gradients after the last offset are never written",
        family="varlen",
        broken=lambda: VarlenKernel(_unwritten_gradients, _SPEC),
        fixed=lambda: VarlenKernel(_packed_in_torch, _SPEC),
    ),
    ThreadBug(
        thread="Dao-AILab/flash-attention#1537",
        what="with at most one query per sequence, sequences of length zero are taken to have one",
        family="varlen",
        broken=lambda: correct.varlen_kernel(_one_query_each),
        fixed=correct.varlen_kernel,
    ),
    ThreadBug(
        thread="NVIDIA-NeMo/RL#2105",
        what="offsets are dropped on the way, and sequences see each other",
        family="varlen",
        broken=lambda: correct.varlen_kernel(_offsets_dropped),
        fixed=correct.varlen_kernel,
    ),
    ThreadBug(
        thread="vllm-project/vllm#49011",
        what="the scales of values are stored for the first blocks only, four times each",
        family="quantised",
        broken=lambda: correct.quantized_kernel(_scales_of_first_blocks),
        fixed=correct.quantized_kernel,
    ),
    ThreadBug(
        thread="vllm-project/vllm#42580",
        what="a fast path casts stored keys and forgets their scale",
        family="quantised",
        broken=lambda: correct.quantized_kernel(attend=_scale_dropped),
        fixed=correct.quantized_kernel,
    ),
    ThreadBug(
        thread="flashinfer-ai/flashinfer#3097",
        what="the scale of values is accepted and ignored",
        family="quantised",
        broken=lambda: correct.quantized_kernel(attend=_value_scale_ignored),
        fixed=correct.quantized_kernel,
    ),
    ThreadBug(
        thread="sgl-project/sglang#18818",
        what="loaded scales never reach the function that stores",
        family="quantised",
        broken=lambda: correct.quantized_kernel(_scales_not_passed),
        fixed=correct.quantized_kernel,
    ),
    ThreadBug(
        thread="InfiniTensor/InfiniLM#553",
        what="scales are uninitialised and read as zero",
        family="quantised",
        broken=lambda: correct.quantized_kernel(_scales_uninitialised),
        fixed=correct.quantized_kernel,
    ),
    ThreadBug(
        thread="vllm-project/vllm-ascend#9377",
        what="values are quantized along tokens, keys along their width",
        family="quantised",
        broken=lambda: correct.quantized_kernel(_values_along_tokens),
        fixed=correct.quantized_kernel,
    ),
    ThreadBug(
        thread="vllm-project/vllm#17560",
        what="nodes of a tree see all earlier nodes",
        family="tree",
        broken=lambda: correct.tree_kernel(_siblings_visible),
        fixed=correct.tree_kernel,
    ),
    ThreadBug(
        thread="vllm-project/tpu-inference#521",
        what="the scale is that of the widths, not the one that the model declares",
        family="latent",
        broken=lambda: LatentKernel(correct.latent, _SCALED, framework="numpy"),
        fixed=lambda: LatentKernel(_declared_scale, _SCALED, framework="numpy"),
    ),
    ThreadBug(
        thread="vllm-project/vllm#27491, flashinfer-ai/flashinfer#4051",
        what="merging two empty parts gives NaN",
        family="merge",
        broken=lambda: correct.merge_kernel(_not_a_number),
        fixed=correct.merge_kernel,
    ),
    ThreadBug(
        thread="sgl-project/sglang#35045",
        what="log-sum-exps of one base are merged in another",
        family="merge",
        broken=lambda: correct.merge_kernel(_base_two),
        fixed=correct.merge_kernel,
    ),
    ThreadBug(
        thread="local-inference-lab/vllm#15",
        what="both parts are read with the strides of the first",
        family="merge",
        broken=lambda: correct.merge_kernel(_strides_of_prefix),
        fixed=correct.merge_kernel,
    ),
    ThreadBug(
        thread="vllm-project/vllm#49294",
        what="an empty part has a finite log-sum-exp",
        family="merge",
        broken=lambda: correct.merge_kernel(_finite_for_empty),
        fixed=correct.merge_kernel,
    ),
    ThreadBug(
        thread="sgl-project/sglang#33353",
        what="keys and values are never rotated along the ring",
        family="parallel",
        broken=lambda: correct.parallel_kernel(_ring_without_rotation),
        fixed=correct.parallel_kernel,
    ),
    ThreadBug(
        thread="NVIDIA/TransformerEngine#1930",
        what="lengths are rounded down to a multiple of the ranks, and the last token is lost",
        family="parallel",
        broken=lambda: correct.parallel_kernel(_rounds_lengths_down),
        fixed=correct.parallel_kernel,
    ),
)
# Threads of these classes whose bug cannot be put back here, and why.
LEFT_OUT = {
    "flashinfer-ai/flashinfer#4347, Dao-AILab/flash-attention#2368": "layouts of shared memory inside a GPU kernel",
    "pytorch/torchtitan#3235": "a race in a heuristic, about one call in a hundred",
    "fla-org/flash-linear-attention#955 #1115 #1140": "recurrences: see their own page",
    "NVIDIA/TransformerEngine#1557": "gradients across ranks: the kernels here have none",
    "vllm-project/vllm#48611": "an index out of bounds, which numpy and torch refuse",
    "fla-org/flash-linear-attention#837": "rows of a batch that the caller never packed",
    "tenstorrent/tt-metal#55630": "the table of a chunk, made by the caller of the kernel",
    "flashinfer-ai/flashinfer#4452": "the log-sum-exp of rows that see nothing: kernels here return outputs only",
}


@dataclass(frozen=True, kw_only=True)
class ThreadTrial:
    """The laws that a bug breaks, the family that is named first, and the laws that the kernel without it breaks."""

    caught_by: tuple[str, ...]
    named: str | None
    false_alarms: tuple[str, ...]


def tried(bug: ThreadBug) -> ThreadTrial:
    """The kernel with the bug and the one without, under all laws."""
    broken, fixed = check(bug.broken()), check(bug.fixed())
    named = [diagnosis.family for failure in broken.failures for diagnosis in failure.diagnosis[:1]]
    return ThreadTrial(
        caught_by=tuple(failure.law for failure in broken.failures),
        named=named[0] if named else None,
        false_alarms=tuple(failure.law for failure in fixed.failures),
    )


def figures() -> str:
    """A Markdown table: which laws catch each bug, the family that is named first, and the kernel without the bug."""
    trials = {bug: tried(bug) for bug in THREADS}
    caught = sum(bool(trial.caught_by) for trial in trials.values())
    named = sum(trial.named == bug.family for bug, trial in trials.items())
    clean = sum(not trial.false_alarms for trial in trials.values())
    lines = [
        "# Bugs of public threads in serving kernels",
        "",
        "Each bug is put back into a small correct kernel ([how to check your own](kernels.md)). Written by "
        "`python bench/threads_kernels.py`.",
        "",
        f"{caught} of {len(trials)} are caught, {named} with the right family first; {clean} are clean without it.",
        "",
        "| thread | bug | caught by | named first |",
        "|---|---|---|---|",
        *(
            f"| {bug.thread} | {bug.what} | {', '.join(trial.caught_by)} | {trial.named} |"
            for bug, trial in trials.items()
        ),
        "",
        "Not put back:",
        "",
        *(f"- {threads}: {why}" for threads, why in LEFT_OUT.items()),
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Prints the table, and writes it to the documentation."""
    text = figures()
    print(text)
    FIGURES.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
