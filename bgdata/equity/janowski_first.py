"""Janowski's model as Computational Backgammon first had it (20 March 2012), withdrawn eight days later.

Equity is straight in the winning chance P between the take and the cash point, by the general formulas of Janowski's
paper, where x is the cube life index and S = W + L + x/2:

    cube of the player on roll   S P - L
    cube of the opponent         S P - L - x/2
    cube in the middle           4 / (4 - x) (S P - L - x/4)

So the window from take to cash point depends on x, and outside of it equity is held at -1 and 1. Nobody is too good to
double but where the equity of a dead cube exceeds 1, which was the error: who plays on still has the cube. The model
that replaced it, `janowski`, mixes equities instead of formulas, and asks what playing on is worth.

Nobody has the program of those eight days. That these are its formulas is what its printed figures tell: with the
other centered cubes that we tried, fewer of them come out. The model is for money play without the Jacoby rule.
"""

from __future__ import annotations

from bgdata.equity.curves import CENTERED, ON_ROLL, OPPONENT, Points
from bgdata.equity.janowski import LivePoints
from bgdata.kernel import kernel


@kernel()
def first_window(mean_win: float, mean_loss: float, index: float) -> LivePoints:
    """The take and cash points, from mean points of a win and of a loss and the cube life index."""
    width = mean_win + mean_loss + 0.5 * index
    return LivePoints((mean_loss - 0.5) / width, (mean_loss + 0.5 + 0.5 * index) / width)


@kernel()
def first_equity(win: float, mean_win: float, mean_loss: float, owner: int, index: float) -> float:
    """The no-double equity at a winning chance, by owner code."""
    window, dead = first_window(mean_win, mean_loss, index), win * (mean_win + mean_loss) - mean_loss
    if owner != ON_ROLL and win <= window.take_point:
        return min(-1.0, dead)
    if owner != OPPONENT and win >= window.cash_point:
        return max(1.0, dead)
    owned = win * (mean_win + mean_loss + 0.5 * index) - mean_loss
    if owner == CENTERED:
        return 4.0 / (4.0 - index) * (owned - 0.25 * index)
    return owned if owner == ON_ROLL else owned - 0.5 * index


@kernel()
def first_points(mean_win: float, mean_loss: float, owner: int, index: float) -> Points:
    """Where decisions change, for a centered cube or one that the player on roll owns: Janowski's formulas, but for the
    too-good point, which is that of a dead cube."""
    window, width = first_window(mean_win, mean_loss, index), mean_win + mean_loss + 0.5 * index
    above_loss = index if owner == ON_ROLL else 0.5 * index * (3.0 - index) / (2.0 - index)
    return Points(
        window.take_point,
        (mean_loss + above_loss) / width,
        window.cash_point,
        (mean_loss + 1.0) / (mean_win + mean_loss),
    )
