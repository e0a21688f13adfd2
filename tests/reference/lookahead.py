"""Slow reference implementation of lookahead: plain recursion over `legal_plays`, in exact fractions.

A judge returns five chances of a board for the player on roll, and whether they are final.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from bgdata.game.dice import roll_of
from bgdata.game.plays import legal_plays
from bgdata.game.position import Position

Board = tuple[int, ...]
Chances = tuple[Fraction, ...]
Judge = Callable[[Board], tuple[Chances, bool]]


def turned(chances: Chances) -> Chances:
    """The same chances from the other player's point of view."""
    win, win_gammon, win_backgammon, lose_gammon, lose_backgammon = chances
    return 1 - win, lose_gammon, lose_backgammon, win_gammon, win_backgammon


def equity(chances: Chances) -> Fraction:
    """Equity in points per game."""
    win, win_gammon, win_backgammon, lose_gammon, lose_backgammon = chances
    return win - (1 - win) + win_gammon + win_backgammon - lose_gammon - lose_backgammon


def boards_after(board: Board, die: int, other_die: int) -> list[Board]:
    """Boards after every play, for the opponent, who is on roll."""
    return [play.next_position.board for play in legal_plays(Position(board), roll_of(die, other_die))]


def chances_ahead(judge: Judge, board: Board, ply: int) -> Chances:
    """Chances of the player on roll after all 36 rolls, with the replies that the judge prefers."""
    chances, is_final = judge(board)
    if ply == 0 or is_final:
        return chances
    total = [Fraction(0)] * 5
    for die in range(1, 7):
        for other_die in range(1, 7):
            # the lowest equity of the opponent; the first of equal plays
            reply = min(boards_after(board, die, other_die), key=lambda after: equity(judge(after)[0]))
            own = turned(chances_ahead(judge, reply, ply - 1))
            total = [before + chance / 36 for before, chance in zip(total, own, strict=True)]
    return tuple(total)


@dataclass
class Seen:
    """A play, its worth to the player who moves at the deepest ply evaluated, and that ply."""

    board: Board
    chances: Chances
    ply: int = 0
    loss: Fraction = Fraction(0)

    @property
    def value(self) -> Fraction:
        return equity(self.chances)


def ranked(
    judge: Judge, board: Board, dice: tuple[int, int], ply: int, filters: Sequence[tuple[int, float]]
) -> list[Seen]:
    """Every play in the order of `legal_plays`; `filters` hold (number of plays, largest difference) for ply 1, 2,
    ..."""
    plays = [Seen(after, turned(judge(after)[0])) for after in boards_after(board, *dice)]
    candidates = plays
    for depth in range(ply + 1):
        if depth:
            keep, window = filters[min(depth - 1, len(filters) - 1)]
            best_first = sorted(candidates, key=lambda seen: -seen.value)
            candidates = [seen for seen in best_first[:keep] if seen.loss <= window]
            for seen in candidates:
                seen.chances, seen.ply = turned(chances_ahead(judge, seen.board, depth)), depth
        most = max(seen.value for seen in candidates)
        for seen in candidates:
            seen.loss = most - seen.value
        if len(plays) == 1:
            break
    return plays
