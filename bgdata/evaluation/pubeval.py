"""PubEval: Gerald Tesauro's public linear evaluator, the field's common opponent since 1993, for kernels.

PubEval only ranks the plays of one roll: its scores are not chances, and cannot be compared between positions. Source:
a posting to rec.games.backgammon in 1993; the weights are the 2 x 122 numbers published there.

Every score is an integer, so the order of addition cannot change the best play. Weights have five decimals and inputs
are multiples of 1/30, so scores are in units of 1/3,000,000. The inputs of a point depend only on its count, so a score
is a sum of 26 table look-ups. It leaves out a constant that changes no choice.
"""

from __future__ import annotations

import functools
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from bgdata.game.codec import Boards
from bgdata.kernel import kernel

ScoreTables = NDArray[np.int32]  # [2, 26, 32]: score by slot and lowest five bits of its count; contact, then race
NO_SCORES: ScoreTables = np.zeros((2, 26, 32), np.int32)

_WEIGHT_UNIT = 100_000  # weights are integers in 1/100,000
_ONE, _HALF, _FIFTEENTH = 30, 15, 2  # inputs are integers in 1/30


def score_tables(weights: NDArray[np.float64]) -> ScoreTables:
    """Make tables of PubEval scores from the published weights, float64[2, 122]. Returns int32[2, 26, 32] in units of
    1/3,000,000. An item is what a point or bar with `count` checkers (-15 to 15, at index count & 31) adds to the score
    of a board, from the point of view of the side that has played. Every checker on the board counts as not borne off,
    so the sum lacks the constant 30 times weight 121."""
    tables = NO_SCORES.copy()
    for kind, exact in enumerate((weights * _WEIGHT_UNIT).round().astype(np.int64).tolist()):
        for count in range(-15, 16):
            kept = -_FIFTEENTH * exact[121] * max(count, 0)
            for point in range(1, 25):
                first = 5 * (24 - point)
                tables[kind, point, count & 31] = _point_score(exact[first : first + 5], count) + kept
            tables[kind, 0, count & 31] = _HALF * exact[120] * max(count, 0)
            tables[kind, 25, count & 31] = kept
    return tables


def _point_score(weights: list[int], count: int) -> int:
    """The five inputs of a point with `count` checkers times their weights, summed, in units of 1/3,000,000."""
    blot_against, blot, made, three, more = weights
    if count < 2:
        return _ONE * (blot if count == 1 else blot_against if count == -1 else 0)
    return _ONE * (made + three * (count == 3)) + _HALF * more * max(count - 3, 0)


@kernel(borrows=True)
def choose_pubeval(tables: ScoreTables, board: Boards, after: Boards, n: int) -> int:
    """Choose the play with the highest score, the first of equal plays, and return its row in after[0:n], the boards
    after each play. `board`, before the play, selects the weights. A play that bears off the last checker is best."""
    kind = int(is_race(board))
    best, highest, can_finish = 0, -(1 << 62), is_nearly_off(board)
    for row in range(n):
        if can_finish and is_off(after, row):
            return row
        found = score(tables, kind, after, row)
        if found > highest:
            best, highest = row, found
    return best


@kernel(borrows=True)
def score(tables: ScoreTables, kind: int, boards: Boards, row: int) -> int:
    """Sum tables[kind, slot, count & 31] over the slots of boards[row]. The argument is a row instead of a slice,
    because counting references to a slice would take longer than the sum."""
    total = np.int32(0)
    for slot in range(26):
        total += tables[kind, slot, boards[row, slot] & 31]
    return int(total)


@kernel(borrows=True)
def is_race(board: Boards) -> bool:
    """Whether the sides have passed each other, so that no more hits are possible."""
    ours = 25
    while ours > 0 and board[ours] <= 0:
        ours -= 1
    theirs = 0 if board[0] > 0 else 1
    while 0 < theirs < 25 and board[theirs] >= 0:
        theirs += 1
    return ours < theirs


@kernel(borrows=True)
def is_nearly_off(board: Boards) -> bool:
    """Whether one roll may bear off all checkers of the player with positive counts: there are at most four."""
    count = 0
    for slot in range(1, 26):
        count += max(int(board[slot]), 0)
    return count <= 4


@kernel(borrows=True)
def is_off(boards: Boards, row: int) -> bool:
    """Whether the player with positive counts in boards[row] has no checker left."""
    highest = 0
    for slot in range(1, 26):
        highest = max(highest, int(boards[row, slot]))
    return highest == 0


@functools.cache
def weights() -> NDArray[np.float64]:
    """Return PubEval's published weights for contact, then those for races, as float64[2, 122]."""
    folder = files("bgdata.evaluation") / "weights"
    return np.array([(folder / f"pubeval_{name}.txt").read_text().split() for name in ("contact", "race")], np.float64)


@functools.cache
def published_tables() -> ScoreTables:
    """Return the `score_tables` of the published weights, as int32[2, 26, 32]."""
    return score_tables(weights())
