"""The referee of contact: which decisions it asks, and what choices lose, against one position at a time."""

from __future__ import annotations

import numpy as np
import pytest

import bgdata
from bgdata.bearoff.race import NON_DOUBLES
from bgdata.datasets.contact_endgame import EndgameParameters
from bgdata.endgames.layouts import all_layouts
from bgdata.endgames.tables import EndgameTable
from bgdata.errors import InvalidPositionError, UsageError
from bgdata.evaluation.pubeval import PubEval
from bgdata.game.codec import format_position_ids
from bgdata.game.plays import legal_plays
from bgdata.game.position import Position
from bgdata.play.contact_referee import contact_decisions, contact_verdicts, is_in_contact

TOLERANCE = 1e-5


def test_decisions_are_in_contact_and_have_a_choice() -> None:
    found = contact_decisions(all_layouts(2), 500, seed=7)
    assert len(found.boards) == len(found.rolls) == 500
    for board, roll in zip(found.boards.tolist(), found.rolls.tolist(), strict=True):
        own = [point for point in range(1, 26) if board[point] > 0]
        other = [25 - point for point in range(1, 25) if board[point] < 0] + [25] * (board[0] > 0)
        assert max(own) + max(other) > 24
        assert 1 <= sum(board[point] for point in own) <= 2
        assert len(legal_plays(Position(board), roll)) > 1
    doubles = (found.rolls[:, 0] == found.rolls[:, 1]).mean()
    assert 0.5 / 6 < doubles < 2 / 6, NON_DOUBLES
    assert np.array_equal(contact_decisions(all_layouts(2), 10, seed=7).boards, found.boards[:10])
    assert not np.array_equal(contact_decisions(all_layouts(2), 10, seed=8).boards, found.boards[:10])
    with pytest.raises(UsageError, match="expected at least 1 decision, got 0"):
        contact_decisions(all_layouts(2), 0, seed=7)


def test_passed_sides_are_no_contact() -> None:
    layouts = all_layouts(1)
    found = is_in_contact(layouts)
    assert found[13, 13]
    assert not found[12, 12]  # the midpoints have passed each other
    assert found[25, 1]
    assert not found[0].any()
    assert not found[:, 0].any()


def test_losses_are_those_of_a_twin(tmp_path: object) -> None:
    warehouse = bgdata.open_warehouse(str(tmp_path))
    table = EndgameTable(warehouse.build("contact_endgame", EndgameParameters(2)))
    decisions = contact_decisions(all_layouts(2), 200, seed=3)
    chosen = PubEval().choose_plays(decisions.boards, decisions.rolls)
    found = contact_verdicts(table.stored, decisions, chosen, TOLERANCE)
    for row, (board, roll) in enumerate(zip(decisions.boards.tolist(), decisions.rolls.tolist(), strict=True)):
        values = {}
        for play in legal_plays(Position(board), roll):
            opponent, on_roll = (list(side) for side in play.next_position.rows)
            values[play.next_position.id] = 1.0 if not any(opponent) else -table.probe(on_roll, opponent).cubeless
        choice, best = (format_position_ids(boards[row : row + 1])[0].decode() for boards in (chosen, found.best))
        assert found.losses[row] == pytest.approx(max(values.values()) - values[choice], abs=1e-9)
        assert values[best] == max(values.values())
        assert found.n_plays[row] == len(values)
        assert found.ranks[row] == sum(value > values[choice] + TOLERANCE for value in values.values())


def test_a_choice_that_is_no_play(tmp_path: object) -> None:
    warehouse = bgdata.open_warehouse(str(tmp_path))
    equities = warehouse.build("contact_endgame", EndgameParameters(1)).array("equities")
    decisions = contact_decisions(all_layouts(1), 3, seed=3)
    with pytest.raises(InvalidPositionError, match="expected a legal play of "):
        contact_verdicts(equities, decisions, decisions.boards, TOLERANCE)
