"""Judging games, against a reference and exact tables: values, sums of luck, losses and drift, and cube answers."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import pairwise

import numpy as np
import pytest

import bgdata
from bgdata.bearoff.kinds.bearoff_two_sided import TwoSidedParameters
from bgdata.equity.cube import CubeRules
from bgdata.evaluation.bearoff import map_tables
from bgdata.evaluation.cube_tables import MoneyBearoff
from bgdata.evaluation.lookahead import FILTERS, evaluate_ahead
from bgdata.evaluation.lookahead_player import LookaheadPlayer
from bgdata.evaluation.networks.player import NetworkPlayer
from bgdata.evaluation.roll_values import roll_place
from bgdata.game.codec import Boards, flip_boards
from bgdata.game.dice import ROLLS, Roll
from bgdata.game.match import Cube, CubeOwner, MatchScore, Money, Stakes
from bgdata.game.play_kernels import batch_plays
from bgdata.game.position import START, Position
from bgdata.matches.acts import Act, ActKind, JudgedAct, RecordedGame, totals_of
from bgdata.matches.judging import Analyst, judge_game
from bgdata.store.table import Table
from tests.equity.samples import published_met
from tests.evaluation.sample_evaluators import NearlyWon
from tests.evaluation.sample_networks import pips_networks, pips_player
from tests.matches.recorded import MONEY, analyst, bearoff_board, judge_whole_game, play_games
from tests.random_games import random_game_positions
from tests.reference.analysis import Board, worth_of_roll, worth_of_rolling
from tests.subtests import each as in_parts

MATCH = Stakes(MatchScore(5, 3))


@cache
def sample_boards() -> Boards:
    """Four positions of random games, from the opening on."""
    return random_game_positions(2, seed=3).boards[5:60:18]


def stakes_and_rules() -> list[tuple[Stakes, CubeRules]]:
    """Money and match scores, with a centered cube and one of either side, and with other rules."""
    match = CubeRules(met=published_met())
    return [
        (MONEY, CubeRules()),
        (Stakes(Money(is_jacoby=True)), CubeRules(has_beavers=True)),
        (Stakes(Money(is_jacoby=False), Cube(2, CubeOwner.OPPONENT)), CubeRules()),
        (MATCH, match),
        (Stakes(MatchScore(3, 5), Cube(2, CubeOwner.ON_ROLL)), match),
        (Stakes(MatchScore(1, 2, is_crawford=True)), match),
    ]


def evaluate(board: Board) -> list[float]:
    """The chances of a board by the small network of `analyst`."""
    chances: list[float] = pips_player().evaluate_many(np.array([board], np.int8)).chances[0].tolist()
    return chances


@in_parts(("stakes", "rules"), stakes_and_rules)
def test_values_of_rolls_match_the_reference(stakes: Stakes, rules: CubeRules) -> None:
    for board in sample_boards():
        rolls = analyst(rules=rules).rolls(board, stakes)
        assert rolls.mean() == pytest.approx(worth_of_rolling(evaluate, board.tolist(), stakes, rules), abs=1e-6)
        for index in range(0, 21, 6):  # some of the rolls, as the reference is slow
            dice = (ROLLS[index].high, ROLLS[index].low)
            expected = worth_of_roll(evaluate, board.tolist(), dice, stakes, rules)
            assert rolls.values[index] == pytest.approx(expected, abs=1e-6)


def test_double_take_equals_rolling_with_the_opponents_cube() -> None:
    doubled = Stakes(MATCH.score, Cube(2, CubeOwner.OPPONENT))
    for board in sample_boards():
        cube = analyst().cube(board, MATCH)
        expected = worth_of_rolling(evaluate, board.tolist(), doubled, CubeRules(met=published_met()))
        assert cube.double_take == pytest.approx(expected, abs=1e-6)
        assert cube.double_pass == published_met().mwc(4, 3)
        assert cube.double_worth == min(cube.double_take, cube.double_pass)


@pytest.fixture(scope="module")
def exact_table(tmp_path_factory: pytest.TempPathFactory) -> Table:
    """The exact table of up to 3 checkers on 5 points, with the cube."""
    warehouse = bgdata.open_warehouse(tmp_path_factory.mktemp("exact"))
    return warehouse.build("bearoff_two_sided", TwoSidedParameters(5, 3))


def exact_analyst(table: Table, ply: int = 0) -> Analyst:
    """An analyst for money that takes chances and cube decisions of bearoffs from a table."""
    player = NetworkPlayer(pips_networks(), map_tables(table, None, None))
    return Analyst(LookaheadPlayer(player, ply, cubes=[MoneyBearoff(table)]), CubeRules())


@pytest.mark.parametrize("cube", [Cube(), Cube(4, CubeOwner.ON_ROLL)], ids=["centered", "owned"])
def test_exact_values_are_the_means_of_values_one_roll_later(exact_table: Table, cube: Cube) -> None:
    """The exact values of rolling and of doubling are what the analyst computes from exact values one roll later."""
    by = exact_analyst(exact_table, ply=1)
    stakes = Stakes(Money(is_jacoby=False), cube)
    gains = []
    for own, other in (([1, 0, 0, 1, 1], [0, 2, 1]), ([0, 0, 2, 0, 1], [0, 0, 1, 2]), ([2], [0, 0, 1])):
        board = bearoff_board(own, other)
        expected = MoneyBearoff(exact_table).cube_equities(Position(board.tolist()), stakes)
        assert expected is not None
        values = by.cube(board, stakes)
        assert values.no_double / cube.value == pytest.approx(expected.no_double, abs=1e-5)
        assert values.double_take / cube.value == pytest.approx(expected.double_take, abs=1e-5)
        gains.append(expected.double_take - expected.no_double)
    assert max(gains) > 0, "a double gains somewhere"


def test_worth_of_a_dead_cube_is_the_winning_chance() -> None:
    """At double match point, values at 1-ply are the winning chances of a player that looks one roll further."""
    stakes = Stakes(MatchScore(1, 1))
    board = bearoff_board([0, 0, 0, 0, 2, 2], [0, 0, 0, 2, 2])
    look_ahead = evaluate_ahead(pips_player(), board[None], 1).chances[0, 0]
    assert analyst().rolls(board, stakes).mean() == pytest.approx(look_ahead, abs=1e-6)


def test_looking_ahead_evaluates_the_best_play_at_0_ply() -> None:
    board = np.array(START.board, np.int8)
    by = analyst(1)
    plays = by.plays(board)
    rolls = by.rolls(board, MONEY)
    static_rolls = analyst(0).rolls(board, MONEY)
    for index in range(21):
        rows = np.arange(plays.offsets[index], plays.offsets[index + 1])
        best_row = rows[np.argmax(rolls.static[rows])]
        assert rolls.values[index] == by.rows(board, np.array([best_row]), MONEY, 1)[0]
        assert static_rolls.values[index] == rolls.static[best_row]


def recorded_games(length: int, ply: int) -> list[RecordedGame]:
    """Games to judge; at a ply above 0, which takes long, only the shortest one."""
    games = play_games(length)
    return list(games) if ply == 0 else [min(games, key=lambda game: len(game.acts))]


@pytest.mark.parametrize(("length", "ply"), [(0, 0), (3, 0), (5, 0), (0, 1), (5, 1)])
def test_luck_losses_and_drift_sum_to_the_result(length: int, ply: int) -> None:
    by = analyst(ply, CubeRules(met=published_met() if length else None))
    kinds: set[ActKind] = set()
    for game in recorded_games(length, ply):
        judged = judge_whole_game(by, game)
        for act in judged.acts:
            kinds.add(act.act.kind)
            change = act.luck - act.play_loss - act.cube_loss + act.correction
            assert act.end - act.start == pytest.approx(change, abs=1e-12)
            assert min(act.play_loss, act.cube_loss, act.correction) >= 0
            if ply == 0:
                assert act.correction == 0
        totals = totals_of([judged])
        assert totals.result is not None
        assert totals.net_drift is not None
        assert totals.result == pytest.approx(totals.net_luck + totals.net_skill + totals.net_drift, abs=1e-12)
        assert totals.luck_adjusted == pytest.approx(totals.result - totals.net_luck)
        if game.acts[-1].kind is ActKind.PASS:
            assert judged.settlement == pytest.approx(0, abs=1e-12)
    assert {ActKind.ROLL, ActKind.DOUBLE} <= kinds or ply


def test_values_of_consecutive_games_are_continuous() -> None:
    """The value before a game of a match is the result of the previous game."""
    games = [judge_whole_game(analyst(), game) for game in play_games(5, 1)]
    assert games[0].initial == pytest.approx(0.5)
    for game, next_game in pairwise(games):
        assert game.result == pytest.approx(next_game.initial)
    assert games[-1].result in (0, 1)
    totals = totals_of(games)
    assert totals.result == pytest.approx(games[-1].result - 0.5)
    assert totals.luck_adjusted is not None
    assert abs(totals.luck_adjusted) > 1e-3


@pytest.mark.parametrize(("ply", "n_acts"), [(0, 40), (1, 20), (2, 4)])
def test_values_do_not_depend_on_batches(ply: int, n_acts: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Judgements are equal to the last bit whether acts are prepared together, some at a time, or not at all."""
    games = [replace(game, acts=game.acts[:n_acts]) for game in (*play_games(3)[:2], *play_games(0)[:2])]

    def judgements() -> list[str]:
        by = analyst(ply)
        return [repr(list(judge_game(by, game))) for game in games]

    expected = judgements()
    for batch in (1, 7):
        monkeypatch.setattr("bgdata.matches.judging.BATCH", batch)
        assert judgements() == expected
    monkeypatch.setattr(Analyst, "prepare", lambda *_arguments, **_options: None)
    monkeypatch.setattr("bgdata.matches.judging._KEPT", 2)
    assert judgements() == expected


def test_prepared_acts_are_judged_without_evaluations(monkeypatch: pytest.MonkeyPatch) -> None:
    by = analyst(2)
    game = replace(play_games(3)[0], acts=play_games(3)[0].acts[:4])
    expected = repr(list(judge_game(analyst(2), game)))
    by.prepare(game.acts, starts_game=True)
    monkeypatch.setattr(by, "prepare", lambda *_arguments, **_options: None)
    monkeypatch.setattr(by.player.evaluator, "evaluate_many", None)
    monkeypatch.setattr(by.player.evaluator, "evaluate_ahead", None)
    assert repr(list(judge_game(by, game))) == expected


def test_exact_values_have_no_drift(exact_table: Table) -> None:
    """In bearoffs that a table has solved with the cube, random plays and doubles have no drift."""
    by = exact_analyst(exact_table)
    generator = np.random.default_rng(3)
    games_with_play_losses = games_with_cube_losses = 0
    for _ in range(30):
        game = random_bearoff(generator)
        acts = list(judge_game(by, game))
        for act in acts[1:]:
            assert abs(act.drift / act.point) < 1e-5
        last = acts[-1]
        assert game.result == pytest.approx(last.end if last.act.player == 0 else -last.end, abs=1e-4)
        games_with_play_losses += any(act.play_loss > 0.01 for act in acts)
        games_with_cube_losses += any(act.cube_loss > 0.01 for act in acts)
    assert min(games_with_play_losses, games_with_cube_losses) > 3


def random_bearoff(generator: np.random.Generator) -> RecordedGame:
    """A game from up to three checkers a side, with random plays, doubles and answers."""
    board = np.zeros(26, np.int8)
    np.add.at(board, generator.integers(1, 6, 3), 1)
    np.add.at(board, 25 - generator.integers(1, 6, 3), -1)
    acts: list[Act] = []
    player = 0
    cube = Cube()
    while True:
        stakes = Stakes(Money(is_jacoby=False), cube)
        if stakes.may_double and acts and generator.random() < 0.3:
            acts.append(Act(ActKind.DOUBLE, player, player, board, stakes))
            if generator.random() < 0.3:
                acts.append(Act(ActKind.PASS, 1 - player, player, board, stakes))
                return RecordedGame(MONEY, acts, (1 - 2 * player) * cube.value)
            acts.append(Act(ActKind.TAKE, 1 - player, player, board, stakes))
            cube = cube.after_double()
            stakes = Stakes(Money(is_jacoby=False), cube)
        die, other = generator.integers(1, 7, 2).tolist()
        _, plays = batch_plays(board[None], np.array([(die, other)], np.int8))
        after = plays[generator.integers(len(plays))]
        acts.append(Act(ActKind.ROLL, player, player, board, stakes, (die, other), after))
        if not (after > 0).any():
            return RecordedGame(MONEY, acts, (1 - 2 * player) * cube.value)
        board = flip_boards(after[None])[0]
        player = 1 - player
        cube = cube.flip()


@pytest.mark.parametrize(("ply", "stakes"), [(0, MATCH), (1, MATCH), (0, MONEY)], ids=["0-ply", "1-ply", "money"])
def test_luck_averages_to_zero(ply: int, stakes: Stakes) -> None:
    by = analyst(ply, CubeRules(met=published_met() if stakes is MATCH else None))

    def luck(board: np.ndarray, player: int, roll: Roll, *, is_first: bool) -> float:
        own_stakes = stakes if player == 0 else stakes.flip()
        act = Act(ActKind.ROLL, player, player, board, own_stakes, (roll.high, roll.low), None)
        acts = [act] if is_first else [act, act]
        return list(judge_game(by, RecordedGame(stakes, acts, None)))[-1].luck

    board = play_games(5)[0].acts[12].board
    assert sum(roll.weight * luck(board, 0, roll, is_first=False) for roll in ROLLS) / 36 == pytest.approx(0, abs=1e-12)
    start = np.array(START.board, np.int8)
    first_rolls = [roll for roll in ROLLS if roll.high != roll.low]
    luck_of_player_0 = sum(luck(start, 0, roll, is_first=True) for roll in first_rolls)
    luck_of_player_1 = sum(luck(start, 1, roll, is_first=True) for roll in first_rolls)
    assert luck_of_player_0 - luck_of_player_1 == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("ply", [0, 1])
def test_best_play_loses_nothing(ply: int) -> None:
    by = analyst(ply)
    rolls = [act for act in play_games(5)[0].acts if act.kind is ActKind.ROLL]
    n_errors = 0
    for act in rolls[4:9]:  # in the middle game, where plays differ
        (judged,) = judge_game(by, RecordedGame(MATCH, [act], None))
        assert judged.roll is not None
        values = [candidate.worth for candidate in judged.roll.candidates]
        assert values == sorted(values, reverse=True)
        assert judged.roll.best - judged.roll.after == judged.play_loss
        n_errors += judged.play_loss > 0
        best = replace(act, after_play=judged.roll.candidates[0].after_play)
        (judged_best,) = judge_game(by, RecordedGame(MATCH, [best], None))
        assert judged_best.play_loss == 0
        assert judged_best.luck == judged.luck
    assert n_errors > 0


def test_plays_before_a_cash_are_ordered_by_cubeless_equity() -> None:
    """Plays before a cash of the opponent, which have the same value at 0-ply, are in order of cubeless equity."""
    by = Analyst(LookaheadPlayer(NearlyWon(), 1), CubeRules())
    board = np.array(START.board, np.int8)
    dice = (6, 1)
    index = roll_place(*dice)
    plays = by.plays(board)
    rolls = by.rolls(board, MONEY)
    rows = np.arange(plays.offsets[index], plays.offsets[index + 1])
    assert set(rolls.static[rows].tolist()) == {-1.0}
    opponent_wins = plays.chances[rows, 0]
    best_rows = rows[np.argsort(opponent_wins, kind="stable")[: FILTERS[0].keep]]
    assert rolls.values[index] == by.rows(board, best_rows[:1], MONEY, 1)[0]
    worst_row = rows[np.argmax(opponent_wins)]
    act = Act(ActKind.ROLL, 0, 0, board, MONEY, dice, plays.after[worst_row])
    (judged, *_) = judge_game(by, RecordedGame(MONEY, [act], None))
    assert judged.roll is not None
    candidates = {candidate.after_play.tobytes() for candidate in judged.roll.candidates}
    assert candidates == {plays.after[row].tobytes() for row in (*best_rows, worst_row)}


def test_wrong_answer_loses_the_difference_to_the_right_one() -> None:
    board = bearoff_board([1, 1], [0, 0, 0, 0, 2, 3])  # the doubler bears off at once: a pass
    by = analyst()
    cube = by.cube(board, MATCH)
    double = Act(ActKind.DOUBLE, 0, 0, board, MATCH)

    def judged_answer(kind: ActKind) -> JudgedAct:
        *_, answer = judge_game(by, RecordedGame(MATCH, [double, Act(kind, 1, 0, board, MATCH)], None))
        assert answer.is_cube_decision
        assert answer.drift == pytest.approx(0, abs=1e-12)
        assert answer.best_answer is ActKind.PASS
        return answer

    assert judged_answer(ActKind.TAKE).cube_loss == pytest.approx(cube.double_take - cube.double_pass)
    assert judged_answer(ActKind.PASS).cube_loss == 0


def test_beavers_and_raccoons_double_the_values() -> None:
    """Each beaver doubles the value of the game, and a passed one costs twice the cube."""
    board = play_games(0)[0].acts[10].board
    by = analyst(rules=CubeRules(has_beavers=True))
    no_double, taken = by.cube(board, MONEY).no_double, by.cube(board, MONEY).double_take
    beaver = [Act(ActKind.DOUBLE, 0, 0, board, MONEY), Act(ActKind.BEAVER, 1, 0, board, MONEY)]
    raccoon = [*beaver, Act(ActKind.BEAVER, 0, 0, board, MONEY), Act(ActKind.TAKE, 1, 0, board, MONEY)]
    judged = list(judge_game(by, RecordedGame(MONEY, raccoon, None)))
    assert [act.end for act in judged[1:]] == pytest.approx([-2 * taken, 4 * taken, -4 * taken])
    double = min(taken, 2 * taken, 1)
    assert judged[0].cube_loss == pytest.approx(max(no_double, double) - double)
    passed_beaver = [*beaver, Act(ActKind.PASS, 0, 0, board, MONEY)]
    *_, passed = judge_game(by, RecordedGame(MONEY, passed_beaver, -2))
    assert passed.end == -2


@pytest.mark.parametrize(
    "stakes",
    [
        Stakes(MatchScore(1, 3, is_crawford=True)),
        Stakes(MatchScore(5, 3), Cube(2, CubeOwner.OPPONENT)),
        Stakes(MatchScore(2, 3), Cube(2, CubeOwner.ON_ROLL)),
        Stakes(MatchScore(1, 3)),
    ],
    ids=["Crawford", "opponent's cube", "cube wins the match", "1-away"],
)
def test_rolls_without_a_useful_double_have_no_cube_decision(stakes: Stakes) -> None:
    board = play_games(5)[0].acts[12].board
    roll = Act(ActKind.ROLL, 0, 0, board, stakes, (3, 1), None)
    first, second = judge_game(analyst(), RecordedGame(Stakes(stakes.score), [roll, roll], None))
    assert first.cube is None
    assert second.cube is None
    assert second.cube_loss == 0
    assert not second.is_cube_decision


def test_missed_double_after_the_crawford_game_is_an_error() -> None:
    """The trailer should double at once, but cannot before the first roll."""
    stakes = Stakes(MatchScore(3, 1))
    roll = Act(ActKind.ROLL, 0, 0, np.array(START.board, np.int8), stakes, (3, 1), None)
    first, second = judge_game(analyst(), RecordedGame(stakes, [roll, roll], None))
    assert first.cube is None
    assert second.cube is not None
    assert second.cube_loss > 0
    assert second.is_cube_decision
