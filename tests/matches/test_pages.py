"""Tests of the losses of plays, cube actions and missed doubles that pages of games show."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import bgdata
from bgdata.equity.cube import CubeRules, normalised_point
from bgdata.errors import InvalidParameterError, InvalidScoreError
from bgdata.evaluation.networks.player import map_player
from bgdata.game.plays import parse_play
from bgdata.game.position import Position
from bgdata.matches.pages.games import CubeVerdict, crawford_games, cube_verdicts, play_losses
from bgdata.matches.pages.replay import best_play, game_stakes
from tests.equity.samples import published_met

TURNS = "from turns where dataset = 'selfplay' and variant = 'pubeval-20-seed-3' and game = $game order by turn"


def turns_of(warehouse: bgdata.Warehouse, game: int) -> list[dict[str, Any]]:
    return warehouse.rows(TURNS, {"game": game})


@pytest.mark.parametrize("game", [0, 3])
def test_play_losses_equal_those_of_ranked_plays(small_root: Path, game: int) -> None:
    warehouse = bgdata.open_warehouse(small_root)
    player = map_player(warehouse)
    turns = turns_of(warehouse, game)
    expected = []
    for row in turns:
        position = Position(row["position_id"])
        roll = f"{row['die1']}{row['die2']}"
        made = parse_play(row["play"], position, roll).next_position
        ranked = player.rank_plays(position, roll)
        expected.append(next(candidate.loss for candidate in ranked if candidate.play.next_position == made))
    assert max(expected) > 0.02
    assert play_losses(player.evaluator, turns) == pytest.approx(expected, abs=1e-6)


def test_best_plays_are_those_of_ranked_plays(small_root: Path) -> None:
    warehouse = bgdata.open_warehouse(small_root)
    player = map_player(warehouse)
    turns = turns_of(warehouse, 3)
    for row in turns[:12]:
        best = best_play(player.evaluator, row)
        assert best is not None
        ranked = player.rank_plays(Position(row["position_id"]), f"{row['die1']}{row['die2']}")
        loss = next(candidate.loss for candidate in ranked if candidate.play.next_position == best.next_position)
        assert loss == pytest.approx(0, abs=1e-6)
    assert best_play(player.evaluator, turns[0] | {"action": "double", "die1": None, "die2": None}) is None


def test_turns_without_a_readable_play_have_no_loss(small_root: Path) -> None:
    warehouse = bgdata.open_warehouse(small_root)
    evaluator = map_player(warehouse).evaluator
    turns = turns_of(warehouse, 3)
    double = turns[0] | {"action": "double", "die1": None, "die2": None, "play": None}
    assert play_losses(evaluator, [double]) == [None]
    assert play_losses(evaluator, [turns[0] | {"play": "24/1"}]) == [None]
    wrong_next_board = turns[1] | {"board": turns[5]["board"]}
    assert play_losses(evaluator, [turns[0], wrong_next_board])[0] is None
    assert play_losses(evaluator, []) == []


def test_loss_of_the_last_play_is_read_from_its_text(small_root: Path) -> None:
    warehouse = bgdata.open_warehouse(small_root)
    evaluator = map_player(warehouse).evaluator
    turns = turns_of(warehouse, 3)
    assert play_losses(evaluator, turns[:1]) == play_losses(evaluator, turns)[:1]


def game_with_cube(warehouse: bgdata.Warehouse) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The first game with a double in the corpus of matches to 3 points, and its turns."""
    where = "where dataset = 'cubeful_selfplay' and variant like 'tiny-match-3-%'"
    (first,) = warehouse.rows(f"select min(game) as game from turns {where} and action = 'double'")
    (game,) = warehouse.rows(f"from games {where} and game = $game", first)
    turns = warehouse.rows(f"from turns {where} and game = $game order by turn", first)
    return {**game, "is_jacoby": False}, turns


def test_verdicts_equal_cube_decisions(small_root: Path) -> None:
    warehouse = bgdata.open_warehouse(small_root)
    player, rules = map_player(warehouse), CubeRules(met=published_met())
    game, turns = game_with_cube(warehouse)
    verdicts = cube_verdicts(player, rules, game, turns)
    assert verdicts[0] is None  # nobody doubles before the first roll
    actions = set()
    for row, verdict in zip(turns[1:], verdicts[1:], strict=True):
        stakes = game_stakes(game, row)
        decision = player.decide_cube(Position(row["position_id"]), stakes, rules)
        if verdict is None:
            assert not decision.may_double
            continue
        actions.add(verdict.made)
        loss = {
            "double": -decision.double_gain,
            "no double": decision.double_gain,
            "take": -decision.take_gain,
            "pass": decision.take_gain,
        }[verdict.made]
        assert verdict.loss == pytest.approx(max(0.0, loss), abs=1e-9)
        assert verdict.size == pytest.approx(verdict.loss / normalised_point(stakes, rules))
        if verdict.made in ("double", "no double") and abs(loss) > 1e-6:
            should_double = verdict.best.startswith("double, ")
            assert (verdict.loss > 0) == (should_double != (verdict.made == "double"))
    assert {"double", "no double"} <= actions
    assert cube_verdicts(player, rules, game, []) == []


def test_money_game_is_judged_in_points(small_root: Path) -> None:
    """Losses in a money game are in points per unit cube, also at a cube of 4."""
    warehouse = bgdata.open_warehouse(small_root)
    player, (game, turns) = map_player(warehouse), game_with_cube(warehouse)
    money = game | {"match_length": 0, "score_0": 0, "score_1": 0}
    double = next(row for row in turns if row["action"] == "double")
    roll = double | {"action": "play", "die1": 3, "die2": 1, "cube_value": 4, "cube_owner": "on_roll"}
    _, verdict = cube_verdicts(player, CubeRules(), money, [turns[0], roll])
    assert verdict is not None
    decision = player.decide_cube(Position(roll["position_id"]), game_stakes(money, roll))
    assert verdict.loss == pytest.approx(max(0.0, decision.double_gain), abs=1e-9)
    assert verdict.size == verdict.loss
    assert (verdict.made, verdict.is_missed) == ("no double", True)
    with_opponents_cube = roll | {"cube_owner": "opponent"}
    assert cube_verdicts(player, CubeRules(), money, [turns[0], with_opponents_cube]) == [None, None]


def test_double_at_double_match_point_has_no_loss(small_root: Path) -> None:
    warehouse = bgdata.open_warehouse(small_root)
    player, (game, turns) = map_player(warehouse), game_with_cube(warehouse)
    double = next(row for row in turns if row["action"] == "double") | {"cube_value": 1, "cube_owner": "centered"}
    last_game = game | {"score_0": game["match_length"] - 1, "score_1": game["match_length"] - 1}
    (verdict,) = cube_verdicts(player, CubeRules(met=published_met()), last_game, [double])
    assert verdict == CubeVerdict("double", "double", 0.0, 0.0)


def test_invalid_score_and_missing_match_equity_table_raise(small_root: Path) -> None:
    warehouse = bgdata.open_warehouse(small_root)
    player, (game, turns) = map_player(warehouse), game_with_cube(warehouse)
    double = next(row for row in turns if row["action"] == "double")
    with pytest.raises(InvalidScoreError, match="expected at least 1 point to go"):
        cube_verdicts(player, CubeRules(met=published_met()), game | {"score_0": game["match_length"]}, [double])
    with pytest.raises(InvalidParameterError, match="expected a match equity table for a match, got none"):
        cube_verdicts(player, CubeRules(), game, [double])


@pytest.mark.parametrize(
    ("scores", "recorded", "is_doubled", "crawford"),
    [
        ([(0, 0), (2, 0), (2, 1)], [None] * 3, [True, False, True], [False, True, False]),
        ([(0, 0), (2, 2)], [None] * 2, [False] * 2, [False, False]),
        ([(0, 0), (2, 0), (2, 1)], [False, False, True], [False] * 3, [False, False, True]),
        ([(2, 0), (2, 1)], [None] * 2, [True, False], [False, False]),
    ],
    ids=["by the score", "both at one point", "recorded", "begun after it"],
)
def test_crawford_game_of_a_match_to_3(
    scores: list[tuple[int, int]], recorded: list[bool | None], is_doubled: list[bool], crawford: list[bool]
) -> None:
    rows = []
    for index, score in enumerate(scores):
        row = {"game_number": index + 1, "match_length": 3, "score_0": score[0], "score_1": score[1]}
        rows.append(row | {"is_crawford": recorded[index], "is_doubled": is_doubled[index]})
    assert list(crawford_games(rows).values()) == crawford
