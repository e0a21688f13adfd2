"""Splits: the shares, and that no game or position ever changes its own."""

from __future__ import annotations

import numpy as np

from bgdata.selfplay.splits import SPLITS, TENTHS, halves_of_games, splits_of_games, splits_of_hashes

GOLDEN = [int(split) for split in "000000000000002121000001000000000000000010010201201010000001"]


def test_splits_of_hashes_are_tenths_of_all_numbers() -> None:
    assert sum(TENTHS) == 10
    edges = [0, *np.cumsum(TENTHS).tolist()]
    for number in range(len(SPLITS)):
        first, last = -(-(edges[number] << 32) // 10), -(-(edges[number + 1] << 32) // 10) - 1
        hashes = np.array([first << 32, (last << 32) + 5], np.uint64)
        assert splits_of_hashes(hashes).tolist() == [number, number]


def test_splits_of_games_never_change() -> None:
    assert splits_of_games(1, np.arange(60)).tolist() == GOLDEN
    assert splits_of_games(1, np.arange(5, 9)).tolist() == GOLDEN[5:9]
    counts = np.bincount(splits_of_games(1, np.arange(20_000)))
    assert np.abs(counts - np.array(TENTHS) * 2000).max() < 200


def test_halves_for_validation_and_test() -> None:
    """About as many of either, always the same, and others for another seed."""
    halves = halves_of_games(3, np.arange(10_000))
    assert set(halves.tolist()) == {SPLITS.index("validation"), SPLITS.index("test")}
    assert 4800 < (halves == 1).sum() < 5200
    assert np.array_equal(halves_of_games(3, np.arange(5000, 5100)), halves[5000:5100])
    assert 4800 < (halves_of_games(4, np.arange(10_000)) == halves).sum() < 5200
