"""Tests of the kind `reference_checks`; the contract tests build its smallest version."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from bgdata.errors import InvalidParameterError
from bgdata.evaluation.chances import cubeless_equities
from bgdata.evaluation.networks.player import NetworkPlayer, open_network_player
from bgdata.evaluation.player import PubEval
from bgdata.measures.kinds.reference_checks import DATASET
from bgdata.measures.kinds.reference_checks_compute import derived_arrays, sampled_rows
from bgdata.measures.kinds.reference_positions import DATASET as REFERENCES
from bgdata.measures.kinds.reference_positions import THEMES
from bgdata.selfplay.rollout import RolloutSettings, roll_out, rolled_by
from bgdata.store.parameters import VersionRef
from bgdata.store.table import Table
from bgdata.warehouse import Warehouse


@pytest.mark.parametrize(
    ("count", "least", "most"), [(200, 14, 15), (14, 1, 1), (5, 0, 1), (280, 20, 20), (1000, 20, 20)]
)
def test_sampled_rows_are_spread_over_the_themes(count: int, least: int, most: int) -> None:
    themes = np.repeat(np.arange(14), 20).astype(np.uint8)
    rows = sampled_rows(themes, count)
    rows_by_theme = np.bincount(themes[rows], minlength=14)
    assert rows_by_theme.min() == least
    assert rows_by_theme.max() == most
    assert len(rows) == min(count, 280)
    assert (np.diff(rows) > 0).all()


def test_all_rows_of_a_small_theme_are_sampled() -> None:
    themes = np.concatenate([np.zeros(3), np.repeat(np.arange(1, 14), 20)]).astype(np.uint8)
    assert np.bincount(themes[sampled_rows(themes, 133)], minlength=14).tolist() == [3] + [10] * 13


def test_differences_equal_those_from_the_reference(warehouse: Warehouse) -> None:
    """The differences equal those of a rollout by PubEval with the same dice, and z-scores follow from them."""
    table = warehouse.open(DATASET.name, DATASET.slug(DATASET.smallest))
    reference = warehouse.open("reference_positions", DATASET.smallest.reference.variant)
    rows = np.asarray(table.array("rows"))
    assert len(rows) == 5
    boards = np.ascontiguousarray(reference.array("boards")[rows])
    player = open_network_player("network/tiny", 0, warehouse)
    items = rows.astype(np.int64) + len(reference.array("boards"))
    assert isinstance(player, NetworkPlayer)
    settings = RolloutSettings("exact", 2)
    by_pubeval = rolled_by(PubEval(), boards, player.chooser, 1, settings, items)
    rollouts = roll_out(boards, player.chooser, 72, 1, settings, items=items, wrap=lambda _: by_pubeval)
    expected = rollouts.equities - cubeless_equities(np.asarray(reference.array("chances"))[rows])
    assert np.asarray(table.array("differences")) == pytest.approx(expected, abs=1e-6)
    for row in warehouse.rows("from reference_checks"):
        assert row["theme"] in THEMES
        if row["z_score"] is not None:
            z_score = row["equity_difference"] / row["difference_standard_error"]
            assert row["z_score"] == pytest.approx(z_score)


def test_dice_differ_from_the_reference_for_the_same_seed(warehouse: Warehouse) -> None:
    """The same player with the same seed and number of games differs by as much as the standard errors."""
    shared = ("network", "trials", "until", "most_trials", "turns", "seed")
    settings = {name: getattr(REFERENCES.smallest, name) for name in shared}
    version = open_network_player("network/tiny", 0, warehouse).version
    parameters = replace(DATASET.smallest, player="network/tiny", version=version, positions=1000, **settings)
    table = warehouse.build(DATASET.name, parameters)
    differences, errors = (np.asarray(table.array(name)) for name in ("differences", "difference_errors"))
    is_uncertain = errors > 0
    assert is_uncertain.sum() > 5
    assert (np.abs(differences[is_uncertain]) > errors[is_uncertain] / 100).all()


def test_rounding_errors_count_as_zero() -> None:
    """If tables end every game, equities differ only by rounding, and there is no z-score."""
    arrays = {
        "boards": np.zeros((4, 26), np.int8),
        "themes": np.zeros(4, np.uint8),
        "chances": np.full((4, 5), 0.25, np.float32),
        "equity_standard_errors": np.array([0.0, 2e-17, 0.003, 1e-9]),
    }
    rollouts = {"equities": np.full(4, -0.5), "equity_standard_errors": np.array([0.0, 1e-17, 0.004, 0.006])}
    reference = cast(Table, SimpleNamespace(array=arrays.__getitem__))
    derived = derived_arrays(reference, np.arange(4, dtype=np.int32), rollouts)
    assert derived["difference_errors"].tolist() == pytest.approx([0, 0, 0.005, 0.006], abs=1e-12)
    assert derived["difference_errors"][:2].tolist() == [0, 0]
    assert derived["differences"].tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"positions": 0}, "expected at least 1 position, got 0"),
        ({"player": "no one"}, "expected the name of a player, got"),
        ({"play_ply": 1}, "expected the ply of the player, as in network:1, got --play-ply 1"),
        ({"reference": VersionRef("selfplay", "x")}, "expected a version of reference_positions, got selfplay/x"),
        (
            {"reference": VersionRef("reference_positions", "x")},
            "expected a version, such as reference_positions/x/r1-",
        ),
        ({"trials": 50}, "expected a multiple of 36 trials"),
    ],
)
def test_invalid_parameters_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=f"^{message}"):
        DATASET.check_parameters(replace(DATASET.smallest, **changes))


def test_another_version_of_the_player_is_refused(warehouse: Warehouse) -> None:
    with pytest.raises(InvalidParameterError, match="expected version 2 of pubeval, as it plays here, got 1"):
        warehouse.build(DATASET.name, replace(DATASET.smallest, version="1"))
