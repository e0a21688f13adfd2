"""Slow reference implementation of whole games: dice by splitmix64 with Python integers, plays in the order of
`legal_plays`."""

from collections.abc import Callable, Iterator, Sequence

from bgdata.game.dice import roll_of
from bgdata.game.plays import legal_plays
from bgdata.game.position import START, Position
from tests.reference.pubeval import best_plays

MASK = (1 << 64) - 1
Board = list[int]
# (board before, boards after its plays, game, turn) -> the board after the chosen play
PlayChooser = Callable[[Board, Sequence[Board], int, int], Board]


def splitmix(seed: int, number: int) -> int:
    """Output `number` of the generator, from 0, by the published steps."""
    return mix_bits((seed + (number + 1) * 0x9E3779B97F4A7C15) & MASK)


def mix_bits(bits: int) -> int:
    """The last steps of the generator, after the addition."""
    bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EB & MASK
    return bits ^ (bits >> 31)


def stream_bits(seed: int, item: int, counter: int) -> int:
    """64 random bits of an item of a seed."""
    return splitmix(splitmix(splitmix(seed, 0), item), counter)


def dice(seed: int, game: int, turn: int) -> tuple[int, int]:
    """One of all 36 rolls, or of the 30 non-doubles on the first turn, in order. Pairs of games share them."""
    rolls = [(a, b) for a in range(1, 7) for b in range(1, 7) if turn or a != b]
    upper = stream_bits(seed, game // 2, turn) >> 32
    return rolls[upper * len(rolls) >> 32]


def random_chooser(seed: int) -> PlayChooser:
    """A chooser of random plays."""

    def choose(_before: Board, after: Sequence[Board], game: int, turn: int) -> Board:
        lower = stream_bits(seed, game, turn) & 0xFFFFFFFF
        return after[lower * len(after) >> 32]

    return choose


def pubeval_chooser(contact: Sequence[int], race: Sequence[int]) -> PlayChooser:
    """A chooser of PubEval's plays with integer weights. The first of equal plays is chosen."""
    return lambda before, after, _game, _turn: list(best_plays(before, after, contact, race)[0])


def play_game(choosers: tuple[PlayChooser, PlayChooser], seed: int, game: int) -> tuple[int, int]:
    """(points for the first player, number of turns). The first player begins games with even numbers."""
    turns = list(played_turns(choosers, seed, game))
    board, last = turns[-1][0], len(turns) - 1
    points = points_lost(chosen_board(choosers, board, seed, game, last))
    return (points if (game + last) % 2 == 0 else -points), len(turns)


def played_turns(
    choosers: tuple[PlayChooser, PlayChooser], seed: int, game: int
) -> Iterator[tuple[Board, tuple[int, int]]]:
    """(board before the roll, for the player on roll; dice) of every turn."""
    board, turn = list(START.board), 0
    while True:
        yield board, dice(seed, game, turn)
        board = chosen_board(choosers, board, seed, game, turn)
        if not any(count > 0 for count in board[1:]):
            return
        turn += 1
        board = [board[25], *(-count for count in board[24:0:-1]), board[0]]


def chosen_board(choosers: tuple[PlayChooser, PlayChooser], board: Board, seed: int, game: int, turn: int) -> Board:
    """The board after a turn, still for the player who moved."""
    plays = legal_plays(Position(board), roll_of(*dice(seed, game, turn)))
    return choosers[(game + turn) % 2](board, [list(play.after_play.board) for play in plays], game, turn)


def points_lost(board: Board) -> int:
    """Points that the opponent loses when we have borne off our last checker."""
    left = board[0] - sum(count for count in board[1:25] if count < 0)
    if left < 15:
        return 1
    is_behind = board[0] > 0 or any(count < 0 for count in board[1:7])
    return 3 if is_behind else 2
