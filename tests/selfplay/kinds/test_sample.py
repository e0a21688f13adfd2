"""Samples of positions of self-play, and of the best plays of turns, against plain Python; no game is in two splits."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import bgdata
from bgdata.errors import InvalidParameterError
from bgdata.evaluation.answers import evaluations
from bgdata.evaluation.bearoff import BearoffEvaluator
from bgdata.evaluation.chances import cubeless_equities
from bgdata.evaluation.networks.player import MappedNetwork, NetworkPlayer
from bgdata.game.board_kernels import position_classes
from bgdata.game.dice import roll_of
from bgdata.game.plays import legal_plays
from bgdata.game.position import Position
from bgdata.selfplay.kinds.lookahead_labels import LookaheadParameters
from bgdata.selfplay.kinds.play_sample import DATASET as PLAYS
from bgdata.selfplay.kinds.position_sample import DATASET as POSITIONS
from bgdata.selfplay.kinds.shared.games_compute import board_hashes, hashed_rows, lowest_of
from bgdata.selfplay.splits import SPLITS, splits_of_games
from bgdata.store.arrays import Array
from bgdata.store.parameters import VersionRef
from bgdata.store.shards import ranges
from bgdata.warehouse import Warehouse
from bgdata.warehouse.commands.export import write_text
from tests.contract.kinds import smallest_version
from tests.random_games import GamePositions, random_game_positions
from tests.reference.games import MASK, splitmix
from tests.reference.self_play import flipped


@cache
def random_games() -> GamePositions:
    return random_game_positions(30, seed=4)


def test_rows_equal_positions_of_the_corpus(small_root: Path) -> None:
    """Each row is a different position of the corpus, with its class and the split of its game."""
    table = smallest_version(small_root, POSITIONS)
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


@pytest.mark.parametrize("at_once", [7, 1 << 20])
def test_sample_has_first_rows_with_lowest_hashes(at_once: int) -> None:
    """The sample has the same rows as plain Python: the lowest hashes of each class, each where the position comes
    first."""

    def sampled(boards: Array, classes: Array, most: int) -> list[int]:
        parts = ranges(len(boards), at_once)
        shards = (
            hashed_rows(boards[part.start : part.stop], classes[part.start : part.stop], part.start) for part in parts
        )
        return lowest_of(shards, most).tolist()

    seen: dict[tuple[int, ...], int] = {}
    classes = position_classes(random_games().boards).astype(np.uint8)
    for row, board in enumerate(random_games().boards.tolist()):
        seen.setdefault(tuple(board), row)
    hashes = dict(zip(seen, board_hashes(np.array(list(seen), np.int8)).tolist(), strict=True))
    assert len(set(hashes.values())) == len(seen)
    for most in (1, 25, 10**6):
        expected: list[int] = []
        for wanted in ({10}, {9}, {4, 6, 8}):
            boards = [board for board, row in seen.items() if classes[row] in wanted]
            expected += [seen[board] for board in sorted(boards, key=hashes.__getitem__)[:most]]
        assert sampled(random_games().boards, classes, most) == sorted(expected)
    assert sampled(random_games().boards[:0], classes[:0], 5) == []


def test_hashes_are_uniform() -> None:
    distinct = np.unique(random_games().boards, axis=0)
    tops = board_hashes(distinct) >> np.uint64(62)
    assert np.bincount(tops.astype(np.int64), minlength=4) == pytest.approx(len(distinct) / 4, rel=0.15)


def test_splits_match_the_reference() -> None:
    """Splits are tenths of the hash of (seed, game), as plain integers compute them."""
    for seed in (0, 3, (1 << 63) - 1):
        games = [*range(300), 1 << 40]
        found = splits_of_games(seed, np.array(games)).tolist()
        for game, split in zip(games, found, strict=True):
            bits = splitmix(mix_bits_slowly(seed ^ 0x5350_4C49_5453), game)
            tenth = (bits >> 32) * 10 >> 32
            assert split == (0 if tenth < 8 else tenth - 7)


def mix_bits_slowly(bits: int) -> int:
    """The last steps of the random number generator splitmix64."""
    bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EB & MASK
    return bits ^ (bits >> 31)


def test_positions_can_be_exported(small_root: Path, tmp_path: Path) -> None:
    write_text(smallest_version(small_root, POSITIONS), "position-list", tmp_path / "list")
    expected = [Position(board).id for board in smallest_version(small_root, POSITIONS).array("boards").tolist()]
    assert [line for line in (tmp_path / "list").read_text().split() if len(line) == 14] == expected


SMALLEST = PLAYS.smallest


def network(root: Path) -> NetworkPlayer:
    warehouse = bgdata.open_warehouse(root)
    tables = [
        warehouse.open(kind, variant)
        for kind, variant in (("bearoff_two_sided", "3x3"), ("bearoff_one_sided", "3x15"), ("bearoff_gammon", "3x15"))
    ]
    return MappedNetwork(warehouse.open("network", "tiny"), BearoffEvaluator(*tables))


def test_rows_equal_the_best_plays_of_turns(small_root: Path) -> None:
    """Rows are the plays that plain Python finds: all plays of the roll within the window, with the opponent on roll,
    best first."""
    table = smallest_version(small_root, PLAYS)
    player = network(small_root)
    corpus = bgdata.open_warehouse(small_root).open("selfplay", "pubeval-20-seed-3")
    boards, ranks, losses, games, turns = (
        np.asarray(table.array(name)).tolist() for name in ("boards", "ranks", "losses", "games", "turns")
    )
    turn_boards, dice, first_turns = (corpus.array(name) for name in ("turn_boards", "dice", "first_turns"))
    row = 0
    sizes = set()
    while row < len(boards):
        place = int(first_turns[games[row]]) + turns[row]
        plays = legal_plays(Position(turn_boards[place].tolist()), roll_of(*dice[place].tolist()))
        after = [flipped(play.after_play.board) for play in plays]
        chances = evaluations(player.networks, player.tables, np.array(after, np.int8)).chances
        lost = cubeless_equities(chances) - cubeless_equities(chances).min()
        order = [int(play) for play in np.argsort(lost, kind="stable")[:4] if lost[play] <= np.float32(0.16)]
        end = row + len(order)
        assert boards[row:end] == [after[play] for play in order]
        assert ranks[row:end] == list(range(1, len(order) + 1))
        assert losses[row:end] == [float(lost[play]) for play in order]
        assert {(games[at], turns[at]) for at in range(row, end)} == {(games[row], turns[row])}
        sizes.add(len(order))
        row = end
    assert sizes == {1, 2, 3, 4}
    assert table.manifest.statistics["turns"] == ranks.count(1) > 40


def test_sample_may_have_some_classes_only(warehouse: Warehouse) -> None:
    parameters = SMALLEST.with_texts({"classes": "contact crashed"})
    table = warehouse.build(PLAYS.name, parameters)
    whole = smallest_version(warehouse.root, PLAYS)
    assert table.folder.parent.name.startswith("contact-crashed-of-pubeval-20-seed-3-most-20-")
    corpus = warehouse.open("selfplay", "pubeval-20-seed-3")
    places = np.asarray(corpus.array("first_turns"))[whole.array("games")] + np.asarray(whole.array("turns"))
    kept = np.isin(np.asarray(corpus.array("turn_classes"))[places], [9, 10])
    assert 0 < kept.sum() < len(kept)
    for name in ("boards", "ranks", "losses"):
        assert np.array_equal(table.array(name), np.asarray(whole.array(name))[kept])


def test_classes_without_turns_are_refused(warehouse: Warehouse) -> None:
    """A corpus without positions of the chosen class, one game here, is refused."""
    changes = {"player": "pubeval", "version": "2", "games": 1, "seed": 2, "classes": ("crashed",)}
    parameters = PLAYS.smallest.with_changes(changes)
    with pytest.raises(
        InvalidParameterError, match=r"expected turns of crashed in selfplay/\S+, found none; try: more"
    ):
        warehouse.build(PLAYS.name, parameters)


def test_sql_shows_the_arrays(small_root: Path) -> None:
    with bgdata.open_warehouse(small_root).connect() as connection:
        found = connection.sql("select board, class, rank, split from play_sample order by game, turn, rank").fetchall()
        apart = connection.sql(
            "select count(*) from play_sample p join position_sample s using (game) where p.split <> s.split"
        ).fetchall()
    assert [row[0] for row in found] == smallest_version(small_root, PLAYS).array("boards").tolist()
    assert {row[1] for row in found} <= {"contact", "crashed", "race", "over"}
    assert apart == [(0,)]


def test_samples_can_be_labelled(warehouse: Warehouse) -> None:
    parameters = LookaheadParameters("tiny", "", 3, 3, VersionRef(PLAYS.name, PLAYS.slug(SMALLEST)))
    labels = warehouse.build("lookahead_labels", parameters)
    distinct = np.unique(np.asarray(smallest_version(warehouse.root, PLAYS).array("boards")), axis=0)
    assert labels.manifest.rows == len(distinct)
