"""Luck: what rolls and turns are worth, and results from which the luck of the dice is subtracted."""
