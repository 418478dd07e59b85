"""Documents as people hand them in: the raw text, the mathematics in it by offset, and its division into answers."""
