"""PubEval: Gerald Tesauro's public linear evaluator, the field's common opponent since 1993.

It only ranks the plays of one roll: its scores are not chances, and cannot be compared between positions. Source:
posted to rec.games.backgammon in 1993; the weights are its 2 x 122 published numbers.
"""

from __future__ import annotations

import functools
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from bgdata.evaluation.choices import PUBEVAL, Chooser, chosen_boards
from bgdata.evaluation.pubeval_kernels import ScoreTables, score_tables
from bgdata.game.board_arrays import BoardsLike, RollsLike, board_array, dice_array
from bgdata.game.codec import Boards


@functools.cache
def weights() -> NDArray[np.float64]:
    """float64[2, 122]: the weights for contact, then those for races."""
    folder = files("bgdata.evaluation") / "weights"
    return np.array([(folder / f"pubeval_{name}.txt").read_text().split() for name in ("contact", "race")], np.float64)


@functools.cache
def published_tables() -> ScoreTables:
    """int32[2, 26, 32]: `score_tables` of the published weights."""
    return score_tables(weights())


class PubEval:
    """Chooses the play with the highest score, the first of equals; weights by the position before the play."""

    label = "pubeval"
    version = "2"  # exact scores: 1 resolved a few ties in a million choices by rounding

    def __repr__(self) -> str:
        return "PubEval()"

    @property
    def chooser(self) -> Chooser:
        """What kernels choose by: see `choices.KernelPlayer`."""
        return Chooser(PUBEVAL, pubeval=published_tables())

    def choose_plays(self, boards: BoardsLike, rolls: RollsLike) -> Boards:
        """The positions after the chosen plays: see `player.Player`."""
        legal = board_array(boards)
        return chosen_boards(self.chooser, legal, dice_array(rolls, len(legal)))
