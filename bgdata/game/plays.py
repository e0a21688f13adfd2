"""Every legal play of a roll, one position at a time, and plays as strings ("bar/22* 6/5(2)").

Pure Python, written to be read. `play_kernels` computes the same plays for millions of positions, in the same order.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from bgdata.errors import IllegalPlayError, cite
from bgdata.game.board import BAR, HOME_POINTS, OPPONENT_BAR
from bgdata.game.classes import is_over
from bgdata.game.dice import ROLLS, Roll, RollLike, to_roll

if TYPE_CHECKING:
    from bgdata.game.position import Position

OFF = 0
NO_PLAY = "no play"  # the text of a play without checker moves
NO_PLAYS = ("", NO_PLAY, "no move", "pass", "cannot move", "can't move", "dance", "fan")

Board = tuple[int, ...]
_STEP = re.compile(r"(bar|\d{1,2})((?:/(?:off|\d{1,2})\*?)+)(?:\(([1-4])\))?", re.ASCII)
_LOOSE = re.compile(r"\s+(?=[-/*(])|(?<=[-/(])\s+|\s+(?=\))")  # spaces inside a step
_DASH = re.compile(r"(?<=[\w*])-(?=\w)", re.ASCII)


class CheckerMove(NamedTuple):
    """The move of one checker by one die, from `start` (25: the bar) to `end` (0: off), on the points of the player who
    moves."""

    start: int
    end: int
    is_hit: bool


@dataclass(frozen=True, slots=True)
class Play:
    """A play of a whole roll: its checker moves in order, none if no checker can move. `str()` gives the usual
    notation.

    `after_play` is the position from the point of view of the player who moved; in `next_position` the opponent is on
    roll. Move sequences that reach the same position are one play."""

    moves: tuple[CheckerMove, ...]
    after_play: Position

    @property
    def next_position(self) -> Position:
        """The position after the play with the opponent on roll."""
        return self.after_play.flip()

    @property
    def hit_points(self) -> frozenset[int]:
        """The points on which this play hits, as the player who moved numbers them."""
        return frozenset(move.end for move in self.moves if move.is_hit)

    def __str__(self) -> str:
        return format_play(self)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Says whether a play, given as a string, is legal. `str()` gives "legal: 24/18 13/11", or "illegal: " and the
    reason.

    `play` is the play, None if it is illegal. `legal_plays` are all legal plays. For an illegal play, `reason` is the
    rule that it breaks, and `error` the message of the error that `parse_play` raises."""

    play: Play | None
    legal_plays: tuple[Play, ...]
    reason: str = ""
    error: str = ""

    def __str__(self) -> str:
        return f"legal: {self.play}" if self.play else f"illegal: {self.reason}"


def legal_plays(position: Position, roll: RollLike) -> list[Play]:
    """List every legal play of a roll, at least one. Each play leads to a different position.

    As many dice as possible must be played. If only one can be played, it must be the higher one if possible. Plays are
    listed with the higher die first, each checker move from the highest point down, and then with the lower die first.
    The play to a position has the first move sequence that reaches it. If no checker can move, or the game is over, the
    only play has no moves.

    >>> from bgdata import Position
    >>> [str(play) for play in legal_plays(Position("4HPwATDgc/ABMA"), "66")]
    ['24/18(2) 13/7(2)', '24/18(2) 13/7 8/2', ..., '13/7 8/2(3)']"""
    roll = to_roll(roll)
    if is_over(position):
        return [Play((), position)]
    ways = [list(_ways(position.board, dice)) for dice in dict.fromkeys([roll.dice, roll.dice[::-1]])]
    most = max(len(moves) for order in ways for moves, _ in order)
    plays: dict[Board, tuple[CheckerMove, ...]] = {}
    for order in ways:
        for moves, board in order:
            if len(moves) == most:
                plays.setdefault(board, moves)
        if plays and most < 2:  # only one die can be played: the higher, if any play begins with it
            break
    return [Play(moves, position.with_board(board)) for board, moves in plays.items()]


def checker_moves(board: Board, die: int) -> list[CheckerMove]:
    """List every legal move of one checker by one die, from the highest point down."""
    starts = [BAR] if board[BAR] else [point for point in range(24, 0, -1) if board[point] > 0]
    moves = []
    for start in starts:
        end = max(start - die, OFF)
        if end != OFF and board[end] >= -1:
            moves.append(CheckerMove(start, end, board[end] == -1))
        elif end == OFF and starts[0] <= HOME_POINTS and start in (die, starts[0]):
            moves.append(CheckerMove(start, end, False))
    return moves


def _ways(board: Board, dice: tuple[int, ...]) -> Iterator[tuple[tuple[CheckerMove, ...], Board]]:
    """Yield every way to play dice in the given order until one cannot be played: the moves, and the board after
    them."""
    moves = checker_moves(board, dice[0]) if dice else []
    if not moves:
        yield (), board
    for move in moves:
        for later, after in _ways(after_move(board, move), dice[1:]):
            yield (move, *later), after


def after_move(board: Board, move: CheckerMove) -> Board:
    """Return the board after a legal move of one checker, for the same player."""
    after = list(board)
    after[move.start] -= 1
    if move.is_hit:
        after[move.end] = 0
        after[OPPONENT_BAR] += 1
    if move.end != OFF:
        after[move.end] += 1
    return tuple(after)


def format_play(play: Play) -> str:
    """Write a play in the usual notation, from the highest point down: "24/18/13*", "bar/22*", "6/off(2)" or "no play".
    A checker that moves twice is written once, with the intermediate point only if it hits there. One `*` marks each
    hit."""
    hits = set(play.hit_points)
    names = {BAR: "bar", OFF: "off"}
    steps = []
    for path, count in Counter(checker_paths(play)).items():
        step = names.get(path[0], str(path[0]))
        for point in path[1:]:
            if point in hits or point == path[-1]:
                step += "/" + names.get(point, str(point)) + "*" * (point in hits)
        steps.append(step + (f"({count})" if count > 1 else ""))
        hits.difference_update(path[1:])
    return " ".join(steps) or NO_PLAY


def checker_paths(play: Play) -> list[tuple[int, ...]]:
    """Return the points that each moved checker visits, from start to end. Checkers are sorted by start and then by
    end, the highest first."""
    paths: list[list[int]] = []
    for start, end, _ in sorted(play.moves, reverse=True):
        unfinished = [path for path in paths if path[-1] == start]
        if unfinished:
            unfinished[0].append(end)
        else:
            paths.append([start, end])
    return sorted(map(tuple, paths), key=lambda path: (path[0], path[-1], path), reverse=True)


def parse_play(text: str, position: Position, roll: RollLike | None = None) -> Play:
    """Find the legal play that a string describes, for a roll, or for any roll if `roll` is None. `find_play` describes
    the notation. Raises InvalidRollError for an invalid roll, and IllegalPlayError, which names the broken rule."""
    verdict = judge_play(text, position, roll)
    if verdict.play is None:
        raise IllegalPlayError(verdict.error)
    return verdict.play


def judge_play(text: str, position: Position, roll: RollLike | None = None) -> Verdict:
    """Judge whether a string is a legal play of a roll, or of any roll if `roll` is None. The verdict lists all legal
    plays, and names the broken rule of an illegal play. `find_play` describes the notation. Raises InvalidRollError for
    an invalid roll.

    >>> from bgdata import Position
    >>> print(judge_play("13/11, 24-18", Position("4HPwATDgc/ABMA"), "62"))
    legal: 24/18 13/11
    >>> verdict = judge_play("24/20", Position("4HPwATDgc/ABMA"), "42")
    >>> print(verdict)
    illegal: another die can be played too
    >>> print(*verdict.legal_plays, sep=", ")
    24/22 24/20, 24/18, 24/20 13/11, ..., 6/4 6/2
    """
    rolls = ROLLS if roll is None else (to_roll(roll),)
    plays = tuple({play.after_play: play for each in rolls for play in legal_plays(position, each)}.values())
    try:
        return Verdict(find_play(text, plays), plays)
    except IllegalPlayError as error:
        message = str(error)
    try:
        rule = broken_rule(text, position, roll)
    except IllegalPlayError:  # the text is not a play; the message of `find_play` says so
        rule = ""
    return Verdict(None, plays, rule or message, f"{message}: {rule}" if rule else message)


def check_play(play: Play, position: Position, roll: RollLike | None = None) -> Play:
    """Return the play if it is legal in this position, for the roll if one is given. Raises IllegalPlayError if it is
    not, and InvalidRollError for an invalid roll."""
    if not isinstance(play, Play):
        raise IllegalPlayError(f"expected a play or its text, got {cite(play)}")
    if roll is not None:
        plays = legal_plays(position, roll)
        if not any(play.after_play == other.after_play for other in plays):
            raise IllegalPlayError(f"expected a legal play of {to_roll(roll)} ({_some(plays)}), got {cite(str(play))}")
    board = position.board
    for move in play.moves:
        board = after_move(board, move)
    if board != play.after_play.board:
        raise IllegalPlayError(f"expected a play of position {position.id}, got {cite(str(play))} of another one")
    return play


def find_play(text: str, plays: Sequence[Play]) -> Play:
    """Find the play that a string in the usual notation describes among `plays`, the legal plays of a roll. Moves may
    be combined, in any order, separated by commas or spaces, with dashes for slashes. `*` is optional; bar may be 25
    and off 0. Raises IllegalPlayError if there is none."""
    change, stars, landings = _parse_steps(text)
    fitting = [play for play in plays if _change(play.moves) == change and play.hit_points >= stars]
    hits = stars.union(*(play.hit_points & landings for play in fitting))
    exact = [play for play in fitting if play.hit_points == hits] or [p for p in fitting if p.hit_points >= hits]
    if len(exact) == 1:
        return exact[0]
    if exact:
        raise IllegalPlayError(f"expected a play that says where it hits ({_some(exact)}), got {cite(text)}")
    raise IllegalPlayError(f"expected a legal play ({_some(plays)}), got {cite(text)}")


def broken_rule(text: str, position: Position, roll: RollLike | None = None) -> str:
    """Return the rule that a play breaks, given as a string, such as "the opponent holds 20"; empty for a legal play.
    If `roll` is None, the play must break the rules for every roll. Raises InvalidRollError for an invalid roll, and
    IllegalPlayError for a string that is not a play.

    >>> from bgdata import Position
    >>> broken_rule("24/20 13/11", Position("4HPwATDgc/ABMA"), "42")
    ''
    >>> broken_rule("24/20", Position("4HPwATDgc/ABMA"), "42")
    'another die can be played too'
    >>> broken_rule("13/8 6/5", Position("4HPwATDgc/ABMA"), "51")
    ''
    >>> broken_rule("24/19 6/5", Position("4HPwATDgc/ABMA"), "51")
    'the opponent holds 19'
    """
    change, stars, _ = _parse_steps(text)
    rolls = ROLLS if roll is None else (to_roll(roll),)
    plays = [play for each in rolls for play in legal_plays(position, each)]
    fitting = [play for play in plays if _change(play.moves) == change]
    if fitting:
        missed = min((stars - play.hit_points for play in fitting), key=len)
        return f"nothing is hit on {max(missed)}" if missed else ""
    if roll is None:
        return "no roll is played so"
    if not plays[0].moves:
        return "the game is over" if is_over(position) else "no checker can move"
    if not change:
        return "a checker can move"
    board = position.board
    for point, count in sorted(change.items(), reverse=True):  # rules that do not depend on the roll
        name = {BAR: "the bar"}.get(point, str(point))
        if count < 0 and board[point] + count < 0:
            return f"fewer than {-count} checkers are on {name}" if board[point] > 0 else f"no checker is on {name}"
        if count > 0 and point != OFF and board[point] < -1:
            return f"the opponent holds {name}"
    high, low = rolls[0].high, rolls[0].low
    if played := _dice_played(change, board, rolls[0]):
        is_short = played < len(plays[0].moves)
        return "another die can be played too" if is_short else f"the {high} can be played, and must be"
    if board[BAR] + change[BAR] > 0:
        return "checkers on the bar enter first"
    if change[OFF] > 0 and any(board[point] + change[point] > 0 for point in range(HOME_POINTS + 1, BAR)):
        return "no checker is borne off while others are not home"
    if _dice_played(change, tuple(max(count, 0) for count in board), rolls[0]):
        return "the opponent holds the points between"
    movers_alone = tuple(max(-change[point], 0) if count > 0 else count for point, count in enumerate(board))
    if change[OFF] > 0 and _dice_played(change, movers_alone, rolls[0]):
        return "a higher die bears off from the highest point alone"
    return f"checkers do not move so by {high} and {low}"


def _dice_played(change: Counter[int], board: Board, roll: Roll) -> int:
    """Return how many dice of a roll, played one after another, make this change of the board; 0 if none do."""
    orders = dict.fromkeys([roll.dice, roll.dice[::-1]])
    parts = (dice[:count] for dice in orders for count in range(1, len(dice) + 1))
    return max((len(moves) for dice in parts for moves, _ in _ways(board, dice) if _change(moves) == change), default=0)


def _some(plays: Sequence[Play]) -> str:
    return " or ".join(map(str, plays[:3])) + (" or ..." if len(plays) > 3 else "")


def _parse_steps(text: str) -> tuple[Counter[int], set[int], set[int]]:
    """Parse a play. Returns how many checkers each point gains or loses, the points with a star, and the points on
    which checkers land."""
    change: Counter[int] = Counter()
    stars: set[int] = set()
    landings: set[int] = set()
    for step in _steps(text):
        where = cite(text) if step == text.strip().lower() else f"{cite(step)} in {cite(text)}"
        match = _STEP.fullmatch(step)
        if not match:
            raise IllegalPlayError(f"expected checker moves such as 'bar/22* 6/5(2)', got {where}")
        names = (match[1] + match[2]).split("/")
        bare = [name.rstrip("*") for name in names]
        points = [BAR if name == "bar" else OFF if name == "off" else int(name) for name in bare]
        if points[0] > BAR or points != sorted(set(points), reverse=True):
            raise IllegalPlayError(f"expected points that go down from 25 to 0, got {where}")
        stars |= {point for point, name in zip(points, names, strict=True) if "*" in name}
        landings |= set(points[1:]) - {OFF}
        change[points[0]] -= int(match[3] or 1)
        change[points[-1]] += int(match[3] or 1)
    return Counter({point: count for point, count in change.items() if count}), stars, landings


def _steps(text: str) -> list[str]:
    """Split a play into steps in strict notation: "24 - 18, Bar/20" gives 24/18 and bar/20."""
    text = text.strip().lower()
    if " ".join(text.split()) in NO_PLAYS:
        return []
    return _DASH.sub("/", _LOOSE.sub("", text)).replace(",", " ").replace(";", " ").split()


def _change(moves: Sequence[CheckerMove]) -> Counter[int]:
    """Count how many checkers each point gains or loses by checker moves."""
    change: Counter[int] = Counter()
    for move in moves:
        change[move.start] -= 1
        change[move.end] += 1
    return Counter({point: count for point, count in change.items() if count})
