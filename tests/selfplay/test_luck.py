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
        measured = game_luck(evaluator, game)
        totals = luck_totals(game, measured)
        change = totals.result - totals.initial
        assert change == pytest.approx(totals.net_luck + totals.net_skill + totals.net_drift, abs=1e-12)
        assert totals.initial == measured.values.before[0] == 0  # the dice decide who begins
        assert totals.luck_adjusted == pytest.approx(totals.result - totals.net_luck)
        assert totals.net_skill == pytest.approx(totals.skill[0] - totals.skill[1])
        assert totals.net_skill != 0
        assert max(totals.skill) <= 0
        assert measured.drift[0] == 0
        assert measured.drift[1:] == pytest.approx(measured.values.before[1:] + measured.values.after[:-1])
        assert measured.settlement == pytest.approx(0, abs=1e-6)  # played to the end


def test_exact_values_have_no_drift(tmp_path_factory: pytest.TempPathFactory) -> None:
    """In solved bearoffs that are played at random, drift is zero and skill is what the plays lose."""
    warehouse = bgdata.open_warehouse(tmp_path_factory.mktemp("luck"))
    tables = map_tables(warehouse.build("bearoff_two_sided", TwoSidedParameters(5, 3)), None, None)
    referee = NetworkPlayer(pips_networks(), tables)
    generator = np.random.default_rng(3)
    n_with_errors = 0
    for _ in range(40):
        game = random_bearoff(generator)
        measured = game_luck(referee, game)
        totals = luck_totals(game, measured)
        assert totals.result - totals.initial == pytest.approx(totals.net_luck + totals.net_skill, abs=3e-5)
        assert np.abs(measured.drift).max() < 3e-6
        n_with_errors += min(totals.skill) < -0.01
    assert n_with_errors > 5


def random_bearoff(generator: np.random.Generator) -> RecordedGame:
    """A game with up to three checkers a side and random plays."""
    board = np.zeros(26, np.int8)
    np.add.at(board, generator.integers(1, 6, 3), 1)
    np.add.at(board, 25 - generator.integers(1, 6, 3), -1)
    boards, rolls, after_play = [], [], []
    while (board < 0).any() and (board > 0).any():
        roll = generator.integers(1, 7, 2).astype(np.int8)
        _, plays = batch_plays(board[None], roll[None])
        boards.append(board)
        rolls.append(roll)
        after_play.append(plays[generator.integers(len(plays))])
        board = flip_boards(after_play[-1][None])[0]
    players = (np.arange(len(boards)) % 2).astype(np.int8)
    winner = int(players[-1])
    return RecordedGame(players, np.array(boards), np.array(rolls), np.array(after_play), 1.0 - 2 * winner)


def test_luck_averages_to_zero_over_first_rolls() -> None:
    """The 30 first rolls of a game also decide who begins."""
    start = np.array([START.board], np.int8)
    net_luck = 0.0
    for die, other_die in ORDERED_ROLLS:
        if die != other_die:
            roll = np.array([[die, other_die]], np.int8)
            beginner = np.array([die < other_die], np.int8)
            game = RecordedGame(beginner, start, roll, batch_plays(start, roll)[1][:1], 1.0)
            net_luck += luck_totals(game, game_luck(pips_player(), game)).net_luck
    assert net_luck == pytest.approx(0, abs=1e-7)


def first_turns(game: RecordedGame, count: int, result: float) -> RecordedGame:
    """A game that consists of the first `count` turns of another one, with this result."""
    return RecordedGame(game.players[:count], game.boards[:count], game.dice[:count], game.after_play[:count], result)


def test_unfinished_game_has_luck_but_no_result(corpus: Corpus) -> None:
    finished = game_of(corpus, 0)
    unfinished = first_turns(finished, 5, float("nan"))
    measured = game_luck(pips_player(), unfinished)
    assert np.array_equal(measured.luck, game_luck(pips_player(), finished).luck[:5])
    totals = luck_totals(unfinished, measured)
    assert isnan(totals.result)
    assert isnan(totals.luck_adjusted)
    assert isnan(totals.net_drift)
    assert not isnan(totals.net_luck)


def test_game_passed_before_any_roll_has_no_luck(corpus: Corpus) -> None:
    passed = first_turns(game_of(corpus, 0), 0, 1.0)
    totals = luck_totals(passed, game_luck(pips_player(), passed))
    assert totals.initial == 0
    assert totals.net_luck == 0
    assert totals.net_drift == 1
    assert totals.luck_adjusted == 1


def test_game_from_another_position_begins_with_its_value(corpus: Corpus) -> None:
    game = game_of(corpus, 1, first=9)
    measured = game_luck(pips_player(), game)
    totals = luck_totals(game, measured)
    value_to_player_0 = measured.values.before[0] * (1 - 2 * game.players[0])
    assert totals.initial == value_to_player_0 != 0
    change = totals.result - totals.initial
    assert change == pytest.approx(totals.net_luck + totals.net_skill + totals.net_drift, abs=1e-12)


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
    chances = random_player(0).evaluate_many(np.array(boards, np.int8)).chances
    values: list[float] = cubeless_equities(chances).tolist()
    return values


def test_values_match_the_reference() -> None:
    boards, rolls, after_play = random_turns()
    values = turn_values(random_player(0), boards, rolls, after_play)
    every_17th = range(0, len(boards), 17)
    assert len(every_17th) > 10
    for row in (*every_17th, len(boards) - 1):  # the last turn ends a game
        expected = values_of_turn(equities, boards[row].tolist(), rolls[row].tolist(), after_play[row].tolist())
        assert [column[row] for column in values] == pytest.approx(expected, abs=1e-6)
    assert (values.after <= values.best).all()
    assert (values.after < values.best).sum() > 20


def test_plays_of_the_evaluator_lose_nothing() -> None:
    boards, rolls, _ = (array[:200] for array in random_turns())
    after_play = flip_boards(random_player(0).choose_plays(boards, rolls))
    values = turn_values(random_player(0), boards, rolls, after_play)
    assert np.array_equal(values.after, values.best)


def test_evaluator_outside_kernels_gives_the_same_values() -> None:
    boards, rolls, after_play = (array[-12:].copy() for array in random_turns())
    after_play[3] = boards[3]  # nothing was played
    by_kernel = turn_values(random_player(0), boards, rolls, after_play)
    by_other = turn_values(OtherEvaluator(), boards, rolls, after_play)
    with threads(1):
        on_one_thread = turn_values(random_player(0), boards, rolls, after_play)
    for column in range(len(by_kernel)):
        assert np.array_equal(on_one_thread[column], by_kernel[column])
        assert by_other[column] == pytest.approx(by_kernel[column], abs=1e-6)
    assert by_kernel.after[3] == by_kernel.best[3]
    assert by_other.after[3] == by_other.best[3]


def test_player_without_evaluations_is_refused() -> None:
    player: object = PubEval()
    message = "^expected a player that evaluates positions, got pubeval, which only chooses plays$"
    with pytest.raises(UsageError, match=message):
        turn_values(player, *random_turns())  # type: ignore[arg-type]


PRINTED_ROW = re.compile(
    r"^(?:A/E/L:|Average/Evaluation/Luck:\n)? ?(-?[\d.]+) / (-?[\d.]+) / ([^\d.]*)([\d.]+)$", re.MULTILINE
)


def test_published_match_has_its_printed_luck() -> None:
    """The printed luck of 57 rolls is evaluation minus average, except for two signs; it is stored as printed."""
    text = shared_file("..", "seed", "004_3e9704b165f92b66.txt").read_text()
    rows = PRINTED_ROW.findall(text.replace("&minus", "-").replace("−", "-"))
    averages = [float(average) for average, _, _, _ in rows]
    evaluations = [float(evaluation) for _, evaluation, _, _ in rows]
    lucks = [-float(luck) if "-" in sign else float(luck) for _, _, sign, luck in rows]
    assert len(rows) == 57
    assert [float(row["average"]) for row in published_rows()] == averages
    assert [float(row["evaluation"]) for row in published_rows()] == evaluations
    assert [float(row["printed_luck"]) for row in published_rows()] == lucks

    differences = [evaluation - average for evaluation, average in zip(evaluations, averages, strict=True)]
    misprints = [row for row in range(57) if abs(lucks[row] - differences[row]) > 0.0005]
    assert [(averages[row], evaluations[row], lucks[row]) for row in misprints] == [
        (0.707, 0.634, 0.073),
        (0.432, 0.386, 0.046),
    ]
    for row in misprints:
        assert lucks[row] == pytest.approx(-differences[row])
    assert sum(lucks) == pytest.approx(0.947)
    assert sum(differences) == pytest.approx(0.709)
    # the published total is 0.865: Snowie's roll of move 22 was added as -.041
    wrongly_added = [row for row in range(57) if sum(lucks) - 2 * lucks[row] == pytest.approx(0.865)]
    assert [(averages[row], evaluations[row]) for row in wrongly_added] == [(0.548, 0.589)]
