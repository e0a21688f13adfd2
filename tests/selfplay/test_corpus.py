"""Self-play with every turn and its luck, against a twin in plain Python."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest

from bgdata.errors import UsageError
from bgdata.evaluation.answers import evaluations
from bgdata.evaluation.bearoff_kernels import NO_TABLES
from bgdata.evaluation.chances import cubeless_equities
from bgdata.evaluation.choices import Chooser
from bgdata.evaluation.networks.inference import Networks
from bgdata.evaluation.networks.player import NetworkPlayer
from bgdata.evaluation.player import Player, PubEval, RandomPlayer
from bgdata.evaluation.roll_values import (
    ALL_PLAYS,
    OF_LUCK,
    RollScratch,
    fill_roll_values,
    mean_equity,
    new_roll_scratch,
    roll_place,
)
from bgdata.game.board_kernels import position_classes
from bgdata.game.codec import flip_boards
from bgdata.game.dice import ROLLS, roll_of
from bgdata.game.position import START
from bgdata.kernel import threads
from bgdata.selfplay import corpus as corpus_module
from bgdata.selfplay.corpus import Corpus, net_lucks, play_games_with_luck, self_play
from bgdata.selfplay.games import play_games
from bgdata.selfplay.series import pair_error
from bgdata.selfplay.splits import SPLITS, TENTHS, halves_of_games, splits_of_games, splits_of_hashes
from tests.evaluation.sample_networks import pips_networks, shipped_networks, shipped_player
from tests.reference.corpus import Board, Equities, best_chooser, luck, roll_equities, self_played
from tests.reference.games import PlayChooser, played_turns, pubeval_chooser, random_chooser
from tests.reference.pubeval import CONTACT, RACE
from tests.selfplay.test_games import Plain, Turned
from tests.selfplay.test_games import assert_same as assert_same_games
from tests.together import each

SEED, GAMES = 31, 40


def chooser_of(networks: Networks) -> Chooser:
    return NetworkPlayer(networks, NO_TABLES).chooser


def equities_of(networks: Networks) -> Equities:
    """What networks say, as other tests compare it with twins of their own."""

    def equities(boards: Sequence[Board]) -> list[float]:
        found: list[float] = cubeless_equities(
            evaluations(networks, NO_TABLES, np.array(boards, np.int8)).chances
        ).tolist()
        return found

    return equities


@pytest.fixture(scope="module")
def lucky() -> Corpus:
    """Games of the network that comes with bgdata, without tables, with luck."""
    return self_play(chooser_of(shipped_networks()), GAMES, SEED, with_luck=True)


def assert_same(one: Corpus, other: Corpus) -> None:
    for field, found in one._asdict().items():
        expected = getattr(other, field)
        assert found.dtype == expected.dtype
        assert found.tobytes() == expected.tobytes(), field


def check_games(found: Corpus, choose: PlayChooser, first: int = 0) -> None:
    for row in range(len(found.outcomes)):
        expected = self_played(choose, SEED, first + row)
        turns = slice(found.offsets[row], found.offsets[row + 1])
        assert (found.outcomes[row], found.begins[row]) == (expected.outcome, expected.begins)
        assert found.boards[turns].tolist() == expected.boards
        assert list(map(tuple, found.dice[turns].tolist())) == expected.dice
        assert found.after_play[turns].tolist() == expected.after_play


@each(
    ("chooser", "choose"),
    lambda: {
        "pubeval": (PubEval().chooser, pubeval_chooser(CONTACT, RACE)),
        "random": (RandomPlayer(7).chooser, random_chooser(7)),
        "network": (chooser_of(shipped_networks()), best_chooser(equities_of(shipped_networks()))),
    },
)
def test_games_of_the_twin(chooser: Chooser, choose: PlayChooser) -> None:
    first = 5
    found = self_play(chooser, 4, SEED, first)
    check_games(found, choose, first)
    assert np.isnan(found.lucks).all()


def test_turns_follow_one_another(lucky: Corpus) -> None:
    """Every turn begins where the last one ended, and the game ends with its last turn only."""
    begins = lucky.offsets[:-1]
    goes_on = np.delete(np.arange(len(lucky.boards)), lucky.offsets[1:] - 1)
    assert np.array_equal(lucky.boards[goes_on + 1], flip_boards(lucky.after_play[goes_on]))
    assert (lucky.boards[begins] == START.board).all()
    assert (lucky.dice[begins, 0] != lucky.dice[begins, 1]).all()
    assert np.array_equal(lucky.begins, lucky.dice[begins, 0] < lucky.dice[begins, 1])
    assert position_classes(lucky.boards).min() > 0
    assert not position_classes(flip_boards(lucky.after_play[lucky.offsets[1:] - 1])).any()
    assert set(np.abs(lucky.outcomes)) >= {1, 2}


def test_both_sides_win_equally_often() -> None:
    """A record that forgot whose turn it is would say that one of them always wins, or who begins."""
    found = self_play(PubEval().chooser, 4000, SEED)
    is_won = found.outcomes > 0
    assert 0.46 < is_won.mean() < 0.54
    assert 0.46 < found.begins.mean() < 0.54
    assert 0.50 < (is_won == (found.begins == 0)).mean() < 0.58


def test_static_equities(lucky: Corpus) -> None:
    chances = evaluations(shipped_networks(), NO_TABLES, lucky.boards).chances
    assert np.array_equal(lucky.equities, cubeless_equities(chances))
    assert np.isnan(self_play(PubEval().chooser, 2, SEED).equities).all()


def test_luck_of_the_twin(lucky: Corpus) -> None:
    equities = equities_of(shipped_networks())
    firsts = lucky.offsets[:-1]
    for turn in [*range(1, 12), *range(12, len(lucky.boards), 60), *firsts[:10], *(firsts[1:5] - 1)]:
        expected = luck(
            equities, lucky.boards[turn].tolist(), tuple(lucky.dice[turn].tolist()), turn in firsts, OF_LUCK
        )
        assert lucky.lucks[turn] == pytest.approx(expected, abs=2e-6)
    assert len(np.unique(lucky.lucks)) > 1000


def roll_room(networks: Networks, board: Board) -> RollScratch:
    scratch = new_roll_scratch(networks)
    fill_roll_values(networks, NO_TABLES, ALL_PLAYS, np.array(board, np.int8), scratch)
    return scratch


def test_luck_averages_to_zero_over_the_rolls(lucky: Corpus) -> None:
    """All 21, weighted; at the first turn the 15 that are no doubles."""
    # whole games of the second network would take ten thousands of turns
    for networks, turn in product((shipped_networks(), pips_networks()), range(0, len(lucky.boards), 50)):
        scratch = roll_room(networks, lucky.boards[turn].tolist())
        values = cubeless_equities(scratch.values).astype(np.float64)
        for is_opening in (False, True):
            weights = [roll.weight * (not is_opening or roll.high != roll.low) for roll in ROLLS]
            assert abs(np.average(values - mean_equity(scratch, is_opening), weights=weights)) < 1e-12
        chances = np.average(scratch.values, axis=0, weights=[roll.weight for roll in ROLLS])
        assert scratch.mean == pytest.approx(chances, abs=1e-6)
        assert 2 * scratch.mean[0] - 1 + scratch.mean[1:3].sum() - scratch.mean[3:].sum() == pytest.approx(
            mean_equity(scratch, False), abs=1e-6
        )


def test_values_of_rolls(lucky: Corpus) -> None:
    for turn in (0, 1, 17, 40):
        board = lucky.boards[turn].tolist()
        scratch, worth = roll_room(shipped_networks(), board), roll_equities(equities_of(shipped_networks()), board, 0)
        for (die, other_die), value in worth.items():
            assert ROLLS[roll_place(die, other_die)] == roll_of(die, other_die)
            assert cubeless_equities(scratch.values)[roll_place(die, other_die)] == pytest.approx(value, abs=1e-6)
        chances = evaluations(shipped_networks(), NO_TABLES, flip_boards(scratch.best)).chances
        assert cubeless_equities(scratch.values) == pytest.approx(-cubeless_equities(chances), abs=1e-6)


def test_net_luck_is_that_of_player_0(lucky: Corpus) -> None:
    found = net_lucks(lucky.begins, lucky.offsets, lucky.lucks)
    for game in range(GAMES):
        lucks = lucky.lucks[lucky.offsets[game] : lucky.offsets[game + 1]].tolist()
        begins = int(lucky.begins[game])
        expected = sum(luck if (begins + turn) % 2 == 0 else -luck for turn, luck in enumerate(lucks))
        assert found[game] == expected
    assert np.isnan(net_lucks(lucky.begins, lucky.offsets, np.full_like(lucky.lucks, np.nan))).all()
    assert net_lucks(np.zeros(0, np.int8), np.zeros(1, np.int64), np.zeros(0, np.float32)).tolist() == []


def test_luck_adjusted_results_are_as_good_on_average_and_less_noisy() -> None:
    found = self_play(chooser_of(shipped_networks()), 200, 7, with_luck=True)
    net = net_lucks(found.begins, found.offsets, found.lucks)
    adjusted = found.outcomes - net
    assert abs(net.mean()) < 4 * net.std() / np.sqrt(len(net))
    assert abs(found.lucks.mean()) < 4 * found.lucks.std() / np.sqrt(len(found.lucks))
    assert adjusted.std() < 0.5 * found.outcomes.std()


def test_any_threads_and_batches(lucky: Corpus) -> None:
    for count in (1, 2):
        with threads(count):
            assert_same(self_play(chooser_of(shipped_networks()), GAMES, SEED, with_luck=True), lucky)
    part = self_play(chooser_of(shipped_networks()), 5, SEED, first=7, with_luck=True)
    begin, end = lucky.offsets[7], lucky.offsets[12]
    rows = [lucky.outcomes[7:12], lucky.begins[7:12], lucky.offsets[7:13] - begin]
    assert_same(part, Corpus(*rows, *(values[begin:end] for values in lucky[3:])))
    plain = self_play(chooser_of(shipped_networks()), GAMES, SEED)
    assert_same(plain._replace(lucks=lucky.lucks), lucky)


@pytest.mark.parametrize("scratch", [0, 1, 60])
def test_games_longer_than_their_pages(lucky: Corpus, monkeypatch: pytest.MonkeyPatch, scratch: int) -> None:
    assert (np.diff(lucky.offsets) > 60).any()
    monkeypatch.setattr(corpus_module, "ROOM", scratch)
    assert_same(self_play(chooser_of(shipped_networks()), GAMES, SEED, with_luck=True), lucky)


def test_no_games() -> None:
    found = self_play(PubEval().chooser, 0, SEED)
    assert [len(values) for values in found] == [0, 0, 1, 0, 0, 0, 0, 0]


def test_luck_of_others_games(lucky: Corpus) -> None:
    """A judge changes no game, and says of a position and a roll what he says of his own."""
    plain = self_play(PubEval().chooser, 3, SEED)
    judged = self_play(PubEval().chooser, 3, SEED, with_luck=True, estimator=chooser_of(shipped_networks()))
    for field in Corpus._fields[:6]:
        assert np.array_equal(getattr(judged, field), getattr(plain, field)), field
    assert np.array_equal(
        judged.equities, cubeless_equities(evaluations(shipped_networks(), NO_TABLES, judged.boards).chances)
    )
    equities = equities_of(shipped_networks())
    for turn in range(0, len(judged.boards), 9):
        is_opening = turn in judged.offsets
        expected = luck(equities, judged.boards[turn].tolist(), tuple(judged.dice[turn].tolist()), is_opening, OF_LUCK)
        assert judged.lucks[turn] == pytest.approx(expected, abs=2e-6)
    assert_same(
        self_play(
            chooser_of(shipped_networks()), GAMES, SEED, with_luck=True, estimator=chooser_of(shipped_networks())
        ),
        lucky,
    )


def test_players_without_networks_know_no_luck() -> None:
    for player in (PubEval(), RandomPlayer()):
        with pytest.raises(UsageError, match="expected a player with networks to estimate luck"):
            self_play(player.chooser, 1, SEED, with_luck=True)


WRONG_NUMBERS = ((-1, 0, 0), (1, -1, 0), (1, 0, -1), (2, 0, (1 << 63) - 2))


def test_wrong_numbers() -> None:
    for numbers in WRONG_NUMBERS:
        with pytest.raises(UsageError, match="expected numbers from 0 to"):
            self_play(PubEval().chooser, *numbers)


PAIR_SEED = 4


def test_luck_is_that_of_every_turn() -> None:
    """Each pair has one game that either player begins."""
    games, lucks = play_games_with_luck(Turned(), PubEval(), shipped_player().chooser, 2, PAIR_SEED, first=6)
    choosers = pubeval_chooser(RACE, RACE), pubeval_chooser(CONTACT, RACE)
    equities = equities_of(shipped_networks())
    for game, found in zip((6, 7), lucks.tolist(), strict=True):
        expected = 0.0
        for turn, (board, dice) in enumerate(played_turns(choosers, PAIR_SEED, game)):
            is_first_player = (game + turn) % 2 == 0
            worth = luck(equities, board, dice, is_opening=turn == 0)
            expected += worth if is_first_player else -worth
        assert found == pytest.approx(expected, abs=1e-4)
    assert_same_games(games, play_games(Turned(), PubEval(), 2, PAIR_SEED, 6))


@pytest.mark.parametrize("players", [(PubEval(), RandomPlayer(3)), (Plain(PubEval()), Turned())])
def test_the_games_are_those_without_luck(players: tuple[Player, Player]) -> None:
    games, lucks = play_games_with_luck(*players, shipped_player().chooser, 6, PAIR_SEED, 3)
    assert_same_games(games, play_games(*players, 6, PAIR_SEED, 3))
    assert lucks.dtype == np.float64
    assert lucks.shape == (6,)
    assert (lucks != 0).all()


def test_luck_depends_on_neither_threads_nor_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    _, expected = play_games_with_luck(PubEval(), Turned(), shipped_player().chooser, 12, PAIR_SEED)
    for count in (1, 2):
        with threads(count):
            assert np.array_equal(
                play_games_with_luck(PubEval(), Turned(), shipped_player().chooser, 5, PAIR_SEED, 7)[1], expected[7:]
            )
    monkeypatch.setattr(corpus_module, "LOCKSTEP", 5)
    assert np.array_equal(
        play_games_with_luck(PubEval(), Turned(), shipped_player().chooser, 12, PAIR_SEED)[1], expected
    )


def test_luck_of_a_pair_cancels_for_equal_players() -> None:
    """PubEval against himself plays the same game twice, seen from both sides."""
    games, lucks = play_games_with_luck(PubEval(), PubEval(), shipped_player().chooser, 20, PAIR_SEED)
    assert np.array_equal(lucks[::2], -lucks[1::2])
    assert pair_error(games.numbers, games.outcomes - lucks) == 0


def test_luck_adjusted_results_have_the_same_mean_and_less_noise() -> None:
    """Of players who play much as the judge does: what others do varies more than what he calls luck."""
    players = shipped_player(), PubEval()
    games, lucks = play_games_with_luck(*players, shipped_player().chooser, 120, PAIR_SEED)
    adjusted = games.outcomes - lucks
    error, raw_error = (pair_error(games.numbers, points) for points in (adjusted, games.outcomes))
    assert 2 * error < raw_error
    many = play_games(*players, 2000, PAIR_SEED + 1)
    expected = many.outcomes.mean(), pair_error(many.numbers, many.outcomes)
    assert abs(adjusted.mean() - expected[0]) < 4 * np.hypot(error, expected[1])
    assert abs(lucks.mean()) < 4 * pair_error(games.numbers, lucks)


def test_no_games_with_luck() -> None:
    games, lucks = play_games_with_luck(PubEval(), Turned(), shipped_player().chooser, 0, PAIR_SEED)
    assert [len(array) for array in (*games, lucks)] == [0] * 5


def test_wrong_estimators_and_numbers() -> None:
    for player in (PubEval(), RandomPlayer()):
        with pytest.raises(UsageError, match="expected a player with networks to estimate luck"):
            play_games_with_luck(player, player, player.chooser, 1, PAIR_SEED)
    for numbers in WRONG_NUMBERS:
        with pytest.raises(UsageError, match="expected numbers from 0 to"):
            play_games_with_luck(PubEval(), PubEval(), shipped_player().chooser, *numbers)


GOLDEN = [int(split) for split in "000000000000002121000001000000000000000010010201201010000001"]


def test_splits_of_hashes_are_tenths_of_all_numbers() -> None:
    assert sum(TENTHS) == 10
    edges = [0, *np.cumsum(TENTHS).tolist()]
    for number in range(len(SPLITS)):
        first, last = -(-(edges[number] << 32) // 10), -(-(edges[number + 1] << 32) // 10) - 1
        hashes = np.array([first << 32, (last << 32) + 5], np.uint64)
        assert splits_of_hashes(hashes).tolist() == [number, number]


def test_splits_of_games_never_change() -> None:
    assert splits_of_games(1, np.arange(60)).tolist() == GOLDEN
    assert splits_of_games(1, np.arange(5, 9)).tolist() == GOLDEN[5:9]
    counts = np.bincount(splits_of_games(1, np.arange(20_000)))
    assert np.abs(counts - np.array(TENTHS) * 2000).max() < 200


def test_halves_for_validation_and_test() -> None:
    """About as many of either, always the same, and others for another seed."""
    halves = halves_of_games(3, np.arange(10_000))
    assert set(halves.tolist()) == {SPLITS.index("validation"), SPLITS.index("test")}
    assert 4800 < (halves == 1).sum() < 5200
    assert np.array_equal(halves_of_games(3, np.arange(5000, 5100)), halves[5000:5100])
    assert 4800 < (halves_of_games(4, np.arange(10_000)) == halves).sum() < 5200
