"""Slow reference implementations of luck and of labels corrected for luck, from the definitions, for any evaluator."""

from collections.abc import Callable, Sequence

from tests.reference.networks import Chances, turned
from tests.reference.plays import boards_after

Board = Sequence[int]
Equities = Callable[[Sequence[Board]], list[float]]  # boards of a player on roll -> equities of that player


def from_other_side(board: Board) -> list[int]:
    """The board from the other player's point of view."""
    return [board[25], *(-count for count in board[24:0:-1]), board[0]]


def values_of_turn(equities: Equities, board: Board, dice: tuple[int, int], after: Board) -> tuple[float, float, float]:
    """Three values of the player on roll: the mean over the 36 rolls of the value after the best play, that value for
    the roll made, and the value after the play made."""

    def best(die: int, other_die: int) -> float:
        plays = [from_other_side(play) for play in boards_after(board, die, other_die)]
        return max(-value for value in equities(plays))

    rolls = [best(max(die, other), min(die, other)) for die in range(1, 7) for other in range(1, 7)]
    return sum(rolls) / 36, best(*dice), -equities([from_other_side(after)])[0]


def rescored(solve: Callable[[Board], Chances | None], boards: Sequence[Board], outcome: Chances) -> list[Chances]:
    """Labels of the positions of one game: the chances of the first solved position from there on, else the outcome as
    for the player on roll in the last position. Each is from the point of view of the player on roll."""
    solved = [solve(board) for board in boards]
    labels = []
    for turn in range(len(boards)):
        later = next((n for n in range(turn, len(boards)) if solved[n] is not None), len(boards) - 1)
        found = list(solved[later] or outcome)
        labels.append(found if (later - turn) % 2 == 0 else turned(found))
    return labels


def luck_adjusted(solved: Sequence[float | None], lucks: Sequence[float], outcome: float) -> list[float]:
    """Values of the positions of one game to the player on roll: the first solved worth from there on, else the outcome
    for the player on roll in the last position, minus the luck of the rolls in between, where the opponent's
    luck has the opposite sign."""
    values = []
    for turn in range(len(lucks)):
        signs = [1 if (n - turn) % 2 == 0 else -1 for n in range(len(lucks))]
        covered = [n for n in range(turn, len(lucks)) if solved[n] is not None]
        end = covered[0] if covered else len(lucks) - 1
        worth = solved[end] if covered else outcome
        rolls = range(turn, end) if covered else range(turn, end + 1)
        assert worth is not None
        values.append(signs[end] * worth - sum(signs[roll] * lucks[roll] for roll in rolls))
    return values
