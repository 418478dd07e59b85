"""Caches, kernels and recurrences with and without bugs, by people who had read only the pages for users."""
