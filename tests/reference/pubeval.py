"""Slow reference implementation of PubEval, written from its published description, exact and with integers.

Weights have five decimals, and inputs are multiples of a thirtieth: scores are counted in 1/3,000,000.
"""

from collections.abc import Sequence
from importlib.resources import files
from math import inf

Board = Sequence[int]
WEIGHT_UNIT, INPUT_UNIT = 100_000, 30


def integer_weights(text: str) -> list[int]:
    """The 122 weights of a file in units of 0.00001."""
    return [round(float(word) * WEIGHT_UNIT) for word in text.split()]


CONTACT, RACE = (
    integer_weights(files("bgdata.evaluation").joinpath("weights", f"pubeval_{kind}.txt").read_text())
    for kind in ("contact", "race")
)


def inputs(board: Sequence[int]) -> list[int]:
    """The 122 inputs in thirtieths, for a 26-integer board for the player who has just moved."""
    values = [0] * 122
    for j in range(24):
        n = board[24 - j]  # point 24 - j: own checkers minus the opponent's
        values[5 * j + 0] = INPUT_UNIT * (n == -1)
        values[5 * j + 1] = INPUT_UNIT * (n == 1)
        values[5 * j + 2] = INPUT_UNIT * (n >= 2)
        values[5 * j + 3] = INPUT_UNIT * (n == 3)
        values[5 * j + 4] = INPUT_UNIT * (n - 3) // 2 if n >= 4 else 0
    on_board = sum(count for count in board[1:] if count > 0)
    values[120] = INPUT_UNIT * board[0] // 2
    values[121] = INPUT_UNIT * (15 - on_board) // 15
    return values


def score(board: Sequence[int], weights: Sequence[int]) -> int:
    """The sum of weights times inputs."""
    return sum(weight * value for weight, value in zip(weights, inputs(board), strict=True))


def is_race(board: Sequence[int]) -> bool:
    """Whether the sides have passed each other."""
    own = [point for point in range(1, 26) if board[point] > 0]
    other = [25 if point == 0 else 25 - point for point in range(25) if (board[point] < 0 or (point == 0 and board[0]))]
    return max(own, default=0) + max(other, default=0) <= 24


def best_plays(
    before: Sequence[int], boards_after: Sequence[Sequence[int]], contact: Sequence[int], race: Sequence[int]
) -> list[list[int]]:
    """The best boards after a play, for the player who moved: all that bear off the last checker, else those with
    the highest score by the weights for the position before."""
    finished = [list(board) for board in boards_after if not any(count > 0 for count in board[1:])]
    if finished:
        return finished
    weights = race if is_race(before) else contact
    scores = [score(board, weights) for board in boards_after]
    return [list(board) for board, found in zip(boards_after, scores, strict=True) if found == max(scores)]


def likely_boards(before: Sequence[int], boards_after: Sequence[Board], most: int) -> list[Board]:
    """The boards after a play that are used for the values of rolls: all if there are at most `most` or if that is 0;
    otherwise one that bears off the last checker, then those with the highest scores, earlier boards first among
    equals."""
    if not 0 < most < len(boards_after):
        return list(boards_after)
    weights = RACE if is_race(before) else CONTACT

    def rank(board: Board) -> float:
        return -score(board, weights) if any(count > 0 for count in board[1:]) else -inf

    return sorted(boards_after, key=rank)[:most]
