"""From text to batches: corpus, vocabulary, lessons, objectives, batches."""
