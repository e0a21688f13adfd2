"""Cube decisions of a player: exact where a bearoff table covers the position, and in every state as gnubg decides."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bgdata
from bgdata.bearoff.kinds.bearoff_two_sided import TwoSidedParameters
from bgdata.bearoff.tables import TwoSidedTable
from bgdata.equity.cube import CubeRules, Method
from bgdata.equity.doubling import Action, CubeEquities, janowski, money_equities
from bgdata.equity.match_cube import MatchGame, match_equities
from bgdata.equity.match_equity import MatchEquity
from bgdata.errors import InvalidParameterError, InvalidPositionError
from bgdata.evaluation.cube_tables import MoneyBearoff, SolvedRaces
from bgdata.game.board_kernels import position_classes
from bgdata.game.classes import PositionClass
from bgdata.game.dice import ROLLS
from bgdata.game.match import Cube, CubeOwner, MatchScore, Money, Stakes
from bgdata.game.position import START, Position
from tests.command_line import position_id
from tests.equity.samples import published_met
from tests.oracles import ask_gnubg, needs_gnubg_tool
from tests.random_games import random_game_positions

CUBES = {"centered": Cube(), "on_roll": Cube(2, CubeOwner.ON_ROLL), "opponent": Cube(2, CubeOwner.OPPONENT)}
EXAMPLE = "CgAAEAEAAAAAAA"  # of gnubg's manual
SOLVED = "exact, solved for this position"


def by_model() -> CubeRules:
    return CubeRules(met=published_met(), by_model=True)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> MoneyBearoff:
    """The 6x4 table."""
    warehouse = bgdata.open_warehouse(tmp_path_factory.mktemp("cube") / "warehouse")
    return MoneyBearoff(warehouse.build("bearoff_two_sided", TwoSidedParameters(6, 4)))


def bearoffs(count: int, checkers: int, seed: int) -> list[str]:
    """Position IDs with 1 to `checkers` a side in both home boards."""
    random = np.random.default_rng(seed)
    counts = random.integers(1, checkers + 1, 2 * count)
    sides = [np.bincount(random.integers(0, 6, number), minlength=6) for number in counts]
    return [position_id(sides[2 * row].tolist(), sides[2 * row + 1].tolist()) for row in range(count)]


@pytest.mark.parametrize("is_jacoby", [False, True])
def test_the_example_of_gnubgs_manual(table: MoneyBearoff, is_jacoby: bool) -> None:
    found = {
        name: table.cube_equities(Position(EXAMPLE), Stakes(Money(is_jacoby), cube)) for name, cube in CUBES.items()
    }
    assert found["centered"] == pytest.approx((0.160494, 0.320988, 0.320988, 1.0), abs=2e-6)
    assert found["on_roll"] == pytest.approx((0.344136, 0.320988, 0.320988, 1.0), abs=2e-6)
    assert found["opponent"] == pytest.approx((0.160494, -np.inf, -np.inf, -np.inf), abs=2e-6)
    assert table.accuracy.startswith("exact, bearoff_two_sided/6x4/r")


def test_positions_outside_the_table(table: MoneyBearoff) -> None:
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


def test_jacoby_takes_away_gammons(tmp_path: Path) -> None:
    """A table of 15 checkers counts gammons; by the Jacoby rule a centered cube has none."""
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


def test_decision_names_its_source(player_root: Path) -> None:
    player = bgdata.open_player(player_root, "random")
    exact = player.decide_cube(EXAMPLE)
    assert (exact.method, exact.action) == (Method.EXACT, Action.DOUBLE_TAKE)
    assert exact.double_take == pytest.approx(0.320988, abs=2e-6)
    model = player.decide_cube(START, rules=CubeRules(janowski(0.5)))
    assert model.method == Method.JANOWSKI
    chances = player.evaluate_many(np.array([START.board], np.int8)).chances[0]
    assert model.equities == pytest.approx(money_equities(janowski(0.5), chances.astype(float), 0, False, False))
    for rules, method in ((CubeRules(met=published_met()), Method.EXACT), (by_model(), Method.JANOWSKI)):
        match = player.decide_cube(EXAMPLE, Stakes(MatchScore(3, 4)), rules)
        assert match.method == method
    assert match.accuracy.startswith("Janowski's model")
    as_money = CubeRules(met=published_met(), as_money=True)
    assert player.decide_cube(EXAMPLE, Stakes(MatchScore(3, 4)), as_money) == exact
    crawford = Stakes(MatchScore(3, 1, is_crawford=True))
    assert not player.decide_cube(EXAMPLE, crawford, as_money).may_double
    with pytest.raises(InvalidParameterError, match="expected beavers in money play only"):
        player.decide_cube(EXAMPLE, Stakes(MatchScore(3, 4)), CubeRules(as_money=True, has_beavers=True))
    with pytest.raises(
        InvalidPositionError, match=r"expected a game in progress, got .*, in which the .* has borne off every checker"
    ):
        player.decide_cube(position_id([1], []))


def test_races_are_solved_at_any_score(table: MoneyBearoff) -> None:
    """For money as the table has them; in a match from both sides, at any cube, without another solution of what a
    position leads to."""
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
    assert len(races.kept) == kept + 2, "who knows what is in a table of another name"


def test_races_that_are_not_solved() -> None:
    races, match = SolvedRaces(), Stakes(MatchScore(7, 7))
    on_bar = position_id([0] * 24 + [1], [1])
    gammon, large = position_id([15], [1]), position_id([2] * 6, [2] * 6)
    for text in (START.id, on_bar, position_id([1], []), gammon, large):
        assert races.cube_equities(Position(text), match, published_met()) is None
    assert races.cube_equities(Position(EXAMPLE), match) is None, "no match equity table"
    assert SolvedRaces(most_cells=10).cube_equities(Position(EXAMPLE), match, published_met()) is None


def test_seven_away_seven_away(player_root: Path) -> None:
    """One checker on each of the points 5 and 2 against 3 and 2: the model did not double, as gnubg does."""
    player, rules = bgdata.open_player(player_root, "random"), CubeRules(met=published_met())
    text, stakes = position_id([0, 1, 0, 0, 1], [0, 1, 1]), Stakes(MatchScore(7, 7))
    found = player.decide_cube(text, stakes, rules)
    assert (found.method, found.accuracy) == (Method.EXACT, SOLVED)
    assert found.action != Action.NO_DOUBLE
    assert player.decide_cube(text, stakes, by_model()).method == Method.JANOWSKI


def test_plays_in_a_match_are_worth_what_the_race_is_worth(player_root: Path) -> None:
    """The best play is worth the mean of what the rolls are worth."""
    player, rules = bgdata.open_player(player_root, "random"), CubeRules(met=published_met())
    text, stakes = position_id([0, 1, 1, 0, 1], [0, 2, 1]), Stakes(MatchScore(5, 4), CUBES["opponent"])
    mwc = [player.best_play(text, roll, stakes, rules).mwc for roll in ROLLS]
    mean = sum(roll.weight * worth for roll, worth in zip(ROLLS, mwc, strict=True) if worth is not None) / 36
    assert mean == pytest.approx(player.decide_cube(text, stakes, rules).no_double, abs=1e-6)
    model = [player.best_play(text, roll, stakes, by_model()).mwc for roll in ROLLS]
    assert mwc != pytest.approx(model, abs=1e-4)


def test_other_tables_can_answer(player_root: Path) -> None:
    """Whatever is an ExactCube, the first that covers a position."""

    class Known:
        accuracy = "known"

        def cube_equities(
            self, position: Position, stakes: Stakes, met: MatchEquity | None = None
        ) -> CubeEquities | None:
            is_match = isinstance(stakes.score, MatchScore) and met is not None
            return CubeEquities(0.4, 0.5, 0.5, 0.6) if is_match and position == START else None

    player = bgdata.open_player(player_root, "random")
    player.cubes = (*player.cubes, Known())
    stakes, rules = Stakes(MatchScore(3, 4)), CubeRules(met=published_met())
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
GNUBG_INDEX = 0.68  # of its static evaluations in contact, found from its answers


def ask(script: str, folder: Path, **questions: Any) -> list[Any]:
    (folder / "questions.json").write_text(json.dumps(questions))
    return [json.loads(answer) for answer in ask_gnubg(PREAMBLE + script, folder)]


def contact_positions() -> list[str]:
    boards = random_game_positions(6, seed=5).boards[::12]
    is_contact = np.isin(position_classes(boards), [PositionClass.CONTACT, PositionClass.CRASHED])
    return [Position(board.tolist()).id for board in boards[is_contact][:20]]


@needs_gnubg_tool("gnubg")
def test_bearoffs_are_decided_as_gnubg_does(table: MoneyBearoff, tmp_path: Path) -> None:
    """Money play, exactly: gnubg's own table is rounded to 16 bits."""
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
def test_money_equities_are_gnubgs_static_ones(tmp_path: Path) -> None:
    """Its cubeful equities are Janowski's model of its chances with one index, with and without the Jacoby rule."""
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
def test_match_equities_are_gnubgs_static_ones(tmp_path: Path) -> None:
    """Its mwc is ours with its own table and the same index, at every score and cube; it states equities between mwc
    of losing the cube and of winning it."""
    (before, post, other), *answers = ask(MATCH, tmp_path, positions=contact_positions(), stakes=STAKES)
    met = MatchEquity.of("gnubg", before, post, other, is_symmetric=False)
    for of_position in answers:
        for (away, opponent_away, value, owner, crawford), (said, chances) in zip(STAKES, of_position, strict=True):
            score = MatchScore(away, opponent_away, bool(crawford))
            game, lose, win = (
                MatchGame(away, opponent_away, bool(crawford)),
                met.after(score, -value),
                met.after(score, value),
            )
            code = list(CUBES).index(owner)
            found = match_equities(janowski(GNUBG_INDEX), met.cells, game, value, code, np.array(chances))
            _, no_double, take, passed = (lose + (equity + 1) / 2 * (win - lose) for equity in said)
            assert found.no_double == pytest.approx(no_double, abs=2e-5)
            if np.isfinite(found.double_take):
                assert (found.double_take, found.double_pass) == pytest.approx((take, passed), abs=2e-5)


@needs_gnubg_tool("gnubg")
def test_bearoffs_in_matches_where_a_taken_cube_is_dead(table: MoneyBearoff, tmp_path: Path) -> None:
    """2-away 2-away, after the Crawford game and at 1-away 1-away only the winning chance counts, which tables know."""
    stakes = [(2, 2, 1, "centered", 0), (2, 1, 1, "centered", 0), (1, 1, 1, "centered", 0), (2, 2, 2, "opponent", 0)]
    positions = bearoffs(30, 4, seed=2)
    (before, post, other), *answers = ask(MATCH, tmp_path, positions=positions, stakes=stakes)
    met = MatchEquity.of("gnubg", before, post, other, is_symmetric=False)
    reader: TwoSidedTable = table.reader
    for position, of_position in zip(positions, answers, strict=True):
        opponent, on_roll = (row[:24] for row in Position(position).rows)
        win = (reader.probe(on_roll, opponent).cubeless + 1) / 2
        for (away, opponent_away, value, owner, _), (said, _chances) in zip(stakes, of_position, strict=True):
            score, chances = MatchScore(away, opponent_away), np.array([win, 0, 0, 0, 0])
            code = list(CUBES).index(owner)
            found = match_equities(janowski(0), met.cells, MatchGame(away, opponent_away), value, code, chances)
            lose, won = met.after(score, -value), met.after(score, value)
            _, no_double, take, passed = (lose + (equity + 1) / 2 * (won - lose) for equity in said)
            if np.isfinite(found.double_take):
                assert (found.double_take, found.double_pass) == pytest.approx((take, passed), abs=1e-4)
            else:
                assert found.no_double == pytest.approx(no_double, abs=1e-4)
