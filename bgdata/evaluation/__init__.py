"""Evaluators of positions, and the players that choose plays by them."""
