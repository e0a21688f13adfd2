"""Positions after the best plays of sampled turns: those that plain Python finds, in the same order."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import bgdata
from bgdata.errors import InvalidParameterError
from bgdata.evaluation.answers import evaluations
from bgdata.evaluation.bearoff import BearoffEvaluator
from bgdata.evaluation.chances import cubeless_equities
from bgdata.evaluation.networks.player import MappedNetwork, NetworkPlayer
from bgdata.game.dice import roll_of
from bgdata.game.plays import legal_plays
from bgdata.game.position import Position
from bgdata.selfplay.kinds.lookahead_labels import LookaheadParameters
from bgdata.selfplay.kinds.play_sample import DATASET
from bgdata.store.parameters import VersionRef
from bgdata.store.table import Table
from bgdata.warehouse import Warehouse
from tests.reference.self_play import flipped

SMALL = DATASET.smallest


def small(root: Path) -> Table:
    return bgdata.open_warehouse(root).open(DATASET.name, DATASET.slug(SMALL))


def network(root: Path) -> NetworkPlayer:
    warehouse = bgdata.open_warehouse(root)
    tables = [
        warehouse.open(kind, variant)
        for kind, variant in (("bearoff_two_sided", "3x3"), ("bearoff_one_sided", "3x15"), ("bearoff_gammon", "3x15"))
    ]
    return MappedNetwork(warehouse.open("network", "tiny"), BearoffEvaluator(*tables))


def test_rows_are_the_best_plays_of_their_turns(small_root: Path) -> None:
    """By plain Python from the corpus: all plays of the roll, the opponent on roll, best first, within the window."""
    table, player = small(small_root), network(small_root)
    corpus = bgdata.open_warehouse(small_root).open("selfplay", "pubeval-20-seed-3")
    boards, ranks, losses, games, turns = (
        np.asarray(table.array(name)).tolist() for name in ("boards", "ranks", "losses", "games", "turns")
    )
    turn_boards, dice, first_turns = (corpus.array(name) for name in ("turn_boards", "dice", "first_turns"))
    row, sizes = 0, set()
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


def test_some_classes_only(warehouse: Warehouse) -> None:
    parameters = SMALL.with_texts({"classes": "contact crashed"})
    table, whole = warehouse.build(DATASET.name, parameters), small(warehouse.root)
    assert table.folder.parent.name.startswith("contact-crashed-of-pubeval-20-seed-3-most-20-")
    corpus = warehouse.open("selfplay", "pubeval-20-seed-3")
    places = np.asarray(corpus.array("first_turns"))[whole.array("games")] + np.asarray(whole.array("turns"))
    kept = np.isin(np.asarray(corpus.array("turn_classes"))[places], [9, 10])
    assert 0 < kept.sum() < len(kept)
    for name in ("boards", "ranks", "losses"):
        assert np.array_equal(table.array(name), np.asarray(whole.array(name))[kept])


def test_classes_without_turns_are_refused(warehouse: Warehouse) -> None:
    """In the one game of this seed nobody is crashed."""
    changes = {"player": "pubeval", "version": "2", "games": 1, "seed": 2, "classes": ("crashed",)}
    parameters = DATASET.smallest.with_changes(changes)
    with pytest.raises(
        InvalidParameterError, match=r"expected turns of crashed in selfplay/\S+, found none; try: more"
    ):
        warehouse.build(DATASET.name, parameters)


def test_sql_shows_the_same(small_root: Path) -> None:
    with bgdata.open_warehouse(small_root).connect() as connection:
        found = connection.sql("select board, class, rank, split from play_sample order by game, turn, rank").fetchall()
        apart = connection.sql(
            "select count(*) from play_sample p join position_sample s using (game) where p.split <> s.split"
        ).fetchall()
    assert [row[0] for row in found] == small(small_root).array("boards").tolist()
    assert {row[1] for row in found} <= {"contact", "crashed", "race", "over"}
    assert apart == [(0,)]


def test_they_can_be_labelled(warehouse: Warehouse) -> None:
    parameters = LookaheadParameters("tiny", "", 3, 3, VersionRef(DATASET.name, DATASET.slug(SMALL)))
    labels = warehouse.build("lookahead_labels", parameters)
    distinct = np.unique(np.asarray(small(warehouse.root).array("boards")), axis=0)
    assert labels.manifest.rows == len(distinct)
