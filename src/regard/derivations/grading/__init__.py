"""Judging many documents: batches that can be resumed, points, and the files that instructors need."""
