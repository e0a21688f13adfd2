"""Slow reference implementation of the legal plays, directly from the rules, without shared code.

It stores each side's checkers by that side's own points and follows the set of all reachable states, die by die, while
`bgdata.game.plays` visits sequences of moves and the kernel pairs of starts.
"""

from collections.abc import Iterator, Sequence

Row = tuple[int, ...]
State = tuple[Row, Row]  # the mover's checkers and the opponent's, each on that side's own points 0 (off) to 25 (bar)


def boards_after(board: Sequence[int], die: int, other_die: int) -> set[tuple[int, ...]]:
    """Every 26-integer board after a legal play, from the mover's point of view; the board itself if no move is
    legal."""
    own = (0, *(max(count, 0) for count in board[1:25]), board[25])
    other = (0, *(max(-count, 0) for count in board[24:0:-1]), board[0])
    state = own, other
    if sum(state[0][1:]) == 0 or sum(state[1][1:]) == 0:
        return {tuple(board)}
    high, low = max(die, other_die), min(die, other_die)
    if high == low:
        return {_board(after) for after in _reachable(state, [high] * 4)[1]}
    by_high_first = _reachable(state, [high, low])
    by_low_first = _reachable(state, [low, high])
    if by_high_first[0] == by_low_first[0] == 2:
        return {_board(after) for after in by_high_first[1] | by_low_first[1]}
    return {_board(after) for after in max(by_high_first, by_low_first, key=lambda reached: reached[0])[1]}


def _reachable(state: State, dice: Sequence[int]) -> tuple[int, set[State]]:
    """(number of dice that can be played in this order, resulting states)."""
    reached = {state}
    for played, die in enumerate(dice):
        further = {after for before in reached for after in _after_die(before, die)}
        if not further:
            return played, reached
        reached = further
    return len(dice), reached


def _after_die(state: State, die: int) -> Iterator[State]:
    """States after one checker move: bar first, no blocked point, bearing off only if all are home and none is
    higher."""
    own, other = state
    for start in [25] if own[25] else [point for point in range(1, 25) if own[point]]:
        end = start - die
        if end >= 1 and other[25 - end] >= 2:
            continue
        if end < 1 and any(own[7:]):
            continue
        if end < 0 and any(own[start + 1 :]):
            continue
        mine, theirs = list(own), list(other)
        mine[start] -= 1
        mine[max(end, 0)] += 1
        if end >= 1 and theirs[25 - end] == 1:
            theirs[25 - end] -= 1
            theirs[25] += 1
        yield tuple(mine), tuple(theirs)


def _board(state: State) -> tuple[int, ...]:
    own, other = state
    return other[25], *(own[point] - other[25 - point] for point in range(1, 25)), own[25]
