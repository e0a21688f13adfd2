"""Samples of positions of self-play, and of the best plays of turns, against plain Python; no game is in two splits."""

from __future__ import annotations

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
from bgdata.game.codec import Boards
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
from tests.contract.kinds import smallest_version
from tests.random_games import GamePositions, random_game_positions
from tests.reference.games import mix_bits, splitmix
from tests.reference.self_play import flipped


@cache
def random_games() -> GamePositions:
    return random_game_positions(30, seed=4)


def test_rows_equal_positions_of_the_corpus(small_root: Path) -> None:
    """Each row is a different position of the corpus, with its class and the split of its game."""
    table = smallest_version(small_root, POSITIONS)
    assert table.folder.parent.name == "pubeval-20-seed-3-most-40"
    with bgdata.open_warehouse(small_root).connect() as connection:
        rows = connection.sql(
            "select s.position_id = t.position_id and s.board = t.board and s.class = t.class as is_turn, "
            "s.position_id, s.board, s.game, s.class, s.split from position_sample s join turns t using (game, turn) "
            "where t.dataset = 'selfplay' and t.variant = 'pubeval-20-seed-3' order by s.game, s.turn"
        ).fetchnumpy()
    assert len(rows["game"]) == table.manifest.rows
    assert rows["is_turn"].all()
    assert [Position(board.tolist()).id for board in rows["board"]] == rows["position_id"].tolist()
    assert len(set(rows["position_id"])) == table.manifest.rows
    assert rows["split"].tolist() == [SPLITS[split] for split in splits_of_games(3, rows["game"])]
    statistics = table.manifest.statistics
    assert statistics["contact"] == statistics["race"] == 40
    for name in ("contact", "crashed", "race"):
        assert statistics[name] == (rows["class"] == name).sum()
    for name in SPLITS:
        assert statistics[name] == (rows["split"] == name).sum()


def sampled_rows(boards: Boards, classes: Array, most: int, shard_rows: int) -> list[int]:
    """The rows that a build with shards of so many rows samples."""
    shards = (
        hashed_rows(boards[part.start : part.stop], classes[part.start : part.stop], part.start)
        for part in ranges(len(boards), shard_rows)
    )
    return lowest_of(shards, most).tolist()


@pytest.mark.parametrize("shard_rows", [7, 1 << 20])
def test_sample_has_first_rows_with_lowest_hashes(shard_rows: int) -> None:
    """The sample has the same rows as plain Python: the lowest hashes of each class, each where the position comes
    first."""
    boards = random_games().boards
    classes = position_classes(boards).astype(np.uint8)
    first_rows: dict[tuple[int, ...], int] = {}
    for row, board in enumerate(boards.tolist()):
        first_rows.setdefault(tuple(board), row)
    hashes = dict(zip(first_rows, board_hashes(np.array(list(first_rows), np.int8)).tolist(), strict=True))
    assert len(set(hashes.values())) == len(first_rows)
    for most in (1, 25, len(boards)):
        expected: list[int] = []
        for class_numbers in ({10}, {9}, {4, 6, 8}):  # contact, crashed, race
            of_class = [board for board, row in first_rows.items() if classes[row] in class_numbers]
            expected += [first_rows[board] for board in sorted(of_class, key=hashes.__getitem__)[:most]]
        assert sampled_rows(boards, classes, most, shard_rows) == sorted(expected)


def test_no_positions_give_an_empty_sample() -> None:
    assert sampled_rows(random_games().boards[:0], np.zeros(0, np.uint8), 5, 7) == []


def test_hashes_are_uniform() -> None:
    different_boards = np.unique(random_games().boards, axis=0)
    quarters = (board_hashes(different_boards) >> np.uint64(62)).astype(np.int64)
    assert np.bincount(quarters, minlength=4) == pytest.approx(len(different_boards) / 4, rel=0.15)


@pytest.mark.parametrize("seed", [0, 3, (1 << 63) - 1])
def test_splits_match_the_reference(seed: int) -> None:
    """Splits are tenths of the hash of (seed, game), as plain integers compute them."""
    games = [*range(300), 1 << 40]
    splits = splits_of_games(seed, np.array(games)).tolist()
    for game, split in zip(games, splits, strict=True):
        bits = splitmix(mix_bits(seed ^ 0x5350_4C49_5453), game)
        tenth = (bits >> 32) * 10 >> 32
        assert split == (0 if tenth < 8 else tenth - 7)


SMALLEST = PLAYS.smallest


def network_player(root: Path) -> NetworkPlayer:
    """The network of the smallest `play_sample`, with its tables."""
    warehouse = bgdata.open_warehouse(root)
    tables = BearoffEvaluator(
        warehouse.open("bearoff_two_sided", "3x3"),
        warehouse.open("bearoff_one_sided", "3x15"),
        warehouse.open("bearoff_gammon", "3x15"),
    )
    return MappedNetwork(warehouse.open("network", "tiny"), tables)


def test_rows_equal_the_best_plays_of_turns(small_root: Path) -> None:
    """Rows are the plays that plain Python finds: all plays of the roll within the window, with the opponent on roll,
    best first."""
    most_plays, window = 4, np.float32(0.16)
    player = network_player(small_root)
    table = smallest_version(small_root, PLAYS)
    boards, ranks, losses, games, turns = (
        np.asarray(table.array(name)).tolist() for name in ("boards", "ranks", "losses", "games", "turns")
    )
    corpus = bgdata.open_warehouse(small_root).open("selfplay", "pubeval-20-seed-3")
    first_turns = corpus.array("first_turns")
    row = 0
    counts = set()
    while row < len(boards):
        turn = int(first_turns[games[row]]) + turns[row]
        position = Position(corpus.array("turn_boards")[turn].tolist())
        after_plays = [
            flipped(play.after_play.board)
            for play in legal_plays(position, roll_of(*corpus.array("dice")[turn].tolist()))
        ]
        chances = evaluations(player.networks, player.tables, np.array(after_plays, np.int8)).chances
        play_losses = cubeless_equities(chances) - cubeless_equities(chances).min()
        best = [play for play in np.argsort(play_losses, kind="stable")[:most_plays] if play_losses[play] <= window]
        end = row + len(best)
        assert boards[row:end] == [after_plays[play] for play in best]
        assert ranks[row:end] == list(range(1, len(best) + 1))
        assert losses[row:end] == [float(play_losses[play]) for play in best]
        assert games[row:end] == [games[row]] * len(best)
        assert turns[row:end] == [turns[row]] * len(best)
        counts.add(len(best))
        row = end
    assert counts == {1, 2, 3, 4}
    assert table.manifest.statistics["turns"] == ranks.count(1) > 40


def test_sample_may_have_some_classes_only(warehouse: Warehouse) -> None:
    table = warehouse.build(PLAYS.name, SMALLEST.with_texts({"classes": "contact crashed"}))
    assert table.folder.parent.name.startswith("contact-crashed-of-pubeval-20-seed-3-most-20-")
    of_all_classes = smallest_version(warehouse.root, PLAYS)
    corpus = warehouse.open("selfplay", "pubeval-20-seed-3")
    turns = np.asarray(corpus.array("first_turns"))[of_all_classes.array("games")] + of_all_classes.array("turns")
    is_expected = np.isin(np.asarray(corpus.array("turn_classes"))[turns], [9, 10])  # crashed, contact
    assert 0 < is_expected.sum() < len(is_expected)
    for name in ("boards", "ranks", "losses"):
        assert np.array_equal(table.array(name), np.asarray(of_all_classes.array(name))[is_expected])


def test_classes_without_turns_are_refused(warehouse: Warehouse) -> None:
    """A corpus without positions of the chosen class, one game here, is refused."""
    changes = {"player": "pubeval", "version": "2", "games": 1, "seed": 2, "classes": ("crashed",)}
    with pytest.raises(
        InvalidParameterError, match=r"expected turns of crashed in selfplay/\S+, found none; try: more"
    ):
        warehouse.build(PLAYS.name, SMALLEST.with_changes(changes))


def test_sql_shows_the_arrays(small_root: Path) -> None:
    with bgdata.open_warehouse(small_root).connect() as connection:
        rows = connection.sql("select board, class from play_sample order by game, turn, rank").fetchall()
        other_splits = connection.sql(
            "select count(*) from play_sample p join position_sample s using (game) where p.split <> s.split"
        ).fetchall()
    assert [board for board, _ in rows] == smallest_version(small_root, PLAYS).array("boards").tolist()
    assert {name for _, name in rows} <= {"contact", "crashed", "race", "over"}
    assert other_splits == [(0,)]


def test_samples_can_be_labelled(warehouse: Warehouse) -> None:
    parameters = LookaheadParameters("tiny", "", 3, 3, VersionRef(PLAYS.name, PLAYS.slug(SMALLEST)))
    labels = warehouse.build("lookahead_labels", parameters)
    different_boards = np.unique(np.asarray(smallest_version(warehouse.root, PLAYS).array("boards")), axis=0)
    assert labels.manifest.rows == len(different_boards)
