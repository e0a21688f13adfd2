"""bgsage as a player, through its public API: the optional extra `oracles`, never needed here.

It counts plies from 1 (its 1-ply is the static evaluation); here `ply` counts from 0 as everywhere.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgdata.errors import UnknownPlayerError
from bgdata.game.codec import Boards, flip_boards

MOST_PLY = 3


class BgsagePlayer:
    """Chooses by cubeless equity without the Jacoby rule. Raises UnknownPlayerError where it is not installed."""

    def __init__(self, ply: int = 0) -> None:
        if not 0 <= ply <= MOST_PLY:
            raise UnknownPlayerError(f"expected --ply 0 to {MOST_PLY} for bgsage, got {ply}")
        try:
            bgsage: Any = import_module("bgsage")
        except ImportError as error:
            raise UnknownPlayerError(
                "expected bgsage in this environment, found none; try: pip install bgsage"
            ) from error
        self.ply = ply
        self.version = version("bgsage")
        self._analyzer = bgsage.BgBotAnalyzer(eval_level=f"{ply + 1}ply", cubeful=False)

    @property
    def label(self) -> str:
        """bgsage-<ply>ply."""
        return f"bgsage-{self.ply}ply"

    def choose_plays(self, boards: Boards, rolls: NDArray[np.int8]) -> Boards:
        """See player.Player."""
        chosen = np.empty_like(boards)
        for row, (board, (die1, die2)) in enumerate(zip(boards.tolist(), rolls.tolist(), strict=True)):
            moves = self._analyzer.checker_play(board, die1, die2, jacoby=False).moves
            chosen[row] = max(moves, key=lambda move: move.cubeless_equity).board
        return flip_boards(chosen)
