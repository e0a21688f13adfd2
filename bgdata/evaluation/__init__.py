"""Evaluators of positions, and players that choose plays with them."""
