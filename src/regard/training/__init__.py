"""Training a Transformer and asking what it knows."""
