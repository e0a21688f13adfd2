"""Slow reference implementation of recorded games and the targets learned from them, from the definitions."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from bgdata.game.dice import roll_of
from bgdata.game.plays import legal_plays
from bgdata.game.position import START, Position
from tests.reference.games import points_lost, stream_bits
from tests.reference.networks import Chances, turned

Board = list[int]
# boards of a player on roll -> (chances of each, equities of each)
Evaluator = Callable[[Sequence[Board]], tuple[list[Chances], list[float]]]


class Replay(NamedTuple):
    """One game: boards before every turn, chances of the player on roll after it, points for the player who rolled
    first."""

    boards: list[Board]
    chances: list[Chances]
    outcome: int


def flipped(board: Sequence[int]) -> Board:
    """The board from the other player's point of view."""
    return [board[25], *(-count for count in board[24:0:-1]), board[0]]


def replay(evaluate: Evaluator, seed: int, game: int, most_turns: int) -> Replay:
    """A self-play game of a player who minimises the opponent's equity. Ties go to the first play."""
    board: Board = list(START.board)
    boards: list[Board] = []
    chances: list[Chances] = []
    while len(boards) < most_turns:
        turn = len(boards)
        rolls = [(a, b) for a in range(1, 7) for b in range(1, 7) if turn or a != b]
        die, other_die = rolls[(stream_bits(seed, game, turn) >> 32) * len(rolls) >> 32]
        boards.append(board)
        plays = legal_plays(Position(board), roll_of(die, other_die))
        after = [flipped(play.after_play.board) for play in plays]
        found, equities = evaluate(after)
        best = equities.index(min(equities))
        chances.append(found[best])
        board = after[best]
        if not any(count < 0 for count in board[1:25]) and not board[0]:
            points = points_lost(flipped(board))
            return Replay(boards, chances, points if turn % 2 == 0 else -points)
    return Replay(boards, chances, 0)


def lambda_returns(values: Sequence[Chances], known: Sequence[bool], trace: float) -> list[Chances]:
    """The target for the position before each turn, for the player on roll there.

    values[k] are the chances before turn k of the player on roll there, the last ones after the last turn. Where they
    are `known` they are the target. Otherwise the value n turns later has the weight trace^(n - 1) (1 - trace), and the
    value at the end of the game, or the first known one, has the remaining weight.
    """
    last = len(values) - 1
    return [
        list(values[turn]) if turn > 0 and known[turn] else lambda_return(values, known, trace, turn, last)
        for turn in range(last)
    ]


def lambda_return(values: Sequence[Chances], known: Sequence[bool], trace: float, turn: int, last: int) -> Chances:
    """The lambda-return of one turn: a weighted mean of all later values, each for its player on roll."""
    end = next(later for later in range(turn + 1, last + 1) if known[later] or later == last)
    total, left = [0.0] * 5, 1.0
    for later in range(turn + 1, end + 1):
        weight = left if later == end else left * (1 - trace)
        seen = values[later] if (later - turn) % 2 == 0 else turned(values[later])
        total = [sum_ + weight * value for sum_, value in zip(total, seen, strict=True)]
        left *= trace
    return total
