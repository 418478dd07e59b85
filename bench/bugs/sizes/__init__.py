"""Bugs that show only from some size on: a length, a batch, a number of cached keys; one file per layer."""

from bugs.bug import Bug
from bugs.sizes import bloom, cross, encoder, gemma, gpt2, gptj, gptoss, llama, mistral

__all__ = ["size_bugs"]

FILES = (llama, gptj, bloom, mistral, encoder, gpt2, cross, gemma, gptoss)


def size_bugs() -> tuple[Bug, ...]:
    """All bugs of the set."""
    return tuple(bug for file in FILES for bug in file.BUGS)
