"""The turns of a corpus that become decisions of a benchmark: those with the lowest hashes, of its test games."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bgdata.evaluation.choices import Chooser
from bgdata.game.codec import flip_boards
from bgdata.game.play_kernels import batch_plays
from bgdata.game.random import mix_bits
from bgdata.selfplay.kinds.shared.games_compute import board_hashes, file_classes, turn_places
from bgdata.selfplay.rollout_decisions import Window, static_losses
from bgdata.selfplay.splits import SPLITS, splits_of_games
from bgdata.store.arrays import Array
from bgdata.store.table import Table

CHUNK = 256  # turns whose plays are evaluated at a time
LEAST_LOSS = 0.001  # points that some play within the window must lose: else nothing is to be decided


class SampledTurns(NamedTuple):
    """Some turns of a corpus, in the order of their hashes."""

    seeds: Array  # int64[n] half of the hash, which decides the dice of the rollouts too
    boards: Array  # int8[n, 26] of the player on roll
    dice: Array  # int8[n, 2] the higher die first
    games: Array  # int32[n]
    turns: Array  # int32[n]

    def rows(self, chosen: Array | slice) -> SampledTurns:
        """The chosen turns, in the given order."""
        return SampledTurns(*(values[chosen] for values in self))


def sampled_turns(
    corpus: Table, wanted: int, count: int, seed: int, chooser: Chooser, window: Window, *, one_per_game: bool = False
) -> SampledTurns:
    """The first `count` turns of a file class `wanted` on which a play within the window loses something.

    All of them if there are fewer. Of equal positions and rolls only one is taken. Turns are taken by their hashes,
    whatever game they are from: several may be of one game, many where the sample is not small beside the number of
    test games. With `one_per_game` only the first one of each game is taken, so that decisions are independent. A
    larger sample of the same corpus begins with a smaller one.
    """
    turns = turns_of_test_games(corpus, wanted, seed)
    found, games = list[SampledTurns](), np.zeros(0, np.int32)
    for start in range(0, len(turns.seeds), CHUNK):
        part = turns.rows(slice(start, start + CHUNK))
        part = part.rows(np.flatnonzero(has_choice(part, chooser, window)))
        if one_per_game:
            _, first = np.unique(part.games, return_index=True)
            part = part.rows(np.sort(first[~np.isin(part.games[first], games)]))
            games = np.append(games, part.games)
        found.append(part)
        if sum(len(part.seeds) for part in found) >= count:
            break
    return SampledTurns(*map(np.concatenate, zip(*found, strict=True))).rows(slice(count)) if found else turns


def turns_of_test_games(corpus: Table, wanted: int, seed: int) -> SampledTurns:
    """All turns of a file class in games that test, by hash."""
    classes, dice = file_classes(np.asarray(corpus.array("turn_classes"))), np.asarray(corpus.array("dice"))
    games, turns = turn_places(np.asarray(corpus.array("first_turns")), slice(0, len(dice)))
    corpus_seed = int(corpus.manifest.parameters["seed"])
    is_test = splits_of_games(corpus_seed, games) == SPLITS.index("test")
    rows = np.flatnonzero(is_test & (classes == wanted))
    boards = np.asarray(corpus.array("turn_boards"))[rows]
    dice = -np.sort(-dice[rows], axis=1)
    hashes, first = np.unique(decision_hashes(boards, dice, seed), return_index=True)
    rows = rows[first]
    return SampledTurns(
        (hashes >> np.uint64(1)).astype(np.int64),
        boards[first],
        dice[first],
        games[rows].astype(np.int32),
        turns[rows].astype(np.int32),
    )


def decision_hashes(boards: Array, dice: Array, seed: int) -> Array:
    """uint64[n]: hashes of int8[n, 26] boards and int8[n, 2] dice that look random and depend on the seed."""
    rolls = dice.astype(np.uint64) @ np.array([7, 1], np.uint64)
    with np.errstate(over="ignore"):
        return np.asarray(mix_bits(board_hashes(boards) + mix_bits(rolls + np.uint64(64) * np.uint64(seed))))


def has_choice(turns: SampledTurns, chooser: Chooser, window: Window) -> Array:
    """bool[n]: whether some play loses at least LEAST_LOSS and is within the window, by static evaluation."""
    offsets, after_play = batch_plays(np.ascontiguousarray(turns.boards), np.ascontiguousarray(turns.dice))
    losses = static_losses(chooser, flip_boards(after_play), offsets)
    return np.asarray(np.logical_or.reduceat((losses >= LEAST_LOSS) & (losses <= window.within), offsets[:-1]))
