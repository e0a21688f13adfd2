"""Slow reference implementation of the themes of positions, with sets of points instead of loops over slots."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from bgdata.game.themes import Theme

START = {24: 2, 13: 5, 8: 3, 6: 5}
HOME, AWAY_HOME = range(1, 7), range(19, 25)


class Side:
    """The checkers of one side by point; 25 is the bar."""

    def __init__(self, counts: Mapping[int, int]) -> None:
        self.counts = {point: count for point, count in counts.items() if count > 0}
        self.total = sum(self.counts.values())
        self.pips = sum(point * count for point, count in self.counts.items())
        self.rear = max(self.counts, default=0)
        self.made = {point for point, count in self.counts.items() if count >= 2 and point < 25}
        self.anchors = self.made & set(AWAY_HOME)

    def within(self, points: Sequence[int]) -> int:
        """Checkers on these points."""
        return sum(self.counts.get(point, 0) for point in points)

    @property
    def is_home(self) -> bool:
        return self.rear <= 6

    @property
    def is_crashed(self) -> bool:
        """At most six useful checkers: those on the ace point do not count, nor those on the deuce point except one, if
        the lowest held of the two points has two or more."""
        if self.total <= 6:
            return True
        ace, deuce = self.counts.get(1, 0), self.counts.get(2, 0)
        if ace >= 2:
            return self.total - ace <= 6 or (deuce >= 2 and self.total - ace - (deuce - 1) <= 6)
        return deuce >= 1 and self.total - (deuce - 1) <= 6


def sides(board: Sequence[int]) -> tuple[Side, Side]:
    """The player on roll, and the opponent."""
    own = Side({point: board[point] for point in range(1, 26)})
    return own, Side({25: board[0], **{point: -board[25 - point] for point in range(1, 25)}})


def theme(board: Sequence[int]) -> Theme | None:
    """The theme; None for a finished game."""
    own, opponent = sides(board)
    both = ((own, opponent), (opponent, own))
    if not own.total or not opponent.total:
        return None
    if own.rear + opponent.rear <= 24:
        return Theme.BEAR_OFF if own.is_home and opponent.is_home else Theme.RACE
    if all(in_opening(side) for side in (own, opponent)):
        return Theme.OPENING
    if any(side.total < 15 and side.within(range(7, 26)) in (1, 2, 3) for side in (own, opponent)):
        return Theme.CONTAINMENT
    if len(own.anchors) >= 2 and own.pips > opponent.pips:
        return Theme.BACK_GAME_ON_ROLL
    if len(opponent.anchors) >= 2 and opponent.pips > own.pips:
        return Theme.BACK_GAME_AGAINST
    rules = {
        Theme.ACE_POINT_GAME: any(
            side.anchors == {24} and side.pips > other.pips and other.rear <= 13 for side, other in both
        ),
        Theme.BEAR_OFF_AGAINST_CONTACT: own.is_home or opponent.is_home,
        Theme.BLITZ: any(is_blitz(side, other) for side, other in both),
        Theme.BEAR_IN_AGAINST_CONTACT: any(side.rear <= 13 and other.rear >= 19 for side, other in both),
        Theme.CRASHED: own.is_crashed or opponent.is_crashed,
        Theme.PRIMING_BATTLE: all(is_prime(side, other) for side, other in both),
        Theme.MUTUAL_HOLDING: all(side.rear in (18, 19, 20, 21) and side.rear in side.made for side, _ in both),
    }
    return next((each for each, holds in rules.items() if holds), Theme.MIDDLE_GAME)


def in_opening(side: Side) -> bool:
    """At least eleven checkers are on their starting points."""
    return sum(min(count, side.counts.get(point, 0)) for point, count in START.items()) >= 11


def is_blitz(attacker: Side, attacked: Side) -> bool:
    """No anchor, a checker on the bar or two blots, ten attackers, and two to five points made."""
    is_loose = 25 in attacked.counts or attacked.within(AWAY_HOME) >= 2
    made = len(attacker.made & set(HOME))
    return not attacked.anchors and is_loose and attacker.within(range(1, 13)) >= 10 and made in (2, 3, 4, 5)


def is_prime(side: Side, other: Side) -> bool:
    """Four points in a row, the lowest of them beyond a checker of the other side."""
    runs, run = [], []
    for point, following in pairwise([*sorted(side.made), 99]):
        run.append(point)
        if following != point + 1:
            runs.append(run)
            run = []
    return any(len(run) >= 4 and other.rear > 25 - run[0] for run in runs)
