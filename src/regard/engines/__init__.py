"""Engines that answer questions about attention under random keys, and one that proves identities."""
