"""Players by name; the random player is fair, legal and repeatable."""

from collections import Counter
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import bgdata
from bgdata.errors import MissingTableError, UnknownPlayerError, UsageError
from bgdata.evaluation import player
from bgdata.evaluation.player import RandomPlayer, open_named_evaluator, open_named_player
from bgdata.evaluation.players import PLAIN_PLAYERS, PLAYERS, PROGRAMS
from bgdata.game.codec import Boards
from bgdata.game.plays import legal_plays
from bgdata.game.position import START
from tests.random_games import random_game_positions


@cache
def turns() -> tuple[Boards, NDArray[np.int8]]:
    games = random_game_positions(40, seed=17)
    return games.boards, games.rolls


def test_random_choices_do_not_depend_on_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    boards, rolls = turns()
    expected = RandomPlayer(5).choose_plays(boards, rolls)
    monkeypatch.setattr(player, "BATCH", 13)
    assert np.array_equal(RandomPlayer(5).choose_plays(boards, rolls), expected)
    assert not np.array_equal(RandomPlayer(6).choose_plays(boards, rolls), expected)


def test_random_choices_are_fair() -> None:
    """Every play is equally frequent, within five standard errors."""
    n = 40_000
    boards, rolls = np.tile(np.array(START.board, np.int8), (n, 1)), np.tile(np.array([3, 1], np.int8), (n, 1))
    counts = Counter(map(tuple, RandomPlayer(1).choose_plays(boards, rolls).tolist()))
    plays = legal_plays(START, "31")
    assert set(counts) == {play.next_position.board for play in plays}
    chance = 1 / len(plays)
    standard_error = (n * chance * (1 - chance)) ** 0.5
    for count in counts.values():
        assert abs(count - n * chance) < 5 * standard_error


@pytest.mark.parametrize(
    ("name", "version", "text"), [("random", "1", "RandomPlayer(0)"), ("pubeval", "2", "PubEval()")]
)
def test_player_is_opened_by_name(name: str, version: str, text: str) -> None:
    player = open_named_player(name)
    assert player.label == name
    assert player.version == version
    assert repr(player) == text
    assert player.choose_plays(turns()[0][:0], turns()[1][:0]).shape == (0, 26)
    with pytest.raises(UnknownPlayerError, match=f"expected --ply 0 for {name}, which does not look ahead, got 1"):
        open_named_player(name, 1)


def test_unknown_player_is_refused() -> None:
    known = "random, pubeval, gnubg, bgsage, NAME.onnx, NAME.ubgi"
    with pytest.raises(UnknownPlayerError, match=f"^expected a player among {known}, got nobody$"):
        open_named_player("nobody")


@pytest.mark.parametrize("name", PLAYERS)
def test_every_listed_player_has_a_class(name: str) -> None:
    """Even if its program is not installed."""
    opener, most_ply, is_program = PLAYERS[name]
    module, _, class_name = opener.partition(":")
    assert hasattr(getattr(import_module(module), class_name), "evaluate_many") == is_program
    assert is_program == (name in PROGRAMS) == (name not in PLAIN_PLAYERS)
    if most_ply:
        with pytest.raises(UnknownPlayerError, match=f"^expected --ply 0 to {most_ply} for {name}, got "):
            open_named_player(name, most_ply + 1)


@pytest.mark.parametrize("ply", [0, 1])
def test_networks_are_evaluators(player_root: Path, ply: int) -> None:
    warehouse = bgdata.open_warehouse(player_root)
    boards = np.array([START.board], np.int8)
    evaluator = open_named_evaluator("network/random", ply, warehouse)
    player: Any = open_named_player("network/random", ply, warehouse)
    assert evaluator.version == player.version
    assert np.array_equal(evaluator.evaluate_many(boards).chances, player.evaluate_many(boards).chances)


def test_evaluator_without_tables_has_another_version(player_root: Path) -> None:
    warehouse = bgdata.open_warehouse(player_root)
    without_tables = open_named_evaluator("network/random", 0, warehouse, tables=False)
    assert without_tables.version != open_named_evaluator("network/random", 0, warehouse).version


@pytest.mark.parametrize("name", PLAIN_PLAYERS)
def test_players_that_only_choose_plays_are_no_evaluators(player_root: Path, name: str) -> None:
    message = f"^expected a player that evaluates positions, got {name}, which only chooses plays$"
    with pytest.raises(UsageError, match=message):
        open_named_evaluator(name, 0, bgdata.open_warehouse(player_root))


def test_unknown_evaluator_is_refused(player_root: Path) -> None:
    warehouse = bgdata.open_warehouse(player_root)
    with pytest.raises(UnknownPlayerError, match=r"expected a player among .*, network, .*, got nobody"):
        open_named_evaluator("nobody", 0, warehouse)
    with pytest.raises(MissingTableError, match="no network/x in "):
        open_named_evaluator("network/x", 0, warehouse)
