"""Luck: values of rolls and turns, and luck-adjusted results."""
