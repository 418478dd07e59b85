"""Correct layers and bugs in them, one edit each, to measure what laws catch. Their author had not read the laws."""
