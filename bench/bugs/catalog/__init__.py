"""All bugs, one file per layer."""

from bugs.bug import Bug
from bugs.catalog import bloom, cross, encoder, gemma, gpt2, gptj, gptoss, llama, llama_runtime, mistral

__all__ = ["all_bugs"]

FILES = (llama, llama_runtime, gptj, bloom, mistral, encoder, gpt2, cross, gemma, gptoss)


def all_bugs() -> tuple[Bug, ...]:
    """All bugs of the catalog."""
    return tuple(bug for file in FILES for bug in file.BUGS)
