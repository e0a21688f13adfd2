"""What plays of a game lost, beside the ranking of all plays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import bgdata
from bgdata.evaluation.networks.named import map_player
from bgdata.game.plays import parse_play
from bgdata.game.position import Position
from bgdata.rows.games import play_losses

TURNS = (
    "select * from turns where dataset = 'selfplay' and variant = 'pubeval-20-seed-3' and game = $game order by turn"
)


def turns_of(warehouse: bgdata.Warehouse, game: int) -> list[dict[str, Any]]:
    with warehouse.connect() as connection:
        found = connection.execute(TURNS, {"game": game})
        names = [column[0] for column in found.description]
        return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


@pytest.mark.parametrize("game", [0, 3])
def test_losses_are_those_of_ranked_plays(small_root: Path, game: int) -> None:
    """PubEval errs, so that not all of them are 0."""
    warehouse = bgdata.open_warehouse(small_root)
    player, turns = map_player(warehouse), turns_of(warehouse, game)
    losses = play_losses(player.evaluator, turns)
    expected = []
    for row in turns:
        position, roll = Position(row["position_id"]), f"{row['die1']}{row['die2']}"
        board = parse_play(row["play"], position, roll).next_position
        ranked = player.rank_plays(position, roll)
        expected.append(next(each.loss for each in ranked if each.play.next_position == board))
    assert losses == pytest.approx(expected, abs=1e-6)
    assert max(loss for loss in losses if loss is not None) > 0.02


def test_what_cannot_be_judged(small_root: Path) -> None:
    """No play, a play that the rules do not know, and one whose board the record does not have."""
    warehouse = bgdata.open_warehouse(small_root)
    evaluator, turns = map_player(warehouse).evaluator, turns_of(warehouse, 3)
    double = turns[0] | {"action": "double", "die1": None, "die2": None, "play": None}
    assert play_losses(evaluator, [double]) == [None]
    assert play_losses(evaluator, [turns[0] | {"play": "24/1"}]) == [None]
    other = turns[1] | {"board": turns[5]["board"]}
    assert play_losses(evaluator, [turns[0], other])[0] is None
    assert play_losses(evaluator, []) == []


def test_a_last_play_is_read_from_its_text(small_root: Path) -> None:
    warehouse = bgdata.open_warehouse(small_root)
    evaluator, turns = map_player(warehouse).evaluator, turns_of(warehouse, 3)
    assert play_losses(evaluator, turns[:1]) == play_losses(evaluator, turns)[:1]
