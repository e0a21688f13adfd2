"""No position of a benchmark, nor its flip, is ever trained on."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bgdata
from bgdata.game.codec import Boards, flip_boards
from bgdata.game.position_hash import position_hashes
from bgdata.selfplay.splits import SPLITS
from bgdata.training.feed.feed import share_out
from bgdata.training.feed.rows import Guard, random_order
from tests.reference.position_hash import shuffled
from tests.together import each
from tests.training.labels import sample_boards, write_benchmark, write_labels


@cache
def some_boards() -> Boards:
    return sample_boards(40)


def benchmark_boards() -> tuple[Boards, Boards]:
    """The decisions and the plays of a benchmark."""
    return some_boards()[::7], some_boards()[3::11]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A warehouse whose training data has the positions of its benchmark and their flips."""
    write_labels(tmp_path, "gnubg_training/contact", np.concatenate([some_boards(), flip_boards(some_boards())]))
    write_benchmark(tmp_path, "contact", *benchmark_boards())
    return tmp_path


def positions(root: Path, **options: Any) -> list[bytes]:
    feed = bgdata.open_warehouse(root).batches("gnubg_training", **options)
    return [board.tobytes() for batch in feed for board in batch.boards]


@pytest.mark.parametrize("split", ["train", "validation"])
def test_planted_positions_never_appear(root: Path, split: str) -> None:
    both = np.concatenate(benchmark_boards())
    planted = {board.tobytes() for boards in (both, flip_boards(both)) for board in boards}
    without, found = positions(root, split=split, guard=False), positions(root, split=split)
    assert planted & set(without)
    assert not planted & set(found)
    assert sorted(found) == sorted(board for board in without if board not in planted)
    feed = bgdata.open_warehouse(root).batches("gnubg_training", split=split)
    assert feed.guarded == len(without) - len(found) > 0
    assert f"{feed.guarded:,} left out for benchmarks" in repr(feed)
    assert "no benchmark to guard" in repr(
        bgdata.open_warehouse(root).batches("gnubg_training", split=split, guard=False)
    )


def test_folder_of_a_killed_build_is_not_a_benchmark(root: Path) -> None:
    found = positions(root)
    (root / "rollout_decisions" / "contact-of-nothing").mkdir(parents=True)
    assert positions(root) == found
    assert "contact-of-nothing" not in bgdata.open_warehouse(root).variants("rollout_decisions")


def test_the_test_split_is_left_alone(root: Path) -> None:
    assert positions(root, split="test") == positions(root, split="test", guard=False)


def test_a_split_of_benchmark_positions_alone_is_empty(root: Path) -> None:
    write_benchmark(root, "race", some_boards(), some_boards())
    with pytest.raises(ValueError, match=r"found none; [0-9,]+ were left out for benchmarks"):
        positions(root)


def test_splits_do_not_move_with_the_guard(root: Path) -> None:
    guarded, plain = ([set(positions(root, split=name, guard=on)) for name in SPLITS] for on in (True, False))
    assert all(some <= more for some, more in zip(guarded, plain, strict=True))


@pytest.mark.parametrize("known", [0, 1, 2, 3, 1000])
def test_hashes_are_found_among_the_known_ones(tmp_path: Path, known: int) -> None:
    version = write_benchmark(tmp_path, "contact", some_boards()[:known], some_boards()[:0])
    kind, variant, name = version.split("/")
    guard = Guard([bgdata.open_warehouse(tmp_path).open(kind, variant, name)])
    hashes = position_hashes(some_boards())
    edges = np.array([0, 1, (1 << 64) - 1, 1 << 63], np.uint64)
    asked = np.concatenate([hashes, hashes + np.uint64(1), edges])
    assert len(guard.known) == len(set(hashes[:known].tolist()))
    assert guard.contains(asked).tolist() == [value in set(hashes[:known].tolist()) for value in asked.tolist()]


@each("key", [(0,), (0, 0), (1, 2, 3), ((1 << 63) - 1, 5)])
@each("count", [0, 1, 2, 3, 1000])
def test_shuffling_agrees_with_its_twin(key: tuple[int, ...], count: int) -> None:
    assert random_order(key, count).tolist() == shuffled(key, count)


def test_every_order_is_as_likely() -> None:
    counts: dict[tuple[int, ...], int] = {}
    for seed in range(6000):
        order = tuple(random_order((seed,), 3).tolist())
        counts[order] = counts.get(order, 0) + 1
    assert len(counts) == 6
    assert all(abs(count - 1000) < 150 for count in counts.values())  # five standard deviations


@pytest.mark.parametrize(
    ("total", "weights", "expected"),
    [
        (4096, [2.0, 1.0], [2731, 1365]),
        (10, [1, 1, 1], [4, 3, 3]),
        (100, [0.1, 0.2, 0.7], [10, 20, 70]),
        (7, [3], [7]),
        (2, [1, 1, 1], [1, 1, 0]),
    ],
)
def test_a_total_is_shared_out(total: int, weights: list[float], expected: list[int]) -> None:
    assert share_out(total, weights) == expected
