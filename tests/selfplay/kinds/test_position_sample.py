"""Positions sampled from self-play: distinct, of every class, and no game in two splits."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import bgdata
from bgdata.game.board_kernels import position_classes
from bgdata.game.position import Position
from bgdata.selfplay.kinds.position_sample import DATASET, SampleParameters
from bgdata.selfplay.kinds.shared.games_compute import board_hashes, chosen_rows
from bgdata.selfplay.splits import SPLITS, splits_of_games
from bgdata.store.table import Table
from bgdata.warehouse.commands.export import write_text
from tests.random_games import GamePositions, random_game_positions
from tests.reference.games import MASK, splitmix

SMALL = DATASET.smallest


@cache
def random_classes() -> NDArray[np.uint8]:
    return position_classes(random_games().boards).astype(np.uint8)


@cache
def random_games() -> GamePositions:
    return random_game_positions(30, seed=4)


def small(root: Path) -> Table:
    return bgdata.open_warehouse(root).open(DATASET.name, DATASET.slug(SMALL))


def test_rows_are_positions_of_the_corpus(small_root: Path) -> None:
    table = small(small_root)
    assert table.folder.parent.name == "pubeval-20-seed-3-most-40"
    with bgdata.open_warehouse(small_root).connect() as connection:
        found = connection.sql(
            "select s.position_id = t.position_id and s.board = t.board and s.class = t.class, s.position_id, s.board, "
            "s.game, s.split from position_sample s join turns t using (game, turn) "
            "where t.dataset = 'selfplay' and t.variant = 'pubeval-20-seed-3' order by s.game, s.turn"
        ).fetchall()
        counts = dict(connection.sql("select class, count(*) from position_sample group by class").fetchall())
    assert len(found) == table.manifest.rows
    assert all(row[0] for row in found)
    assert [Position(row[2]).id for row in found] == [row[1] for row in found]
    assert len({row[1] for row in found}) == len(found)
    assert counts["contact"] == counts["race"] == 40
    statistics = table.manifest.statistics
    assert {name: statistics[name] for name in counts} == counts
    splits = Counter(row[4] for row in found)
    assert {name: statistics[name] for name in SPLITS} == {name: splits[name] for name in SPLITS}
    assert [row[4] for row in found] == [SPLITS[split] for split in splits_of_games(3, np.array([r[3] for r in found]))]


def test_each_position_once_and_first() -> None:
    """By plain Python: the lowest hashes of each class, each where the position comes first."""
    seen: dict[tuple[int, ...], int] = {}
    for row, board in enumerate(random_games().boards.tolist()):
        seen.setdefault(tuple(board), row)
    hashes = dict(zip(seen, board_hashes(np.array(list(seen), np.int8)).tolist(), strict=True))
    assert len(set(hashes.values())) == len(seen)
    for most in (1, 25, 10**6):
        expected: list[int] = []
        for wanted in ({10}, {9}, {4, 6, 8}):
            boards = [board for board, row in seen.items() if random_classes()[row] in wanted]
            expected += [seen[board] for board in sorted(boards, key=hashes.__getitem__)[:most]]
        assert chosen_rows(random_games().boards, random_classes(), most).tolist() == sorted(expected)
    assert chosen_rows(random_games().boards[:0], random_classes()[:0], 5).tolist() == []


def test_hashes_are_spread() -> None:
    distinct = np.unique(random_games().boards, axis=0)
    tops = board_hashes(distinct) >> np.uint64(62)
    assert np.bincount(tops.astype(np.int64), minlength=4) == pytest.approx(len(distinct) / 4, rel=0.15)


def test_splits_of_the_twin() -> None:
    """Tenths of a hash of (seed, game) in plain integers."""
    for seed in (0, 3, (1 << 63) - 1):
        games = [*range(300), 1 << 40]
        found = splits_of_games(seed, np.array(games)).tolist()
        for game, split in zip(games, found, strict=True):
            bits = splitmix(mixed(seed ^ 0x5350_4C49_5453), game)
            tenth = (bits >> 32) * 10 >> 32
            assert split == (0 if tenth < 8 else tenth - 7)


def mixed(bits: int) -> int:
    """The last steps of splitmix64 alone."""
    bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EB & MASK
    return bits ^ (bits >> 31)


def test_positions_are_exported(small_root: Path, tmp_path: Path) -> None:
    write_text(small(small_root), "position-list", tmp_path / "list")
    expected = [Position(board).id for board in small(small_root).array("boards").tolist()]
    assert [line for line in (tmp_path / "list").read_text().split() if len(line) == 14] == expected


def test_the_default_is_of_the_default_corpus() -> None:
    assert SampleParameters().most == 2000
    assert DATASET.inputs(SampleParameters())["games"][1] in bgdata.all_kinds()["selfplay"].defaults
