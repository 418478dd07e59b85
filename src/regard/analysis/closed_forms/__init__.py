"""Closed forms: pure functions, the formula first in the docstring."""
