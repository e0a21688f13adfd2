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
    """The losses of PubEval's plays, not all of them 0, equal those of ranked plays."""
    warehouse = bgdata.open_warehouse(small_root)
    player = map_player(warehouse)
    turns = turns_of(warehouse, game)
    losses = play_losses(player.evaluator, turns)
    expected = []
    for row in turns:
        position = Position(row["position_id"])
        roll = f"{row['die1']}{row['die2']}"
        board = parse_play(row["play"], position, roll).next_position
        ranked = player.rank_plays(position, roll)
        expected.append(next(each.loss for each in ranked if each.play.next_position == board))
    assert losses == pytest.approx(expected, abs=1e-6)
    assert max(loss for loss in losses if loss is not None) > 0.02


def test_best_plays_are_those_of_ranked_plays(small_root: Path) -> None:
    warehouse = bgdata.open_warehouse(small_root)
    player = map_player(warehouse)
    turns = turns_of(warehouse, 3)
    for row in turns[:12]:
        best = best_play(player.evaluator, row)
        ranked = player.rank_plays(Position(row["position_id"]), f"{row['die1']}{row['die2']}")
        found = next(each for each in ranked if best and each.play.next_position == best.next_position)
        assert found.loss == pytest.approx(0, abs=1e-6)
    assert best_play(player.evaluator, turns[0] | {"action": "double", "die1": None, "die2": None}) is None


def test_turns_without_a_readable_play_have_no_loss(small_root: Path) -> None:
    """A turn without a play, with an illegal play, or without the board after it has no loss."""
    warehouse = bgdata.open_warehouse(small_root)
    evaluator = map_player(warehouse).evaluator
    turns = turns_of(warehouse, 3)
    double = turns[0] | {"action": "double", "die1": None, "die2": None, "play": None}
    assert play_losses(evaluator, [double]) == [None]
    assert play_losses(evaluator, [turns[0] | {"play": "24/1"}]) == [None]
    other = turns[1] | {"board": turns[5]["board"]}
    assert play_losses(evaluator, [turns[0], other])[0] is None
    assert play_losses(evaluator, []) == []
    assert play_losses(evaluator, turns[:1]) == play_losses(evaluator, turns)[:1]  # the last play is read from its text


def game_with_cube(warehouse: bgdata.Warehouse) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The first game with a double in the corpus of matches to 3 points, and its turns."""
    where = "where dataset = 'cubeful_selfplay' and variant like 'tiny-match-3-%'"
    (first,) = warehouse.rows(f"select min(game) as game from turns {where} and action = 'double'")
    (game,) = warehouse.rows(f"from games {where} and game = $game", first)
    turns = warehouse.rows(f"from turns {where} and game = $game order by turn", first)
    return {**game, "is_jacoby": False}, turns


def test_verdicts_equal_cube_decisions(small_root: Path) -> None:
    """The page's verdicts equal `decide_cube` turn by turn, at the stakes of the turn."""
    warehouse = bgdata.open_warehouse(small_root)
    player, (game, turns), rules = map_player(warehouse), game_with_cube(warehouse), CubeRules(met=published_met())
    verdicts = cube_verdicts(player, rules, game, turns)
    assert verdicts[0] is None  # nobody doubles before the first roll
    made = set()
    for row, verdict in list(zip(turns, verdicts, strict=True))[1:]:
        decision = player.decide_cube(Position(row["position_id"]), game_stakes(game, row), rules)
        if verdict is None:
            assert not decision.may_double
            continue
        made.add(verdict.made)
        gain = decision.take_gain if verdict.made in ("take", "pass") else decision.double_gain
        sign = 1 if verdict.made in ("pass", "no double") else -1
        assert verdict.loss == pytest.approx(max(0.0, sign * gain), abs=1e-9)
        assert verdict.size == pytest.approx(verdict.loss / normalised_point(game_stakes(game, row), rules))
        is_double = verdict.best.startswith("double, ")
        if verdict.made not in ("take", "pass") and abs(gain) > 1e-6:
            assert (verdict.loss > 0) == (is_double != (verdict.made == "double"))
    assert {"double", "no double"} <= made
    assert cube_verdicts(player, rules, game, []) == []


def test_money_game_is_judged_in_points(small_root: Path) -> None:
    """Losses in a money game are in points per unit cube, also at a cube of 4."""
    warehouse = bgdata.open_warehouse(small_root)
    player, (game, turns) = map_player(warehouse), game_with_cube(warehouse)
    money = game | {"match_length": 0, "score_0": 0, "score_1": 0}
    place = next(place for place, row in enumerate(turns) if row["action"] == "double")
    rolled = turns[place] | {"action": "play", "die1": 3, "die2": 1, "cube_value": 4, "cube_owner": "on_roll"}
    _, verdict = cube_verdicts(player, CubeRules(), money, [turns[0], rolled])
    assert verdict is not None
    decision = player.decide_cube(Position(rolled["position_id"]), game_stakes(money, rolled))
    assert verdict.loss == pytest.approx(max(0.0, decision.double_gain), abs=1e-9)
    assert verdict.size == verdict.loss
    assert (verdict.made, verdict.is_missed) == ("no double", True)
    theirs = rolled | {"cube_owner": "opponent"}
    assert cube_verdicts(player, CubeRules(), money, [turns[0], theirs]) == [None, None]


def test_double_that_cannot_gain_has_no_loss(small_root: Path) -> None:
    """A double that could not gain has no loss; an invalid score or a missing match equity table raises."""
    warehouse = bgdata.open_warehouse(small_root)
    player, (game, turns) = map_player(warehouse), game_with_cube(warehouse)
    double = next(row for row in turns if row["action"] == "double") | {"cube_value": 1, "cube_owner": "centered"}
    last = game | {"score_0": game["match_length"] - 1, "score_1": game["match_length"] - 1}
    (found,) = cube_verdicts(player, CubeRules(met=published_met()), last, [double])
    assert found == CubeVerdict("double", "double", 0.0, 0.0)
    with pytest.raises(InvalidScoreError, match="expected at least 1 point to go"):
        cube_verdicts(player, CubeRules(met=published_met()), game | {"score_0": game["match_length"]}, [double])
    with pytest.raises(InvalidParameterError, match="expected a match equity table for a match, got none"):
        cube_verdicts(player, CubeRules(), game, [double])


@pytest.mark.parametrize(
    ("scores", "recorded", "doubled", "expected"),
    [
        ([(0, 0), (2, 0), (2, 1)], [None] * 3, [True, False, True], [False, True, False]),
        ([(0, 0), (2, 2)], [None] * 2, [False] * 2, [False, False]),
        ([(0, 0), (2, 0), (2, 1)], [False, False, True], [False] * 3, [False, False, True]),
        ([(2, 0), (2, 1)], [None] * 2, [True, False], [False, False]),
    ],
    ids=["found", "both", "recorded", "begun after it"],
)
def test_crawford_game_of_a_match_is_found(
    scores: list[tuple[int, int]], recorded: list[bool | None], doubled: list[bool], expected: list[bool]
) -> None:
    rows = [
        {"game_number": n, "match_length": 3, "score_0": a, "score_1": b, "is_crawford": rule, "is_doubled": is_doubled}
        for n, ((a, b), rule, is_doubled) in enumerate(zip(scores, recorded, doubled, strict=True), 1)
    ]
    assert list(crawford_games(rows).values()) == expected
