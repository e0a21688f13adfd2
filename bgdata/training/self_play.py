"""Games of a player against himself, recorded turn by turn with what he thought of every position, to learn from."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.evaluation.answers import Work, choose_by_chances, choose_started, new_work
from bgdata.evaluation.bearoff_kernels import BearoffArrays
from bgdata.evaluation.chances import Chances, equity_of, fill_turned
from bgdata.evaluation.evaluator import Source
from bgdata.evaluation.network_kernels import Networks
from bgdata.game.board_kernels import outcome_of
from bgdata.game.codec import Boards, flip_into
from bgdata.game.play_kernels import MOST_NOTES, MOST_PLAYS, fill_plays
from bgdata.game.position import CHECKERS, START
from bgdata.game.random import dice_of, low_below, opening_dice_of, random_bits, random_stream
from bgdata.kernel import kernel, prange

MOST_TURNS = 400  # untrained players can go on for thousands; a game cut here learns from its last value
MOST_LOST = np.float32(0.2)  # points that a play may be worse than the best one, to be tried
_SHARES = 1 << 30  # of a whole
_EXACT, _COMBINED = int(Source.EXACT), int(Source.COMBINED)
_START = np.array(START.board, np.int8)


class Record(NamedTuple):
    """A batch of games; row g, t is the position before turn t of game g, seen by the player on roll."""

    boards: Boards  # [games, MOST_TURNS, 26]
    chances: Chances  # [games, MOST_TURNS + 1, 5] as the player saw the position when he chose it; row 0 is not filled
    sources: NDArray[np.int8]  # [games, MOST_TURNS + 1] who said so: a number of `evaluator.Source`
    aims: Chances  # [games, MOST_TURNS + 1, 5] of the position after the best play: `chances` unless another was tried
    is_tried: NDArray[np.bool_]  # [games, MOST_TURNS + 1] whether the play before it was another than the best
    turns: NDArray[np.int32]  # [games]
    outcomes: NDArray[np.int8]  # [games] points to the player who rolls first, 0 where the game was cut


def new_record(games: int) -> Record:
    """Room for a batch."""
    return Record(
        np.zeros((games, MOST_TURNS, 26), np.int8),
        np.zeros((games, MOST_TURNS + 1, 5), np.float32),
        np.zeros((games, MOST_TURNS + 1), np.int8),
        np.zeros((games, MOST_TURNS + 1, 5), np.float32),
        np.zeros((games, MOST_TURNS + 1), np.bool_),
        np.zeros(games, np.int32),
        np.zeros(games, np.int8),
    )


def play_record(
    networks: Networks, tables: BearoffArrays, explore: float, seed: int, first: int, record: Record
) -> None:
    """Plays the games first, first + 1, ... of a seed and fills the record with them, the same on any number of
    threads. The first roll of a game is never a double. In a share `explore` of the turns the second best play is
    made, unless it loses more than MOST_LOST."""
    fill_record(networks, tables, int(explore * _SHARES), seed, first, *record)


@kernel(parallel=True)
def fill_record(
    networks: Networks,
    tables: BearoffArrays,
    explore: int,
    seed: int,
    first: int,
    boards: Boards,
    chances: Chances,
    sources: NDArray[np.int8],
    aims: Chances,
    is_tried: NDArray[np.bool_],
    turns: NDArray[np.int32],
    outcomes: NDArray[np.int8],
) -> None:
    """Fills the arrays of a Record, row by row, with game first + row."""
    for row in prange(len(turns)):
        stream = random_stream(seed, first + row)
        turns[row], outcomes[row] = fill_game(
            networks, tables, explore, stream, boards[row], chances[row], sources[row], aims[row], is_tried[row]
        )


@kernel()
def fill_game(
    networks: Networks,
    tables: BearoffArrays,
    explore: int,
    stream: np.uint64,
    boards: Boards,
    chances: Chances,
    sources: NDArray[np.int8],
    aims: Chances,
    is_tried: NDArray[np.bool_],
) -> tuple[int, int]:
    """Fills boards[turn, slot], chances[turn, 0:5], sources[turn], aims[turn, 0:5] and is_tried[turn] with one game;
    returns (turns, points to the player who rolls first)."""
    work = new_work(networks)
    after, notes = np.empty((MOST_PLAYS, 26), np.int8), np.empty(MOST_NOTES, np.int64)
    board = _START.copy()
    outcome, turn = 0, 0
    while outcome == 0 and turn < len(boards):
        bits = random_bits(stream, turn)
        die, other_die = dice_of(bits) if turn else opening_dice_of(bits)
        boards[turn] = board
        n = fill_plays(board, die, other_die, after, notes)
        play, source = choose_by_chances(networks, tables, board, after, n, work)
        turn += 1
        aims[turn], is_tried[turn] = work.chances[0], False
        if n > 1 and low_below(bits, _SHARES) < explore:
            play, source, is_tried[turn] = try_second(networks, tables, after, n, play, source, work)
        outcome = outcome_of(after[play], CHECKERS)
        flip_into(after[play], board)
        chances[turn], sources[turn] = work.chances[0], source
    return turn, (outcome if turn % 2 else -outcome)


@kernel()
def try_second(
    networks: Networks, tables: BearoffArrays, after: Boards, n: int, best: int, source: int, work: Work
) -> tuple[int, int, bool]:
    """Fills work.chances[0, 0:5], which hold those after the best of after[0:n, slot], with those after the second best
    where it is good enough to be tried; the best and the last row of `after` change places. Returns (the row to play,
    who answered for it, whether it is the second best)."""
    chances, board = work.chances[0].copy(), after[best].copy()
    after[best], after[n - 1] = after[n - 1], board
    second, second_source = choose_started(networks, tables, after, n - 1, work)
    if equity_of(work.chances[0]) - equity_of(chances) <= MOST_LOST:
        return second, second_source, True
    work.chances[0] = chances
    return n - 1, source, False


def targets_of(record: Record, trace: float, targets: Chances) -> None:
    """Fills targets[game, turn, 0:5] with the lambda-returns of every position of a record: see `fill_targets`."""
    fill_targets(*record[1:6], np.float32(trace), targets)


@kernel(parallel=True)
def fill_targets(
    chances: Chances,
    sources: NDArray[np.int8],
    aims: Chances,
    is_tried: NDArray[np.bool_],
    turns: NDArray[np.int32],
    trace: np.float32,
    targets: Chances,
) -> None:
    """Fills targets[game, turn, 0:5] with what the position before a turn should be worth to the player on roll there:
    what a table says, else the value of the position after the best play mixed with the target there, in shares
    1 - trace and trace; that value alone where another play was tried, and before the last turn, where it is the
    outcome unless the game was cut."""
    for game in prange(len(turns)):
        later = np.empty(5, np.float32)
        last = turns[game] - 1
        for turn in range(last, -1, -1):
            if turn > 0 and _EXACT <= sources[game, turn] <= _COMBINED:
                targets[game, turn] = chances[game, turn]
            else:
                for item in range(5):
                    value = aims[game, turn + 1, item]
                    goes_on = turn < last and not is_tried[game, turn + 1]
                    longer = targets[game, turn + 1, item] if goes_on else value
                    later[item] = value + trace * (longer - value)
                fill_turned(later, targets[game, turn])
