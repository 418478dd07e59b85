"""How many bugs in caches, serving kernels and recurrences the laws catch, and whether they name the right family.

The subjects in `bench/bugs/serving` and the families are by people who had read only the pages for users.
"""

import argparse
import importlib
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import regard

CLASSES = ("caches", "kernels", "recurrences", "second_kernels", "second_states")
# Caches of others, which are taken to be right; those whose package is not installed are named.
READY: tuple[tuple[str, dict[str, Any]], ...] = (
    ("hf:LlamaForCausalLM", {}),
    ("hf:LlamaForCausalLM", {"cache": "static"}),
    ("hf:LlamaForCausalLM", {"cache": "quantized"}),
    ("hf:MistralForCausalLM", {"sliding_window": 4}),
    ("hf:MistralForCausalLM", {"sliding_window": 4, "cache": "recording"}),
    ("hf:MistralForCausalLM", {"sliding_window": 4, "cache": "static"}),
    ("hf:Lfm2ForCausalLM", {"cache": "recording"}),
    ("hf:Gemma3ForCausalLM", {}),
    ("hf:Gemma3ForCausalLM", {"cache": "static"}),
    ("hf:GptOssForCausalLM", {}),
    ("hf:Llama4ForCausalLM", {}),
    ("hf:DeepseekV3ForCausalLM", {}),
    ("hf:Qwen3NextForCausalLM", {}),
    ("hf:FalconH1ForCausalLM", {}),
    ("mlx:llama", {}),
    ("mlx:llama", {"cache": "quantized"}),
    ("mlx:gemma3_text", {"sliding_window": 4, "sliding_window_pattern": 2}),
    ("llama.cpp:tiny", {}),
    ("llama.cpp:tiny", {"num_layers": 1}),
)
# The laws that a cache can break.
CACHE_LAWS = "CACHE,CACHEPURE,CROP,EVICT,FORK,INTERLEAVE,PREFIXHIT,REJECT,REORDER,REQUESTS,REUSE,SWAP,TRACE"
# What the first diagnosis may name, by the beginning of a subject's name; the longest beginning counts.
FAMILIES = {
    "ListCache": ("cache",),
    "ListCache_chunk_unmasked": ("cache", "mask"),
    "ListCache_decode_not_self": ("cache", "mask"),
    "ListCache_rerotate": ("cache", "rotary", "positions"),
    "BufferCache": ("cache",),
    "BufferCache_row_zero_decode": ("cache", "batch"),
    "RingCache": ("cache", "window"),
    "PagedCache": ("cache",),
    "paged": ("paged",),
    "paged_kv_tile": ("kv-heads",),
    "paged_no_scale": ("scale",),
    "paged_split_no_rescale": ("paged", "softmax", "merge"),
    "varlen": ("varlen",),
    "varlen_noncausal": ("mask",),
    "varlen_strict": ("varlen", "mask"),
    "varlen_topleft": ("varlen", "mask"),
    "varlen_detach_values": ("gradient",),
    "varlen_grad_tail": ("varlen", "gradient"),
    "varlen_max_clamped": ("varlen", "window", "mask"),
    "quant": ("quantised",),
    "tree": ("tree",),
    "latent": ("latent",),
    "latent_scale": ("latent", "scale"),
    "latent_topleft": ("latent", "mask"),
    "latent_decode_hides_last": ("latent", "mask"),
    "latent_chunk_uncausal": ("latent", "mask"),
    "merge": ("merge",),
    "parallel": ("parallel",),
    "parallel_own_uncausal": ("parallel", "mask"),
    "parallel_local_mask": ("parallel", "mask"),
    "gla": ("update",),
    "gla_state_half": ("precision", "state"),
    "gla_decay_at_call": ("state",),
    "gla_mask": ("padding",),
    "gla_detach": ("gradient",),
    "glachunk": ("chunk",),
    "glachunk_detach_between": ("gradient", "chunk"),
    "glapack": ("varlen",),
    "delta": ("update",),
    "delta_in_place": ("state", "in-place"),
    "delta_global": ("state",),
    "delta_reset_partial": ("state",),
    "conv": ("update",),
    "conv_short_state": ("state",),
    "conv_state_from_chunk": ("state",),
    "conv_padding": ("padding",),
    "conv_future": ("mask",),
    "conv_row_mix": ("state", "batch"),
    "mamba": ("update",),
    "mamba_first_token_twice": ("state",),
    "rwkv": ("update",),
}


@dataclass(frozen=True, kw_only=True)
class Trial:
    """What the laws said of one subject: `num_operations` is the length of a shrunk trace."""

    name: str
    bug: str | None
    failures: tuple[str, ...]
    family: str | None
    num_operations: int | None
    seconds: float
    families: tuple[str, ...]

    @property
    def is_named(self) -> bool:
        """True if the first diagnosis names a right family."""
        return self.family in self.families


def families_of(name: str) -> tuple[str, ...]:
    """The families of a bug of the first set."""
    return FAMILIES[max(filter(name.startswith, FAMILIES), key=len)]


def tried(name: str, subject: Any, bug: str | None, families: tuple[str, ...]) -> Trial:
    """One subject under its laws."""
    start = time.perf_counter()
    report = regard.check(subject)
    failures = report.failures
    first = failures[0] if failures else None
    story = (first.counterexample or "") if first is not None else ""
    return Trial(
        name=name,
        bug=bug,
        failures=tuple(failure.id for failure in failures),
        family=first.diagnosis[0].family if first is not None and first.diagnosis else None,
        num_operations=story.count(" · ") + 1 if story.startswith("trace ") else None,
        seconds=time.perf_counter() - start,
        families=families,
    )


def trials(kind: str, only: str) -> Iterator[Trial]:
    """All subjects of a class whose names contain a text."""
    module = importlib.import_module(f"bugs.serving.{kind}")
    for name, subject in module.SUBJECTS.items():
        if only in name:
            families = module.FAMILIES[name] if hasattr(module, "FAMILIES") else families_of(name)
            yield tried(name, subject, module.NOTES[name], families)


def check_ready(only: str) -> None:
    """Prints a line per cache of another library."""
    for target, arguments in READY:
        if only not in target:
            continue
        start = time.perf_counter()
        words = " ".join([target, *(f"{name}={value}" for name, value in arguments.items())])
        try:
            report = regard.check(target, laws=CACHE_LAWS, arguments=arguments)
        except regard.InputError as error:
            print(f"{words}: not tried: {error}")
            continue
        failed = ", ".join(f"{failure.id}: {failure.counterexample or failure.reason}" for failure in report.failures)
        holding = [verdict.law for verdict in report.verdicts if verdict.outcome == "holds"]
        print(f"{words}: {failed or 'no failure'}; {' '.join(holding)} hold ({time.perf_counter() - start:.0f} s)")


def main() -> None:
    """Prints a line per subject that is not as it should be, and the sums."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="subjects whose names contain this text")
    parser.add_argument("--kinds", default=",".join([*CLASSES, "ready"]), help="which of them (default: %(default)s)")
    given = parser.parse_args()
    only, kinds = given.only, given.kinds.split(",")
    for kind in filter(kinds.__contains__, CLASSES):
        found = list(trials(kind, only))
        sound, broken = [each for each in found if each.bug is None], [each for each in found if each.bug is not None]
        caught = [each for each in broken if each.failures]
        for each in sound:
            if each.failures:
                print(f"  false alarm: {each.name} breaks {', '.join(each.failures)}")
        for each in broken:
            if not each.failures:
                print(f"  missed: {each.name}, {each.bug}")
            elif not each.is_named:
                print(f"  named otherwise: {each.name}, {each.family} by {each.failures[0]}")
        operations = [each.num_operations for each in caught if each.num_operations is not None]
        print(
            f"{kind}: {len(caught)} of {len(broken)} bugs caught, {sum(each.is_named for each in caught)} named, "
            f"{sum(bool(each.failures) for each in sound)} false alarms on {len(sound)} sound ones, "
            f"median {statistics.median(operations) if operations else '-'} operations per trace, "
            f"{statistics.median([each.seconds for each in found] or [0.0]):.1f} s per subject"
        )
    if "ready" in kinds:
        check_ready(only)


if __name__ == "__main__":
    main()
