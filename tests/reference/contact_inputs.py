"""Slow reference implementation of the contact inputs from their definitions: checkers are moved one by one, without
bit masks.

A side is (own, other): checkers of both sides by the OWN points 1 to 24 and bar 25 of each; point p is the other side's
25 - p.
"""

from collections.abc import Sequence

ROLLS = [(die, other) for die in range(1, 7) for other in range(1, 7)]
Row = list[int]


def sides(board: Sequence[int]) -> tuple[Row, Row]:
    """Checkers of the player on roll and of the opponent, each by own points 0 (unused) to 25."""
    own = [0, *(max(board[point], 0) for point in range(1, 25)), board[25]]
    other = [0, *(max(-board[25 - point], 0) for point in range(1, 25)), board[0]]
    return own, other


def chance(rolls: int) -> int:
    """Chance of `rolls` rolls of 36 in units of 1/64, rounded."""
    return round(rolls * 64 / 36)


def is_open(point: int, other: Row) -> bool:
    """Whether a side may land on its own point, 1 to 24."""
    return 1 <= point <= 24 and other[25 - point] < 2


# -- shots: all boards reachable by checker moves, even if the roll is not played in full


def reached(own: Row, other: Row, dice: Sequence[int]) -> set[tuple[tuple[int, ...], tuple[int, ...]]]:
    """All (own, other) after the first die, the first two dice, and so on, without bearing off."""
    found, last = set(), {(tuple(own), tuple(other))}
    for die in dice:
        step = set()
        for before, before_other in last:
            starts = [25] if before[25] else [point for point in range(1, 25) if before[point]]
            for start in starts:
                end = start - die
                if is_open(end, list(before_other)):
                    mine, theirs = list(before), list(before_other)
                    mine[start] -= 1
                    mine[end] += 1
                    if theirs[25 - end] == 1:
                        theirs[25 - end], theirs[25] = 0, theirs[25] + 1
                    step.add((tuple(mine), tuple(theirs)))
        found |= step
        last = step
    return found


def shots(own: Row, other: Row) -> tuple[int, int, int]:
    """(rolls that can hit, rolls that can hit two, pips lost to the best hit, summed over all rolls)."""
    hitting, hitting_two, pips = 0, 0, 0
    for die, other_die in ROLLS:
        if die == other_die:
            ends = reached(own, other, [die] * 4)
        else:
            ends = reached(own, other, [die, other_die]) | reached(own, other, [other_die, die])
        hits = [theirs for _, theirs in ends if theirs[25] > other[25]]
        hitting += bool(hits)
        hitting_two += any(theirs[25] > other[25] + 1 for theirs in hits)
        pips += max((25 - p for theirs in hits for p in range(1, 25) if theirs[p] < other[p]), default=0)
    return hitting, hitting_two, pips


def points_made(own: Row, other: Row) -> tuple[int, int]:
    """(rolls that make a new point from 1 to 7, rolls that make one on a blot), with no checker on the bar."""
    if own[25]:
        return 0, 0
    making, on_blot = 0, 0
    for die, other_die in ROLLS:
        new = [
            point
            for point in range(1, 8)
            if own[point] < 2 and is_open(point, other) and can_make(own, other, point, die, other_die)
        ]
        making += bool(new)
        on_blot += any(other[25 - point] == 1 for point in new)
    return making, on_blot


def can_make(own: Row, other: Row, point: int, die: int, other_die: int) -> bool:
    """Whether two checkers can meet on an open point without breaking another point from 1 to 7."""

    def is_source(start: int) -> bool:
        return start <= 24 and own[start] > 0 and not (start <= 7 and own[start] == 2)

    if die != other_die:
        come = [is_source(point + die), is_source(point + other_die)]
        return all(come) or (own[point] == 1 and any(come))
    starts = [point + die]
    if is_open(point + die, other):
        starts.append(point + 2 * die)
    return any(is_source(start) and (own[start] >= 2 or own[point] == 1) for start in starts)


# -- escapes and blocks


def escapes(blocked: Sequence[int]) -> int:
    """Rolls of 36 that move a checker beyond the farthest blocked distance up to 7. Distances from 13 on are open."""
    end = max((distance for distance in blocked if distance <= 7), default=0)

    def can_escape(dice: Sequence[int]) -> bool:
        distance = 0
        for die in dice:
            distance += die
            if distance in blocked:
                return False
            if distance > end:
                return True
        return False

    return sum(
        can_escape([die] * 4) if die == other else can_escape([die, other]) or can_escape([other, die])
        for die, other in ROLLS
    )


def escapes_of(point: int, other: Row) -> int:
    """Rolls that escape from a side's point over the made points of the other side."""
    return escapes(
        [distance for distance in range(1, 13) if point - distance >= 1 and other[25 - point + distance] > 1]
    )


def fewest_escapes(start: int, own: Row) -> int:
    """Fewest rolls with which the OTHER side escapes over our points, from its points `start` down to 10."""
    squares = [point for point in range(10, start + 1) if point == 25 or own[25 - point] < 2]
    return min((escapes_of(point, own) for point in squares), default=36)


def mean_escapes(own: Row, other: Row, first: int) -> int:
    """Mean escape chance of the checkers on `first` and above, in 1/64, rounded down."""
    points = [point for point in range(first, 26) for _ in range(own[point])]
    return sum(64 * escapes_of(point, other) for point in points) // (36 * len(points)) if points else 64


def longest_run(points: Sequence[int]) -> int:
    """Length of the longest run of adjacent points."""
    return max((n for n in range(1, 25) for p in points if all(p + step in points for step in range(n))), default=0)


# -- the inputs of a side


def pips(row: Row) -> int:
    return sum(point * count for point, count in enumerate(row))


def rearmost(row: Row) -> int:
    return max((point for point, count in enumerate(row) if count), default=0)


def stuck(own: Row, other: Row) -> int:
    """Checkers expected on the bar after a roll, in 1/64."""
    left = 0
    for die, other_die in ROLLS:
        dice = [die] * 4 if die == other_die else [die, other_die]
        left += max(own[25] - sum(is_open(25 - each, other) for each in dice), 0)
    return min(128, round(left * 64 / 36))


def side_inputs(own: Row, other: Row) -> list[int]:
    """The 32 inputs of a side in units of 1/64."""
    on_board, lead = sum(own), pips(other) - pips(own)
    off = 15 - on_board
    last_other = 25 - rearmost(other)  # in our numbering
    made = [point for point in range(1, 25) if own[point] >= 2]
    before = [point for point in made if point > last_other]
    anchors = [point for point in made if point >= 18]
    blots = [point for point in range(1, 25) if own[point] == 1]
    exposed = [point for point in blots if any(other[25 - point + step] for step in range(1, 7) if point - step >= 0)]
    stations = [point for point in range(7, 26) if own[point]]
    unlinked = [point for point in stations if not any(point - step in made for step in range(1, 7))]
    hitting, hitting_two, lost = shots(own, other)
    making, on_blot = points_made(own, other)
    blockade = fewest_escapes(rearmost(other), own)
    dancing = sum(not is_open(25 - die, other) and not is_open(25 - other_die, other) for die, other_die in ROLLS)
    near = [point for point in made if 1 <= point - last_other <= 6]
    far = [point for point in made if 7 <= point - last_other <= 12]
    timing = sum(own[point] * (point - 6) for point in range(7, 18))
    timing += sum((point - 2) * max(own[point] - 2, 0) for point in range(3, 7))
    mean = pips(own) // max(on_board, 1)
    moment = sum(own[point] * (point - mean) ** 2 for point in range(mean + 1, 26)) // max(on_board, 1)
    return [
        *(64 * min(max(off - first, 0), 5) // 5 for first in (0, 5, 10)),
        min(pips(own) // 2, 128),
        min(max(lead, 0), 128),
        min(sum(own[point] * (point - last_other) for point in range(last_other + 1, 26)) // 2, 128),
        min(sum(own[point] * (point - 6) for point in range(7, 26)) // 2, 128) if off == 0 else 0,
        2 * rearmost(own),
        9 * (25 - min(anchors)) if anchors else 0,
        min(32 * len(anchors), 128),
        min(max(-lead, 0), 128) if len([point for point in anchors if point > 18]) >= 2 else 0,
        chance(hitting),
        chance(hitting_two),
        64 * lost // (36 * 16),
        min(32 * len([point for point in blots if point <= 6]), 128),
        min(16 * len(exposed), 128),
        chance(escapes_of(rearmost(own), other) if any(own) else 36),
        mean_escapes(own, other, 18),
        mean_escapes(own, other, 7),
        chance(36 - blockade),
        chance(36 - fewest_escapes(25, own)),
        64 * longest_run(before) // 6,
        64 * max(len([point for point in before if first <= point < first + 6]) for first in range(1, 20)) // 6,
        4 * (2 * len(near) + len(far)),
        chance(dancing),
        stuck(own, other),
        min(timing, 128),
        min(own[1] + own[2], 11) ** 2,
        min(moment, 128),
        min(16 * len(unlinked), 128),
        chance(making),
        chance(on_blot),
    ]


def inputs(board: Sequence[int]) -> list[int]:
    """The 64 inputs of a 26-integer board: the player on roll, then the opponent."""
    own, other = sides(board)
    return side_inputs(own, other) + side_inputs(other, own)
