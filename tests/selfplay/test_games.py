"""Whole games: against a reference, by kernel and in lockstep, in pairs with the same dice."""

from __future__ import annotations

import hashlib
import math
import random
import statistics
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from bgdata.errors import InvalidPositionError, UsageError
from bgdata.evaluation.answers import evaluations
from bgdata.evaluation.bearoff_kernels import NO_TABLES
from bgdata.evaluation.chances import cubeless_equities
from bgdata.evaluation.choices import PUBEVAL, Chooser
from bgdata.evaluation.networks.inference import Networks
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

PUBEVAL_TWIN = pubeval_chooser(CONTACT, RACE)
SEED = 31
GAMES = 40  # of the corpus with luck
PAIR_SEED = 4


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
    for field, values in one._asdict().items():
        expected = getattr(other, field)
        assert values.dtype == expected.dtype
        assert values.tobytes() == expected.tobytes(), field


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
    played = play_games(*players, count, seed=11, first=first)
    expected = [play_game(choosers, 11, game) for game in range(first, first + count)]
    assert list(zip(played.outcomes.tolist(), played.turns.tolist(), strict=True)) == expected
    assert played.numbers.tolist() == list(range(first, first + count))
    assert played.begins.tolist() == [game % 2 == 0 for game in range(first, first + count)]


@pytest.mark.parametrize("count", [1, 2])
def test_digest_does_not_depend_on_threads(count: int) -> None:
    with threads(count):
        played = play_games(PubEval(), RandomPlayer(1), 500, seed=2)
    digest = hashlib.sha256(b"".join(array.tobytes() for array in played)).hexdigest()
    assert digest == "ecf401b02709149493ff0f3e9da3a0f0616e6080328713768b343503b22bd08c"


@pytest.mark.parametrize(
    ("players", "kernel_players"),
    [
        ((RecordingPlayer(PubEvalTwin()), RecordingPlayer(PubEval())), (PubEvalTwin(), PubEval())),
        ((RecordingPlayer(PubEvalTwin()), PubEval()), (PubEvalTwin(), PubEval())),
        ((PubEvalTwin(), RecordingPlayer(PubEval())), (PubEvalTwin(), PubEval())),
        ((RandomPlayer(2), RecordingPlayer(PubEval())), (RandomPlayer(2), PubEval())),
    ],
    ids=["both outside kernels", "first", "second", "against random plays"],
)
def test_lockstep_games_equal_the_kernel(
    players: tuple[Player, Player], kernel_players: tuple[Player, Player], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(games, "LOCKSTEP", 64)  # three batches
    assert_same(play_games(*players, 150, seed=4, first=9), play_games(*kernel_players, 150, seed=4, first=9))


def test_players_get_the_boards_and_rolls_of_games() -> None:
    """A player is asked for the start position first, without doubles, then for each later turn; both games of a pair
    have the same dice."""
    player = RecordingPlayer(PubEval())
    play_games(player, PubEvalTwin(), 200, seed=8)
    boards, rolls = player.asked[0]
    assert len(boards) == 100  # the other player begins odd games
    assert {tuple(board) for board in boards.tolist()} == {START.board}
    assert rolls.tolist() == [list(dice(8, game, 0)) for game in range(0, 200, 2)]
    assert (rolls[:, 0] != rolls[:, 1]).all()
    assert player.asked[1][1].tolist() == [list(dice(8, game, 1)) for game in range(1, 200, 2)]
    assert any((rolls[:, 0] == rolls[:, 1]).any() for _, rolls in player.asked[1:])


def test_games_do_not_depend_on_batches() -> None:
    played = play_games(PubEval(), RandomPlayer(), 100, seed=3)
    later = play_games(PubEval(), RandomPlayer(), 39, seed=3, first=61)
    assert_same(later, Games(*(array[61:] for array in played)))  # type: ignore[arg-type]


def test_games_depend_on_the_seed_and_the_number() -> None:
    turns = play_games(PubEval(), RandomPlayer(), 100, seed=3).turns
    assert not np.array_equal(play_games(PubEval(), RandomPlayer(), 100, seed=5).turns, turns)
    last_numbers = play_games(RandomPlayer(), RandomPlayer(1), 4, seed=1, first=(1 << 63) - 5)
    assert len(set(last_numbers.turns.tolist())) > 1


def test_pubeval_scores_zero_against_itself() -> None:
    """PubEval wins as much as it loses in pairs of games, each of which is one game seen from both sides; who begins
    has a small advantage."""
    played = play_games(PubEval(), PubEval(), 20_000, seed=12)
    assert np.array_equal(played.outcomes[::2], -played.outcomes[1::2])
    result = result_of(played)
    assert result.points_per_game == 0
    assert result.standard_error == 0
    assert result.win_share == 0.5
    assert 60 < result.mean_turns < 67
    assert 0 < played.outcomes[::2].mean() < 0.12  # 10,000 independent games of the player who begins
    counts = np.bincount(played.outcomes + 3, minlength=7)  # of -3 to 3 points
    assert counts[3] == 0
    assert counts[0] > 50
    assert counts[6] > 50


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
    class WrongAnswers(RecordingPlayer):
        def choose_plays(self, boards: Boards, rolls: NDArray[np.int8]) -> Boards:
            return answer(super().choose_plays(boards, rolls))

    with pytest.raises(InvalidPositionError, match=message):
        play_games(PubEval(), WrongAnswers(PubEval()), 10, seed=1)


def network() -> Chooser:
    """The network that comes with bgdata, without tables."""
    return NetworkPlayer(shipped_networks(), NO_TABLES).chooser


def equities(boards: Sequence[Board]) -> list[float]:
    """Static equities of the network."""
    chances = evaluations(shipped_networks(), NO_TABLES, np.array(boards, np.int8)).chances
    return [float(equity) for equity in cubeless_equities(chances)]


@pytest.fixture(scope="module")
def corpus_with_luck() -> Corpus:
    """Games with luck of the network that comes with bgdata, without tables."""
    return self_play(network(), GAMES, SEED, with_luck=True)


@pytest.mark.parametrize(
    ("open_chooser", "reference"),
    [
        (lambda: PubEval().chooser, pubeval_chooser(CONTACT, RACE)),
        (lambda: RandomPlayer(7).chooser, random_chooser(7)),
        (network, best_chooser(equities)),
    ],
    ids=["pubeval", "random", "network"],
)
def test_corpus_matches_the_reference(open_chooser: Callable[[], Chooser], reference: PlayChooser) -> None:
    corpus = self_play(open_chooser(), 4, SEED, first=5)
    for game in range(4):
        expected = self_played(reference, SEED, 5 + game)
        turns = slice(corpus.offsets[game], corpus.offsets[game + 1])
        assert corpus.outcomes[game] == expected.outcome
        assert corpus.begins[game] == expected.begins
        assert corpus.boards[turns].tolist() == expected.boards
        assert corpus.dice[turns].tolist() == [list(roll) for roll in expected.dice]
        assert corpus.after_play[turns].tolist() == expected.after_play
    assert np.isnan(corpus.lucks).all()


def check_luck(corpus: Corpus, turns: Sequence[int]) -> None:
    """Compare the luck of some turns of a corpus, and the equities of all, with those of the reference."""
    assert corpus.equities.tolist() == equities(corpus.boards.tolist())
    for turn in turns:
        is_opening = turn in corpus.offsets
        expected = luck(equities, corpus.boards[turn].tolist(), tuple(corpus.dice[turn].tolist()), is_opening, OF_LUCK)
        assert corpus.lucks[turn] == pytest.approx(expected, abs=2e-6)


def test_luck_and_equities_match_the_reference(corpus_with_luck: Corpus) -> None:
    """The equity of every position, and the luck of some rolls, equal those of a reference in plain Python."""
    opening_turns = corpus_with_luck.offsets[:10].tolist()
    last_turns = (corpus_with_luck.offsets[1:5] - 1).tolist()
    every_60th_turn = range(12, len(corpus_with_luck.boards), 60)
    check_luck(corpus_with_luck, [*range(1, 12), *every_60th_turn, *opening_turns, *last_turns])
    assert len(np.unique(corpus_with_luck.lucks)) > 1000
    assert np.isnan(self_play(PubEval().chooser, 2, SEED).equities).all()


# games of the network that counts pips take tens of thousands of turns, so its rolls are tried in games of the other
@pytest.mark.parametrize("open_networks", [shipped_networks, pips_networks])
def test_luck_averages_to_zero_over_the_rolls(corpus_with_luck: Corpus, open_networks: Callable[[], Networks]) -> None:
    """The mean luck over all 21 rolls, by their chances, is 0; at the first turn, over the 15 rolls that are not
    doubles."""
    networks = open_networks()
    weights = np.array([roll.weight for roll in ROLLS])
    opening_weights = np.array([0 if roll.high == roll.low else roll.weight for roll in ROLLS])
    for board in corpus_with_luck.boards[::50]:
        scratch = new_roll_scratch(networks)
        fill_roll_values(networks, NO_TABLES, ALL_PLAYS, board, scratch)
        values = cubeless_equities(scratch.values).astype(np.float64)
        mean = mean_equity(scratch, False)
        assert np.average(values, weights=weights) == pytest.approx(mean, abs=1e-12)
        assert np.average(values, weights=opening_weights) == pytest.approx(mean_equity(scratch, True), abs=1e-12)
        assert scratch.mean == pytest.approx(np.average(scratch.values, axis=0, weights=weights), abs=1e-6)
        win, win_gammon, win_backgammon, lose_gammon, lose_backgammon = scratch.mean.tolist()
        equity = 2 * win - 1 + win_gammon + win_backgammon - lose_gammon - lose_backgammon
        assert equity == pytest.approx(mean, abs=1e-6)


def test_net_luck_is_from_the_view_of_player_0(corpus_with_luck: Corpus) -> None:
    begins, offsets, lucks = corpus_with_luck.begins, corpus_with_luck.offsets, corpus_with_luck.lucks
    net_luck = net_lucks(begins, offsets, lucks)
    for game in range(GAMES):
        expected = 0.0
        for turn, luck_of_roll in enumerate(lucks[offsets[game] : offsets[game + 1]].tolist()):
            is_player_0 = (int(begins[game]) + turn) % 2 == 0
            expected += luck_of_roll if is_player_0 else -luck_of_roll
        assert net_luck[game] == expected


def test_net_luck_is_unknown_where_luck_was_not_measured(corpus_with_luck: Corpus) -> None:
    unknown = np.full_like(corpus_with_luck.lucks, np.nan)
    assert np.isnan(net_lucks(corpus_with_luck.begins, corpus_with_luck.offsets, unknown)).all()
    assert net_lucks(np.zeros(0, np.int8), np.zeros(1, np.int64), np.zeros(0, np.float32)).tolist() == []


def test_corpus_does_not_depend_on_threads_and_batches(corpus_with_luck: Corpus) -> None:
    with threads(1):
        assert_same(self_play(network(), GAMES, SEED, with_luck=True), corpus_with_luck)
    later_games = self_play(network(), 5, SEED, first=7, with_luck=True)
    offsets = corpus_with_luck.offsets
    expected: list[Any] = [corpus_with_luck.outcomes[7:12], corpus_with_luck.begins[7:12], offsets[7:13] - offsets[7]]
    expected += [values[offsets[7] : offsets[12]] for values in corpus_with_luck[3:]]
    assert_same(later_games, Corpus(*expected))


def test_measuring_luck_does_not_change_the_corpus(corpus_with_luck: Corpus) -> None:
    plain = self_play(network(), GAMES, SEED)
    assert_same(plain._replace(lucks=corpus_with_luck.lucks), corpus_with_luck)


@pytest.mark.parametrize("room", [0, 60])
def test_games_longer_than_the_room_are_complete(
    corpus_with_luck: Corpus, monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    assert (np.diff(corpus_with_luck.offsets) > room).any()
    monkeypatch.setattr(games, "ROOM", room)
    assert_same(self_play(network(), GAMES, SEED, with_luck=True), corpus_with_luck)


def test_estimator_measures_luck_of_other_players() -> None:
    """An estimator does not change the games of other players, and values positions and rolls as in its own games."""
    plain = self_play(PubEval().chooser, 3, SEED)
    judged = self_play(PubEval().chooser, 3, SEED, with_luck=True, estimator=network())
    assert_same(judged._replace(equities=plain.equities, lucks=plain.lucks), plain)
    check_luck(judged, range(0, len(judged.boards), 9))


def test_net_luck_sums_all_turns() -> None:
    """The net luck of a game is the sum over its turns, for either player who begins; measuring it changes no games."""
    players = PubEvalTwin(), PubEval()
    choosers = pubeval_chooser(RACE, RACE), pubeval_chooser(CONTACT, RACE)
    played, lucks = play_games_with_luck(*players, network(), 2, PAIR_SEED, first=6)
    for row, game in enumerate((6, 7)):
        expected = 0.0
        for turn, (board, roll) in enumerate(played_turns(choosers, PAIR_SEED, game)):
            is_first_player = (game + turn) % 2 == 0
            luck_of_roll = luck(equities, board, roll, is_opening=turn == 0)
            expected += luck_of_roll if is_first_player else -luck_of_roll
        assert lucks[row] == pytest.approx(expected, abs=1e-4)
    assert lucks.dtype == np.float64
    assert_same(played, play_games(*players, 2, PAIR_SEED, 6))


@pytest.mark.parametrize(
    "players",
    [(PubEval(), RandomPlayer(3)), (RecordingPlayer(PubEval()), PubEvalTwin())],
    ids=["random plays", "outside kernels"],
)
def test_measuring_luck_does_not_change_the_games(players: tuple[Player, Player]) -> None:
    played, lucks = play_games_with_luck(*players, network(), 6, PAIR_SEED, 3)
    assert_same(played, play_games(*players, 6, PAIR_SEED, 3))
    assert lucks.shape == (6,)
    assert (lucks != 0).all()


def test_luck_does_not_depend_on_threads_and_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    _, expected = play_games_with_luck(PubEval(), PubEvalTwin(), network(), 12, PAIR_SEED)
    with threads(1):
        _, later_lucks = play_games_with_luck(PubEval(), PubEvalTwin(), network(), 5, PAIR_SEED, 7)
    assert np.array_equal(later_lucks, expected[7:])
    monkeypatch.setattr(games, "LOCKSTEP", 5)
    _, in_small_batches = play_games_with_luck(PubEval(), PubEvalTwin(), network(), 12, PAIR_SEED)
    assert np.array_equal(in_small_batches, expected)


def test_luck_of_a_pair_cancels_for_equal_players() -> None:
    """In a pair of games of PubEval against itself, which are the same game seen from both sides, luck cancels."""
    played, lucks = play_games_with_luck(PubEval(), PubEval(), network(), 20, PAIR_SEED)
    assert np.array_equal(lucks[::2], -lucks[1::2])
    assert pair_error(played.numbers, played.outcomes - lucks) == 0


def test_luck_adjustment_keeps_the_mean_and_reduces_noise() -> None:
    """Luck-adjusted results have about the same mean, within four standard errors, and less noise."""
    players = shipped_player(), PubEval()
    played, lucks = play_games_with_luck(*players, network(), 120, PAIR_SEED)
    adjusted = played.outcomes - lucks
    error = pair_error(played.numbers, adjusted)
    assert 2 * error < pair_error(played.numbers, played.outcomes)
    many = play_games(*players, 2000, PAIR_SEED + 1)
    error_of_many = pair_error(many.numbers, many.outcomes)
    assert abs(adjusted.mean() - many.outcomes.mean()) < 4 * np.hypot(error, error_of_many)
    assert abs(lucks.mean()) < 4 * pair_error(played.numbers, lucks)


@pytest.mark.parametrize(
    ("count", "seed", "first"), [(-1, 0, 0), (1, -1, 0), (1, 1 << 63, 0), (1, 0, -1), (2, 0, (1 << 63) - 2)]
)
def test_invalid_numbers_are_refused(count: int, seed: int, first: int) -> None:
    with pytest.raises(UsageError, match="expected numbers from 0 to"):
        play_games(PubEval(), PubEval(), count, seed, first)
    with pytest.raises(UsageError, match="expected numbers from 0 to"):
        self_play(PubEval().chooser, count, seed, first)
    with pytest.raises(UsageError, match="expected numbers from 0 to"):
        play_games_with_luck(PubEval(), PubEval(), network(), count, seed, first)


def test_luck_without_networks_is_refused() -> None:
    with pytest.raises(UsageError, match="expected a player with networks to estimate luck"):
        self_play(PubEval().chooser, 1, SEED, with_luck=True)
    with pytest.raises(UsageError, match="expected a player with networks to estimate luck"):
        play_games_with_luck(PubEval(), PubEval(), PubEval().chooser, 1, SEED)


def test_no_games_give_empty_results() -> None:
    assert [len(values) for values in self_play(PubEval().chooser, 0, SEED)] == [0, 0, 1, 0, 0, 0, 0, 0]
    played, lucks = play_games_with_luck(PubEval(), PubEvalTwin(), network(), 0, SEED)
    assert len(lucks) == 0
    assert [len(array) for array in played] == [0] * 4
    assert_same(play_games(PubEval(), PubEval(), 0, SEED), played)


def games_with(outcomes: list[int], first: int = 0) -> Games:
    """Games with these outcomes, from number `first` on, of 40, 41, 42, ... turns."""
    numbers = np.arange(first, first + len(outcomes))
    turns = np.arange(40, 40 + len(outcomes), dtype=np.int32)
    return Games(numbers, np.array(outcomes, np.int8), turns, numbers % 2 == 0)


def test_result_matches_eight_games_by_hand() -> None:
    result = result_of(games_with([3, -1, 1, 1, -2, 1, 1, -3]))
    points_per_game_of_pairs = [1, 1, -0.5, -1]
    assert result.games == 8
    assert result.points_per_game == 1 / 8
    assert result.win_share == 5 / 8
    assert result.mean_turns == 43.5
    assert result.standard_error == pytest.approx(statistics.stdev(points_per_game_of_pairs) / 2)
    assert str(result) == "+0.125 +/- 0.515 points per game in 8 games, 62.5 % won"


@pytest.mark.parametrize("count", [6, 100, 1002, 2000])
def test_standard_error_is_summed_in_order(count: int) -> None:
    """The standard error, which is part of the digest of a learning curve, does not depend on the order in which a
    processor adds."""
    random_points = random.Random(count)
    points = np.array([random_points.choice([-3, -2, -1, 1, 2, 3]) for _ in range(count)])
    squares = 0.0
    for deviation in (points.reshape(-1, 2).sum(axis=1) - 2 * points.mean(dtype=np.float64)).tolist():
        squares += deviation * deviation
    pairs = count // 2
    assert pair_error(np.arange(count), points) == math.sqrt(squares * pairs / (pairs - 1)) / count


def test_games_without_a_partner_are_clusters_of_one() -> None:
    """The first and last game of a series that begins and ends inside a pair count as clusters of their own."""
    result = result_of(games_with([1, 2, 1, -1, 1, 3], first=1))
    mean = 7 / 6
    deviations_of_clusters = [1 - mean, 3 - 2 * mean, 0 - 2 * mean, 3 - mean]
    squares = sum(deviation**2 for deviation in deviations_of_clusters)
    assert result.points_per_game == pytest.approx(mean)
    assert result.standard_error == pytest.approx(math.sqrt(squares * 4 / 3) / 6)


def test_short_series_have_no_standard_error() -> None:
    assert math.isnan(result_of(games_with([1, 2])).standard_error)
    with pytest.raises(UsageError, match="expected at least one game, got none"):
        result_of(games_with([]))


def test_standard_errors_equal_the_spread_of_series() -> None:
    """The spread of 500 series of 40 games equals the standard errors of the series within a tenth."""
    played = play_games(RandomPlayer(1), PubEval(), 20_000, seed=21)
    results = [result_of(Games(*(array[row : row + 40] for array in played))) for row in range(0, 20_000, 40)]  # type: ignore[arg-type]
    spread = statistics.stdev(result.points_per_game for result in results)
    stated = math.sqrt(statistics.mean(result.standard_error**2 for result in results))
    assert spread == pytest.approx(stated, rel=0.1)


def test_splits_divide_hashes_into_tenths() -> None:
    assert sum(TENTHS) == 10
    bounds = [0, *np.cumsum(TENTHS).tolist()]
    for split in range(len(SPLITS)):
        lowest = -(-(bounds[split] << 32) // 10)
        highest = -(-(bounds[split + 1] << 32) // 10) - 1
        hashes = np.array([lowest << 32, (highest << 32) + 5], np.uint64)  # the lower 32 bits do not matter
        assert splits_of_hashes(hashes).tolist() == [split, split]


def test_splits_of_games_never_change() -> None:
    """Splits of the first 60 games of seed 1: train (0), validation (1) or test (2)."""
    golden = "000000000000002121000001000000000000000010010201201010000001"
    splits = splits_of_games(1, np.arange(60)).tolist()
    assert "".join(map(str, splits)) == golden
    assert splits_of_games(1, np.arange(5, 9)).tolist() == splits[5:9]


def test_halves_are_even_and_depend_on_the_seed() -> None:
    """Half of 10,000 games, within four standard deviations, are in each split. The half of a game depends on the seed
    and its number alone."""
    validation, test = SPLITS.index("validation"), SPLITS.index("test")
    halves = halves_of_games(3, np.arange(10_000))
    assert set(halves.tolist()) == {validation, test}
    assert 4800 < (halves == validation).sum() < 5200
    assert np.array_equal(halves_of_games(3, np.arange(5000, 5100)), halves[5000:5100])
    of_another_seed = halves_of_games(4, np.arange(10_000))
    assert 4800 < (of_another_seed == halves).sum() < 5200
