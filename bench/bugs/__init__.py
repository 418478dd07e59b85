"""Layers that are right, and one-edit bugs of them, to measure what the laws catch; by one who has not read those."""
