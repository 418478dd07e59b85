"""Caches, kernels and recurrences with and without bugs, by someone who had read only the pages for users."""
