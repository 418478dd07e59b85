"""Written derivations: documents → steps → verdicts."""
