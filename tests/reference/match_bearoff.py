"""Slow reference implementation of the match bearoff solver: exact rational MWC, directly from the rules of match play.

No code is shared with the kernels, and no cube counts as dead: any player whom the rules allow may double until the
cube decides the match for both.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache

from bgdata.game.match import MatchScore, Stakes
from tests.reference.bearoff import ROLLS, Layout, after_roll, equities

Mwc = Callable[[MatchScore], Fraction]


class MatchGame:
    """Values of positions with one match equity table, for the player on roll."""

    def __init__(self, mwc: Mwc, other: MatchGame | None = None) -> None:
        self.mwc = mwc
        self.other = other or MatchGame(lambda score: 1 - mwc(score.flip()), self)
        self.no_double = cache(self._no_double)

    def after(self, score: MatchScore, points: int) -> Fraction:
        """MWC after winning `points` (negative: after losing them)."""
        following = score.after_game(points)
        return Fraction(points > 0) if following is None else self.mwc(following)

    def _no_double(self, on_roll: Layout, opponent: Layout, stakes: Stakes) -> Fraction:
        """MWC of the player on roll without a double."""
        score, value = stakes.score, stakes.cube.value
        assert isinstance(score, MatchScore)
        if not any(on_roll):
            return self.after(score, value)
        if not any(opponent):
            return self.after(score, -value)
        total = Fraction(0)
        for roll, weight in ROLLS:
            replies = [self.other.decided(opponent, left, stakes.flip()) for left in after_roll(on_roll, roll)]
            total += weight * (1 - min(replies))
        return total / 36

    def decided(self, on_roll: Layout, opponent: Layout, stakes: Stakes) -> Fraction:
        """MWC of the player on roll, who may double. A finished game stays finished."""
        worth = self.no_double(on_roll, opponent, stakes)
        score, value = stakes.score, stakes.cube.value
        assert isinstance(score, MatchScore)
        over = not any(on_roll) or not any(opponent)
        if over or not stakes.may_double or value >= max(score.away, score.opponent_away):
            return worth
        return max(worth, min(self.double_take(on_roll, opponent, stakes), self.after(score, value)))

    def double_take(self, on_roll: Layout, opponent: Layout, stakes: Stakes) -> Fraction:
        """MWC of the player on roll after a double and a take."""
        return self.no_double(on_roll, opponent, stakes.after_take())

    def cubeless(self, on_roll: Layout, opponent: Layout, score: MatchScore, value: int) -> Fraction:
        """MWC when the cube is never turned again."""
        chance = (equities(on_roll, opponent)[0] + 1) / 2
        return self.after(score, -value) + chance * (self.after(score, value) - self.after(score, -value))
