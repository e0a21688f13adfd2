"""Evaluators by name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import bgdata
from bgdata.errors import MissingTableError, UnknownPlayerError, UsageError
from bgdata.evaluation.player import open_named_evaluator, open_named_player
from bgdata.game.position import Position


@pytest.mark.parametrize("ply", [0, 1])
def test_networks_evaluate(player_root: Path, ply: int) -> None:
    warehouse = bgdata.open_warehouse(player_root)
    boards = np.array([Position("start").board], np.int8)
    found = open_named_evaluator("network/random", ply, warehouse)
    same = open_named_player("network/random", ply, warehouse)
    assert found.version == same.version
    assert np.array_equal(found.evaluate_many(boards).chances, same.evaluate_many(boards).chances)  # type: ignore[attr-defined]
    if not ply:
        assert open_named_evaluator("network/random", 0, warehouse, tables=False).version != found.version


@pytest.mark.parametrize("name", ["pubeval", "random"])
def test_who_only_chooses_plays(player_root: Path, name: str) -> None:
    with pytest.raises(
        UsageError, match=f"^expected a player that evaluates positions, got {name}, which only chooses plays$"
    ):
        open_named_evaluator(name, 0, bgdata.open_warehouse(player_root))


def test_who_is_not_there(player_root: Path) -> None:
    warehouse = bgdata.open_warehouse(player_root)
    with pytest.raises(UnknownPlayerError, match=r"expected a player among .*, got nobody"):
        open_named_evaluator("nobody", 0, warehouse)
    with pytest.raises(MissingTableError, match="no network/x in "):
        open_named_evaluator("network/x", 0, warehouse)
