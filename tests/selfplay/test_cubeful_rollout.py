"""Rollouts with the cube: against a reference, exact tables, rollouts without luck, and gnubg."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest

import bgdata
from bgdata.bearoff.kinds.bearoff_one_sided import RaceParameters
from bgdata.bearoff.kinds.bearoff_two_sided import TwoSidedParameters
from bgdata.equity.cube import CubeRules
from bgdata.equity.doubling import janowski, janowski_first, jump
from bgdata.errors import InvalidParameterError, UsageError
from bgdata.evaluation.bearoff import BearoffEvaluator
from bgdata.evaluation.cube_tables import MoneyBearoff, SolvedRaces
from bgdata.evaluation.lookahead_player import LookaheadPlayer
from bgdata.evaluation.networks.player import NetworkPlayer
from bgdata.evaluation.player import PubEval
from bgdata.game.dice import Roll
from bgdata.game.match import Cube, CubeOwner, MatchScore, Money, Stakes
from bgdata.game.position import Position, parse_position_id
from bgdata.game.random import random_stream
from bgdata.kernel import threads
from bgdata.selfplay.cubeful_rollout import CubefulStart, difference, roll_out_with_cube
from bgdata.selfplay.rollout import Limits, RolloutSettings
from bgdata.selfplay.rollout_kernels import MAX_TRIALS, fill_order, first_rolls, roll_at
from tests.command_line import position_id
from tests.equity.samples import published_met
from tests.evaluation.sample_networks import shipped_networks, shipped_player
from tests.reference.bearoff import equities
from tests.reference.cubeful_games import Board, Chances, Model, Score, cubeful, match_janowski
from tests.reference.cubeful_games import janowski as slow_janowski
from tests.reference.cubeful_rollouts import Trials
from tests.reference.match_bearoff import MatchGame
from tests.selfplay.test_cubeful_games import evaluate, mwc, network
from tests.subtests import each

MONEY, JACOBY = Stakes(Money(is_jacoby=False)), Stakes(Money(is_jacoby=True))
ENDING = Position(position_id([4, 3], [5, 2]))
LONGER_ENDING = Position(position_id([2, 2, 2, 1, 1], [2, 2, 2, 1, 1]))
CONTACT = Position("4HPwATDgc/ABMA")
HIT_OR_GAMMON = Position("3N0DAAmSAAAAAA")  # three checkers left, two of the opponent's fifteen behind them
SURE_GAMMON = Position(position_id([3, 3, 3, 3, 3], [1, 1]))


def start(position: Position, stakes: Stakes = MONEY, *, may_double: bool = True) -> CubefulStart:
    return CubefulStart(np.array(position.board, np.int8), stakes, may_double)


def luck_values_of(model: Model) -> object:
    """A function that gives the value by which luck is measured: points, or twice the match winning chance minus 1."""

    def worth(board: Board, chances: Chances, cube: int, owner: str, score: Score) -> float:
        value = cubeful(model, match_janowski(0, mwc))(board, chances, cube, owner, score)
        return 2 * value - 1 if score.away else cube * value

    return worth


def win_value(points: int, score: Score) -> float:
    """The value of winning: points, or twice the match winning chance minus 1."""
    if not score.away:
        return points
    return 2 * published_met().after(MatchScore(score.away, score.opponent_away, score.is_crawford), points) - 1


@cache
def board_after_best_play(board: tuple[int, ...], roll: Roll, stakes: Stakes, rules: CubeRules) -> Board:
    """The board after the best play at 1-ply."""
    return list(LookaheadPlayer(shipped_player(), 1).best_play(board, roll, stakes, rules).play.after_play.board)


@cache
def exact_match() -> MatchGame:
    """Exact values of bearoffs by the published match equity table."""
    return MatchGame(lambda score: Fraction(published_met().at(score)))


def exact_ending(board: Board, cube: int, owner: str, score: Score) -> float | None:
    """The value of a bearoff of up to six checkers a side, from exact arithmetic, for the player on roll, who may
    double: points, or twice the match winning chance minus 1."""
    on_roll, opponent = tuple(board[1:7]), tuple(-count for count in board[24:18:-1])
    are_home = sum(on_roll) + sum(opponent) == sum(map(abs, board))
    if not are_home or max(sum(on_roll), sum(opponent)) > 6:
        return None
    if not score.away:
        _, owned, centered, opponent_owned = equities(on_roll, opponent)
        no_double = {"centered": centered, "on_roll": owned, "opponent": opponent_owned}[owner]
        doubled = no_double if owner == "opponent" else min(2 * opponent_owned, Fraction(1))
        return cube * float(max(no_double, doubled))
    stakes = Stakes(MatchScore(*score), Cube(cube, CubeOwner(owner)))
    return 2 * float(exact_match().decided(on_roll, opponent, stakes)) - 1


def check_block(
    position: Position, stakes: Stakes, model: Model, worth: Model, *, may_double: bool = True, play_ply: int = 0
) -> None:
    """Compare the means over the second 36 trials of an item with the reference. One model chooses plays and the cube,
    another measures luck."""
    score = Score(0, 0, False)
    if isinstance(stakes.score, MatchScore):
        score = Score(stakes.score.away, stakes.score.opponent_away, stakes.score.is_crawford)
    rules = CubeRules(janowski(0.4), published_met() if score.away else None)

    def choose(board: Board, roll: Roll, cube: int, whose: str, mine: Score) -> Board:
        seen = MatchScore(*mine) if mine.away else stakes.score
        return board_after_best_play(tuple(board), roll, Stakes(seen, Cube(cube, CubeOwner(whose))), rules)

    value = cubeful(model, match_janowski(0, mwc) if score.away else None)
    is_jacoby = stakes == JACOBY
    chosen = choose if play_ply else None
    reference = Trials(evaluate, model, value, luck_values_of(worth), win_value, score, is_jacoby, chosen, exact_ending)  # type: ignore[arg-type]
    found = roll_out_with_cube(
        [start(position, stakes, may_double=may_double)],
        network(),
        rules,
        Limits(72),
        5,
        RolloutSettings(likely=0, play_ply=play_ply),
        3,
    )
    item: Any = np.uint64(random_stream(5, 3))
    order = np.empty(36, np.int64)
    values = []
    fill_order(np.uint64(random_stream(item, MAX_TRIALS)), order)
    owner = {"centered": -1, "on_roll": 0, "opponent": 1}[stakes.cube.owner.value]
    for trial in range(36, 72):
        stream = np.uint64(random_stream(item, trial))
        rolls = first_rolls(trial, order)

        def place_of(turn: int, stream: np.uint64 = stream, rolls: tuple[int, int] = rolls) -> int:
            return int(rolls[turn] if turn < 2 else roll_at(stream, turn))

        result, luck = reference.trial(list(position.board), (stakes.cube.value, owner, may_double), place_of)
        less = result - luck
        values.append(less / stakes.cube.value if not score.away else (less + 1) / 2)
    assert found.blocks[0, 1] == pytest.approx(np.mean(values), abs=1e-6)
    assert found.values[0] == pytest.approx(found.blocks[0].mean())
    assert found.standard_errors[0] == pytest.approx(found.blocks[0].std(ddof=1) / math.sqrt(2))


@pytest.mark.parametrize("play_ply", [0, 1])
def test_money_rollouts_match_the_reference(play_ply: int) -> None:
    models = slow_janowski(0.4), slow_janowski(0.7)
    check_block(ENDING, MONEY, *models, play_ply=play_ply)
    check_block(ENDING, Stakes(Money(is_jacoby=False), Cube(2, CubeOwner.OPPONENT)), *models, play_ply=play_ply)


@pytest.mark.parametrize("play_ply", [0, 1])
def test_match_rollouts_match_the_reference(play_ply: int) -> None:
    models = match_janowski(0.4, mwc), match_janowski(0.7, mwc)
    for score in (MatchScore(3, 2), MatchScore(1, 3, is_crawford=True)):
        check_block(ENDING, Stakes(score), *models, play_ply=play_ply)


@pytest.mark.slow
def test_jacoby_rollouts_match_the_reference() -> None:
    """Rollouts apply the Jacoby rule: the position is worth 0.976 with it, 2.104 without it."""
    models = (slow_janowski(index, is_jacoby=True) for index in (0.4, 0.7))
    check_block(HIT_OR_GAMMON, JACOBY, *models, may_double=False)


FINISHED = Position(position_id([0] * 6, [3, 3, 3, 3, 3]))  # the player not on roll has borne off its last checker


def test_gammons_and_finished_games_are_exact() -> None:
    """Positions where any roll wins a gammon, or the game is over, have no error. A gammon does not count under the
    Jacoby rule with a centered cube."""
    owned = Stakes(Money(is_jacoby=True), Cube(2, CubeOwner.ON_ROLL))
    for stakes, points in ((JACOBY, 1), (MONEY, 2), (owned, 2)):
        starts = [start(SURE_GAMMON, stakes, may_double=False), start(FINISHED, stakes), start(FINISHED.flip(), stakes)]
        found = roll_out_with_cube(starts, network(), CubeRules(), Limits(72))
        assert found.values.tolist() == [points, -points, points]
        assert found.plain_standard_errors.tolist() == [0, 0, 0]
    score = MatchScore(2, 5)
    starts = [start(each, Stakes(score)) for each in (FINISHED, FINISHED.flip())]
    found = roll_out_with_cube(starts, network(), CubeRules(met=published_met()), Limits(72))
    assert found.values.tolist() == pytest.approx([published_met().after(score, -2), 1])


def test_games_stop_at_exact_tables(tmp_path_factory: pytest.TempPathFactory) -> None:
    """If a table covers the start, the result is exact; if the table is reached after two rolls, it is nearly exact."""
    warehouse = bgdata.open_warehouse(tmp_path_factory.mktemp("rollout") / "warehouse")
    table = warehouse.build("bearoff_two_sided", TwoSidedParameters(6, 6))
    exact = MoneyBearoff(table)
    chooser = NetworkPlayer(shipped_networks(), BearoffEvaluator(table).arrays).chooser
    doubled = MONEY.after_take()
    race = Position(position_id([2, 1, 2], [1, 2, 1]))
    known = exact.cube_equities(race, MONEY)
    assert known is not None
    starts = [start(race), start(race, may_double=False), start(race, doubled, may_double=False)]
    found = roll_out_with_cube(starts, chooser, CubeRules(), Limits(72))
    best = max(known.no_double, min(known.double_take, known.double_pass))
    assert found.values.tolist() == pytest.approx([best, known.no_double, known.double_take], abs=1e-9)
    assert found.standard_errors.tolist() == pytest.approx([0, 0, 0], abs=1e-12)
    assert difference(found, 2, 1) == pytest.approx((known.double_take - known.no_double, 0), abs=1e-9)


def races_of_seven_checkers(count: int) -> list[Position]:
    """Random races in which each side has seven checkers at home, one too many for the solved endings."""
    generator = np.random.default_rng(5)
    sides = [np.bincount(generator.integers(0, 6, 7), minlength=6).tolist() for _ in range(2 * count)]
    return [Position(position_id(*sides[row : row + 2])) for row in range(0, 2 * count, 2)]


@pytest.fixture(scope="module")
def racing_player(tmp_path_factory: pytest.TempPathFactory) -> NetworkPlayer:
    """The shipped networks with a one-sided table, which evaluates races."""
    warehouse = bgdata.open_warehouse(tmp_path_factory.mktemp("races") / "warehouse")
    table = warehouse.build("bearoff_one_sided", RaceParameters(6))
    return NetworkPlayer(shipped_networks(), BearoffEvaluator(one_sided=table).arrays)


@pytest.mark.slow
@pytest.mark.parametrize(
    "stakes",
    [
        MONEY,
        Stakes(Money(is_jacoby=False), Cube(2, CubeOwner.ON_ROLL)),
        Stakes(MatchScore(5, 5)),
        Stakes(MatchScore(3, 5)),
        Stakes(MatchScore(2, 4), Cube(2, CubeOwner.OPPONENT)),
    ],
    ids=["money", "own-cube", "5-away-5-away", "3-away-5-away", "2-away-4-away"],
)
def test_rollouts_are_unbiased(racing_player: NetworkPlayer, stakes: Stakes) -> None:
    """Over 30 races the mean difference from exact values is below a thousandth of a point, or of mwc."""
    met, solver = published_met(), SolvedRaces(10**8)
    rules = CubeRules(met=None if isinstance(stakes.score, Money) else met)
    gaps = []
    for item, race in enumerate(races_of_seven_checkers(30)):
        result = roll_out_with_cube(
            [start(race, stakes, may_double=False)], racing_player.chooser, rules, Limits(1296), item=item
        )
        exact = solver.cube_equities(race, stakes, met)
        assert exact is not None
        gaps.append(result.values[0] - exact.no_double)
    assert abs(np.mean(gaps)) < 0.001


def test_luck_changes_errors_but_not_games() -> None:
    """Without luck the same games are played, with larger errors, at 0-ply and 1-ply, on any number of threads."""
    starts = [start(CONTACT, may_double=False)]
    rules = CubeRules(janowski(0.7))
    found = []
    for play_ply, trials in ((0, 216), (1, 72)):
        settings = RolloutSettings(play_ply=play_ply)
        less, plain = (
            roll_out_with_cube(starts, network(), rules, Limits(trials), 1, settings._replace(with_luck=each))
            for each in (True, False)
        )
        assert less.plain_standard_errors[0] == pytest.approx(plain.standard_errors[0])
        assert plain.standard_errors[0] == plain.plain_standard_errors[0]
        assert play_ply or abs(less.values[0] - plain.values[0]) < 4 * plain.standard_errors[0]
        assert play_ply or less.standard_errors[0] < plain.standard_errors[0] / 2
        for limit in (1, 2) if play_ply == 0 else (2,):
            with threads(limit):
                again = roll_out_with_cube(starts, network(), rules, Limits(72), 1, settings)
            assert again.blocks[0].tolist() == less.blocks[0, :2].tolist()
        found.append(again.blocks.tolist())
    assert found[0] != found[1]


def test_rounds_stop_at_the_standard_error() -> None:
    starts = [start(LONGER_ENDING, may_double=False)]
    once = roll_out_with_cube(starts, network(), CubeRules(), Limits(72))
    error = float(once.standard_errors[0])
    assert once.trials[0] == 72
    more = roll_out_with_cube(starts, network(), CubeRules(), Limits(72, error * 0.9, 72 * 50))
    assert 72 < more.trials[0] <= 72 * 50
    assert more.blocks[0, :2].tolist() == once.blocks[0].tolist()
    assert more.standard_errors[0] <= error * 0.9 or more.trials[0] == 72 * 50


@pytest.mark.parametrize("name", ["w90OBBBsnQTARg", "w90OQBCszgyARg", "4HPwCwDC8+ABEg"])
def test_waiting_with_a_free_double_costs_as_little_as_in_rollouts(name: str) -> None:
    """After the Crawford game the trailer doubles at the next turn, so the default model charges little for waiting, as
    rollouts do."""
    position = parse_position_id(name)
    stakes = Stakes(MatchScore(4, 1), Cube())
    player = shipped_player()
    met = published_met()
    rolled_out = roll_out_with_cube(
        [
            start(position, stakes, may_double=False),
            start(position, stakes.after_take()),
        ],
        player.chooser,
        CubeRules(janowski(), met),
        Limits(72, most_trials=72),
    )
    cost = float(rolled_out.values[1] - rolled_out.values[0])
    by_default, by_constant = (
        equities.double_take - equities.no_double
        for equities in (
            LookaheadPlayer(player).decide_cube(position, stakes, rules).equities
            for rules in (CubeRules(met=met), CubeRules(janowski(), met))
        )
    )
    assert abs(by_default - cost) < abs(by_constant - cost) / 2


def invalid_settings() -> list[tuple[Stakes, CubeRules, RolloutSettings, str]]:
    met = published_met()
    match = Stakes(MatchScore(3, 3))
    plain = RolloutSettings()
    cut_short, two = "expected neither --stop nor --truncate with the cube", "expected rollouts with one cube life ind"
    return [
        (MONEY, CubeRules(), RolloutSettings("end"), cut_short),
        (MONEY, CubeRules(), RolloutSettings(turns=3), cut_short),
        (MONEY, CubeRules(), RolloutSettings(play_ply=2), "expected plays chosen at 0-ply or 1-ply, got 2-ply"),
        (match, CubeRules(), plain, "expected a match equity table for a match, got none at"),
        (match, CubeRules(janowski_first(0.7), met), plain, "expected a model that knows match scores"),
        (MONEY, CubeRules(has_beavers=True), plain, "expected rollouts without beavers, got them"),
        (MONEY, CubeRules(janowski(0.2, 0.9)), plain, two),
        (MONEY, CubeRules(jump(0.1, 0.25)), plain, two),
        (Stakes(MatchScore(3, 13)), CubeRules(met=met), plain, "expected a match equity table to 13-away, got"),
        (JACOBY, CubeRules(janowski_first(0.7)), plain, "expected a model that knows the jacoby rule"),
    ]


@each(("stakes", "rules", "settings", "message"), invalid_settings)
def test_impossible_stakes_and_settings_are_refused(
    stakes: Stakes, rules: CubeRules, settings: RolloutSettings, message: str
) -> None:
    with pytest.raises((UsageError, InvalidParameterError), match=f"^{message}"):
        roll_out_with_cube([start(ENDING, stakes)], network(), rules, Limits(72), 1, settings)


def test_invalid_players_and_limits_are_refused() -> None:
    with pytest.raises(UsageError, match=r"^expected a player with networks to handle the cube, got one that only ch"):
        roll_out_with_cube([start(ENDING)], PubEval().chooser, CubeRules(), Limits(72))
    with pytest.raises(UsageError, match=r"^expected a multiple of 36 trials, at least 72, got 36"):
        roll_out_with_cube([start(ENDING)], network(), CubeRules(), Limits(36))
