"""Judging games, against a reference and exact tables: values, sums of luck, losses and drift, and cube answers."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import pairwise, product

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
from bgdata.game.dice import ROLLS
from bgdata.game.match import Cube, CubeOwner, MatchScore, Money, Stakes
from bgdata.game.play_kernels import batch_plays
from bgdata.game.position import START, Position
from bgdata.matches.acts import Act, ActKind, RecordedGame, totals_of
from bgdata.matches.judging import Analyst, judge_game
from tests.equity.samples import published_met
from tests.evaluation.sample_evaluators import NearlyWon
from tests.evaluation.sample_networks import pips_networks, pips_player
from tests.matches.recorded import MONEY, analyst, bearoff_board, judge_whole_game, play_games
from tests.random_games import random_game_positions
from tests.reference.analysis import Board, worth_of_roll, worth_of_rolling
from tests.subtests import each as in_parts

SCORE = Stakes(MatchScore(5, 3))


@cache
def some_boards() -> Boards:
    return random_game_positions(2, seed=3).boards[5:60:18]


def cubes() -> list[tuple[Stakes, CubeRules]]:
    match = CubeRules(met=published_met())
    return [
        (MONEY, CubeRules()),
        (Stakes(Money(is_jacoby=True)), CubeRules(has_beavers=True)),
        (Stakes(Money(is_jacoby=False), Cube(2, CubeOwner.OPPONENT)), CubeRules()),
        (SCORE, match),
        (Stakes(MatchScore(3, 5), Cube(2, CubeOwner.ON_ROLL)), match),
        (Stakes(MatchScore(1, 2, is_crawford=True)), match),
    ]


def evaluate(board: Board) -> list[float]:
    chances: list[float] = pips_player().evaluate_many(np.array([board], np.int8)).chances[0].tolist()
    return chances


@in_parts(("stakes", "rules"), cubes)
def test_values_of_rolls_match_the_reference(stakes: Stakes, rules: CubeRules) -> None:
    by = analyst(rules=rules)
    for board in some_boards():
        found = by.rolls(board, stakes)
        assert found.mean() == pytest.approx(worth_of_rolling(evaluate, board.tolist(), stakes, rules), abs=1e-6)
        for roll, worth in zip(ROLLS[::6], found.values[::6], strict=True):
            expected = worth_of_roll(evaluate, board.tolist(), (roll.high, roll.low), stakes, rules)
            assert worth == pytest.approx(expected, abs=1e-6)


def test_double_take_equals_rolling_with_the_opponents_cube() -> None:
    for board in some_boards():
        cube = analyst().cube(board, SCORE)
        doubled = Stakes(SCORE.score, Cube(2, CubeOwner.OPPONENT))
        expected = worth_of_rolling(evaluate, board.tolist(), doubled, CubeRules(met=published_met()))
        assert cube.double_take == pytest.approx(expected, abs=1e-6)
        assert cube.double_pass == published_met().mwc(4, 3)
        assert cube.double_worth == min(cube.double_take, cube.double_pass)


def test_exact_tables_equal_their_mean_over_rolls(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The exact values of rolling and of doubling equal the means over rolls of exact values one roll later, with a
    centered and an owned cube."""
    table = bgdata.open_warehouse(tmp_path_factory.mktemp("exact")).build("bearoff_two_sided", TwoSidedParameters(5, 3))
    player = NetworkPlayer(pips_networks(), map_tables(table, None, None))
    exact = MoneyBearoff(table)
    by = Analyst(LookaheadPlayer(player, 1, cubes=[exact]), CubeRules())
    n = 0
    for own, other in (([1, 0, 0, 1, 1], [0, 2, 1]), ([0, 0, 2, 0, 1], [0, 0, 1, 2]), ([2], [0, 0, 1])):
        board = bearoff_board(own, other)
        for cube in (Cube(), Cube(4, CubeOwner.ON_ROLL)):
            stakes = Stakes(Money(is_jacoby=False), cube)
            expected = exact.cube_equities(Position(board.tolist()), stakes)
            assert expected is not None
            found = by.cube(board, stakes)
            assert found.no_double / cube.value == pytest.approx(expected.no_double, abs=1e-5)
            assert found.double_take / cube.value == pytest.approx(expected.double_take, abs=1e-5)
            n += expected.double_take > expected.no_double
    assert n > 1, "the cube makes a difference"


def test_worth_of_a_dead_cube_is_the_winning_chance() -> None:
    """At double match point, values at 1-ply are the winning chances of a player that looks one roll further."""
    stakes = Stakes(MatchScore(1, 1))
    board = bearoff_board([0, 0, 0, 0, 2, 2], [0, 0, 0, 2, 2])
    look_ahead = evaluate_ahead(pips_player(), board[None], 1).chances[0, 0]
    assert analyst().rolls(board, stakes).mean() == pytest.approx(look_ahead, abs=1e-6)


def test_looking_ahead_evaluates_the_best_play_at_0_ply() -> None:
    by, static = analyst(1), analyst()
    board = np.array(START.board, np.int8)
    plays = by.plays(board)
    found = by.rolls(board, MONEY)
    for roll in range(21):
        rows = np.arange(*plays.offsets[roll : roll + 2])
        best = rows[[int(np.argmax(found.static[rows]))]]
        assert found.values[roll] == by.rows(board, best, MONEY, 1)[0]
        assert static.rolls(board, MONEY).values[roll] == found.static[best[0]]


MATCH = Stakes(MatchScore(5, 3))


def sample(length: int, ply: int) -> list[RecordedGame]:
    games = play_games(length)
    return list(games) if ply == 0 else [min(games, key=lambda game: len(game.acts))]


@pytest.mark.parametrize(("length", "ply"), [(0, 0), (3, 0), (5, 0), (0, 1), (5, 1)])
def test_luck_losses_and_drift_sum_to_the_result(length: int, ply: int) -> None:
    """Luck, losses and drift sum to the result, by act and by game, within rounding."""
    by = analyst(ply, CubeRules(met=published_met() if length else None))
    kinds: set[ActKind] = set()
    for game in sample(length, ply):
        found = judge_whole_game(by, game)
        for each in found.acts:
            kinds.add(each.act.kind)
            assert each.end - each.start == pytest.approx(
                each.luck - each.play_loss - each.cube_loss + each.correction, abs=1e-12
            )
            assert min(each.play_loss, each.cube_loss, each.correction) >= 0
            if ply == 0:
                assert each.correction == 0
        sums = totals_of([found])
        assert sums.result is not None
        assert sums.net_drift is not None
        assert sums.result == pytest.approx(sums.net_luck + sums.net_skill + sums.net_drift, abs=1e-12)
        assert sums.luck_adjusted == pytest.approx(sums.result - sums.net_luck)
        if game.acts[-1].kind is ActKind.PASS:
            assert found.settlement == pytest.approx(0, abs=1e-12)
    assert {ActKind.ROLL, ActKind.DOUBLE} <= kinds or ply


def test_values_of_consecutive_games_are_continuous() -> None:
    """The value before a game of a match is the result of the previous game."""
    games = [judge_whole_game(analyst(), game) for game in play_games(5, 1)]
    assert games[0].initial == pytest.approx(0.5)
    for before, after in pairwise(games):
        assert before.result == pytest.approx(after.initial)
    assert games[-1].result in (0, 1)
    sums = totals_of(games)
    assert sums.result == pytest.approx(games[-1].result - 0.5)
    assert sums.luck_adjusted is not None
    assert abs(sums.luck_adjusted) > 1e-3


@pytest.mark.parametrize("ply", [0, 1, 2])
def test_values_do_not_depend_on_batches(ply: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Judgements are equal to the last bit whether acts are prepared together, some at a time, or not at all."""
    games = [replace(game, acts=game.acts[: (40, 20, 4)[ply]]) for game in (*play_games(3)[:2], *play_games(0)[:2])]
    expected = [repr(list(judge_game(analyst(ply), game))) for game in games]
    for batch in (1, 7):
        monkeypatch.setattr("bgdata.matches.judging.BATCH", batch)
        by = analyst(ply)
        assert [repr(list(judge_game(by, game))) for game in games] == expected
    monkeypatch.setattr(Analyst, "prepare", lambda *_arguments, **_options: None)
    monkeypatch.setattr("bgdata.matches.judging._KEPT", 2)
    assert [repr(list(judge_game(analyst(ply), game))) for game in games] == expected


def test_preparing_computes_all_that_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    by = analyst(2)
    game = replace(play_games(3)[0], acts=play_games(3)[0].acts[:4])
    by.prepare(game.acts, starts_game=True)
    expected = repr(list(judge_game(analyst(2), game)))
    monkeypatch.setattr(by, "prepare", lambda *_arguments, **_options: None)
    monkeypatch.setattr(by.player.evaluator, "evaluate_many", None)  # no position is evaluated any more
    monkeypatch.setattr(by.player.evaluator, "evaluate_ahead", None)
    assert repr(list(judge_game(by, game))) == expected


def test_exact_values_have_no_drift(tmp_path_factory: pytest.TempPathFactory) -> None:
    """In bearoffs that a table has solved with the cube, random plays and doubles have no drift."""
    table = bgdata.open_warehouse(tmp_path_factory.mktemp("exact")).build("bearoff_two_sided", TwoSidedParameters(5, 3))
    player = NetworkPlayer(pips_networks(), map_tables(table, None, None))
    by = Analyst(LookaheadPlayer(player, cubes=[MoneyBearoff(table)]), CubeRules())
    generator = np.random.default_rng(3)
    play_losses = cube_losses = 0
    for _ in range(30):
        game = random_bearoff(generator)
        acts = list(judge_game(by, game))
        assert max((abs(each.drift / each.point) for each in acts[1:]), default=0) < 1e-5
        assert game.result is not None
        last = acts[-1].end if acts[-1].act.player == 0 else -acts[-1].end
        assert game.result == pytest.approx(last, abs=1e-4)
        play_losses += any(each.play_loss > 0.01 for each in acts)
        cube_losses += any(each.cube_loss > 0.01 for each in acts)
    assert min(play_losses, cube_losses) > 3


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


@pytest.mark.parametrize(("ply", "stakes"), [(0, MATCH), (1, MATCH), (0, MONEY)])
def test_luck_averages_to_zero(ply: int, stakes: Stakes) -> None:
    """The mean luck is zero over the rolls of a position, and over both players and their first rolls."""
    by = analyst(ply, CubeRules(met=published_met() if stakes is MATCH else None))
    board = play_games(5)[0].acts[12].board

    def luck(board: np.ndarray, player: int, dice: tuple[int, int], *, is_first: bool) -> float:
        given = stakes if player == 0 else stakes.flip()
        roll = Act(ActKind.ROLL, player, player, board, given, dice, None)
        acts = [roll] if is_first else [roll, roll]
        return list(judge_game(by, RecordedGame(stakes, acts, None)))[-1].luck

    mean = sum(roll.weight * luck(board, 0, (roll.high, roll.low), is_first=False) for roll in ROLLS) / 36
    assert mean == pytest.approx(0, abs=1e-12)
    start = np.array(START.board, np.int8)
    first = sum(
        (1 - 2 * player) * luck(start, player, (roll.high, roll.low), is_first=True)
        for player, roll in product((0, 1), ROLLS)
        if roll.high != roll.low
    )
    assert first == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("ply", [0, 1])
def test_best_play_loses_nothing(ply: int) -> None:
    """The best candidate loses nothing, and luck does not depend on the play."""
    by = analyst(ply)
    acts = [act for act in play_games(5)[0].acts if act.kind is ActKind.ROLL][4:9]
    lost = 0
    for act in acts:
        (found,) = judge_game(by, RecordedGame(MATCH, [act], None))
        assert found.roll is not None
        values = [each.worth for each in found.roll.candidates]
        assert values == sorted(values, reverse=True)
        assert found.roll.best - found.roll.after == found.play_loss
        lost += found.play_loss > 0
        best = replace(act, after_play=found.roll.candidates[0].after_play)
        (again,) = judge_game(by, RecordedGame(MATCH, [best], None))
        assert again.play_loss == 0
        assert again.luck == found.luck, "luck does not depend on the play"
    assert lost


def test_plays_before_a_cash_are_ordered_by_cubeless_equity() -> None:
    """Plays before a cash of the opponent, which have the same value at 0-ply, are in order of cubeless equity."""
    by = Analyst(LookaheadPlayer(NearlyWon(), 1), CubeRules())
    board = np.array(START.board, np.int8)
    dice = (6, 1)
    plays = by.plays(board)
    place = roll_place(*dice)
    rows = np.arange(plays.offsets[place], plays.offsets[place + 1])
    rolls = by.rolls(board, MONEY)
    assert set(rolls.static[rows].tolist()) == {-1.0}
    theirs = plays.chances[rows, 0]
    best = rows[np.argsort(theirs, kind="stable")[: FILTERS[0].keep]]
    assert rolls.values[place] == by.rows(board, best[:1], MONEY, 1)[0]
    made = rows[np.argmax(theirs)]
    act = Act(ActKind.ROLL, 0, 0, board, MONEY, dice, plays.after[made])
    (first, *_) = judge_game(by, RecordedGame(MONEY, [act], None))
    assert first.roll is not None
    found = {each.after_play.tobytes() for each in first.roll.candidates}
    assert found == {plays.after[row].tobytes() for row in {*best.tolist(), int(made)}}


def test_wrong_answers_lose_the_difference_to_the_right_one() -> None:
    """A wrong take or pass loses the difference to the right answer."""
    board = bearoff_board([1, 1], [0, 0, 0, 0, 2, 3])  # the doubler bears off at once
    by = analyst()
    double = Act(ActKind.DOUBLE, 0, 0, board, MATCH)
    cube = by.cube(board, MATCH)
    ends = {}
    for kind in (ActKind.TAKE, ActKind.PASS):
        found = list(judge_game(by, RecordedGame(MATCH, [double, Act(kind, 1, 0, board, MATCH)], None)))[-1]
        assert found.is_cube_decision
        assert found.drift == pytest.approx(0, abs=1e-12)
        ends[kind] = found
    better = max(1 - cube.double_take, 1 - cube.double_pass)
    assert ends[ActKind.TAKE].cube_loss == pytest.approx(better - (1 - cube.double_take))
    assert ends[ActKind.PASS].cube_loss == pytest.approx(better - (1 - cube.double_pass))
    assert {found.best_answer for found in ends.values()} == {
        ActKind.TAKE if cube.double_take < cube.double_pass else ActKind.PASS
    }


def test_beavers_and_raccoons_double_the_values() -> None:
    """Each beaver doubles the value of the game, and a passed one costs twice the cube."""
    board = play_games(0)[0].acts[10].board
    by = analyst(rules=CubeRules(has_beavers=True))
    acts = [Act(ActKind.DOUBLE, 0, 0, board, MONEY), Act(ActKind.BEAVER, 1, 0, board, MONEY)]
    raccoon = [*acts, Act(ActKind.BEAVER, 0, 0, board, MONEY), Act(ActKind.TAKE, 1, 0, board, MONEY)]
    found = list(judge_game(by, RecordedGame(MONEY, raccoon, None)))
    taken = by.cube(board, MONEY).double_take
    assert [each.end for each in found[1:]] == pytest.approx([-2 * taken, 4 * taken, -4 * taken])
    passed = [*acts, Act(ActKind.PASS, 0, 0, board, MONEY)]
    assert list(judge_game(by, RecordedGame(MONEY, passed, -2)))[-1].end == -2
    assert found[0].cube_loss == pytest.approx(
        max(by.cube(board, MONEY).no_double, min(taken, 2 * taken, 1)) - min(taken, 2 * taken, 1)
    )


def test_some_rolls_have_no_cube_decision() -> None:
    """There is no cube decision before the first roll, in the Crawford game, with the opponent's cube, and with a cube
    that already wins the match."""
    board = play_games(5)[0].acts[12].board
    stakes = [
        Stakes(MatchScore(1, 3, is_crawford=True)),
        Stakes(MatchScore(5, 3), Cube(2, CubeOwner.OPPONENT)),
        Stakes(MatchScore(2, 3), Cube(2, CubeOwner.ON_ROLL)),
        Stakes(MatchScore(1, 3)),
    ]
    for given in stakes:
        roll = Act(ActKind.ROLL, 0, 0, board, given, (3, 1), None)
        first, second = judge_game(analyst(), RecordedGame(Stakes(given.score), [roll, roll], None))
        assert first.cube is None
        assert second.cube is None
        assert second.cube_loss == 0
        assert not second.is_cube_decision
    trailing = Stakes(MatchScore(3, 1))  # post-Crawford: not doubling is an error, even behind
    roll = Act(ActKind.ROLL, 0, 0, np.array(START.board, np.int8), trailing, (3, 1), None)
    first, second = judge_game(analyst(), RecordedGame(trailing, [roll, roll], None))
    assert first.cube is None
    assert second.cube is not None
    assert second.cube_loss > 0
    assert second.is_cube_decision
