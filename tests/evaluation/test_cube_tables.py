"""Cube decisions of a player: exact if a table covers the position, in money play and matches, and equal to gnubg's."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bgdata
from bgdata.bearoff.kinds import bearoff_match_compute as bearoff_match
from bgdata.bearoff.kinds.bearoff_match import MatchBearoffParameters
from bgdata.bearoff.kinds.bearoff_two_sided import TwoSidedParameters
from bgdata.bearoff.tables import TwoSidedTable
from bgdata.equity.cube import CubeRules, Method, decide_cube
from bgdata.equity.doubling import NOT_ALLOWED, Action, CubeEquities, janowski, money_equities
from bgdata.equity.match_cube import MatchGame, match_equities
from bgdata.equity.match_equity import MatchEquity, find_met
from bgdata.errors import InvalidParameterError, InvalidPositionError
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

CUBES = {"centered": Cube(), "on_roll": Cube(2, CubeOwner.ON_ROLL), "opponent": Cube(2, CubeOwner.OPPONENT)}
EXAMPLE = "CgAAEAEAAAAAAA"  # example of gnubg's manual
SOLVED = "exact, solved for this position"


def by_model() -> CubeRules:
    return CubeRules(met=published_met(), by_model=True)


@pytest.fixture
def table(four_checkers: Table) -> MoneyBearoff:
    return MoneyBearoff(four_checkers)


def bearoffs(count: int, checkers: int, seed: int) -> list[str]:
    """Position IDs with 1 to `checkers` a side in both home boards."""
    random = np.random.default_rng(seed)
    counts = random.integers(1, checkers + 1, 2 * count)
    sides = [np.bincount(random.integers(0, 6, number), minlength=6) for number in counts]
    return [position_id(sides[2 * row].tolist(), sides[2 * row + 1].tolist()) for row in range(count)]


@pytest.mark.parametrize("is_jacoby", [False, True])
def test_decision_matches_the_example_of_gnubgs_manual(table: MoneyBearoff, is_jacoby: bool) -> None:
    found = {
        name: table.cube_equities(Position(EXAMPLE), Stakes(Money(is_jacoby), cube)) for name, cube in CUBES.items()
    }
    assert found["centered"] == pytest.approx((0.160494, 0.320988, 0.320988, 1.0), abs=2e-6)
    assert found["on_roll"] == pytest.approx((0.344136, 0.320988, 0.320988, 1.0), abs=2e-6)
    assert found["opponent"] == pytest.approx((0.160494, -np.inf, -np.inf, -np.inf), abs=2e-6)
    assert table.accuracy.startswith("exact, bearoff_two_sided/6x4/r")


def test_positions_outside_the_table_are_not_answered(table: MoneyBearoff) -> None:
    money = Stakes(Money(is_jacoby=False))
    on_bar = position_id([0] * 24 + [1], [1])
    for text in (
        START.id,
        on_bar,
        position_id([1], []),
        position_id([5], [1]),
        position_id([1], [0, 0, 0, 0, 0, 0, 1]),
    ):
        assert table.cube_equities(Position(text), money) is None
    assert table.cube_equities(Position(EXAMPLE), Stakes(MatchScore(3, 3))) is None


def test_jacoby_rule_removes_gammons(tmp_path: Path) -> None:
    """A table of 15 checkers counts gammons, so it does not answer with a centered cube under the Jacoby rule."""
    warehouse = bgdata.open_warehouse(tmp_path / "warehouse")
    table = MoneyBearoff(warehouse.build("bearoff_two_sided", TwoSidedParameters(1, 15)))
    gammon, race = (Position(position_id([count], [2])) for count in (15, 14))
    assert table.cube_equities(gammon, Stakes(Money(is_jacoby=True))) is None
    for position, stakes in (
        (gammon, Stakes(Money(is_jacoby=False))),
        (gammon, Stakes(Money(is_jacoby=True), CUBES["on_roll"])),
        (race, Stakes(Money(is_jacoby=True))),
    ):
        assert table.cube_equities(position, stakes) is not None


def test_covered_position_is_decided_exactly(player_root: Path) -> None:
    exact = bgdata.open_player(player_root, "random").decide_cube(EXAMPLE)
    assert exact.method == Method.EXACT
    assert exact.action == Action.DOUBLE_TAKE
    assert exact.double_take == pytest.approx(0.320988, abs=2e-6)


def test_other_positions_are_decided_by_the_model(player_root: Path) -> None:
    player = bgdata.open_player(player_root, "random")
    model = player.decide_cube(START, rules=CubeRules(janowski(0.5)))
    assert model.method == Method.JANOWSKI
    chances = player.evaluate_many(np.array([START.board], np.int8)).chances[0]
    assert model.equities == pytest.approx(money_equities(janowski(0.5), chances.astype(float), 0, False, False))


def test_match_is_decided_exactly_by_the_model_or_as_money(player_root: Path) -> None:
    player = bgdata.open_player(player_root, "random")
    score = Stakes(MatchScore(3, 4))
    assert player.decide_cube(EXAMPLE, score, CubeRules(met=published_met())).method == Method.EXACT
    model = player.decide_cube(EXAMPLE, score, by_model())
    assert model.method == Method.JANOWSKI
    assert model.accuracy.startswith("Janowski's model")
    as_money = CubeRules(met=published_met(), as_money=True)
    assert player.decide_cube(EXAMPLE, score, as_money) == player.decide_cube(EXAMPLE)
    crawford = Stakes(MatchScore(3, 1, is_crawford=True))
    assert not player.decide_cube(EXAMPLE, crawford, as_money).may_double


def test_beavers_in_a_match_and_finished_games_are_refused(player_root: Path) -> None:
    player = bgdata.open_player(player_root, "random")
    with pytest.raises(InvalidParameterError, match="expected beavers in money play only"):
        player.decide_cube(EXAMPLE, Stakes(MatchScore(3, 4)), CubeRules(as_money=True, has_beavers=True))
    with pytest.raises(
        InvalidPositionError, match=r"expected a game in progress, got .*, in which the .* has borne off every checker"
    ):
        player.decide_cube(position_id([1], []))


def test_races_are_solved_at_any_score(table: MoneyBearoff) -> None:
    """Solved money equities equal those of the table, and a race is solved once for both sides, any cube and all later
    positions."""
    races = SolvedRaces()
    met = published_met()
    for text in [EXAMPLE, *bearoffs(20, 4, seed=1)]:
        position = Position(text)
        for cube in CUBES.values():
            stakes = Stakes(Money(is_jacoby=True), cube)
            assert races.cube_equities(position, stakes) == pytest.approx(
                table.cube_equities(position, stakes), abs=2e-6
            )
    kept = len(races.kept)
    example = Position(EXAMPLE)
    first = races.cube_equities(example, Stakes(MatchScore(7, 5)), met)
    assert first is not None
    assert len(races.kept) == kept + 1
    for play in example.legal_plays("21"):
        after = example.play(play).flip()
        later = Stakes(MatchScore(5, 7), Cube(2, CubeOwner.ON_ROLL))
        assert races.cube_equities(after, later, met) == pytest.approx(
            SolvedRaces().cube_equities(after, later, met), abs=1e-12
        )
    assert len(races.kept) == kept + 1
    other = MatchEquity("other", met.cells)
    races.cube_equities(example, Stakes(MatchScore(7, 5)), other)
    assert len(races.kept) == kept + 2, "a table of another name may differ"


def test_unsuitable_races_are_not_solved() -> None:
    races = SolvedRaces()
    match = Stakes(MatchScore(7, 7))
    on_bar = position_id([0] * 24 + [1], [1])
    gammon, large = position_id([15], [1]), position_id([2] * 6, [2] * 6)
    for text in (START.id, on_bar, position_id([1], []), gammon, large):
        assert races.cube_equities(Position(text), match, published_met()) is None
    assert races.cube_equities(Position(EXAMPLE), match) is None, "no match equity table"
    assert SolvedRaces(most_cells=10).cube_equities(Position(EXAMPLE), match, published_met()) is None


def test_exact_play_doubles_at_seven_away_seven_away(player_root: Path) -> None:
    """With checkers on the points 5 and 2 against 3 and 2, the exact answer is to double, as gnubg does, but the model
    does not."""
    player = bgdata.open_player(player_root, "random")
    rules = CubeRules(met=published_met())
    text = position_id([0, 1, 0, 0, 1], [0, 1, 1])
    stakes = Stakes(MatchScore(7, 7))
    found = player.decide_cube(text, stakes, rules)
    assert (found.method, found.accuracy) == (Method.EXACT, SOLVED)
    assert found.action != Action.NO_DOUBLE
    assert player.decide_cube(text, stakes, by_model()).method == Method.JANOWSKI


def test_play_values_average_to_the_value_of_the_race(player_root: Path) -> None:
    """The mean over all rolls of the values after their best plays is the value of the race, in a match."""
    player = bgdata.open_player(player_root, "random")
    rules = CubeRules(met=published_met())
    text = position_id([0, 1, 1, 0, 1], [0, 2, 1])
    stakes = Stakes(MatchScore(5, 4), CUBES["opponent"])
    mwc = [player.best_play(text, roll, stakes, rules).mwc for roll in ROLLS]
    mean = sum(roll.weight * worth for roll, worth in zip(ROLLS, mwc, strict=True) if worth is not None) / 36
    assert mean == pytest.approx(player.decide_cube(text, stakes, rules).no_double, abs=1e-6)
    model = [player.best_play(text, roll, stakes, by_model()).mwc for roll in ROLLS]
    assert mwc != pytest.approx(model, abs=1e-4)


def test_first_exact_cube_answers(player_root: Path) -> None:
    """Cube decisions come from the first `ExactCube` that covers the position, whatever its class."""

    class Known:
        accuracy = "known"

        def cube_equities(
            self, position: Position, stakes: Stakes, met: MatchEquity | None = None
        ) -> CubeEquities | None:
            is_match = isinstance(stakes.score, MatchScore) and met is not None
            return CubeEquities(0.4, 0.5, 0.5, 0.6) if is_match and position == START else None

    player = bgdata.open_player(player_root, "random")
    player.cubes = (*player.cubes, Known())
    stakes = Stakes(MatchScore(3, 4))
    rules = CubeRules(met=published_met())
    found = player.decide_cube(START, stakes, rules)
    assert (found.method, found.accuracy, found.equities) == (Method.EXACT, "known", (0.4, 0.5, 0.5, 0.6))
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
    """Exact decisions equal those of gnubg: in money play to the last digit, because gnubg's own table is rounded to 16
    bits."""
    positions = bearoffs(40, 4, seed=1)
    for position, answers in zip(positions, ask(MONEY, tmp_path, positions=positions), strict=True):
        for name, cube in CUBES.items():
            for is_jacoby in (False, True):
                found = table.cube_equities(Position(position), Stakes(Money(is_jacoby), cube))
                assert found is not None
                _, no_double, take, passed = answers[f"{name}{int(is_jacoby)}"]
                assert found.no_double == pytest.approx(no_double, abs=1.5e-4)
                if name != "opponent":
                    assert (found.double_take, found.double_pass) == pytest.approx((take, passed), abs=3e-4)


@needs_gnubg_tool("gnubg")
def test_money_equities_equal_gnubgs_static_ones(tmp_path: Path) -> None:
    """Janowski's model gives gnubg's cubeful equities from gnubg's chances, with and without the Jacoby rule."""
    for answers in ask(MONEY, tmp_path, positions=contact_positions()):
        chances = np.array(answers["chances"])
        for owner, name in enumerate(CUBES):
            for is_jacoby in (False, True):
                found = money_equities(janowski(GNUBG_INDEX), chances, owner, is_jacoby, False)
                _, no_double, take, passed = answers[f"{name}{int(is_jacoby)}"]
                assert found.no_double == pytest.approx(no_double, abs=2e-5)
                if name != "opponent":
                    assert (found.double_take, found.double_pass) == pytest.approx((take, passed), abs=2e-5)


@needs_gnubg_tool("gnubg")
def test_match_equities_equal_gnubgs_static_ones(tmp_path: Path) -> None:
    """Mwc equals gnubg's with its own table and the same index, at every score and cube. gnubg normalizes equities
    between the mwc of losing and winning the cube."""
    (before, post, other), *answers = ask(MATCH, tmp_path, positions=contact_positions(), stakes=STAKES)
    met = MatchEquity.of("gnubg", before, post, other, is_symmetric=False)
    for of_position in answers:
        for (away, opponent_away, value, owner, crawford), (answer, chances) in zip(STAKES, of_position, strict=True):
            score = MatchScore(away, opponent_away, bool(crawford))
            game = MatchGame(away, opponent_away, bool(crawford))
            lose = met.after(score, -value)
            win = met.after(score, value)
            code = list(CUBES).index(owner)
            found = match_equities(janowski(GNUBG_INDEX), met.cells, game, value, code, np.array(chances))
            _, no_double, take, passed = (lose + (equity + 1) / 2 * (win - lose) for equity in answer)
            assert found.no_double == pytest.approx(no_double, abs=2e-5)
            if np.isfinite(found.double_take):
                assert (found.double_take, found.double_pass) == pytest.approx((take, passed), abs=2e-5)


@needs_gnubg_tool("gnubg")
def test_match_bearoffs_with_a_dead_cube(table: MoneyBearoff, tmp_path: Path) -> None:
    """Where only the winning chance counts, at 2-away 2-away, after the Crawford game and at 1-away 1-away, our tables
    have gnubg's mwc."""
    stakes = [(2, 2, 1, "centered", 0), (2, 1, 1, "centered", 0), (1, 1, 1, "centered", 0), (2, 2, 2, "opponent", 0)]
    positions = bearoffs(30, 4, seed=2)
    (before, post, other), *answers = ask(MATCH, tmp_path, positions=positions, stakes=stakes)
    met = MatchEquity.of("gnubg", before, post, other, is_symmetric=False)
    reader: TwoSidedTable = table.reader
    for position, of_position in zip(positions, answers, strict=True):
        opponent, on_roll = (row[:24] for row in Position(position).rows)
        win = (reader.probe(on_roll, opponent).cubeless + 1) / 2
        for (away, opponent_away, value, owner, _), (answer, _chances) in zip(stakes, of_position, strict=True):
            score = MatchScore(away, opponent_away)
            chances = np.array([win, 0, 0, 0, 0])
            code = list(CUBES).index(owner)
            found = match_equities(janowski(0), met.cells, MatchGame(away, opponent_away), value, code, chances)
            lose, won = met.after(score, -value), met.after(score, value)
            _, no_double, take, passed = (lose + (equity + 1) / 2 * (won - lose) for equity in answer)
            if np.isfinite(found.double_take):
                assert (found.double_take, found.double_pass) == pytest.approx((take, passed), abs=1e-4)
            else:
                assert found.no_double == pytest.approx(no_double, abs=1e-4)


OWNED, OPPONENTS = Cube(2, CubeOwner.ON_ROLL), Cube(2, CubeOwner.OPPONENT)
ERROR = 1e-6  # error of the money table, in equity


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    return bgdata.open_warehouse(tmp_path_factory.mktemp("match") / "warehouse")


@pytest.fixture(scope="module")
def winner(warehouse: Warehouse) -> TwoSidedTable:
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
    warehouse: Warehouse, winner: TwoSidedTable, met: MatchEquity, score: MatchScore, cube: Cube
) -> None:
    table = exact_table(warehouse, score, cube.value)
    won, lost = met.after(score, cube.value), met.after(score, -cube.value)
    for text in bearoffs(200, 3, seed=4):
        found = table.cube_equities(Position(text), Stakes(score, cube), met)
        assert found is not None
        assert found.no_double == pytest.approx(lost + win_chance(winner, text) * (won - lost), abs=ERROR)
        assert found[1:] == (NOT_ALLOWED,) * 3


def test_double_that_decides_the_match(warehouse: Warehouse, winner: TwoSidedTable, met: MatchEquity) -> None:
    """At 2-away 2-away a taken cube is dead, and at 2-away 1-away the trailer risks nothing by doubling."""
    for score in (MatchScore(2, 2), MatchScore(2, 1)):
        table = exact_table(warehouse, score)
        actions = set()
        for text in bearoffs(200, 3, seed=5):
            found = table.cube_equities(Position(text), Stakes(score), met)
            assert found is not None
            assert found.double_take == found.double_beaver == pytest.approx(win_chance(winner, text), abs=ERROR)
            assert found.double_pass == pytest.approx(met.after(score, 1), abs=ERROR)
            decision = decide_cube((0.5, 0, 0, 0, 0), Stakes(score), CubeRules(met=met), found)
            actions |= set(decision.best)
        assert {Action.DOUBLE_TAKE, Action.DOUBLE_PASS} <= actions


def test_opponents_cube_is_worst_and_own_cube_best(warehouse: Warehouse, met: MatchEquity) -> None:
    score = MatchScore(5, 7)
    table = exact_table(warehouse, score, 2)
    for text in bearoffs(100, 3, seed=6):
        own, other = (table.cube_equities(Position(text), Stakes(score, cube), met) for cube in (OWNED, OPPONENTS))
        assert own is not None
        assert other is not None
        assert own.no_double >= other.no_double
        assert np.isfinite(own).all()
        assert other[1:] == (NOT_ALLOWED,) * 3


@pytest.mark.parametrize("rounded", [False, True])
def test_certain_win_equals_a_pass(
    warehouse: Warehouse, met: MatchEquity, monkeypatch: pytest.MonkeyPatch, rounded: bool
) -> None:
    """Doubling and playing on are equal, in spite of rounding, if one point is as good as two."""
    monkeypatch.setattr(bearoff_match, "is_rounded", lambda *_: rounded)
    text = position_id([0, 0, 2], [1])
    for score in (MatchScore(3, 5), MatchScore(5, 3), MatchScore(7, 7)):
        recipe = MatchBearoffParameters(3, 2, score.away, score.opponent_away, met="published-12")
        table = MatchBearoff(warehouse.build("bearoff_match", recipe, force=True))
        assert table.reader.stored.dtype == (np.uint16 if rounded else np.float32)
        found = table.cube_equities(Position(text), Stakes(score), met)
        assert found is not None
        assert found.no_double == found.double_pass == pytest.approx(met.after(score, 1), abs=1e-5)
        decision = decide_cube((1, 0, 0, 0, 0), Stakes(score), CubeRules(met=met), found)
        assert decision.best == (Action.DOUBLE_PASS, Action.TOO_GOOD)


def test_positions_outside_the_table_of_a_score_are_not_answered(warehouse: Warehouse, met: MatchEquity) -> None:
    """A table answers only for its own score, cube, match equity table and layouts."""
    score = MatchScore(5, 5)
    table = exact_table(warehouse, score)
    position = Position(position_id([1, 1], [0, 2]))
    assert table.cube_equities(position, Stakes(score), met) is not None
    assert table.accuracy.startswith("exact, bearoff_match/6x3-away-5-5-cube-1-published-12/r")
    assert table.accuracy.endswith(": each mwc within 3e-08")
    others = [Stakes(Money(is_jacoby=False)), Stakes(MatchScore(5, 4)), Stakes(MatchScore(4, 5)), Stakes(score, OWNED)]
    for stakes in others:
        assert table.cube_equities(position, stakes, met) is None
    another = MatchEquity(met.name, np.where(met.cells == met.mwc(4, 5), 0.57, met.cells))
    for wrong in (None, MatchEquity("another", met.cells), another):
        assert table.cube_equities(position, Stakes(score), wrong) is None
    larger, on_bar = position_id([4], [1]), position_id([0] * 24 + [1], [1])
    for text in (START.id, larger, on_bar, position_id([1], [0, 0, 0, 0, 0, 0, 1])):
        assert table.cube_equities(Position(text), Stakes(score), met) is None


def test_players_use_tables_of_their_warehouse(warehouse: Warehouse, met: MatchEquity) -> None:
    score = MatchScore(5, 5)
    text = position_id([1, 1], [0, 2])
    table = exact_table(warehouse, score)
    write_network(warehouse.root, "random", random_networks(7))
    player = bgdata.open_player(warehouse.root, "random")
    found = player.decide_cube(text, Stakes(score), CubeRules(met=met))
    assert (found.method, found.accuracy) == (Method.EXACT, table.accuracy)
    assert found.equities == table.cube_equities(Position(text), Stakes(score), met)
    assert player.decide_cube(text, Stakes(score), CubeRules(met=met, by_model=True)).method == Method.JANOWSKI
    other = player.decide_cube(text, Stakes(MatchScore(5, 6)), CubeRules(met=met))
    assert (other.method, other.accuracy) == (Method.EXACT, "exact, solved for this position")
    assert player.decide_cube(START, Stakes(score), CubeRules(met=met)).method == Method.JANOWSKI


def test_model_can_be_required_for_money(player_root: Path) -> None:
    player = bgdata.open_player(player_root, "random")
    text = position_id([1, 1], [0, 2])
    assert player.decide_cube(text).method == Method.EXACT
    assert player.decide_cube(text, rules=CubeRules(by_model=True)).method == Method.JANOWSKI
