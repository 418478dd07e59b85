"""Figures of claims: each takes a claim's parameters, and draws with the functions that its evidence rests on."""
