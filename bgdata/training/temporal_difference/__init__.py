"""Temporal-difference learning: networks learn from their own games."""
