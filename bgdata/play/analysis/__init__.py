"""Whole matches judged: luck and errors of every roll, play and cube decision, in mwc or points."""
