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

MONEY = Stakes(Money(is_jacoby=False))
JACOBY = Stakes(Money(is_jacoby=True))
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


def score_of(stakes: Stakes) -> Score:
    """The score as the reference writes it."""
    score = stakes.score
    if isinstance(score, MatchScore):
        return Score(score.away, score.opponent_away, score.is_crawford)
    return Score(0, 0, False)


def reference_trials(stakes: Stakes, models: tuple[Model, Model], rules: CubeRules, play_ply: int) -> Trials:
    """The slow reference. One model chooses plays and the cube, another measures luck."""
    cube_model, luck_model = models
    dead_model = match_janowski(0, mwc) if score_of(stakes).away else None

    def choose_at_1_ply(board: Board, roll: Roll, cube: int, owner: str, score: Score) -> Board:
        known_score = MatchScore(*score) if score.away else stakes.score
        known_stakes = Stakes(known_score, Cube(cube, CubeOwner(owner)))
        return board_after_best_play(tuple(board), roll, known_stakes, rules)

    return Trials(
        evaluate,
        cube_model,
        cubeful(cube_model, dead_model),
        luck_values_of(luck_model),  # type: ignore[arg-type]
        win_value,
        score_of(stakes),
        stakes == JACOBY,
        choose_at_1_ply if play_ply else None,
        exact_ending,
    )


def check_block(
    position: Position, stakes: Stakes, models: tuple[Model, Model], *, may_double: bool = True, play_ply: int = 0
) -> None:
    """Compare the mean over the second 36 trials of item 3 of seed 5 with the reference."""
    is_match = isinstance(stakes.score, MatchScore)
    rules = CubeRules(janowski(0.4), published_met() if is_match else None)
    settings = RolloutSettings(likely=0, play_ply=play_ply)
    starts = [start(position, stakes, may_double=may_double)]
    result = roll_out_with_cube(starts, network(), rules, Limits(72), 5, settings, 3)

    reference = reference_trials(stakes, models, rules, play_ply)
    owner = {CubeOwner.CENTERED: -1, CubeOwner.ON_ROLL: 0, CubeOwner.OPPONENT: 1}[stakes.cube.owner]
    item: Any = np.uint64(random_stream(5, 3))
    order = np.empty(36, np.int64)
    fill_order(np.uint64(random_stream(item, MAX_TRIALS)), order)
    values = []
    for trial in range(36, 72):
        stream = np.uint64(random_stream(item, trial))
        two_rolls = first_rolls(trial, order)

        def roll_of_turn(turn: int, stream: np.uint64 = stream, two_rolls: tuple[int, int] = two_rolls) -> int:
            return int(two_rolls[turn] if turn < 2 else roll_at(stream, turn))

        outcome, luck = reference.trial(list(position.board), (stakes.cube.value, owner, may_double), roll_of_turn)
        value = outcome - luck
        values.append((value + 1) / 2 if is_match else value / stakes.cube.value)
    assert result.blocks[0, 1] == pytest.approx(np.mean(values), abs=1e-6)
    assert result.values[0] == pytest.approx(result.blocks[0].mean())
    assert result.standard_errors[0] == pytest.approx(result.blocks[0].std(ddof=1) / math.sqrt(2))


@pytest.mark.parametrize("cube", [Cube(), Cube(2, CubeOwner.OPPONENT)], ids=["centered", "opponent's"])
@pytest.mark.parametrize("play_ply", [0, 1])
def test_money_rollouts_match_the_reference(cube: Cube, play_ply: int) -> None:
    models = slow_janowski(0.4), slow_janowski(0.7)
    check_block(ENDING, Stakes(Money(is_jacoby=False), cube), models, play_ply=play_ply)


@pytest.mark.parametrize("score", [MatchScore(3, 2), MatchScore(1, 3, is_crawford=True)], ids=str)
@pytest.mark.parametrize("play_ply", [0, 1])
def test_match_rollouts_match_the_reference(score: MatchScore, play_ply: int) -> None:
    models = match_janowski(0.4, mwc), match_janowski(0.7, mwc)
    check_block(ENDING, Stakes(score), models, play_ply=play_ply)


@pytest.mark.slow
def test_jacoby_rollouts_match_the_reference() -> None:
    """Rollouts apply the Jacoby rule: the position is worth 0.976 with it, 2.104 without it."""
    models = slow_janowski(0.4, is_jacoby=True), slow_janowski(0.7, is_jacoby=True)
    check_block(HIT_OR_GAMMON, JACOBY, models, may_double=False)


FINISHED = Position(position_id([0] * 6, [3, 3, 3, 3, 3]))  # the player not on roll has borne off its last checker


@pytest.mark.parametrize(
    ("stakes", "points"),
    [(JACOBY, 1), (MONEY, 2), (Stakes(Money(is_jacoby=True), Cube(2, CubeOwner.ON_ROLL)), 2)],
    ids=["jacoby", "money", "jacoby, turned cube"],
)
def test_gammons_and_finished_games_are_exact(stakes: Stakes, points: int) -> None:
    """Positions where any roll wins a gammon, or the game is over, have no error. A gammon does not count under the
    Jacoby rule with a centered cube."""
    starts = [start(SURE_GAMMON, stakes, may_double=False), start(FINISHED, stakes), start(FINISHED.flip(), stakes)]
    result = roll_out_with_cube(starts, network(), CubeRules(), Limits(72))
    assert result.values.tolist() == [points, -points, points]
    assert result.plain_standard_errors.tolist() == [0, 0, 0]


def test_finished_games_of_a_match_are_exact() -> None:
    score = MatchScore(2, 5)
    starts = [start(FINISHED, Stakes(score)), start(FINISHED.flip(), Stakes(score))]
    result = roll_out_with_cube(starts, network(), CubeRules(met=published_met()), Limits(72))
    assert result.values.tolist() == pytest.approx([published_met().after(score, -2), 1])


def test_covered_positions_are_exact(tmp_path_factory: pytest.TempPathFactory) -> None:
    warehouse = bgdata.open_warehouse(tmp_path_factory.mktemp("rollout") / "warehouse")
    table = warehouse.build("bearoff_two_sided", TwoSidedParameters(6, 6))
    chooser = NetworkPlayer(shipped_networks(), BearoffEvaluator(table).arrays).chooser
    race = Position(position_id([2, 1, 2], [1, 2, 1]))
    exact = MoneyBearoff(table).cube_equities(race, MONEY)
    assert exact is not None
    starts = [start(race), start(race, may_double=False), start(race, MONEY.after_take(), may_double=False)]
    result = roll_out_with_cube(starts, chooser, CubeRules(), Limits(72))
    best = max(exact.no_double, min(exact.double_take, exact.double_pass))
    assert result.values.tolist() == pytest.approx([best, exact.no_double, exact.double_take], abs=1e-9)
    assert result.standard_errors.tolist() == pytest.approx([0, 0, 0], abs=1e-12)
    assert difference(result, 2, 1) == pytest.approx((exact.double_take - exact.no_double, 0), abs=1e-9)


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
    errors = []
    for item, race in enumerate(races_of_seven_checkers(30)):
        starts = [start(race, stakes, may_double=False)]
        result = roll_out_with_cube(starts, racing_player.chooser, rules, Limits(1296), item=item)
        exact = solver.cube_equities(race, stakes, met)
        assert exact is not None
        errors.append(result.values[0] - exact.no_double)
    assert abs(np.mean(errors)) < 0.001


@pytest.mark.parametrize(("play_ply", "trials"), [(0, 216), (1, 72)])
def test_luck_changes_errors_but_not_games(play_ply: int, trials: int) -> None:
    """Without subtracting luck the same games are played, with larger errors, on any number of threads."""
    starts = [start(CONTACT, may_double=False)]
    rules = CubeRules(janowski(0.7))
    settings = RolloutSettings(play_ply=play_ply)
    adjusted = roll_out_with_cube(starts, network(), rules, Limits(trials), 1, settings)
    plain = roll_out_with_cube(starts, network(), rules, Limits(trials), 1, settings._replace(with_luck=False))
    assert adjusted.plain_standard_errors[0] == pytest.approx(plain.standard_errors[0])
    assert plain.standard_errors[0] == plain.plain_standard_errors[0]
    if play_ply == 0:
        assert abs(adjusted.values[0] - plain.values[0]) < 4 * plain.standard_errors[0]
        assert adjusted.standard_errors[0] < plain.standard_errors[0] / 2
    with threads(1):
        on_one_thread = roll_out_with_cube(starts, network(), rules, Limits(72), 1, settings)
    assert on_one_thread.blocks[0].tolist() == adjusted.blocks[0, :2].tolist()
    at_0_ply = roll_out_with_cube(starts, network(), rules, Limits(72), 1)
    assert np.array_equal(at_0_ply.blocks[0], adjusted.blocks[0, :2]) == (play_ply == 0)


def test_rounds_stop_at_the_standard_error() -> None:
    starts = [start(LONGER_ENDING, may_double=False)]
    one_round = roll_out_with_cube(starts, network(), CubeRules(), Limits(72))
    until = 0.9 * float(one_round.standard_errors[0])
    assert one_round.trials[0] == 72
    result = roll_out_with_cube(starts, network(), CubeRules(), Limits(72, until, 50 * 72))
    assert 72 < result.trials[0] <= 50 * 72
    assert result.blocks[0, :2].tolist() == one_round.blocks[0].tolist()
    assert result.standard_errors[0] <= until or result.trials[0] == 50 * 72


@pytest.mark.parametrize("name", ["w90OBBBsnQTARg", "w90OQBCszgyARg", "4HPwCwDC8+ABEg"])
def test_waiting_with_a_free_double_costs_as_little_as_in_rollouts(name: str) -> None:
    """After the Crawford game the trailer doubles at the next turn, so the default model charges little for waiting, as
    rollouts do."""
    position = parse_position_id(name)
    stakes = Stakes(MatchScore(4, 1), Cube())
    constant_index = CubeRules(janowski(), published_met())
    free_index = CubeRules(met=published_met())
    starts = [start(position, stakes, may_double=False), start(position, stakes.after_take())]
    result = roll_out_with_cube(starts, shipped_player().chooser, constant_index, Limits(72, most_trials=72))
    rolled_out_cost = float(result.values[1] - result.values[0])

    def cost_by(rules: CubeRules) -> float:
        equities = LookaheadPlayer(shipped_player()).decide_cube(position, stakes, rules).equities
        return equities.double_take - equities.no_double

    assert abs(cost_by(free_index) - rolled_out_cost) < abs(cost_by(constant_index) - rolled_out_cost) / 2


@each(
    ("settings", "message"),
    [
        (RolloutSettings("end"), "expected neither --stop nor --truncate with the cube"),
        (RolloutSettings(turns=3), "expected neither --stop nor --truncate with the cube"),
        (RolloutSettings(play_ply=2), "expected plays chosen at 0-ply or 1-ply, got 2-ply"),
    ],
)
def test_invalid_settings_are_refused(settings: RolloutSettings, message: str) -> None:
    with pytest.raises((UsageError, InvalidParameterError), match=f"^{message}"):
        roll_out_with_cube([start(ENDING)], network(), CubeRules(), Limits(72), 1, settings)


@each(
    ("score", "rules", "message"),
    lambda: [
        (MatchScore(3, 3), CubeRules(), "expected a match equity table for a match, got none at"),
        (MatchScore(3, 3), CubeRules(janowski_first(0.7), published_met()), "expected a model that knows match scores"),
        (MatchScore(3, 13), CubeRules(met=published_met()), "expected a match equity table to 13-away, got"),
        (Money(is_jacoby=False), CubeRules(has_beavers=True), "expected rollouts without beavers, got them"),
        (Money(is_jacoby=False), CubeRules(janowski(0.2, 0.9)), "expected rollouts with one cube life ind"),
        (Money(is_jacoby=False), CubeRules(jump(0.1, 0.25)), "expected rollouts with one cube life ind"),
        (Money(is_jacoby=True), CubeRules(janowski_first(0.7)), "expected a model that knows the jacoby rule"),
    ],
)
def test_invalid_rules_are_refused(score: MatchScore | Money, rules: CubeRules, message: str) -> None:
    with pytest.raises((UsageError, InvalidParameterError), match=f"^{message}"):
        roll_out_with_cube([start(ENDING, Stakes(score))], network(), rules, Limits(72))


def test_invalid_players_and_limits_are_refused() -> None:
    with pytest.raises(UsageError, match=r"^expected a player with networks to handle the cube, got one that only ch"):
        roll_out_with_cube([start(ENDING)], PubEval().chooser, CubeRules(), Limits(72))
    with pytest.raises(UsageError, match=r"^expected a multiple of 36 trials, at least 72, got 36"):
        roll_out_with_cube([start(ENDING)], network(), CubeRules(), Limits(36))
