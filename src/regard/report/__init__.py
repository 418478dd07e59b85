"""Verdicts made readable: in a terminal, as JSON, on paper. Nothing here decides anything."""
