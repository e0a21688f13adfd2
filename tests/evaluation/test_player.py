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
from bgdata.errors import InvalidRollError, MissingTableError, UnknownPlayerError, UsageError
from bgdata.evaluation import player
from bgdata.evaluation.player import RandomPlayer, open_named_evaluator, open_named_player
from bgdata.evaluation.players import PLAIN_PLAYERS, PLAYERS, PROGRAMS
from bgdata.game.codec import Boards, flip_boards
from bgdata.game.play_kernels import batch_plays
from bgdata.game.plays import legal_plays
from bgdata.game.position import START
from bgdata.kernel import threads
from tests.random_games import random_game_positions


@cache
def turns() -> tuple[Boards, NDArray[np.int8]]:
    games = random_game_positions(40, seed=17)
    return games.boards, games.rolls


def test_choices_are_legal() -> None:
    offsets, after_play = batch_plays(*turns())
    candidates = after_play.tolist()
    for name in PLAIN_PLAYERS:
        for row, board in enumerate(flip_boards(open_named_player(name).choose_plays(*turns())).tolist()):
            assert board in candidates[offsets[row] : offsets[row + 1]], name


def test_random_choices_depend_only_on_seed_and_place(monkeypatch: pytest.MonkeyPatch) -> None:
    boards, rolls = turns()
    expected = RandomPlayer(5).choose_plays(boards, rolls)
    for count in (1, 2):
        with threads(count):
            assert np.array_equal(RandomPlayer(5).choose_plays(boards, rolls), expected)
    assert np.array_equal(RandomPlayer(5).choose_plays(boards[:300], rolls[:300]), expected[:300])
    others = RandomPlayer(6).choose_plays(boards, rolls)
    assert 0.1 < (others == expected).all(axis=1).mean() < 0.7
    monkeypatch.setattr(player, "BATCH", 13)
    assert np.array_equal(RandomPlayer(5).choose_plays(boards, rolls), expected)


def test_random_choices_are_fair() -> None:
    """Every distinct play of the start position is equally frequent, within five standard errors."""
    count = 40_000
    boards, rolls = np.tile(np.array(START.board, np.int8), (count, 1)), np.tile(np.array([3, 1], np.int8), (count, 1))
    chosen = Counter(map(tuple, RandomPlayer(1).choose_plays(boards, rolls).tolist()))
    plays = legal_plays(START, "31")
    assert set(chosen) == {play.next_position.board for play in plays}
    chance = 1 / len(plays)
    error = 5 * (count * chance * (1 - chance)) ** 0.5
    assert all(abs(found - count * chance) < error for found in chosen.values())


def test_open_player_by_name() -> None:
    for name, version, text in (("random", "1", "RandomPlayer(0)"), ("pubeval", "2", "PubEval()")):
        player = open_named_player(name)
        assert (player.label, player.version, repr(player)) == (name, version, text)
        assert player.choose_plays(turns()[0][:0], turns()[1][:0]).shape == (0, 26)
        with pytest.raises(UnknownPlayerError, match=f"expected --ply 0 for {name}, which does not look ahead, got 1"):
            open_named_player(name, 1)
    known = "random, pubeval, gnubg, bgsage, NAME.onnx, NAME.ubgi"
    with pytest.raises(UnknownPlayerError, match=f"^expected a player among {known}, got nobody$"):
        open_named_player("nobody")


def test_every_listed_player_can_be_opened() -> None:
    """Every name in the list of players has a class that opens it, even if the program is missing here."""
    for name, (opener, most_ply, is_program) in PLAYERS.items():
        module, _, class_name = opener.partition(":")
        opened = getattr(import_module(module), class_name)
        assert hasattr(opened, "evaluate_many") == is_program == (name in PROGRAMS) == (name not in PLAIN_PLAYERS)
        if most_ply:
            with pytest.raises(UnknownPlayerError, match=f"^expected --ply 0 to {most_ply} for {name}, got "):
                open_named_player(name, most_ply + 1)


def test_rolls_must_match_positions() -> None:
    boards = np.array([START.board] * 2, np.int8)
    for rolls in ([[3, 1]], [[3, 1], [2, 1], [6, 5]], [[3, 1], [9, 9]]):
        with pytest.raises(InvalidRollError):
            RandomPlayer(1).choose_plays(boards, np.array(rolls, np.int8))


def test_networks_are_evaluators(player_root: Path) -> None:
    warehouse = bgdata.open_warehouse(player_root)
    boards = np.array([START.board], np.int8)
    for ply in (0, 1):
        found = open_named_evaluator("network/random", ply, warehouse)
        same: Any = open_named_player("network/random", ply, warehouse)
        assert found.version == same.version
        assert np.array_equal(found.evaluate_many(boards).chances, same.evaluate_many(boards).chances)
    bare = open_named_evaluator("network/random", 0, warehouse, tables=False)
    assert bare.version != open_named_evaluator("network/random", 0, warehouse).version


def test_players_that_cannot_evaluate_are_refused(player_root: Path) -> None:
    warehouse = bgdata.open_warehouse(player_root)
    for name in PLAIN_PLAYERS:
        message = f"^expected a player that evaluates positions, got {name}, which only chooses plays$"
        with pytest.raises(UsageError, match=message):
            open_named_evaluator(name, 0, warehouse)
    with pytest.raises(UnknownPlayerError, match=r"expected a player among .*, network, .*, got nobody"):
        open_named_evaluator("nobody", 0, warehouse)
    with pytest.raises(MissingTableError, match="no network/x in "):
        open_named_evaluator("network/x", 0, warehouse)
