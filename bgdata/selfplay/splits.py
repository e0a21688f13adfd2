"""Splits of rows into training, validation and test: by a hash of the game, or of the position where there are no
games.

Positions of one game resemble each other, so a split by position would test a player on what it learned from. The split
of a game depends on its seed and number, the split of a position on the position or its flip. Splits never change when
the data grow.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bgdata.game.random import GAMMA, mix_bits

SPLITS = ("train", "validation", "test")
TENTHS = (8, 1, 1)  # tenths of the games or positions in each split
_SALT = 0x5350_4C49_5453  # keeps splits independent of the dice of the same seed and game
_MASK = (1 << 64) - 1


def splits_of_games(seed: int, games: NDArray[np.integer]) -> NDArray[np.uint8]:
    """Return the split of each game of a seed, by its number, as an index into SPLITS (uint8[n])."""
    return splits_of_hashes(game_hashes(seed, games))


def halves_of_games(seed: int, games: NDArray[np.integer]) -> NDArray[np.uint8]:
    """Return the split of each game of a seed if no game is for training, as an index into SPLITS (uint8[n]): half are
    validation, half test."""
    return (1 + (game_hashes(seed, games) >> np.uint64(63))).astype(np.uint8)


def game_hashes(seed: int, games: NDArray[np.integer]) -> NDArray[np.uint64]:
    """Return uniform hashes of the games of a seed that have these numbers, as uint64[n]."""
    numbers = np.asarray(games).astype(np.uint64)
    with np.errstate(over="ignore"):
        return mix_bits(mix_bits(np.full_like(numbers, (seed ^ _SALT) & _MASK)) + (numbers + np.uint64(1)) * GAMMA)


def splits_of_hashes(hashes: NDArray[np.uint64]) -> NDArray[np.uint8]:
    """Return the split that each hash leads to, as an index into SPLITS (uint8[n]). The hashes are uniform, such as
    those of `game.position_hash.position_hashes`."""
    tenths = (hashes >> np.uint64(32)) * np.uint64(10) >> np.uint64(32)
    return np.repeat(np.arange(len(SPLITS), dtype=np.uint8), TENTHS)[tenths.astype(np.int64)]
