"""Cube decisions of a player: exact if a table covers the position, in money play and matches, and equal to gnubg's."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import bgdata
from bgdata.bearoff.kinds import bearoff_match_compute as bearoff_match
from bgdata.bearoff.kinds.bearoff_match import MatchBearoffParameters
from bgdata.bearoff.kinds.bearoff_two_sided import TwoSidedParameters
from bgdata.bearoff.tables import TwoSidedTable
from bgdata.equity.cube import CubeRules, Method, decide_cube
from bgdata.equity.doubling import NOT_ALLOWED, Action, CubeEquities, janowski, money_equities
from bgdata.equity.match_cube import MatchGame, match_equities
from bgdata.equity.match_equity import MatchEquity, find_met
from bgdata.errors import InvalidParameterError
from bgdata.evaluation.cube_tables import MatchBearoff, MoneyBearoff, SolvedRaces
from bgdata.game.board_kernels import position_classes
from bgdata.game.classes import PositionClass
from bgdata.game.dice import ROLLS
from bgdata.game.match import Cube, CubeOwner, MatchScore, Money, Stakes
from bgdata.game.position import START, Position
from bgdata.store.table import Table
from bgdata.warehouse import Warehouse
from tests.command_line import position_id
from tests.equity.samples import published_met
from tests.evaluation.network_versions import random_networks, write_network
from tests.oracles import ask_gnubg, needs_gnubg_tool
from tests.random_games import random_game_positions

OWNED, OPPONENTS = Cube(2, CubeOwner.ON_ROLL), Cube(2, CubeOwner.OPPONENT)
CUBES = {"centered": Cube(), "on_roll": OWNED, "opponent": OPPONENTS}
EXAMPLE = "CgAAEAEAAAAAAA"  # example of gnubg's manual
SOLVED = "exact, solved for this position"
ON_BAR = position_id([0] * 24 + [1], [1])
OUTSIDE_HOME = position_id([1], [0, 0, 0, 0, 0, 0, 1])


def by_model() -> CubeRules:
    return CubeRules(met=published_met(), by_model=True)


@pytest.fixture
def table(four_checkers: Table) -> MoneyBearoff:
    return MoneyBearoff(four_checkers)


def random_bearoffs(count: int, checkers: int, seed: int) -> list[str]:
    """Position IDs with 1 to `checkers` a side in both home boards."""
    generator = np.random.default_rng(seed)
    checkers_of_sides = generator.integers(1, checkers + 1, 2 * count)
    sides = [np.bincount(generator.integers(0, 6, number), minlength=6).tolist() for number in checkers_of_sides]
    return [position_id(*pair) for pair in zip(sides[::2], sides[1::2], strict=True)]


@pytest.mark.parametrize("is_jacoby", [False, True])
def test_decision_matches_the_example_of_gnubgs_manual(table: MoneyBearoff, is_jacoby: bool) -> None:
    centered, owned, opponents = (
        table.cube_equities(Position(EXAMPLE), Stakes(Money(is_jacoby), cube)) for cube in CUBES.values()
    )
    assert centered == pytest.approx((0.160494, 0.320988, 0.320988, 1.0), abs=2e-6)
    assert owned == pytest.approx((0.344136, 0.320988, 0.320988, 1.0), abs=2e-6)
    assert opponents == pytest.approx((0.160494, -np.inf, -np.inf, -np.inf), abs=2e-6)
    assert table.accuracy.startswith("exact, bearoff_two_sided/6x4/r")


@pytest.mark.parametrize("text", [START.id, ON_BAR, OUTSIDE_HOME, position_id([1], []), position_id([5], [1])])
def test_positions_outside_the_table_are_not_answered(table: MoneyBearoff, text: str) -> None:
    assert table.cube_equities(Position(text), Stakes(Money(is_jacoby=False))) is None


def test_money_table_does_not_answer_in_a_match(table: MoneyBearoff) -> None:
    assert table.cube_equities(Position(EXAMPLE), Stakes(MatchScore(3, 3))) is None


def test_gammons_of_a_table_do_not_count_under_the_jacoby_rule(tmp_path: Path) -> None:
    warehouse = bgdata.open_warehouse(tmp_path / "warehouse")
    table = MoneyBearoff(warehouse.build("bearoff_two_sided", TwoSidedParameters(1, 15)))
    gammon, race = (Position(position_id([count], [2])) for count in (15, 14))
    assert table.cube_equities(gammon, Stakes(Money(is_jacoby=True))) is None
    assert table.cube_equities(gammon, Stakes(Money(is_jacoby=False))) is not None
    assert table.cube_equities(gammon, Stakes(Money(is_jacoby=True), OWNED)) is not None, "a turned cube"
    assert table.cube_equities(race, Stakes(Money(is_jacoby=True))) is not None


def test_other_positions_are_decided_by_the_model(player_root: Path) -> None:
    player = bgdata.open_player(player_root, "random")
    model = player.decide_cube(START, rules=CubeRules(janowski(0.5)))
    assert model.method == Method.JANOWSKI
    chances = player.evaluate_many(np.array([START.board], np.int8)).chances[0]
    assert model.equities == pytest.approx(money_equities(janowski(0.5), chances.astype(float), 0, False, False))


def test_match_can_be_decided_as_money(player_root: Path) -> None:
    player = bgdata.open_player(player_root, "random")
    as_money = CubeRules(met=published_met(), as_money=True)
    assert player.decide_cube(EXAMPLE, Stakes(MatchScore(3, 4)), as_money) == player.decide_cube(EXAMPLE)
    assert not player.decide_cube(EXAMPLE, Stakes(MatchScore(3, 1, is_crawford=True)), as_money).may_double
    with pytest.raises(InvalidParameterError, match="expected beavers in money play only"):
        player.decide_cube(EXAMPLE, Stakes(MatchScore(3, 4)), CubeRules(as_money=True, has_beavers=True))


def test_solved_races_equal_the_money_table(table: MoneyBearoff) -> None:
    races = SolvedRaces()
    for text in [EXAMPLE, *random_bearoffs(20, 4, seed=1)]:
        for cube in CUBES.values():
            stakes = Stakes(Money(is_jacoby=True), cube)
            expected = table.cube_equities(Position(text), stakes)
            assert races.cube_equities(Position(text), stakes) == pytest.approx(expected, abs=2e-6)


def test_race_is_solved_once_for_all_later_positions() -> None:
    races, met, example = SolvedRaces(), published_met(), Position(EXAMPLE)
    assert races.cube_equities(example, Stakes(MatchScore(7, 5)), met) is not None
    owned_by_opponent = Stakes(MatchScore(5, 7), OWNED)
    for play in example.legal_plays("21"):
        later = example.play(play).flip()
        expected = SolvedRaces().cube_equities(later, owned_by_opponent, met)
        assert races.cube_equities(later, owned_by_opponent, met) == pytest.approx(expected, abs=1e-12)
    assert len(races.kept) == 1
    races.cube_equities(example, Stakes(MatchScore(7, 5)), MatchEquity("other", met.cells))
    assert len(races.kept) == 2, "a match equity table of another name may differ"


@pytest.mark.parametrize(
    "text",
    [START.id, ON_BAR, position_id([1], []), position_id([15], [1]), position_id([2] * 6, [2] * 6)],
    ids=["contact", "on the bar", "over", "gammon", "too large"],
)
def test_unsuitable_races_are_not_solved(text: str) -> None:
    assert SolvedRaces().cube_equities(Position(text), Stakes(MatchScore(7, 7)), published_met()) is None


def test_race_is_not_solved_without_a_match_equity_table_or_in_too_many_cells() -> None:
    match = Stakes(MatchScore(7, 7))
    assert SolvedRaces().cube_equities(Position(EXAMPLE), match) is None
    assert SolvedRaces(most_cells=10).cube_equities(Position(EXAMPLE), match, published_met()) is None


def test_exact_play_doubles_at_seven_away_seven_away(player_root: Path) -> None:
    """As gnubg does; Janowski's model does not double."""
    player = bgdata.open_player(player_root, "random")
    text = position_id([0, 1, 0, 0, 1], [0, 1, 1])
    stakes = Stakes(MatchScore(7, 7))
    exact = player.decide_cube(text, stakes, CubeRules(met=published_met()))
    assert exact.method == Method.EXACT
    assert exact.accuracy == SOLVED
    assert exact.action != Action.NO_DOUBLE
    model = player.decide_cube(text, stakes, by_model())
    assert model.method == Method.JANOWSKI
    assert model.accuracy.startswith("Janowski's model")


def test_play_values_average_to_the_value_of_the_race(player_root: Path) -> None:
    player = bgdata.open_player(player_root, "random")
    rules = CubeRules(met=published_met())
    text = position_id([0, 1, 1, 0, 1], [0, 2, 1])
    stakes = Stakes(MatchScore(5, 4), OPPONENTS)
    mwc = [player.best_play(text, roll, stakes, rules).mwc or 0 for roll in ROLLS]
    mean = np.average(mwc, weights=[roll.weight for roll in ROLLS])
    assert mean == pytest.approx(player.decide_cube(text, stakes, rules).no_double, abs=1e-6)
    mwc_by_model = [player.best_play(text, roll, stakes, by_model()).mwc for roll in ROLLS]
    assert mwc != pytest.approx(mwc_by_model, abs=1e-4)


def test_first_exact_cube_answers(player_root: Path) -> None:
    """Any class with the methods of `ExactCube` may answer."""

    class StartPosition:
        accuracy = "known"

        def cube_equities(
            self, position: Position, stakes: Stakes, met: MatchEquity | None = None
        ) -> CubeEquities | None:
            is_match = isinstance(stakes.score, MatchScore) and met is not None
            return CubeEquities(0.4, 0.5, 0.5, 0.6) if is_match and position == START else None

    player = bgdata.open_player(player_root, "random")
    player.cubes = (*player.cubes, StartPosition())
    stakes = Stakes(MatchScore(3, 4))
    rules = CubeRules(met=published_met())
    decision = player.decide_cube(START, stakes, rules)
    assert decision.method == Method.EXACT
    assert decision.accuracy == "known"
    assert decision.equities == (0.4, 0.5, 0.5, 0.6)
    assert player.decide_cube(START.play("8/5 6/5", "31").flip(), stakes, rules).method == Method.JANOWSKI
    assert player.decide_cube(EXAMPLE).method == Method.EXACT


PREAMBLE = """
import gnubg, json
for command in ["set player 0 human", "set player 1 human", "set automatic game off", "set automatic roll off",
                "new session", "set turn 1"]:
    gnubg.command(command)
context = gnubg.evalcontext(1, 0, 1, 0, 0.0)
owners = {"centered": -1, "on_roll": 1, "opponent": 0}
questions = json.load(open("questions.json"))
"""
MONEY = """
for position in questions["positions"]:
    board, answers = gnubg.positionfromid(position), {}
    for name, owner in owners.items():
        for jacoby in (0, 1):
            cube = gnubg.cubeinfo(1 if owner == -1 else 2, owner, 1, 0, (0, 0), 0)
            cube["jacoby"] = jacoby
            answers[name + str(jacoby)] = gnubg.cfevaluate(board, cube, context)[:4]
            answers["chances"] = gnubg.evaluate(board, cube, context)[:5]
    tell(json.dumps(answers))
"""
MATCH = """
tell(json.dumps(gnubg.met(25)))
for position in questions["positions"]:
    board, answers = gnubg.positionfromid(position), []
    for away, opponent_away, value, owner, crawford in questions["stakes"]:
        cube = gnubg.cubeinfo(value, owners[owner], 1, 9, (9 - opponent_away, 9 - away), crawford)
        answers.append([gnubg.cfevaluate(board, cube, context)[:4], gnubg.evaluate(board, cube, context)[:5]])
    tell(json.dumps(answers))
"""
STAKES = [
    (9, 9, 1, "centered", 0), (9, 9, 2, "on_roll", 0), (9, 9, 2, "opponent", 0), (6, 4, 1, "centered", 0),
    (6, 4, 2, "on_roll", 0), (4, 6, 1, "centered", 0), (4, 6, 4, "opponent", 0), (2, 3, 1, "centered", 0),
    (2, 3, 2, "opponent", 0), (1, 4, 1, "centered", 1), (1, 4, 1, "centered", 0), (4, 1, 1, "centered", 0),
    (3, 1, 2, "on_roll", 0), (1, 1, 1, "centered", 0), (3, 4, 4, "on_roll", 0),
]  # fmt: skip
GNUBG_INDEX = 0.68  # cube efficiency of its static evaluations in contact, inferred from its answers


def ask(script: str, folder: Path, **questions: Any) -> list[Any]:
    (folder / "questions.json").write_text(json.dumps(questions))
    return [json.loads(answer) for answer in ask_gnubg(PREAMBLE + script, folder)]


def contact_positions() -> list[str]:
    boards = random_game_positions(6, seed=5).boards[::12]
    is_contact = np.isin(position_classes(boards), [PositionClass.CONTACT, PositionClass.CRASHED])
    return [Position(board.tolist()).id for board in boards[is_contact][:20]]


@needs_gnubg_tool("gnubg")
def test_bearoff_decisions_equal_gnubgs(table: MoneyBearoff, tmp_path: Path) -> None:
    """gnubg's own table is rounded to 16 bits, which gives the tolerances."""
    positions = random_bearoffs(40, 4, seed=1)
    for position, answers in zip(positions, ask(MONEY, tmp_path, positions=positions), strict=True):
        for name, cube in CUBES.items():
            for is_jacoby in (False, True):
                decision = table.cube_equities(Position(position), Stakes(Money(is_jacoby), cube))
                assert decision is not None
                _, no_double, double_take, double_pass = answers[f"{name}{int(is_jacoby)}"]
                assert decision.no_double == pytest.approx(no_double, abs=1.5e-4)
                if name != "opponent":
                    assert decision.double_take == pytest.approx(double_take, abs=3e-4)
                    assert decision.double_pass == pytest.approx(double_pass, abs=3e-4)


@needs_gnubg_tool("gnubg")
def test_money_equities_equal_gnubgs_static_ones(tmp_path: Path) -> None:
    """Janowski's model gives gnubg's cubeful equities from gnubg's chances."""
    for answers in ask(MONEY, tmp_path, positions=contact_positions()):
        chances = np.array(answers["chances"])
        for owner, name in enumerate(CUBES):
            for is_jacoby in (False, True):
                decision = money_equities(janowski(GNUBG_INDEX), chances, owner, is_jacoby, False)
                _, no_double, double_take, double_pass = answers[f"{name}{int(is_jacoby)}"]
                assert decision.no_double == pytest.approx(no_double, abs=2e-5)
                if name != "opponent":
                    assert decision.double_take == pytest.approx(double_take, abs=2e-5)
                    assert decision.double_pass == pytest.approx(double_pass, abs=2e-5)


def mwc_by_janowski(met: MatchEquity, index: float, stakes: tuple[Any, ...], chances: NDArray[Any]) -> CubeEquities:
    away, opponent_away, value, owner, is_crawford = stakes
    game = MatchGame(away, opponent_away, bool(is_crawford))
    return match_equities(janowski(index), met.cells, game, value, list(CUBES).index(owner), chances)


def mwc_by_gnubg(met: MatchEquity, stakes: tuple[Any, ...], equities: list[float]) -> list[float]:
    """The mwc of no double, double and take, double and pass. gnubg's equities lie between -1 for the mwc after losing
    the cube and 1 for that after winning it."""
    away, opponent_away, value, _, is_crawford = stakes
    score = MatchScore(away, opponent_away, bool(is_crawford))
    lose, win = met.after(score, -value), met.after(score, value)
    return [lose + (equity + 1) / 2 * (win - lose) for equity in equities[1:]]


@needs_gnubg_tool("gnubg")
def test_match_equities_equal_gnubgs_static_ones(tmp_path: Path) -> None:
    """With gnubg's match equity table and cube efficiency, at every score and cube."""
    met_of_gnubg, *answers = ask(MATCH, tmp_path, positions=contact_positions(), stakes=STAKES)
    met = MatchEquity.of("gnubg", *met_of_gnubg, is_symmetric=False)
    for answers_of_position in answers:
        for stakes, (equities, chances) in zip(STAKES, answers_of_position, strict=True):
            decision = mwc_by_janowski(met, GNUBG_INDEX, stakes, np.array(chances))
            no_double, double_take, double_pass = mwc_by_gnubg(met, stakes, equities)
            assert decision.no_double == pytest.approx(no_double, abs=2e-5)
            if np.isfinite(decision.double_take):
                assert decision.double_take == pytest.approx(double_take, abs=2e-5)
                assert decision.double_pass == pytest.approx(double_pass, abs=2e-5)


@needs_gnubg_tool("gnubg")
def test_match_bearoffs_with_a_dead_cube_equal_gnubgs(table: MoneyBearoff, tmp_path: Path) -> None:
    """At 2-away 2-away, after the Crawford game and at 1-away 1-away only the winning chance counts."""
    dead = [(2, 2, 1, "centered", 0), (2, 1, 1, "centered", 0), (1, 1, 1, "centered", 0), (2, 2, 2, "opponent", 0)]
    positions = random_bearoffs(30, 4, seed=2)
    met_of_gnubg, *answers = ask(MATCH, tmp_path, positions=positions, stakes=dead)
    met = MatchEquity.of("gnubg", *met_of_gnubg, is_symmetric=False)
    for position, answers_of_position in zip(positions, answers, strict=True):
        chances = np.array([win_chance(table.reader, position), 0, 0, 0, 0])
        for stakes, (equities, _) in zip(dead, answers_of_position, strict=True):
            decision = mwc_by_janowski(met, 0, stakes, chances)
            no_double, double_take, double_pass = mwc_by_gnubg(met, stakes, equities)
            if np.isfinite(decision.double_take):  # the cube is dead only after the double
                assert decision.double_take == pytest.approx(double_take, abs=1e-4)
                assert decision.double_pass == pytest.approx(double_pass, abs=1e-4)
            else:
                assert decision.no_double == pytest.approx(no_double, abs=1e-4)


ERROR = 1e-6  # error of the money table, in equity


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    return bgdata.open_warehouse(tmp_path_factory.mktemp("match") / "warehouse")


@pytest.fixture(scope="module")
def two_sided(warehouse: Warehouse) -> TwoSidedTable:
    """A table with the winning chances without a cube."""
    return TwoSidedTable(warehouse.build("bearoff_two_sided", TwoSidedParameters(6, 3)))


@pytest.fixture(scope="module")
def met(warehouse: Warehouse) -> MatchEquity:
    exact_table(warehouse, MatchScore(5, 5))
    return find_met(warehouse, "published-12")


def exact_table(warehouse: Warehouse, score: MatchScore, cube_value: int = 1) -> MatchBearoff:
    """The table of 6 points and 3 checkers for a score and cube."""
    recipe = MatchBearoffParameters(
        6, 3, score.away, score.opponent_away, score.is_crawford, cube_value, met="published-12"
    )
    return MatchBearoff(warehouse.build("bearoff_match", recipe))


def win_chance(table: TwoSidedTable, text: str) -> float:
    opponent, on_roll = (list(row[:24]) for row in Position(text).rows)
    return (table.probe(on_roll, opponent).cubeless + 1) / 2


@pytest.mark.parametrize(
    ("score", "cube"),
    [
        (MatchScore(1, 1), Cube()),
        (MatchScore(1, 4, is_crawford=True), Cube()),
        (MatchScore(4, 1, is_crawford=True), Cube()),
        (MatchScore(3, 4), Cube(4, CubeOwner.ON_ROLL)),
        (MatchScore(3, 4), Cube(4, CubeOwner.OPPONENT)),
    ],
    ids=str,
)
def test_dead_cube_is_worth_the_winning_chance(
    warehouse: Warehouse, two_sided: TwoSidedTable, met: MatchEquity, score: MatchScore, cube: Cube
) -> None:
    table = exact_table(warehouse, score, cube.value)
    won, lost = met.after(score, cube.value), met.after(score, -cube.value)
    for text in random_bearoffs(200, 3, seed=4):
        decision = table.cube_equities(Position(text), Stakes(score, cube), met)
        assert decision is not None
        assert decision.no_double == pytest.approx(lost + win_chance(two_sided, text) * (won - lost), abs=ERROR)
        assert decision[1:] == (NOT_ALLOWED,) * 3


@pytest.mark.parametrize("score", [MatchScore(2, 2), MatchScore(2, 1)], ids=str)
def test_double_that_decides_the_match_is_worth_the_winning_chance(
    warehouse: Warehouse, two_sided: TwoSidedTable, met: MatchEquity, score: MatchScore
) -> None:
    table = exact_table(warehouse, score)
    actions = set()
    for text in random_bearoffs(200, 3, seed=5):
        equities = table.cube_equities(Position(text), Stakes(score), met)
        assert equities is not None
        assert equities.double_take == pytest.approx(win_chance(two_sided, text), abs=ERROR)
        assert equities.double_beaver == equities.double_take
        assert equities.double_pass == pytest.approx(met.after(score, 1), abs=ERROR)
        actions |= set(decide_cube((0.5, 0, 0, 0, 0), Stakes(score), CubeRules(met=met), equities).best)
    assert {Action.DOUBLE_TAKE, Action.DOUBLE_PASS} <= actions


def test_opponents_cube_is_worst_and_own_cube_best(warehouse: Warehouse, met: MatchEquity) -> None:
    score = MatchScore(5, 7)
    table = exact_table(warehouse, score, 2)
    for text in random_bearoffs(100, 3, seed=6):
        owned = table.cube_equities(Position(text), Stakes(score, OWNED), met)
        opponents = table.cube_equities(Position(text), Stakes(score, OPPONENTS), met)
        assert owned is not None
        assert opponents is not None
        assert owned.no_double >= opponents.no_double
        assert np.isfinite(owned).all()
        assert opponents[1:] == (NOT_ALLOWED,) * 3


@pytest.mark.parametrize("is_rounded", [False, True])
@pytest.mark.parametrize("score", [MatchScore(3, 5), MatchScore(5, 3), MatchScore(7, 7)], ids=str)
def test_certain_win_equals_a_pass(
    warehouse: Warehouse, met: MatchEquity, monkeypatch: pytest.MonkeyPatch, score: MatchScore, is_rounded: bool
) -> None:
    """Doubling and playing on are equal if one point is as good as two, in spite of rounding."""
    monkeypatch.setattr(bearoff_match, "is_rounded", lambda *_: is_rounded)
    recipe = MatchBearoffParameters(3, 2, score.away, score.opponent_away, met="published-12")
    table = MatchBearoff(warehouse.build("bearoff_match", recipe, force=True))
    assert table.reader.stored.dtype == (np.uint16 if is_rounded else np.float32)
    equities = table.cube_equities(Position(position_id([0, 0, 2], [1])), Stakes(score), met)
    assert equities is not None
    assert equities.no_double == equities.double_pass == pytest.approx(met.after(score, 1), abs=1e-5)
    decision = decide_cube((1, 0, 0, 0, 0), Stakes(score), CubeRules(met=met), equities)
    assert decision.best == (Action.DOUBLE_PASS, Action.TOO_GOOD)


def test_table_answers_only_for_its_score_met_and_layouts(warehouse: Warehouse, met: MatchEquity) -> None:
    score = MatchScore(5, 5)
    table = exact_table(warehouse, score)
    position = Position(position_id([1, 1], [0, 2]))
    assert table.cube_equities(position, Stakes(score), met) is not None
    assert table.accuracy.startswith("exact, bearoff_match/6x3-away-5-5-cube-1-published-12/r")
    assert table.accuracy.endswith(": each mwc within 3e-08")
    money = Stakes(Money(is_jacoby=False))
    for stakes in (money, Stakes(MatchScore(5, 4)), Stakes(MatchScore(4, 5)), Stakes(score, OWNED)):
        assert table.cube_equities(position, stakes, met) is None
    other_cells = np.where(met.cells == met.mwc(4, 5), 0.57, met.cells)
    for other_met in (None, MatchEquity("another", met.cells), MatchEquity(met.name, other_cells)):
        assert table.cube_equities(position, Stakes(score), other_met) is None
    for text in (START.id, position_id([4], [1]), ON_BAR, OUTSIDE_HOME):
        assert table.cube_equities(Position(text), Stakes(score), met) is None


def test_players_use_tables_of_their_warehouse(warehouse: Warehouse, met: MatchEquity) -> None:
    score, rules = MatchScore(5, 5), CubeRules(met=met)
    text = position_id([1, 1], [0, 2])
    table = exact_table(warehouse, score)
    write_network(warehouse.root, "random", random_networks(7))
    player = bgdata.open_player(warehouse.root, "random")
    decision = player.decide_cube(text, Stakes(score), rules)
    assert decision.accuracy == table.accuracy
    assert decision.equities == table.cube_equities(Position(text), Stakes(score), met)
    assert player.decide_cube(text, Stakes(MatchScore(5, 6)), rules).accuracy == SOLVED
    assert player.decide_cube(START, Stakes(score), rules).method == Method.JANOWSKI
