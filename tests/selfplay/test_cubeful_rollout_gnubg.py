"""gnubg's rollouts with the cube in play, of positions in contact: alike but for chance and skill."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bgdata.game.position import Position
from tests.oracles import needs_gnubg_tool
from tests.selfplay.cubeful_rollouts_of_gnubg import decisions, pairs_of

SKILL = 0.05  # points that it may make


@needs_gnubg_tool("gnubg")
@pytest.mark.slow
@pytest.mark.parametrize(
    ("position_id", "dice"), [("4HPwATDgc/ABMA", (2, 1)), ("sGfwgAPbuIEDIA", (6, 2)), ("4NvBEQiYz+ABAA", (5, 4))]
)
def test_rollouts_with_the_cube_are_near_those_of_gnubg(
    position_id: str, dice: tuple[int, int], tmp_path: Path
) -> None:
    pairs = list(pairs_of(Position(position_id), dice, (216, 72), tmp_path))
    assert len(pairs) == 2
    for pair in pairs:
        assert abs(pair.ours - pair.theirs) < SKILL + 4 * np.hypot(pair.error, pair.their_error), pair


def test_decisions_are_of_different_games() -> None:
    found = list(decisions(5, 3))
    assert len({position.id for position, _ in found}) == 5
    assert found == list(decisions(5, 3))
