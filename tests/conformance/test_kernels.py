"""Kernels: sound ones in several frameworks are never refuted, broken ones are, and the frame knows them."""

import functools
import math
from dataclasses import replace
from typing import Any

import pytest

torch = pytest.importorskip("torch")
torch.set_num_threads(1)

from conformance import sound_kernels as sound  # noqa: E402
from conformance.sound_kernels import GROUPED, Quantizer  # noqa: E402
from regard import (  # noqa: E402
    InputError,
    LatentKernel,
    MergeKernel,
    PagedKernel,
    ParallelKernel,
    QuantizedKernel,
    Spec,
    Subject,
    TreeKernel,
    VarlenKernel,
    check,
    parametrize_with_laws,
)
from regard.conformance import all_laws  # noqa: E402
from regard.conformance.subject import KERNELS  # noqa: E402

WIDE = Spec(num_heads=6, num_kv_heads=1, head_width=32, causal=True, empty="zero")


def quantized(quantizer: Quantizer, **options: Any) -> QuantizedKernel:
    traits = {"bits": quantizer.bits, "zero_point": quantizer.zero_point, **options}
    return QuantizedKernel(quantizer.quantize, quantizer.dequantize, GROUPED, attend=quantizer.attend, **traits)


SOUND = {
    "paged": lambda: PagedKernel(sound.paged, GROUPED, write=sound.write),
    "paged with chunks of queries": lambda: PagedKernel(sound.paged, WIDE, chunk=True, page_size=16),
    "paged with pages of one slot": lambda: PagedKernel(sound.paged, GROUPED, page_size=1),
    "paged with a window": lambda: PagedKernel(
        functools.partial(sound.paged, window=5), replace(GROUPED, window=5), chunk=True
    ),
    "paged, gathered at once": lambda: PagedKernel(sound.paged_densely, GROUPED),
    "paged, page after page": lambda: PagedKernel(sound.paged_online, GROUPED),
    "paged, heads before slots": lambda: PagedKernel(
        lambda q, k, v, *rest: sound.paged(q, k.transpose(1, 2), v.transpose(1, 2), *rest),
        GROUPED,
        write=lambda k, v, a, b, slots: tuple(
            x.transpose(1, 2) for x in sound.write(k, v, a.transpose(1, 2), b.transpose(1, 2), slots)
        ),
        layout="page head slot dim",
    ),
    "paged in bfloat16": lambda: PagedKernel(sound.paged, replace(GROUPED, dtype="bfloat16")),
    "paged in float64": lambda: PagedKernel(sound.paged, replace(GROUPED, dtype="float64")),
    "varlen": lambda: VarlenKernel(sound.varlen, GROUPED),
    "varlen, aligned at the end": lambda: VarlenKernel(sound.varlen, replace(WIDE, align="bottom-right")),
    "eight bits": lambda: quantized(Quantizer()),
    "four bits with a zero point": lambda: quantized(Quantizer(4, zero_point=True)),
    "keys by channel": lambda: quantized(Quantizer(4, (2,), zero_point=True), key_groups="position"),
    "keys by tensor": lambda: quantized(Quantizer(8, (0, 1, 2, 3)), key_groups="batch head position dim"),
    "tree": lambda: TreeKernel(sound.tree, GROUPED, positions=sound.tree_positions),
    "tree positions alone": lambda: TreeKernel(positions=sound.tree_positions),
    "latent": lambda: LatentKernel(sound.latent_absorbed, GROUPED, expanded=sound.latent_expanded),
    "latent, wide": lambda: LatentKernel(sound.latent_expanded, WIDE, latent_width=24, rotary_width=8),
    "merge": lambda: MergeKernel(sound.merge, GROUPED),
    "ring": lambda: ParallelKernel(sound.ring, GROUPED, ranks="simulated"),
    "zigzag ring": lambda: ParallelKernel(
        functools.partial(sound.ring, split="zigzag"), GROUPED, split="zigzag", ranks="simulated"
    ),
}


@pytest.mark.parametrize("name", SOUND)
def test_a_sound_kernel_is_not_refuted(name: str):
    for seed in range(3):
        report = check(SOUND[name](), seed=seed)
        assert report.ok, report.failures
        # Controls drown in bfloat16's rounding, and of a window of few pages most do not matter.
        unclear = {"inconclusive"} if "bfloat16" in name or "window" in name else set()
        assert {verdict.outcome for verdict in report.verdicts} <= {"holds", "skipped", *unclear}, report.verdicts


def test_kernels_have_only_the_laws_of_their_class_and_layers_none_of_them():
    report = check(SOUND["merge"]())
    assert {verdict.law for verdict in report.verdicts} == {
        name for name, law in all_laws().items() if {"merge", "kernel"} & set(law.needs)
    }
    layer = check(lambda x: x + 1, Spec(causal=True), laws=None)
    assert not [verdict for verdict in layer.verdicts if KERNELS & set(all_laws()[verdict.law].needs)]
    [asked] = check(SOUND["merge"](), laws="CAUSAL").verdicts
    assert (asked.outcome, asked.reason) == ("skipped", "only for layers")


def test_what_a_kernel_lacks_is_skipped_with_a_reason():
    report = check(PagedKernel(sound.paged, GROUPED))
    assert report.skipped == {"needs a function that writes pages": ["PAGEWRITE"]}

    def raises_if_empty(*given: Any) -> Any:
        assert int(given[-1].min()) > 0
        return sound.paged(*given)

    skipped = check(PagedKernel(raises_if_empty, GROUPED)).skipped
    assert skipped["the kernel raises AssertionError for an empty sequence"] == ["PAGEEMPTY"]
    declared = PagedKernel(raises_if_empty, replace(GROUPED, empty="zero"))
    assert [failure.law for failure in check(declared).failures] == ["PAGEEMPTY"]
    grads = check(VarlenKernel(lambda *given: sound.varlen(*given).detach(), GROUPED)).skipped
    assert grads == {"the kernel has no gradients: the output has no gradient": ["VARLENGRAD"]}


def test_garbage_may_have_to_be_finite():
    def not_guarded(q: Any, keys: Any, values: Any, table: Any, lengths: Any) -> Any:
        k, v = (pool[table.long()].flatten(1, 2).repeat_interleave(2, dim=2) for pool in (keys, values))
        logits = torch.einsum("shd,skhd->shk", q, k) / math.sqrt(q.shape[-1])
        hidden = torch.arange(k.shape[1]) >= lengths[:, None]
        return torch.einsum("shk,skhd->shd", logits.masked_fill(hidden[:, None], -1e30).softmax(-1), v)

    assert [failure.law for failure in check(PagedKernel(not_guarded, GROUPED)).failures] == ["PAGEJUNK"]
    assert check(PagedKernel(not_guarded, GROUPED, garbage="finite")).ok


def test_the_framework_is_read_off_the_file_and_can_be_said():
    assert PagedKernel(sound.paged).framework == "torch"
    assert MergeKernel(sound.merge, framework="numpy").framework == "numpy"
    from regard.conformance import reference_kernels

    assert PagedKernel(reference_kernels.paged).framework == "numpy"
    assert PagedKernel(functools.partial(reference_kernels.paged)).framework == "numpy"


def test_a_kernel_of_jax():
    jnp = pytest.importorskip("jax.numpy")

    def merge(out_a: Any, lse_a: Any, out_b: Any, lse_b: Any) -> Any:
        lse = jnp.logaddexp(lse_a, lse_b)
        a, b = (jnp.where(jnp.isinf(each), 0, jnp.exp(each - lse)) for each in (lse_a, lse_b))
        return out_a * a[..., None] + out_b * b[..., None], lse

    kernel = MergeKernel(merge, framework="jax")
    assert check(kernel).ok


def test_two_processes_of_torch_distributed():
    report = check(ParallelKernel(sound.ring, GROUPED), laws="PARALLELGLOO")
    assert report.counts == {"holds": 1}, report.verdicts


def test_ranks_that_lose_each_other_are_a_crash():
    def impatient(q: Any, k: Any, v: Any, comm: Any) -> Any:
        if comm.rank == 0:
            raise ValueError("rank 0 has enough")
        return sound.ring(q, k, v, comm)

    [verdict] = check(ParallelKernel(impatient, GROUPED, ranks="simulated"), laws="PARALLEL").verdicts
    assert verdict.outcome == "crashed"
    assert "rank 0 has enough" in (verdict.reason or "")


def test_a_kernel_is_not_compared_with_another_and_nothing_of_it_is_inferred():
    with pytest.raises(InputError, match="only layers are compared"):
        check(SOUND["merge"](), against=SOUND["merge"]())
    assert check(SOUND["merge"](), infer=True).ok


def test_a_kernel_can_be_checked_in_another_dtype():
    report = check(SOUND["paged"](), dtype="float64")
    assert report.ok
    assert report.spec["dtype"] == "float64"
    assert (report.verdicts[1].tolerance or 1) < 1e-4


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (lambda: PagedKernel(sound.paged, layout="page head"), "Write the axes"),
        (lambda: QuantizedKernel(len, len, key_groups="rows"), "Name some of the axes"),
        (lambda: ParallelKernel(sound.ring, split="zigzag", uneven=True), "Zigzag pieces are equal"),
        (TreeKernel, "needs functions"),
        (lambda: MergeKernel(sound.merge, framework="tinygrad"), "no framework 'tinygrad'"),  # pyright: ignore
    ],
)
def test_what_cannot_be_is_refused(build: Any, said: str):
    with pytest.raises(InputError, match=said):
        build()


def test_a_kernel_in_a_file_of_its_own_runs_in_a_process_of_its_own(tmp_path: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(
        "import numpy as np\nimport regard\n\n"
        "def merge(out_a, lse_a, out_b, lse_b):\n"
        "    a, b = np.exp(lse_a), np.exp(lse_b)\n"
        "    out = (a[..., None] * out_a + b[..., None] * out_b) / (a + b)[..., None]\n"
        "    return out, np.log(a + b)\n\n"
        "subject = regard.MergeKernel(merge, regard.Spec(num_heads=2, head_width=4))\n"
    )
    report = check("mine.py:subject")
    assert [failure.law for failure in report.failures] == ["MERGEEMPTY", "MERGE"]
    assert report.failures[0].reproduce == "regard check mine.py:subject --laws MERGEEMPTY --seed 0"
    assert report.spec["num_heads"] == 2


@parametrize_with_laws([("merge", SOUND["merge"](), None), ("tree", SOUND["tree"](), None)])
def test_laws_of_kernels_as_tests(law: Any, subject: Any):
    law(subject)


def broken_paged(change: Any, **options: Any) -> Any:
    """A paged kernel whose arguments are changed before each call."""
    return lambda: PagedKernel(lambda *given: sound.paged(*change(*given)), GROUPED, **options)


def broken_merge(change: Any) -> Any:
    return lambda: MergeKernel(lambda *given: change(*given, *sound.merge(*given)), GROUPED)


BROKEN = {
    "scale": lambda: PagedKernel(lambda q, *rest: sound.paged(q * 2, *rest), GROUPED),
    "kv-heads": lambda: VarlenKernel(
        lambda q, *rest: sound.varlen(q[:, [0, 2, 1, 3]], *rest)[:, [0, 2, 1, 3]], GROUPED
    ),
    "paged: one token fewer": broken_paged(lambda q, k, v, t, n: (q, k, v, t, (n - 1).clamp(min=1))),
    "paged: one token more": broken_paged(lambda q, k, v, t, n: (q, k, v, t, n + 1)),
    "paged: whole pages": broken_paged(lambda q, k, v, t, n: (q, k, v, t, -(-n // 4) * 4)),
    "paged: two pages at most": broken_paged(lambda q, k, v, t, n: (q, k, v, t, n.clamp(max=8))),
    "paged: lengths of row 0": broken_paged(lambda q, k, v, t, n: (q, k, v, t, n[:1].expand_as(n))),
    "paged: keys as values": broken_paged(lambda q, k, v, t, n: (q, k, k, t, n)),
    "paged: chunk sees the future": lambda: PagedKernel(
        lambda q, *rest: torch.stack([sound.paged(each, *rest) for each in q.unbind(1)], 1), GROUPED, chunk=True
    ),
    "varlen: not causal": lambda: VarlenKernel(sound.varlen, replace(GROUPED, causal=False)),
    "varlen: shifted offsets": lambda: VarlenKernel(
        lambda q, k, v, a, b, *rest: sound.varlen(q, k, v, a, torch.cat([b[:1], b[1:-1] + 1, b[-1:]]), *rest), GROUPED
    ),
    "varlen: wrong alignment": lambda: VarlenKernel(sound.varlen, replace(GROUPED, align="top-left")),
    "quantised: too few bits": lambda: quantized(Quantizer(4), bits=8),
    "quantised: cut off": lambda: QuantizedKernel(
        lambda k, v: [(torch.floor(x / s), s) for x in (k, v) for s in [x.abs().amax(-1, keepdim=True) / 127 + 1e-12]],
        lambda stored: tuple(a * s for a, s in stored),
        GROUPED,
    ),
    "tree: no grandparents": lambda: TreeKernel(
        lambda q, k, v, p: sound.tree(q, k, v, torch.where(p.gather(1, p.clamp(min=0)) >= 0, -1, p)), GROUPED
    ),
    "tree: row 0 for all": lambda: TreeKernel(lambda q, k, v, p: sound.tree(q, k, v, p[:1].expand_as(p)), GROUPED),
    "latent: matrices exchanged": lambda: LatentKernel(
        lambda a, b, c, d, e, f: sound.latent_absorbed(a, b, c, d, f, e), GROUPED
    ),
    "latent: scale of the latents": lambda: LatentKernel(
        lambda a, b, *rest: sound.latent_absorbed(a * math.sqrt(12 / 20), b * math.sqrt(12 / 20), *rest), GROUPED
    ),
    "merge: unweighted": broken_merge(lambda a, la, b, lb, out, lse: ((a + b) / 2, lse)),
    "merge: the larger wins": broken_merge(
        lambda a, la, b, lb, out, lse: (torch.where((la > lb)[..., None], a, b), torch.maximum(la, lb))
    ),
    "merge: of equals the first": broken_merge(
        lambda a, la, b, lb, out, lse: (torch.where((la == lb)[..., None], a, out), lse)
    ),
    "merge: one maximum for all": lambda: MergeKernel(_one_maximum, GROUPED),
    "precision: keys and values in half precision": lambda: ParallelKernel(
        lambda q, k, v, comm: sound.ring(q, k.half().to(k.dtype), v.half().to(v.dtype), comm),
        GROUPED,
        ranks="simulated",
    ),
    "varlen: no gradient from the third sequence on": lambda: VarlenKernel(
        lambda q, k, v, starts, *rest: sound.varlen(
            torch.cat([q[: starts[2]], q[starts[2] :].detach()]) if len(starts) > 3 else q, k, v, starts, *rest
        ),
        GROUPED,
    ),
    "parallel: reversed ring": lambda: ParallelKernel(
        lambda q, k, v, comm: sound.ring(q, k, v, _Reversed(comm)), GROUPED, ranks="simulated"
    ),
    "parallel: zigzag taken for contiguous": lambda: ParallelKernel(
        sound.ring, GROUPED, split="zigzag", ranks="simulated"
    ),
}


def _one_maximum(out_a: Any, lse_a: Any, out_b: Any, lse_b: Any) -> Any:
    top = torch.maximum(lse_a, lse_b).max().clamp(min=-1e30)
    a, b = (lse_a - top).exp(), (lse_b - top).exp()
    total = (a + b).clamp(min=1e-38)
    return (out_a * a[..., None] + out_b * b[..., None]) / total[..., None], top + (a + b).log()


class _Reversed:
    def __init__(self, comm: Any) -> None:
        self.comm, self.rank, self.world_size = comm, comm.rank, comm.world_size

    def ring(self, x: Any) -> Any:
        return self.comm.ring(x, step=-1)


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_kernel_is_refuted_and_its_family_named(name: str):
    report = check(BROKEN[name]())
    assert not report.ok
    first = report.failures[0]
    assert first.outcome == "refuted"
    family = first.diagnosis[0].family
    # What later tokens show is a mask, whoever shows them.
    assert family in {name.partition(":")[0], *(["mask"] if "causal" in name or "future" in name else [])}, first
    assert first.counterexample


def test_nothing_is_alive_in_a_dead_kernel():
    dead: Subject = PagedKernel(lambda q, *_: torch.zeros_like(q), GROUPED)
    assert "PAGED" in {failure.law for failure in check(dead).failures}
    assert not [v for v in check(dead, laws="PAGEMOVE,PAGESHARE,PAGEJUNK").verdicts if v.outcome == "holds"]


def test_a_kernel_that_changes_its_arguments_is_found_out_and_disturbs_no_other_law():
    def greedy(q: Any, keys: Any, values: Any, table: Any, lengths: Any) -> Any:
        out = sound.paged(q, keys, values, table, lengths)
        keys.zero_()
        return out

    report = check(PagedKernel(greedy, GROUPED))
    assert [(failure.law, failure.diagnosis[0].family) for failure in report.failures] == [("ARGUMENTS", "in-place")]
