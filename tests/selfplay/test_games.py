"""Whole games: against a reference, by kernel and in lockstep, in pairs with the same dice."""

from __future__ import annotations

import hashlib
import math
import random
import statistics
from collections.abc import Callable, Sequence
from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

from bgdata.errors import InvalidPositionError, UsageError
from bgdata.evaluation.answers import evaluations
from bgdata.evaluation.bearoff_kernels import NO_TABLES
from bgdata.evaluation.chances import cubeless_equities
from bgdata.evaluation.choices import PUBEVAL, Chooser, KernelPlayer
from bgdata.evaluation.networks.player import NetworkPlayer
from bgdata.evaluation.player import Player, PubEval, RandomPlayer
from bgdata.evaluation.pubeval import score_tables, weights
from bgdata.evaluation.roll_values import (
    ALL_PLAYS,
    OF_LUCK,
    fill_roll_values,
    mean_equity,
    new_roll_scratch,
)
from bgdata.game.codec import Boards
from bgdata.game.dice import ROLLS
from bgdata.game.position import START
from bgdata.kernel import threads
from bgdata.selfplay import games
from bgdata.selfplay.games import (
    Corpus,
    Games,
    net_lucks,
    pair_error,
    play_games,
    play_games_with_luck,
    result_of,
    self_play,
)
from bgdata.selfplay.splits import SPLITS, TENTHS, halves_of_games, splits_of_games, splits_of_hashes
from tests.evaluation.sample_networks import pips_networks, shipped_networks, shipped_player
from tests.reference.corpus import Board, best_chooser, luck, self_played
from tests.reference.games import PlayChooser, dice, play_game, played_turns, pubeval_chooser, random_chooser
from tests.reference.pubeval import CONTACT, RACE
from tests.subtests import each

PUBEVAL_TWIN = pubeval_chooser(CONTACT, RACE)
SEED, PAIR_SEED, GAMES = 31, 4, 40


class PubEvalTwin(PubEval):
    """Another sensible, deterministic player: PubEval with the weights of races for contact as well."""

    chooser = Chooser(PUBEVAL, pubeval=score_tables(weights()[[1, 1]]))


class RecordingPlayer:
    """A player outside kernels that plays as `player` and records what it is asked."""

    label = version = "plain"

    def __init__(self, player: Player) -> None:
        self.player = player
        self.asked: list[tuple[Boards, NDArray[np.int8]]] = []

    def choose_plays(self, boards: Boards, rolls: NDArray[np.int8]) -> Boards:
        self.asked.append((boards, rolls))
        return self.player.choose_plays(boards, rolls)


def assert_same(one: Games | Corpus, other: Games | Corpus) -> None:
    """Check that all arrays are equal to the last bit."""
    for field, found in one._asdict().items():
        expected = getattr(other, field)
        assert found.dtype == expected.dtype
        assert found.tobytes() == expected.tobytes(), field


@pytest.mark.parametrize(
    ("players", "choosers", "count"),
    [
        ((PubEval(), RandomPlayer(3)), (PUBEVAL_TWIN, random_chooser(3)), 10),
        ((RandomPlayer(7), PubEval()), (random_chooser(7), PUBEVAL_TWIN), 10),
        ((PubEvalTwin(), PubEval()), (pubeval_chooser(RACE, RACE), PUBEVAL_TWIN), 24),
    ],
)
def test_games_match_the_reference(
    players: tuple[Player, Player], choosers: tuple[PlayChooser, PlayChooser], count: int
) -> None:
    first = 5
    found = play_games(*players, count, seed=11, first=first)
    expected = [play_game(choosers, 11, game) for game in range(first, first + count)]
    assert list(zip(found.outcomes.tolist(), found.turns.tolist(), strict=True)) == expected
    assert found.numbers.tolist() == list(range(first, first + count))
    assert found.begins.tolist() == [game % 2 == 0 for game in range(first, first + count)]


def test_digest_does_not_depend_on_threads() -> None:
    digests = set()
    for count in (1, 2):
        with threads(count):
            found = play_games(PubEval(), RandomPlayer(1), 500, seed=2)
            digests.add(hashlib.sha256(b"".join(array.tobytes() for array in found)).hexdigest())
    assert digests == {"ecf401b02709149493ff0f3e9da3a0f0616e6080328713768b343503b22bd08c"}


@pytest.mark.parametrize("wrap", [(True, True), (True, False), (False, True)])
@pytest.mark.parametrize("players", [(PubEval(), PubEval()), (PubEvalTwin(), PubEval())])
def test_lockstep_games_equal_the_kernel(
    players: tuple[Player, Player], wrap: tuple[bool, bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(games, "LOCKSTEP", 64)
    first, second = (
        RecordingPlayer(player) if is_plain else player for player, is_plain in zip(players, wrap, strict=True)
    )
    assert_same(play_games(first, second, 150, seed=4, first=9), play_games(*players, 150, seed=4, first=9))


def test_random_choices_are_the_same_in_lockstep() -> None:
    expected = play_games(RandomPlayer(2), PubEval(), 60, seed=6)
    assert_same(play_games(RandomPlayer(2), RecordingPlayer(PubEval()), 60, seed=6), expected)


def test_players_get_the_boards_and_rolls_of_games() -> None:
    """A player is asked for the start position first, without doubles, then for each later turn; both games of a pair
    have the same dice."""
    plain = RecordingPlayer(PubEval())
    assert not isinstance(plain, KernelPlayer)
    play_games(plain, PubEvalTwin(), 200, seed=8)
    boards, rolls = plain.asked[0]
    assert len(boards) == 100  # the other player begins odd games
    assert {tuple(board) for board in boards.tolist()} == {START.board}
    assert rolls.tolist() == [list(dice(8, game, 0)) for game in range(0, 200, 2)]
    assert (rolls[:, 0] != rolls[:, 1]).all()
    assert plain.asked[1][1].tolist() == [list(dice(8, game, 1)) for game in range(1, 200, 2)]
    assert any((rolls[:, 0] == rolls[:, 1]).any() for _, rolls in plain.asked[1:])


def test_games_do_not_depend_on_batches() -> None:
    whole, later = play_games(PubEval(), RandomPlayer(), 100, seed=3), play_games(PubEval(), RandomPlayer(), 39, 3, 61)
    assert_same(later, Games(*(array[61:] for array in whole)))  # type: ignore[arg-type]
    assert not np.array_equal(play_games(PubEval(), RandomPlayer(), 100, seed=5).turns, whole.turns)
    far = play_games(RandomPlayer(), RandomPlayer(1), 4, 1, (1 << 63) - 5)
    assert len(set(far.turns.tolist())) > 1


def test_pubeval_scores_zero_against_itself() -> None:
    """PubEval wins as much as it loses in pairs of games, each of which is one game seen from both sides; who begins
    has a small advantage."""
    found = play_games(PubEval(), PubEval(), 20_000, seed=12)
    assert np.array_equal(found.outcomes[::2], -found.outcomes[1::2])
    result = result_of(found)
    assert (result.points_per_game, result.standard_error, result.win_share) == (0, 0, 0.5)
    advantage = found.outcomes[::2]  # 10,000 independent games
    assert 0 < advantage.mean() < 0.12
    counts = np.bincount(found.outcomes + 3, minlength=7)
    assert counts[3] == 0
    assert (counts[[0, 6]] > 50).all()
    assert 60 < result.mean_turns < 67


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda boards: boards[:, :25], "got int8"),
        (lambda boards: boards.astype(np.int64), "got int64"),
        (lambda boards: boards[:-1], "got int8"),
        (lambda boards: 3 * boards, "15 checkers"),
    ],
)
def test_invalid_answers_are_refused(answer: Callable[[Boards], Boards], message: str) -> None:
    class Wrong(RecordingPlayer):
        def choose_plays(self, boards: Boards, rolls: NDArray[np.int8]) -> Boards:
            return answer(super().choose_plays(boards, rolls))

    with pytest.raises(InvalidPositionError, match=message):
        play_games(PubEval(), Wrong(PubEval()), 10, seed=1)


def network() -> Chooser:
    """The network that comes with bgdata, without tables."""
    return NetworkPlayer(shipped_networks(), NO_TABLES).chooser


def equities(boards: Sequence[Board]) -> list[float]:
    """Static equities of the network."""
    found = cubeless_equities(evaluations(shipped_networks(), NO_TABLES, np.array(boards, np.int8)).chances)
    return [float(equity) for equity in found]


@pytest.fixture(scope="module")
def corpus_with_luck() -> Corpus:
    """Games with luck of the network that comes with bgdata, without tables."""
    return self_play(network(), GAMES, SEED, with_luck=True)


@each(
    ("chooser", "choose"),
    lambda: {
        "pubeval": (PubEval().chooser, pubeval_chooser(CONTACT, RACE)),
        "random": (RandomPlayer(7).chooser, random_chooser(7)),
        "network": (network(), best_chooser(equities)),
    },
)
def test_corpus_matches_the_reference(chooser: Chooser, choose: PlayChooser) -> None:
    found = self_play(chooser, 4, SEED, first=5)
    for row in range(4):
        expected = self_played(choose, SEED, 5 + row)
        turns = slice(found.offsets[row], found.offsets[row + 1])
        assert (found.outcomes[row], found.begins[row]) == (expected.outcome, expected.begins)
        assert found.boards[turns].tolist() == expected.boards
        assert list(map(tuple, found.dice[turns].tolist())) == expected.dice
        assert found.after_play[turns].tolist() == expected.after_play
    assert np.isnan(found.lucks).all()


def test_luck_and_equities_match_the_reference(corpus_with_luck: Corpus) -> None:
    """The equity of every position, and the luck of some rolls, equal those of a reference in plain Python."""
    assert corpus_with_luck.equities.tolist() == equities(corpus_with_luck.boards.tolist())
    assert np.isnan(self_play(PubEval().chooser, 2, SEED).equities).all()
    firsts = corpus_with_luck.offsets[:-1]
    for turn in [*range(1, 12), *range(12, len(corpus_with_luck.boards), 60), *firsts[:10], *(firsts[1:5] - 1)]:
        expected = luck(
            equities,
            corpus_with_luck.boards[turn].tolist(),
            tuple(corpus_with_luck.dice[turn].tolist()),
            turn in firsts,
            OF_LUCK,
        )
        assert corpus_with_luck.lucks[turn] == pytest.approx(expected, abs=2e-6)
    assert len(np.unique(corpus_with_luck.lucks)) > 1000


def test_luck_averages_to_zero_over_the_rolls(corpus_with_luck: Corpus) -> None:
    """The mean luck over all 21 rolls, by their chances, is 0; at the first turn, over the 15 rolls that are not
    doubles."""
    # games of the second network take tens of thousands of turns
    for networks, turn in product((shipped_networks(), pips_networks()), range(0, len(corpus_with_luck.boards), 50)):
        scratch = new_roll_scratch(networks)
        fill_roll_values(networks, NO_TABLES, ALL_PLAYS, corpus_with_luck.boards[turn], scratch)
        values = cubeless_equities(scratch.values).astype(np.float64)
        for is_opening in (False, True):
            weights = [roll.weight * (not is_opening or roll.high != roll.low) for roll in ROLLS]
            assert abs(np.average(values - mean_equity(scratch, is_opening), weights=weights)) < 1e-12
        chances = np.average(scratch.values, axis=0, weights=[roll.weight for roll in ROLLS])
        assert scratch.mean == pytest.approx(chances, abs=1e-6)
        assert 2 * scratch.mean[0] - 1 + scratch.mean[1:3].sum() - scratch.mean[3:].sum() == pytest.approx(
            mean_equity(scratch, False), abs=1e-6
        )


def test_net_luck_is_from_the_view_of_player_0(corpus_with_luck: Corpus) -> None:
    found = net_lucks(corpus_with_luck.begins, corpus_with_luck.offsets, corpus_with_luck.lucks)
    for game in range(GAMES):
        lucks = corpus_with_luck.lucks[corpus_with_luck.offsets[game] : corpus_with_luck.offsets[game + 1]].tolist()
        begins = int(corpus_with_luck.begins[game])
        expected = sum(luck if (begins + turn) % 2 == 0 else -luck for turn, luck in enumerate(lucks))
        assert found[game] == expected
    assert np.isnan(
        net_lucks(corpus_with_luck.begins, corpus_with_luck.offsets, np.full_like(corpus_with_luck.lucks, np.nan))
    ).all()
    assert net_lucks(np.zeros(0, np.int8), np.zeros(1, np.int64), np.zeros(0, np.float32)).tolist() == []


def test_corpus_does_not_depend_on_threads_and_batches(corpus_with_luck: Corpus) -> None:
    with threads(1):
        assert_same(self_play(network(), GAMES, SEED, with_luck=True), corpus_with_luck)
    part = self_play(network(), 5, SEED, first=7, with_luck=True)
    begin, end = corpus_with_luck.offsets[7], corpus_with_luck.offsets[12]
    rows = [corpus_with_luck.outcomes[7:12], corpus_with_luck.begins[7:12], corpus_with_luck.offsets[7:13] - begin]
    assert_same(part, Corpus(*rows, *(values[begin:end] for values in corpus_with_luck[3:])))
    plain = self_play(network(), GAMES, SEED)
    assert_same(plain._replace(lucks=corpus_with_luck.lucks), corpus_with_luck)


@pytest.mark.parametrize("scratch", [0, 1, 60])
def test_games_longer_than_the_room_are_complete(
    corpus_with_luck: Corpus, monkeypatch: pytest.MonkeyPatch, scratch: int
) -> None:
    assert (np.diff(corpus_with_luck.offsets) > 60).any()
    monkeypatch.setattr(games, "ROOM", scratch)
    assert_same(self_play(network(), GAMES, SEED, with_luck=True), corpus_with_luck)


def test_estimator_measures_luck_of_other_players(corpus_with_luck: Corpus) -> None:
    """An estimator does not change the games of other players, and values positions and rolls as in its own games."""
    plain = self_play(PubEval().chooser, 3, SEED)
    judged = self_play(PubEval().chooser, 3, SEED, with_luck=True, estimator=network())
    for field in Corpus._fields[:6]:
        assert np.array_equal(getattr(judged, field), getattr(plain, field)), field
    assert judged.equities.tolist() == equities(judged.boards.tolist())
    for turn in range(0, len(judged.boards), 9):
        is_opening = turn in judged.offsets
        expected = luck(equities, judged.boards[turn].tolist(), tuple(judged.dice[turn].tolist()), is_opening, OF_LUCK)
        assert judged.lucks[turn] == pytest.approx(expected, abs=2e-6)
    assert_same(self_play(network(), GAMES, SEED, with_luck=True, estimator=network()), corpus_with_luck)


def test_net_luck_sums_all_turns() -> None:
    """The net luck of a game is the sum over its turns, for either player who begins."""
    games, lucks = play_games_with_luck(PubEvalTwin(), PubEval(), network(), 2, PAIR_SEED, first=6)
    choosers = pubeval_chooser(RACE, RACE), pubeval_chooser(CONTACT, RACE)
    for game, found in zip((6, 7), lucks.tolist(), strict=True):
        expected = 0.0
        for turn, (board, roll) in enumerate(played_turns(choosers, PAIR_SEED, game)):
            is_first_player = (game + turn) % 2 == 0
            worth = luck(equities, board, roll, is_opening=turn == 0)
            expected += worth if is_first_player else -worth
        assert found == pytest.approx(expected, abs=1e-4)
    assert_same(games, play_games(PubEvalTwin(), PubEval(), 2, PAIR_SEED, 6))


@pytest.mark.parametrize("players", [(PubEval(), RandomPlayer(3)), (RecordingPlayer(PubEval()), PubEvalTwin())])
def test_measuring_luck_changes_no_games(players: tuple[Player, Player]) -> None:
    games, lucks = play_games_with_luck(*players, network(), 6, PAIR_SEED, 3)
    assert_same(games, play_games(*players, 6, PAIR_SEED, 3))
    assert lucks.dtype == np.float64
    assert lucks.shape == (6,)
    assert (lucks != 0).all()


def test_luck_does_not_depend_on_threads_and_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    _, expected = play_games_with_luck(PubEval(), PubEvalTwin(), network(), 12, PAIR_SEED)
    with threads(1):
        found = play_games_with_luck(PubEval(), PubEvalTwin(), network(), 5, PAIR_SEED, 7)[1]
    assert np.array_equal(found, expected[7:])
    monkeypatch.setattr(games, "LOCKSTEP", 5)
    assert np.array_equal(play_games_with_luck(PubEval(), PubEvalTwin(), network(), 12, PAIR_SEED)[1], expected)


def test_luck_of_a_pair_cancels_for_equal_players() -> None:
    """In a pair of games of PubEval against itself, which are the same game seen from both sides, luck cancels."""
    games, lucks = play_games_with_luck(PubEval(), PubEval(), network(), 20, PAIR_SEED)
    assert np.array_equal(lucks[::2], -lucks[1::2])
    assert pair_error(games.numbers, games.outcomes - lucks) == 0


def test_luck_adjustment_keeps_the_mean_and_reduces_noise() -> None:
    """Luck-adjusted results have about the same mean and less noise, if the players play much like the estimator."""
    found = self_play(network(), 200, 7, with_luck=True)
    net = net_lucks(found.begins, found.offsets, found.lucks)
    assert abs(net.mean()) < 4 * net.std() / np.sqrt(len(net))
    assert abs(found.lucks.mean()) < 4 * found.lucks.std() / np.sqrt(len(found.lucks))
    assert (found.outcomes - net).std() < 0.5 * found.outcomes.std()
    players = shipped_player(), PubEval()
    games, lucks = play_games_with_luck(*players, network(), 120, PAIR_SEED)
    adjusted = games.outcomes - lucks
    error, raw_error = (pair_error(games.numbers, points) for points in (adjusted, games.outcomes))
    assert 2 * error < raw_error
    many = play_games(*players, 2000, PAIR_SEED + 1)
    expected = many.outcomes.mean(), pair_error(many.numbers, many.outcomes)
    assert abs(adjusted.mean() - expected[0]) < 4 * np.hypot(error, expected[1])
    assert abs(lucks.mean()) < 4 * pair_error(games.numbers, lucks)


@pytest.mark.parametrize("play", [play_games, self_play, play_games_with_luck])
def test_invalid_numbers_are_refused(play: Callable[..., object]) -> None:
    estimator = network()
    player = PubEval()
    given: dict[Callable[..., object], tuple[object, ...]] = {
        play_games: (player, player), self_play: (player.chooser,), play_games_with_luck: (player, player, estimator),
    }  # fmt: skip
    for numbers in ((-1, 0, 0), (1, -1, 0), (1, 1 << 63, 0), (1, 0, -1), (2, 0, (1 << 63) - 2)):
        with pytest.raises(UsageError, match="expected numbers from 0 to"):
            play(*given[play], *numbers)


@pytest.mark.parametrize("player", [PubEval(), RandomPlayer()])
def test_luck_without_networks_is_refused(player: PubEval | RandomPlayer) -> None:
    with pytest.raises(UsageError, match="expected a player with networks to estimate luck"):
        self_play(player.chooser, 1, SEED, with_luck=True)
    with pytest.raises(UsageError, match="expected a player with networks to estimate luck"):
        play_games_with_luck(player, player, player.chooser, 1, SEED)


def test_no_games_give_empty_results() -> None:
    assert [len(values) for values in self_play(PubEval().chooser, 0, SEED)] == [0, 0, 1, 0, 0, 0, 0, 0]
    games, lucks = play_games_with_luck(PubEval(), PubEvalTwin(), network(), 0, SEED)
    for player in (PubEval(), RecordingPlayer(PubEval())):
        assert_same(play_games(player, PubEval(), 0, SEED), games)
    assert [len(array) for array in (*games, lucks)] == [0] * 5


def games_with(outcomes: list[int], first: int = 0) -> Games:
    numbers = np.arange(first, first + len(outcomes))
    turns = np.arange(40, 40 + len(outcomes), dtype=np.int32)
    return Games(numbers, np.array(outcomes, np.int8), turns, numbers % 2 == 0)


def test_result_matches_eight_games_by_hand() -> None:
    result = result_of(games_with([3, -1, 1, 1, -2, 1, 1, -3]))
    assert result.games == 8
    assert result.points_per_game == 1 / 8
    assert result.win_share == 5 / 8
    assert result.mean_turns == 43.5
    # the pairs' points per game are 1, 1, -1/2, -1
    assert result.standard_error == pytest.approx(statistics.stdev([1, 1, -0.5, -1]) / 2)
    assert str(result) == "+0.125 +/- 0.515 points per game in 8 games, 62.5 % won"


def test_standard_error_is_summed_in_order() -> None:
    """The standard error, which is part of the digest of a learning curve, does not depend on the order in which a
    processor adds."""
    chance = random.Random(4)
    for count in (6, 100, 1000, 1002, 2000):
        points = np.array([chance.choice([-3, -2, -1, 1, 2, 3]) for _ in range(count)])
        squares = 0.0
        for value in (points.reshape(-1, 2).sum(axis=1) - 2 * points.mean(dtype=np.float64)).tolist():
            squares += value * value
        pairs = count // 2
        assert pair_error(np.arange(count), points) == math.sqrt(squares * pairs / (pairs - 1)) / count


def test_pairs_are_one_observation() -> None:
    """Pairs with opposite results leave no error; pairs with equal results count as one observation each."""
    outcomes = [2, -2, 1, -1, 3, -3, 1, -1]
    assert result_of(games_with(outcomes)).standard_error == 0
    doubled = [2, 2, -1, -1, 3, 3, -1, -1]
    assert result_of(games_with(doubled)).standard_error == pytest.approx(statistics.stdev([2, -1, 3, -1]) / 2)


def test_games_without_a_partner_are_clusters_of_one() -> None:
    """The first and last game of a series that begins and ends inside a pair count as clusters of their own."""
    result = result_of(games_with([1, 2, 1, -1, 1, 3], first=1))
    mean = 7 / 6
    spread = [1 - mean, 3 - 2 * mean, 0 - 2 * mean, 3 - mean]
    assert result.points_per_game == pytest.approx(mean)
    assert result.standard_error == pytest.approx(math.sqrt(sum(x * x for x in spread) * 4 / 3) / 6)


def test_short_series_have_no_standard_error() -> None:
    assert math.isnan(result_of(games_with([1, 2])).standard_error)
    with pytest.raises(UsageError, match="expected at least one game, got none"):
        result_of(games_with([]))


def test_standard_errors_equal_the_spread_of_series() -> None:
    """The spread of many short series equals the standard errors of the series within a tenth."""
    played = play_games(RandomPlayer(1), PubEval(), 20_000, seed=21)
    parts = [result_of(Games(*(array[row : row + 40] for array in played))) for row in range(0, 20_000, 40)]  # type: ignore[arg-type]
    spread = statistics.stdev(part.points_per_game for part in parts)
    claimed = math.sqrt(statistics.mean(part.standard_error**2 for part in parts))
    assert spread == pytest.approx(claimed, rel=0.1)


# splits of the first 60 games of seed 1: train (0), validation (1) or test (2)
GOLDEN = [int(split) for split in "000000000000002121000001000000000000000010010201201010000001"]


def test_splits_divide_hashes_into_tenths() -> None:
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


def test_halves_are_even_and_depend_on_the_seed() -> None:
    """Half of 10,000 games, within four standard deviations, are in each split. The half of a game depends on the seed
    and its number alone."""
    validation, test = SPLITS.index("validation"), SPLITS.index("test")
    halves = halves_of_games(3, np.arange(10_000))
    assert set(halves.tolist()) == {validation, test}
    assert 4800 < (halves == validation).sum() < 5200
    assert np.array_equal(halves_of_games(3, np.arange(5000, 5100)), halves[5000:5100])
    assert 4800 < (halves_of_games(4, np.arange(10_000)) == halves).sum() < 5200
