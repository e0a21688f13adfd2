"""Games less the luck of the dice, against a twin in plain Python, and against the results of many more games."""

from __future__ import annotations

import numpy as np
import pytest

from bgdata.errors import UsageError
from bgdata.evaluation.player import Player, RandomPlayer
from bgdata.evaluation.pubeval import PubEval
from bgdata.kernel import threads
from bgdata.play.games import play_games
from bgdata.play.luck import games as luck_games
from bgdata.play.luck.games import play_games_with_luck
from bgdata.play.series import pair_error
from tests.evaluation.sample_networks import shipped_networks, shipped_player
from tests.play.test_corpus import equities_of
from tests.play.test_games import Plain, Turned, assert_same
from tests.reference.corpus import luck
from tests.reference.games import played_turns, pubeval_chooser
from tests.reference.pubeval import CONTACT, RACE

SEED = 4


def test_luck_is_that_of_every_turn() -> None:
    """Each pair has one game that either player begins."""
    games, lucks = play_games_with_luck(Turned(), PubEval(), shipped_player().chooser, 2, SEED, first=6)
    choosers = pubeval_chooser(RACE, RACE), pubeval_chooser(CONTACT, RACE)
    equities = equities_of(shipped_networks())
    for game, found in zip((6, 7), lucks.tolist(), strict=True):
        expected = 0.0
        for turn, (board, dice) in enumerate(played_turns(choosers, SEED, game)):
            is_first_player = (game + turn) % 2 == 0
            worth = luck(equities, board, dice, is_opening=turn == 0)
            expected += worth if is_first_player else -worth
        assert found == pytest.approx(expected, abs=1e-4)
    assert_same(games, play_games(Turned(), PubEval(), 2, SEED, 6))


@pytest.mark.parametrize("players", [(PubEval(), RandomPlayer(3)), (Plain(PubEval()), Turned())])
def test_the_games_are_those_without_luck(players: tuple[Player, Player]) -> None:
    games, lucks = play_games_with_luck(*players, shipped_player().chooser, 6, SEED, 3)
    assert_same(games, play_games(*players, 6, SEED, 3))
    assert lucks.dtype == np.float64
    assert lucks.shape == (6,)
    assert (lucks != 0).all()


def test_luck_depends_on_neither_threads_nor_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    _, expected = play_games_with_luck(PubEval(), Turned(), shipped_player().chooser, 12, SEED)
    for count in (1, 2):
        with threads(count):
            assert np.array_equal(
                play_games_with_luck(PubEval(), Turned(), shipped_player().chooser, 5, SEED, 7)[1], expected[7:]
            )
    monkeypatch.setattr(luck_games, "LOCKSTEP", 5)
    assert np.array_equal(play_games_with_luck(PubEval(), Turned(), shipped_player().chooser, 12, SEED)[1], expected)


def test_dice_give_to_one_what_they_give_to_the_other() -> None:
    """PubEval against himself plays the same game twice, seen from both sides."""
    games, lucks = play_games_with_luck(PubEval(), PubEval(), shipped_player().chooser, 20, SEED)
    assert np.array_equal(lucks[::2], -lucks[1::2])
    assert pair_error(games.numbers, games.outcomes - lucks) == 0


def test_luck_adjusted_results_have_the_same_mean_and_less_noise() -> None:
    """Of players who play much as the judge does: what others do varies more than what he calls luck."""
    players = shipped_player(), PubEval()
    games, lucks = play_games_with_luck(*players, shipped_player().chooser, 120, SEED)
    adjusted = games.outcomes - lucks
    error, raw_error = (pair_error(games.numbers, points) for points in (adjusted, games.outcomes))
    assert 2 * error < raw_error
    many = play_games(*players, 2000, SEED + 1)
    expected = many.outcomes.mean(), pair_error(many.numbers, many.outcomes)
    assert abs(adjusted.mean() - expected[0]) < 4 * np.hypot(error, expected[1])
    assert abs(lucks.mean()) < 4 * pair_error(games.numbers, lucks)


def test_no_games() -> None:
    games, lucks = play_games_with_luck(PubEval(), Turned(), shipped_player().chooser, 0, SEED)
    assert [len(array) for array in (*games, lucks)] == [0] * 5


def test_wrong_estimators_and_numbers() -> None:
    for player in (PubEval(), RandomPlayer()):
        with pytest.raises(UsageError, match="expected a player with networks to estimate luck"):
            play_games_with_luck(player, player, player.chooser, 1, SEED)
    for numbers in ((-1, 0, 0), (1, -1, 0), (1, 0, -1), (2, 0, (1 << 63) - 2)):
        with pytest.raises(UsageError, match="expected numbers from 0 to"):
            play_games_with_luck(PubEval(), PubEval(), shipped_player().chooser, *numbers)
