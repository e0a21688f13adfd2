"""Slow reference implementation of the outlook from a position: one play, one set of chances and one cube decision at a
time."""

from collections.abc import Callable, Sequence

from bgdata.equity.cube import CubeRules, decide_cube
from bgdata.game.match import Money, Stakes
from tests.reference.luck import from_other_side
from tests.reference.plays import boards_after

Board = Sequence[int]
Evaluate = Callable[[Board], Sequence[float]]  # board of the player on roll -> five chances


def worth_after(evaluate: Evaluate, after: Board, stakes: Stakes, rules: CubeRules) -> float:
    """Worth of a board after a play to the player who moved. The opponent is on roll."""
    decision = decide_cube(evaluate(from_other_side(after)), stakes.flip(), rules)
    if isinstance(stakes.score, Money):
        return -stakes.cube.value * decision.equity
    return 1 - decision.equity


def worth_of_roll(evaluate: Evaluate, board: Board, dice: tuple[int, int], stakes: Stakes, rules: CubeRules) -> float:
    """Worth of the best play."""
    return max(worth_after(evaluate, after, stakes, rules) for after in boards_after(board, *dice))


def worth_of_rolling(evaluate: Evaluate, board: Board, stakes: Stakes, rules: CubeRules) -> float:
    """Mean over the 36 rolls."""
    rolls = [(die, other) for die in range(1, 7) for other in range(1, 7)]
    return sum(worth_of_roll(evaluate, board, dice, stakes, rules) for dice in rolls) / 36
