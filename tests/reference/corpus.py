"""Slow reference implementation of self-play with luck: one game at a time, every roll tried, in plain Python."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from bgdata.game.dice import ROLLS, roll_of
from bgdata.game.plays import legal_plays
from bgdata.game.position import START, Position
from tests.reference.games import PlayChooser, points_lost, stream_bits
from tests.reference.pubeval import likely_boards
from tests.reference.self_play import flipped

Board = list[int]
Equities = Callable[[Sequence[Board]], list[float]]  # equities of the player on roll on each board


class SelfPlayed(NamedTuple):
    """One game."""

    outcome: int  # points for player 0
    begins: int  # player who rolls first
    boards: list[Board]  # before the roll, for the player on roll
    dice: list[tuple[int, int]]
    after_play: list[Board]  # for the player who moved


def self_played(choose: PlayChooser, seed: int, game: int) -> SelfPlayed:
    """Game `game` of a seed. The higher die of the first roll decides who begins; player 0 rolled the first die."""
    board: Board = list(START.board)
    boards: list[Board] = []
    dice: list[tuple[int, int]] = []
    after: list[Board] = []
    while True:
        turn = len(boards)
        rolls = [(a, b) for a in range(1, 7) for b in range(1, 7) if turn or a != b]
        dice.append(rolls[(stream_bits(seed, game, turn) >> 32) * len(rolls) >> 32])
        plays = legal_plays(Position(board), roll_of(*dice[-1]))
        boards.append(board)
        after.append(choose(board, [list(play.after_play.board) for play in plays], game, turn))
        board = flipped(after[-1])
        if not any(count > 0 for count in after[-1][1:]):
            begins = 0 if dice[0][0] > dice[0][1] else 1
            player = begins if turn % 2 == 0 else 1 - begins
            points = points_lost(after[-1])
            return SelfPlayed(points if player == 0 else -points, begins, boards, dice, after)


def best_chooser(equities: Equities) -> PlayChooser:
    """A chooser of the play that leaves the opponent the lowest equity. The first one is chosen among equal plays."""

    def choose(_before: Board, after: Sequence[Board], _game: int, _turn: int) -> Board:
        found = equities([flipped(board) for board in after])
        return after[found.index(min(found))]

    return choose


def roll_equities(equities: Equities, board: Board, likely: int) -> dict[tuple[int, int], float]:
    """Equity of the player on roll for each of the 36 ordered rolls, after the best of the `likely` plays
    (0: of all plays)."""
    worth = {}
    for roll in ROLLS:
        after = [list(play.after_play.board) for play in legal_plays(Position(board), roll)]
        value = -min(equities([flipped(each) for each in likely_boards(board, after, likely)]))
        worth[roll.dice[0], roll.dice[1]] = worth[roll.dice[1], roll.dice[0]] = value
    return worth


def luck(equities: Equities, board: Board, dice: tuple[int, int], is_opening: bool, likely: int = 0) -> float:
    """The equity of a roll minus the average equity of all possible rolls."""
    worth = roll_equities(equities, board, likely)
    possible = [value for (die, other), value in worth.items() if not (is_opening and die == other)]
    return worth[dice] - sum(possible) / len(possible)
