"""The cube life index of Janowski's model: 0 for a dead cube, 1 for a live one."""

from __future__ import annotations

from bgdata.errors import InvalidParameterError

DEFAULT_INDEX = 0.7  # the best constant one in self-play, by the blog Computational Backgammon (2012)


def check_cube_life_index(index: float) -> None:
    """Raise InvalidParameterError unless it is from 0 (dead) to 1 (live)."""
    if not 0 <= index <= 1:
        raise InvalidParameterError(f"expected a cube life index from 0 to 1, got {index}")
