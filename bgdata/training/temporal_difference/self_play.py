"""Games of a player against itself, recorded turn by turn with its evaluations, to learn from."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.evaluation.bearoff_kernels import BearoffArrays
from bgdata.evaluation.chances import Chances, fill_turned
from bgdata.evaluation.choices import Chooser, network_chooser
from bgdata.evaluation.evaluator import AnswerSource
from bgdata.evaluation.networks.inference import Networks
from bgdata.game.codec import Boards
from bgdata.game.random import random_stream
from bgdata.kernel import in_threads, kernel, prange
from bgdata.selfplay.games import START, Turns, new_game_scratch, nothing_recorded, play_game

MOST_TURNS = 400  # untrained players can go on for thousands; a game cut here learns from its last value
_EXACT, _COMBINED = int(AnswerSource.EXACT), int(AnswerSource.COMBINED)


class Record(NamedTuple):
    """A batch of games; row g, t is the position before turn t of game g, seen by the player on roll."""

    boards: Boards  # [games, MOST_TURNS, 26]
    chances: Chances  # [games, MOST_TURNS + 1, 5] as the player saw the position when it chose it; row 0 is not filled
    sources: NDArray[np.int8]  # [games, MOST_TURNS + 1] of the evaluation: a number of `evaluator.AnswerSource`
    turns: NDArray[np.int32]  # [games]
    outcomes: NDArray[np.int8]  # [games] points to the player who rolls first, 0 where the game was cut


def new_record(games: int) -> Record:
    """An empty `Record` with room for this many games."""
    return Record(
        np.zeros((games, MOST_TURNS, 26), np.int8),
        np.zeros((games, MOST_TURNS + 1, 5), np.float32),
        np.zeros((games, MOST_TURNS + 1), np.int8),
        np.zeros(games, np.int32),
        np.zeros(games, np.int8),
    )


def play_record(networks: Networks, tables: BearoffArrays, seed: int, first: int, record: Record) -> None:
    """Play games first, first + 1, ... of a seed, and fill the record with them; they are the same on any number of
    threads. The first roll of a game is never a double."""
    in_threads(fill_record, len(record.turns), network_chooser(networks, tables), seed, first, *record)


@kernel()
def fill_record(
    begin: int,
    end: int,
    chooser: Chooser,
    seed: int,
    first: int,
    boards: Boards,
    chances: Chances,
    sources: NDArray[np.int8],
    turns: NDArray[np.int32],
    outcomes: NDArray[np.int8],
) -> None:
    """Fills the rows begin:end of the arrays of a Record with game first + row; player 0 begins."""
    scratch, nothing = new_game_scratch(chooser, chooser), nothing_recorded()
    for row in range(begin, end):
        record = Turns(boards[row], nothing.dice, nothing.after_play, chances[row], sources[row])
        stream, most = random_stream(seed, first + row), boards.shape[1]
        outcomes[row], turns[row] = play_game(
            chooser, chooser, stream, first + row, 0, START.copy(), True, most, scratch, record
        )


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
    """Fills targets[game, turn, 0:5] with the target for the position before a turn, seen by the player on roll there:
    the chances of a table if one covers it; else the chances of the next position and its target, in shares 1 -
    td_lambda and td_lambda; before the last turn the outcome, or the last evaluation where the game was cut off."""
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
