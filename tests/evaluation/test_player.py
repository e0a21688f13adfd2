"""Players by name, and the random one: fair, legal, and always the same."""

from __future__ import annotations

from collections import Counter
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

from bgdata.errors import InvalidRollError, UnknownPlayerError
from bgdata.evaluation import player
from bgdata.evaluation.player import RandomPlayer, open_named_player
from bgdata.game.codec import Boards, flip_boards
from bgdata.game.play_kernels import batch_plays
from bgdata.game.plays import legal_plays
from bgdata.game.position import START
from bgdata.kernel import threads
from bgdata.play.random_games import random_game_positions


@cache
def turns() -> tuple[Boards, NDArray[np.int8]]:
    games = random_game_positions(40, seed=17)
    return games.boards, games.rolls


@pytest.mark.parametrize("name", ["random", "pubeval"])
def test_choices_are_legal(name: str) -> None:
    chosen = flip_boards(open_named_player(name).choose_plays(*turns())).tolist()
    offsets, after_play = batch_plays(*turns())
    candidates = after_play.tolist()
    for row, board in enumerate(chosen):
        assert board in candidates[offsets[row] : offsets[row + 1]]


def test_random_choices_depend_on_seed_and_place_alone() -> None:
    expected = RandomPlayer(5).choose_plays(*turns())
    for count in (1, 2):
        with threads(count):
            assert np.array_equal(RandomPlayer(5).choose_plays(*turns()), expected)
    boards, rolls = turns()
    assert np.array_equal(RandomPlayer(5).choose_plays(boards[:300], rolls[:300]), expected[:300])
    others = RandomPlayer(6).choose_plays(*turns())
    assert 0.1 < (others == expected).all(axis=1).mean() < 0.7


def test_random_choices_do_not_depend_on_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = RandomPlayer().choose_plays(*turns())
    monkeypatch.setattr(player, "BATCH", 13)
    assert np.array_equal(RandomPlayer().choose_plays(*turns()), expected)


def test_random_choices_are_fair() -> None:
    """Every distinct play of the start position equally often, within five standard errors."""
    count = 40_000
    boards, rolls = np.tile(np.array(START.board, np.int8), (count, 1)), np.tile(np.array([3, 1], np.int8), (count, 1))
    chosen = Counter(map(tuple, RandomPlayer(1).choose_plays(boards, rolls).tolist()))
    plays = legal_plays(START, "31")
    assert set(chosen) == {play.next_position.board for play in plays}
    chance = 1 / len(plays)
    error = 5 * (count * chance * (1 - chance)) ** 0.5
    assert all(abs(found - count * chance) < error for found in chosen.values())


def test_players_name_themselves() -> None:
    assert [repr(open_named_player(name)) for name in ("random", "pubeval")] == ["RandomPlayer(0)", "PubEval()"]


def test_no_decisions() -> None:
    boards, rolls = turns()
    for name in ("random", "pubeval"):
        assert open_named_player(name).choose_plays(boards[:0], rolls[:0]).shape == (0, 26)


def test_players_by_name() -> None:
    for name, version in (("random", "1"), ("pubeval", "2")):
        opened = open_named_player(name)
        assert (opened.label, opened.version) == (name, version)
    with pytest.raises(UnknownPlayerError, match=r"expected a player among random, pubeval, .*, got nobody"):
        open_named_player("nobody")
    for name in ("random", "pubeval"):
        with pytest.raises(UnknownPlayerError, match=f"expected --ply 0 for {name}, which does not look ahead, got 1"):
            open_named_player(name, 1)


def test_each_position_has_a_roll() -> None:
    boards = np.array([START.board] * 2, np.int8)
    for rolls in ([[3, 1]], [[3, 1], [2, 1], [6, 5]], [[3, 1], [9, 9]]):
        with pytest.raises(InvalidRollError):
            RandomPlayer(1).choose_plays(boards, np.array(rolls, np.int8))
