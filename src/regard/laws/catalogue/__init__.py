"""One file a law."""
