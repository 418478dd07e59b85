"""Correct attention layers, each a file that stands alone, so that a bug is one edit of its text."""
