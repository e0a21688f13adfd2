"""Answers to the queries of claims."""

from __future__ import annotations

from typing import NamedTuple

Answer = int | float | str


class Found(NamedTuple):
    """An answer, with its rounding and its standard error."""

    answer: Answer
    error: float = 0.0  # standard error, 0 for what is no sample
    games: int = 0  # or matches, that it is the mean of
    bound: float = 0.0  # how far rounding may have moved it: of a table, or of printed figures that it follows from
