"""Slow reference implementations of the cube models: piecewise linear equities, and decisions from comparisons.

The live cube is found from its definition, without closed formulas: at the take point the doubled cube of the taker is
worth the same as a pass, and at the cash point the opponent's doubled cube is worth the same as a pass.
"""

from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from itertools import pairwise

Pieces = list[tuple[float, float]]
Chances = Sequence[float]


def on_pieces(pieces: Pieces, chance: float) -> float:
    """The equity at a winning chance, linear between ascending points (chance, equity)."""
    for (start, at_start), (end, at_end) in pairwise(pieces):
        if chance <= end and end > start:
            return at_start + (at_end - at_start) * (chance - start) / (end - start)
    return pieces[-1][1]


def crossing(rising: Callable[[float], float], level: float) -> float:
    """The winning chance at which a rising function reaches a level, by bisection; 0 or 1 if it does not."""
    low, high = 0.0, 1.0
    if rising(low) >= level:
        return low
    for _ in range(45):
        middle = (low + high) / 2
        low, high = (low, middle) if rising(middle) >= level else (middle, high)
    return high


@cache
def live_points(mean_win: float, mean_loss: float) -> tuple[float, float]:
    """Take and cash points of the live cube, computed from each other until both converge."""
    take, cash = 0.2, 0.8
    for _ in range(40):  # each round reduces the remaining error to four tenths or less
        own: Pieces = [(0, -mean_loss), (cash, 1), (1, mean_win)]
        take = crossing(lambda p, own=own: 2 * on_pieces(own, p), -1)  # type: ignore[misc]
        other: Pieces = [(0, -mean_loss), (take, -1), (1, mean_win)]
        cash = crossing(lambda p, other=other: 2 * on_pieces(other, p), 1)  # type: ignore[misc]
    return take, cash


def janowski_equity(
    win: float, mean_win: float, mean_loss: float, owner: str, indexes: tuple[float, float], is_jacoby: bool = False
) -> float:
    """The equity of the player on roll without a double; `indexes` of the player on roll and of the opponent."""
    take, cash = live_points(mean_win, mean_loss)
    lose, top = -mean_loss, mean_win
    if owner == "centered":
        if is_jacoby:
            lose, top = -1.0, 1.0
        live, index = [(0, lose), (take, -1), (cash, 1), (1, top)], sum(indexes) / 2
    elif owner == "on_roll":
        live, index = [(0, lose), (cash, 1), (1, top)], indexes[0]
    else:
        live, index = [(0, lose), (take, -1), (1, top)], indexes[1]
    dead = lose + win * (top - lose)
    return index * on_pieces(live, win) + (1 - index) * dead


def mean_points(chances: Chances) -> tuple[float, float, float]:
    """Winning chance, mean points of a win and of a loss; 1 if there are none."""
    win, win_gammon, win_backgammon, lose_gammon, lose_backgammon = chances
    mean_win = (win + win_gammon + win_backgammon) / win if win else 1.0
    mean_loss = (1 - win + lose_gammon + lose_backgammon) / (1 - win) if win < 1 else 1.0
    return win, mean_win, mean_loss


def decision(no_double: float, taken: float, passed: float, beavered: float | None = None) -> str:
    """The best action in words. With equal equities the player doubles and the opponent passes."""
    answers = {"pass": passed, "take": taken}
    if beavered is not None and beavered < taken:
        answers["beaver"] = beavered
    best = min(answers, key=lambda name: answers[name])  # pass first
    if no_double > answers[best]:
        return "too good" if best == "pass" else "no double"
    return f"double, {best}"


class MatchReference:
    """The live cube in a match from its definition: mwc by (away, opponent_away, whether the next game is after the
    Crawford game), and shares of gammons and backgammons in wins and losses."""

    def __init__(
        self, mwc: Callable[[int, int, bool], float], away: int, opponent_away: int, shares: Sequence[float]
    ) -> None:
        self.mwc, self.away, self.opponent_away, self.shares = mwc, away, opponent_away, shares
        self.turning = lru_cache(self._turning)

    def after(self, points: int) -> float:
        """mwc after the player wins `points` (negative: loses)."""
        away, opponent_away = self.away - max(points, 0), self.opponent_away + min(points, 0)
        if away <= 0 or opponent_away <= 0:
            return float(away <= 0)
        return self.mwc(away, opponent_away, 1 in (self.away, self.opponent_away))

    def ends(self, cube: int) -> tuple[float, float]:
        """mwc where the player is certain to lose, and to win."""
        wins = [self.after(points * cube) for points in (1, 2, 3)]
        losses = [self.after(-points * cube) for points in (1, 2, 3)]
        gammon, backgammon, lost_gammon, lost_backgammon = self.shares
        win = wins[0] * (1 - gammon) + wins[1] * (gammon - backgammon) + wins[2] * backgammon
        lose = losses[0] * (1 - lost_gammon) + losses[1] * (lost_gammon - lost_backgammon) + losses[2] * lost_backgammon
        return lose, win

    def _turning(self, cube: int, owner: str) -> tuple[float, float] | None:
        """The winning chance at which the owner turns a live cube, and the worth of a pass there; None if a higher cube
        does not help the owner."""
        if owner == "on_roll":
            passed = self.after(cube)
            if self.away <= cube:
                return None
            return crossing(lambda p: self.live(2 * cube, "opponent", p), passed), passed
        dropped = self.after(-cube)
        if self.opponent_away <= cube:
            return None
        return crossing(lambda p: self.live(2 * cube, "on_roll", p), dropped), dropped

    def live(self, cube: int, owner: str, win: float) -> float:
        """mwc with a live cube."""
        lose, top = self.ends(cube)
        who = ("opponent", "on_roll") if owner == "centered" else (owner,)
        turns = [turn for turn in (self.turning(cube, each) for each in who) if turn is not None]
        return on_pieces([(0.0, lose), *turns, (1.0, top)], win)

    def dead(self, cube: int, win: float) -> float:
        """mwc with a cube that is never turned."""
        lose, top = self.ends(cube)
        return lose + win * (top - lose)
