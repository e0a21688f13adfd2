"""Luck and skill of recorded games: the fundamental equation, exact values, and luck that averages to zero."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from math import isnan

import numpy as np
import pytest

import bgdata
from bgdata.bearoff.kinds.bearoff_two_sided import TwoSidedParameters
from bgdata.errors import UsageError
from bgdata.evaluation.bearoff import map_tables
from bgdata.evaluation.chances import AnswerSource, Evaluations, cubeless_equities
from bgdata.evaluation.networks.player import NetworkPlayer
from bgdata.evaluation.player import PubEval
from bgdata.game.codec import Boards, flip_boards
from bgdata.game.dice import ORDERED_ROLLS
from bgdata.game.play_kernels import batch_plays
from bgdata.game.position import START
from bgdata.kernel import threads
from bgdata.selfplay.games import Corpus, self_play
from bgdata.selfplay.luck import RecordedGame, game_luck, luck_totals, turn_values
from bgdata.studies.kinds.published_luck import published_rows
from tests.evaluation.sample_networks import pips_networks, pips_player, random_player
from tests.formats.samples import shared_file
from tests.random_games import random_game_positions
from tests.reference.luck import values_of_turn
from tests.subtests import each


def game_of(corpus: Corpus, game: int, first: int = 0) -> RecordedGame:
    """One game of a corpus as a recorded game, from turn `first` on."""
    rows = slice(corpus.offsets[game] + first, corpus.offsets[game + 1])
    turns = np.arange(first, first + rows.stop - rows.start)
    players = ((corpus.begins[game] + turns) % 2).astype(np.int8)
    return RecordedGame(
        players, corpus.boards[rows], corpus.dice[rows], corpus.after_play[rows], float(corpus.outcomes[game])
    )


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return self_play(PubEval().chooser, 8, 4)


@each("evaluator", lambda: {"pips": pips_player(), "random": random_player(0)})
def test_luck_skill_and_drift_add_up(corpus: Corpus, evaluator: NetworkPlayer) -> None:
    """Final minus initial value equals net luck plus net skill plus net drift, up to rounding; and every term equals
    its definition."""
    for number in range(8):
        game = game_of(corpus, number)
        found = game_luck(evaluator, game)
        sums = luck_totals(game, found)
        assert sums.result - sums.initial == pytest.approx(sums.net_luck + sums.net_skill + sums.net_drift, abs=1e-12)
        assert sums.initial == found.values.before[0] == 0  # the dice decide who begins
        assert sums.luck_adjusted == pytest.approx(sums.result - sums.net_luck)
        assert sums.net_skill == pytest.approx(sums.skill[0] - sums.skill[1])
        assert max(sums.skill) <= 0
        assert found.drift[0] == 0
        assert found.drift[1:] == pytest.approx(found.values.before[1:] + found.values.after[:-1])
        assert found.settlement == pytest.approx(0, abs=1e-6)  # played to the end
        assert sums.net_skill != 0


def test_exact_values_have_no_drift(tmp_path_factory: pytest.TempPathFactory) -> None:
    """In solved bearoffs that are played at random, drift is zero and skill is what the plays lose."""
    warehouse = bgdata.open_warehouse(tmp_path_factory.mktemp("luck"))
    tables = map_tables(warehouse.build("bearoff_two_sided", TwoSidedParameters(5, 3)), None, None)
    referee = NetworkPlayer(pips_networks(), tables)
    generator = np.random.default_rng(3)
    lost = 0
    for _ in range(40):
        game = random_bearoff(generator)
        found = game_luck(referee, game)
        sums = luck_totals(game, found)
        assert sums.result - sums.initial == pytest.approx(sums.net_luck + sums.net_skill, abs=3e-5)
        assert np.abs(found.drift).max() < 3e-6
        lost += min(sums.skill) < -0.01
    assert lost > 5


def random_bearoff(generator: np.random.Generator) -> RecordedGame:
    """A game with up to three checkers a side and random plays."""
    board = np.zeros(26, np.int8)
    np.add.at(board, generator.integers(1, 6, 3), 1)
    np.add.at(board, 25 - generator.integers(1, 6, 3), -1)
    rows: list[tuple[int, np.ndarray, np.ndarray, np.ndarray]] = []
    while (board < 0).any() and (board > 0).any():
        dice = generator.integers(1, 7, 2).astype(np.int8)
        _, plays = batch_plays(board[None], dice[None])
        after = plays[generator.integers(len(plays))]
        rows.append((len(rows) % 2, board, dice, after))
        board = flip_boards(after[None])[0]
    players, boards, dice, after = map(np.array, zip(*rows, strict=True))
    return RecordedGame(players.astype(np.int8), boards, dice, after, 1.0 - 2 * rows[-1][0])


def test_luck_averages_to_zero_over_rolls(corpus: Corpus) -> None:
    """The mean luck is zero over the 36 rolls of a position, and over the 30 first rolls of a game, which also decide
    who begins."""
    board = corpus.boards[[corpus.offsets[3] + 20]]
    mean = 0.0
    for dice in ORDERED_ROLLS:
        roll = np.array([dice], np.int8)
        game = RecordedGame(np.zeros(1, np.int8), board, roll, batch_plays(board, roll)[1][:1], 1.0)
        mean += float(game_luck(pips_player(), game).luck[0]) / 36
    assert mean == pytest.approx(0, abs=1e-7)
    start = np.array([START.board], np.int8)
    net = 0.0
    for die, other in ORDERED_ROLLS:
        if die != other:
            roll = np.array([[die, other]], np.int8)
            side = np.array([die < other], np.int8)
            game = RecordedGame(side, start, roll, batch_plays(start, roll)[1][:1], 1.0)
            net += luck_totals(game, game_luck(pips_player(), game)).net_luck
    assert net == pytest.approx(0, abs=1e-7)


def first_turns(game: RecordedGame, count: int, result: float) -> RecordedGame:
    """A game that consists of the first `count` turns of another one, with this result."""
    return RecordedGame(game.players[:count], game.boards[:count], game.dice[:count], game.after_play[:count], result)


def test_unfinished_games_have_no_result(corpus: Corpus) -> None:
    """A game without an end has luck but no result; one that was passed before any roll has a result but no luck."""
    whole = game_of(corpus, 0)
    part = first_turns(whole, 5, float("nan"))
    found, expected = game_luck(pips_player(), part), game_luck(pips_player(), whole)
    assert np.array_equal(found.luck, expected.luck[:5])
    sums = luck_totals(part, found)
    assert isnan(sums.result)
    assert isnan(sums.luck_adjusted)
    assert isnan(sums.net_drift)
    assert not isnan(sums.net_luck)
    nothing = first_turns(whole, 0, 1.0)  # passed before any roll
    sums = luck_totals(nothing, game_luck(pips_player(), nothing))
    assert sums.initial == 0
    assert sums.net_luck == 0
    assert sums.net_drift == 1
    assert sums.luck_adjusted == 1


def test_game_from_another_position_begins_with_its_value(corpus: Corpus) -> None:
    game = game_of(corpus, 1, first=9)
    found = game_luck(pips_player(), game)
    sums = luck_totals(game, found)
    assert sums.initial == (1 - 2 * game.players[0]) * found.values.before[0] != 0
    assert sums.result - sums.initial == pytest.approx(sums.net_luck + sums.net_skill + sums.net_drift, abs=1e-12)


@cache
def random_turns() -> tuple[Boards, np.ndarray, Boards]:
    """Random boards with every roll, and the board after the last play of each roll."""
    games = random_game_positions(3, seed=8)
    offsets, plays = batch_plays(games.boards, games.rolls)
    return games.boards, games.rolls, plays[offsets[1:] - 1]


class OtherEvaluator:
    """An evaluator that gives the answers of `random_player(0)` outside kernels."""

    label = version = "asked"

    @property
    def accuracy(self) -> Mapping[AnswerSource, str]:
        return {}

    def evaluate_many(self, boards: Boards) -> Evaluations:
        return random_player(0).evaluate_many(boards)


def equities(boards: Sequence[Sequence[int]]) -> list[float]:
    found: list[float] = cubeless_equities(random_player(0).evaluate_many(np.array(boards, np.int8)).chances).tolist()
    return found


def test_values_match_the_reference() -> None:
    found = turn_values(random_player(0), *random_turns())
    turns = random_turns()
    rows = range(0, len(turns[0]), 17)
    assert len(rows) > 10
    for row in [*rows, len(turns[0]) - 1]:  # the last turn ends a game
        expected = values_of_turn(equities, *(array[row].tolist() for array in turns))
        assert [values[row] for values in found] == pytest.approx(expected, abs=1e-6)
    assert (found.after <= found.best).all()
    assert (found.after < found.best).sum() > 20


def test_plays_of_the_evaluator_lose_nothing() -> None:
    boards, rolls = (array[:200] for array in random_turns()[:2])
    found = turn_values(random_player(0), boards, rolls, flip_boards(random_player(0).choose_plays(boards, rolls)))
    assert np.array_equal(found.after, found.best)


def test_evaluator_outside_kernels_gives_the_same_values() -> None:
    boards, rolls, after = (array[-12:].copy() for array in random_turns())
    after[3] = boards[3]  # nothing was played
    by_kernel, asked = (turn_values(player, boards, rolls, after) for player in (random_player(0), OtherEvaluator()))
    with threads(1):
        alone = turn_values(random_player(0), boards, rolls, after)
    assert all(np.array_equal(one, other) for one, other in zip(alone, by_kernel, strict=True))
    for found, expected in zip(asked, by_kernel, strict=True):
        assert found == pytest.approx(expected, abs=1e-6)
    assert by_kernel.after[3] == by_kernel.best[3]
    assert asked.after[3] == asked.best[3]


def test_player_without_evaluations_is_refused() -> None:
    player: object = PubEval()
    message = "^expected a player that evaluates positions, got pubeval, which only chooses plays$"
    with pytest.raises(UsageError, match=message):
        turn_values(player, *random_turns())  # type: ignore[arg-type]


ROW = re.compile(r"^(?:A/E/L:|Average/Evaluation/Luck:\n)? ?(-?[\d.]+) / (-?[\d.]+) / ([^\d.]*)([\d.]+)$", re.MULTILINE)


def test_published_match_has_its_printed_luck() -> None:
    """The printed luck of 57 rolls is evaluation minus average, except for two signs; it is stored as printed."""
    text = shared_file("..", "seed", "004_3e9704b165f92b66.txt").read_text()
    found = ROW.findall(text.replace("&minus", "-").replace("−", "-"))
    assert len(found) == 57
    recomputed = [float(evaluation) - float(average) for average, evaluation, _, _ in found]
    printed = [(-1 if "-" in sign else 1) * float(luck) for _, _, sign, luck in found]
    wrong = [row for row in range(57) if abs(printed[row] - recomputed[row]) > 0.0005]
    assert [(found[row][0], found[row][1], printed[row]) for row in wrong] == [
        ("0.707", "0.634", 0.073), ("0.432", "0.386", 0.046),
    ]  # fmt: skip
    assert [printed[row] for row in wrong] == pytest.approx([-recomputed[row] for row in wrong])
    assert (sum(printed), sum(recomputed)) == pytest.approx((0.947, 0.709))
    turned = [row for row in range(57) if sum(printed) - 2 * printed[row] == pytest.approx(0.865)]  # as published
    assert [found[row][:2] for row in turned] == [("0.548", "0.589")]  # Snowie's roll of move 22, added as -.041
    stored = [(float(row["average"]), float(row["evaluation"]), float(row["printed_luck"])) for row in published_rows()]
    assert stored == list(zip(*([float(row[n]) for row in found] for n in (0, 1)), printed, strict=True))
