"""Slow reference implementation of the bearoff evaluator: which table covers a position, races played roll by roll, and
small games with gammons solved exactly.

A layout is a tuple of checkers on points 1..P, ace point first; a distribution maps numbers of rolls to chances.
"""

from collections.abc import Mapping, Sequence
from functools import cache

from tests.reference.bearoff import ROLLS, Layout, after_roll, race

Rolls = Mapping[int, float]
NOBODY, EXACT, COMBINED = 0, 1, 2


def layouts_of(board: Sequence[int]) -> tuple[list[int], list[int]]:
    """Checkers on points 1 to 24 of the player on roll and of the opponent, each by own points."""
    return [max(board[point], 0) for point in range(1, 25)], [max(-board[25 - point], 0) for point in range(1, 25)]


def covered_by(board: Sequence[int], two_sided: tuple[int, int], one_sided: int, gammon: int) -> int:
    """NOBODY, EXACT or COMBINED, for tables given by (points, checkers), points and points. With 0 points there is no
    table."""
    ours, theirs = layouts_of(board)
    if board[0] or board[25] or not 1 <= sum(ours) <= 15 or not 1 <= sum(theirs) <= 15:
        return NOBODY
    reach = [max(point for point in range(1, 25) if side[point - 1]) for side in (ours, theirs)]
    if reach[0] >= 25 - reach[1]:  # on that point, or still behind it
        return NOBODY
    has_all = 15 in (sum(ours), sum(theirs))
    if max(reach) <= two_sided[0] and max(sum(ours), sum(theirs)) <= two_sided[1] and not has_all:
        return EXACT
    if max(reach) <= one_sided and (max(reach) <= gammon or not has_all):
        return COMBINED
    return NOBODY


def is_first(rolls: int, other_rolls: int) -> bool:
    """Whether the player on roll, who needs `rolls` rolls (at least 1), finishes before the opponent."""
    made = other_made = 0
    while True:
        made += 1
        if made == rolls:
            return True
        other_made += 1
        if other_made == other_rolls:
            return False


def chance_first(on_roll: Rolls, opponent: Rolls) -> float:
    """Chance that the player on roll finishes first, when both numbers of rolls are independent."""
    return sum(p * q for n, p in on_roll.items() for m, q in opponent.items() if is_first(n, m))


def combined_chances(
    on_roll: Rolls, opponent: Rolls, saved: Rolls | None, opponent_saved: Rolls | None
) -> tuple[float, float, float]:
    """(win, win_gammon, lose_gammon) from the rolls of both sides to bear off and, for a side with all checkers, to
    bear off the first checker."""
    win_gammon = chance_first(on_roll, opponent_saved) if opponent_saved else 0.0
    lose_gammon = sum(saved.values()) * sum(opponent.values()) - chance_first(saved, opponent) if saved else 0.0
    return chance_first(on_roll, opponent), win_gammon, lose_gammon


def as_rolls(layout: Layout, left: int) -> Rolls:
    """Rolls until at most `left` checkers are left, with plays for the fewest expected rolls."""
    return {n: float(chance) for n, chance in race(layout, left).items()}


def approximate_game(on_roll: Layout, opponent: Layout, checkers: int) -> tuple[float, float, float]:
    """`combined_chances` of a game in which both sides began with `checkers`."""
    saved, opponent_saved = (
        as_rolls(side, checkers - 1) if sum(side) == checkers else None for side in (on_roll, opponent)
    )
    return combined_chances(as_rolls(on_roll, 0), as_rolls(opponent, 0), saved, opponent_saved)


@cache
def exact_game(on_roll: Layout, opponent: Layout, checkers: int) -> tuple[float, float, float]:
    """(win, win_gammon, lose_gammon) of a game in which both sides began with `checkers` and play for the best cubeless
    equity with gammons counted twice."""
    if not any(opponent):
        return 0.0, 0.0, float(sum(on_roll) == checkers)
    totals = [0.0, 0.0, 0.0]
    for roll, weight in ROLLS:
        best = max((after(play, opponent, checkers) for play in after_roll(on_roll, roll)), key=equity)
        for item in range(3):
            totals[item] += best[item] * weight / 36
    return totals[0], totals[1], totals[2]


def after(layout: Layout, opponent: Layout, checkers: int) -> tuple[float, float, float]:
    """Chances of a player who has just moved to a layout."""
    win, win_gammon, lose_gammon = exact_game(opponent, layout, checkers)
    return 1.0 - win, lose_gammon, win_gammon


def equity(chances: tuple[float, float, float]) -> float:
    """Cubeless equity of (win, win_gammon, lose_gammon)."""
    win, win_gammon, lose_gammon = chances
    return 2 * win - 1 + win_gammon - lose_gammon
