"""Closed forms: pure functions whose docstrings start with the formula."""
