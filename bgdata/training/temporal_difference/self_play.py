"""Games of a player against himself, recorded turn by turn with what he thought of every position, to learn from."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.evaluation.answers import choose_by_chances, new_work
from bgdata.evaluation.bearoff_kernels import BearoffArrays
from bgdata.evaluation.chances import Chances, fill_turned
from bgdata.evaluation.evaluator import Source
from bgdata.evaluation.networks.inference import Networks
from bgdata.game.board_kernels import outcome_of
from bgdata.game.codec import Boards, flip_into
from bgdata.game.play_kernels import MOST_NOTES, MOST_PLAYS, fill_plays
from bgdata.game.position import CHECKERS, START
from bgdata.game.random import dice_of, opening_dice_of, random_bits, random_stream
from bgdata.kernel import kernel, prange

MOST_TURNS = 400  # untrained players can go on for thousands; a game cut here learns from its last value
_EXACT, _COMBINED = int(Source.EXACT), int(Source.COMBINED)
_START = np.array(START.board, np.int8)


class Record(NamedTuple):
    """A batch of games; row g, t is the position before turn t of game g, seen by the player on roll."""

    boards: Boards  # [games, MOST_TURNS, 26]
    chances: Chances  # [games, MOST_TURNS + 1, 5] as the player saw the position when he chose it; row 0 is not filled
    sources: NDArray[np.int8]  # [games, MOST_TURNS + 1] who said so: a number of `evaluator.Source`
    turns: NDArray[np.int32]  # [games]
    outcomes: NDArray[np.int8]  # [games] points to the player who rolls first, 0 where the game was cut


def new_record(games: int) -> Record:
    """Room for a batch."""
    return Record(
        np.zeros((games, MOST_TURNS, 26), np.int8),
        np.zeros((games, MOST_TURNS + 1, 5), np.float32),
        np.zeros((games, MOST_TURNS + 1), np.int8),
        np.zeros(games, np.int32),
        np.zeros(games, np.int8),
    )


def play_record(networks: Networks, tables: BearoffArrays, seed: int, first: int, record: Record) -> None:
    """Plays the games first, first + 1, ... of a seed and fills the record with them, the same on any number of
    threads. The first roll of a game is never a double."""
    fill_record(networks, tables, seed, first, *record)


@kernel(parallel=True)
def fill_record(
    networks: Networks,
    tables: BearoffArrays,
    seed: int,
    first: int,
    boards: Boards,
    chances: Chances,
    sources: NDArray[np.int8],
    turns: NDArray[np.int32],
    outcomes: NDArray[np.int8],
) -> None:
    """Fills the arrays of a Record, row by row, with game first + row."""
    for row in prange(len(turns)):
        stream = random_stream(seed, first + row)
        turns[row], outcomes[row] = fill_game(networks, tables, stream, boards[row], chances[row], sources[row])


@kernel()
def fill_game(
    networks: Networks,
    tables: BearoffArrays,
    stream: np.uint64,
    boards: Boards,
    chances: Chances,
    sources: NDArray[np.int8],
) -> tuple[int, int]:
    """Fills boards[turn, slot], chances[turn, 0:5] and sources[turn] with one game; returns (turns, points to the
    player who rolls first)."""
    work = new_work(networks)
    after, notes = np.empty((MOST_PLAYS, 26), np.int8), np.empty(MOST_NOTES, np.int64)
    board = _START.copy()
    outcome, turn = 0, 0
    while outcome == 0 and turn < len(boards):
        bits = random_bits(stream, turn)
        die, other_die = dice_of(bits) if turn else opening_dice_of(bits)
        boards[turn] = board
        n = fill_plays(board, die, other_die, after, notes)
        best, source = choose_by_chances(networks, tables, board, after, n, work)
        outcome = outcome_of(after[best], CHECKERS)
        flip_into(after[best], board)
        turn += 1
        chances[turn], sources[turn] = work.chances[0], source
    return turn, (outcome if turn % 2 else -outcome)


def targets_of(record: Record, td_lambda: float, targets: Chances) -> None:
    """Fills targets[game, turn, 0:5] with the lambda-returns of every position of a record: see `fill_targets`."""
    fill_targets(record.chances, record.sources, record.turns, np.float32(td_lambda), targets)


@kernel(parallel=True)
def fill_targets(
    chances: Chances,
    sources: NDArray[np.int8],
    turns: NDArray[np.int32],
    td_lambda: np.float32,
    targets: Chances,
) -> None:
    """Fills targets[game, turn, 0:5] with what the position before a turn should be worth to the player on roll there:
    what a table says, else the value of the next position mixed with the target there, in shares 1 - td_lambda and
    td_lambda; before the last turn the outcome, or the last value where the game was cut."""
    for game in prange(len(turns)):
        later = np.empty(5, np.float32)
        last = turns[game] - 1
        for turn in range(last, -1, -1):
            if turn > 0 and _EXACT <= sources[game, turn] <= _COMBINED:
                targets[game, turn] = chances[game, turn]
            else:
                for item in range(5):
                    value = chances[game, turn + 1, item]  # of a finished game, its outcome
                    longer = targets[game, turn + 1, item] if turn < last else value
                    later[item] = value + td_lambda * (longer - value)
                fill_turned(later, targets[game, turn])
