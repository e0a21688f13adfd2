"""Random pairs of layouts: coverage of layouts, near and far opponents, dependence on the seed, and boards."""

from functools import cache
from math import comb

import numpy as np
import pytest
from numpy.typing import NDArray

from bgdata.bearoff.layouts import all_layouts, pip_counts
from bgdata.bearoff.pairs import MIN_PIPS, NEAR, hash_rows, near_layouts, paired_boards, random_pairs
from bgdata.game.codec import check_legal_boards
from tests.reference.games import splitmix

N = comb(5 + 8, 5) - 1  # layouts without the empty one


@cache
def all_pips() -> NDArray[np.int64]:
    return pip_counts(some_layouts()).astype(int)


@cache
def some_layouts() -> NDArray[np.int8]:
    return all_layouts(5, 8)


def test_layouts_are_on_roll_evenly() -> None:
    assert random_pairs(some_layouts(), N, 3).on_roll.tolist() == list(range(1, N + 1))
    counts = np.bincount(random_pairs(some_layouts(), 2 * N + 100, 3).on_roll, minlength=N + 1)
    assert counts[0] == 0
    assert set(counts[1:].tolist()) == {1, 2, 3}  # 1 after dropping a repeated pair
    assert (counts == 3).sum() in range(90, 101)
    few = random_pairs(some_layouts(), 100, 3)
    assert len(set(few.on_roll.tolist())) == 100
    assert few.on_roll.mean() == pytest.approx(N / 2, rel=0.2)


def test_pairs_are_sorted_and_unique() -> None:
    on_roll, opponent = random_pairs(some_layouts(), 5 * N, 1)
    pairs = list(zip(on_roll.tolist(), opponent.tolist(), strict=True))
    assert pairs == sorted(set(pairs))
    assert 4.8 * N < len(pairs) <= 5 * N
    assert min(opponent) >= 1
    assert max(opponent) == N


def test_pairs_depend_on_the_seed() -> None:
    first, again, other_seed = (random_pairs(some_layouts(), 300, seed) for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first.opponent, other_seed.opponent)
    assert len(set(first.on_roll.tolist()) & set(other_seed.on_roll.tolist())) < 200


def test_half_of_the_opponents_are_near() -> None:
    on_roll, opponent = random_pairs(some_layouts(), 20 * N, 4)
    pips = all_pips()
    is_near = np.abs(pips[on_roll] - pips[opponent]) <= np.maximum(MIN_PIPS, pips[on_roll] // NEAR)
    any_opponent = np.random.default_rng(1).integers(1, N + 1, len(on_roll))
    near_by_chance = (np.abs(pips[on_roll] - pips[any_opponent]) <= MIN_PIPS).mean()
    assert is_near.mean() == pytest.approx(0.5 + 0.5 * near_by_chance, abs=0.03)
    assert len(set(opponent.tolist())) > 0.99 * N


@pytest.mark.parametrize("pips", [1, 30, 40], ids=["fewest", "some", "most"])
def test_near_layouts_have_similar_pip_counts(pips: int) -> None:
    assert all_pips().max() == 40
    assert max(MIN_PIPS, 30 // NEAR) == 3
    row = int(np.flatnonzero(all_pips() == pips)[0])
    evenly_spaced = np.arange(1 << 14, dtype=np.uint64) << np.uint64(50)
    near = near_layouts(some_layouts(), np.full(len(evenly_spaced), row), evenly_spaced)
    is_near = (np.abs(all_pips() - pips) <= max(MIN_PIPS, pips // NEAR)) & (all_pips() > 0)
    assert set(near.tolist()) == set(np.flatnonzero(is_near).tolist())


@pytest.mark.parametrize("row", [0, 7, 1 << 40])
def test_hash_of_a_row_matches_splitmix64(row: int) -> None:
    """The hash equals splitmix64 in plain Python, applied to seed, stream and row."""
    expected = splitmix(splitmix(splitmix(0, 5), 2), row)
    assert hash_rows(np.array([row]), 5, 2).tolist() == [expected]


@pytest.mark.parametrize("points", [1, 5, 12])
def test_boards_have_both_layouts(points: int) -> None:
    layouts = all_layouts(points, 3)
    pairs = random_pairs(layouts, 500, 1)
    boards = check_legal_boards(paired_boards(layouts, pairs))
    assert len(boards) == len(pairs.on_roll)
    for board, on_roll, opponent in zip(boards.tolist(), *pairs, strict=True):
        assert [max(count, 0) for count in board[1 : points + 1]] == layouts[on_roll].tolist()
        assert [max(-board[25 - point], 0) for point in range(1, points + 1)] == layouts[opponent].tolist()
        assert sum(map(abs, board)) == layouts[[on_roll, opponent]].sum()


def test_zero_pairs_can_be_drawn() -> None:
    assert len(random_pairs(some_layouts(), 0, 1).on_roll) == 0


def test_pairs_of_the_empty_layout_alone_are_refused() -> None:
    with pytest.raises(ValueError, match="expected layouts beside the empty one, got 1 in all"):
        random_pairs(some_layouts()[:1], 5, 1)
