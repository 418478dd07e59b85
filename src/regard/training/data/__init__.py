"""Corpora, tokenizers and objectives: from text to batches."""
