"""Tests of the kind `reference_scores`: rows, figures by theme, resuming, errors and verification."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bgdata
from bgdata.errors import (
    CheckFailedError,
    CheckSkippedError,
    InvalidParameterError,
    MissingTableError,
    UsageError,
)
from bgdata.evaluation.chances import CHANCES
from bgdata.evaluation.player import open_named_evaluator
from bgdata.measures.kinds import reference_scores_compute as reference_scores
from bgdata.measures.kinds.reference_positions import DATASET as REFERENCE
from bgdata.measures.kinds.reference_positions import THEMES
from bgdata.measures.kinds.reference_scores import (
    DATASET,
    EVERY_THEME,
    HALVES,
    ReferenceScoreParameters,
    statistic_name,
)
from bgdata.measures.kinds.reference_scores_compute import ReferenceScoresComputation
from bgdata.store.dataset import Computed
from bgdata.store.parameters import VersionRef
from bgdata.store.table import Table
from bgdata.warehouse import Warehouse
from tests.contract.kinds import Corrupted, smallest_version
from tests.rechecking import check_sample
from tests.reference.value_errors import standard_error, summary

SMALLEST = DATASET.smallest
ROWS = len(THEMES) * REFERENCE.smallest.positions
QUANTITIES = ("cubeless_equity", *CHANCES)


def references(warehouse: Warehouse) -> Table:
    return warehouse.open(REFERENCE.name, REFERENCE.slug(REFERENCE.smallest))


def recipe_of(warehouse: Warehouse, ply: int = 0) -> ReferenceScoreParameters:
    """The parameters of the tiny network with the bearoff tables of the warehouse."""
    version = open_named_evaluator("network/tiny", ply, warehouse).version
    return ReferenceScoreParameters.on(references(warehouse), "network/tiny", ply, version)


def test_rows_equal_the_chances_of_the_player(small_root: Path) -> None:
    """Rows have the player's chances and equity, and its error against the rollout of the same position."""
    warehouse = bgdata.open_warehouse(small_root)
    boards = np.ascontiguousarray(references(warehouse).array("boards"))
    expected = open_named_evaluator("network/tiny", 0, warehouse, tables=False).evaluate_many(boards).chances
    rows = warehouse.rows("from reference_scores order by row")
    assert [row["row"] for row in rows] == list(range(ROWS))
    rollouts = warehouse.rows("from reference_positions order by row")
    for row, rollout, chances in zip(rows, rollouts, expected.tolist(), strict=True):
        assert [row[name] for name in CHANCES] == chances
        win, win_gammon, win_backgammon, lose_gammon, lose_backgammon = chances
        equity = 2 * win - 1 + win_gammon + win_backgammon - lose_gammon - lose_backgammon
        assert row["cubeless_equity"] == pytest.approx(equity, abs=1e-6)
        assert row["equity_error"] == row["cubeless_equity"] - rollout["cubeless_equity"]
        for column in ("theme", "split", "game", "position_id", "class", "standard_error"):
            assert row[column] == rollout[column]


Figures = dict[str, float | None]


def expected_figures(warehouse: Warehouse, variant: str) -> dict[tuple[str, str, str], tuple[Figures, Figures]]:
    """(figures, standard errors) by split, theme and quantity, computed row by row in plain Python."""
    scored = warehouse.rows(f"from reference_scores where variant = '{variant}' order by row")
    rollouts = warehouse.rows("from reference_positions order by row")
    expected = {}
    for split in HALVES:
        for theme in (EVERY_THEME, *THEMES):
            pairs = [
                (score, rollout)
                for score, rollout in zip(scored, rollouts, strict=True)
                if rollout["split"] == split and theme in (EVERY_THEME, rollout["theme"])
            ]
            games = [rollout["game"] for _, rollout in pairs]
            for quantity in QUANTITIES:
                error_column = "standard_error" if quantity == "cubeless_equity" else f"{quantity}_standard_error"
                values = [score[quantity] for score, _ in pairs]
                rollout_values = [rollout[quantity] for _, rollout in pairs]
                rollout_errors = [rollout[error_column] for _, rollout in pairs]
                differences = [score[quantity] - rollout[quantity] for score, rollout in pairs]
                expected[split, theme, quantity] = (
                    summary(values, rollout_values, rollout_errors, games),
                    {
                        "mae_standard_error": standard_error([abs(difference) for difference in differences], games),
                        "bias_standard_error": standard_error(differences, games),
                    },
                )
    return expected


def test_figures_of_the_manifest_equal_sums_over_rows(small_root: Path) -> None:
    warehouse = bgdata.open_warehouse(small_root)
    statistics = smallest_version(warehouse.root, DATASET).manifest.statistics
    expected: dict[str, float | None] = {}
    for (split, theme, quantity), (figures, _) in expected_figures(warehouse, DATASET.slug(SMALLEST)).items():
        if quantity == "cubeless_equity":
            expected |= {statistic_name(split, theme, name): figure for name, figure in figures.items()}
    assert statistics == pytest.approx({name: figure for name, figure in expected.items() if figure is not None})
    assert statistics["test_all_positions"] == ROWS / 2
    assert "test_blitz_rmse_standard_error" not in statistics, "a single position has no standard error"


def test_view_has_every_quantity_by_theme(warehouse: Warehouse) -> None:
    """The view shows every quantity by theme for two players, one of them with bearoff tables."""
    other = warehouse.build(DATASET.name, recipe_of(warehouse, 1))
    rows = warehouse.rows("from reference_errors")
    for table in (smallest_version(warehouse.root, DATASET), other):
        recipe = table.manifest.parameters
        player_rows = [row for row in rows if (row["ply"], row["has_tables"]) == (recipe["ply"], recipe["tables"])]
        expected = expected_figures(warehouse, table.manifest.variant)
        assert len(player_rows) == len(expected) == 2 * (1 + len(THEMES)) * len(QUANTITIES)
        for row in player_rows:
            assert (row["player"], row["player_version"]) == ("network/tiny", recipe["version"])
            assert f"{row['reference']}/{row['reference_version']}" == references(warehouse).name
            figures, errors = expected[row["split"], row["theme"], row["quantity"]]
            figures |= errors
            known = {name: figure for name, figure in figures.items() if figure is not None}
            assert {name: row[name] for name in known} == pytest.approx(known, rel=1e-9, abs=1e-12)
            assert [row[name] for name in figures.keys() - known.keys()] in ([], [None] * 3)
            assert row["source_version"] == table.name
    assert len(rows) == 2 * len(expected)


def test_scores_on_another_version_are_left_out(warehouse: Warehouse) -> None:
    """Scores on a version that is not current are left out, because their rows are other positions."""
    current = references(warehouse)
    other_version = warehouse.build(REFERENCE.name, replace(REFERENCE.smallest, trials=144))
    assert other_version.manifest.variant == current.manifest.variant
    assert other_version.folder != current.folder
    for table, count in ((other_version, 0), (current, 180)):
        warehouse.use(table)
        assert len(warehouse.rows("from reference_errors")) == count


def test_theme_without_positions_has_no_figures(small_root: Path) -> None:
    table = smallest_version(small_root, DATASET)
    is_other_theme = np.asarray(table.array("themes")) != THEMES.index("blitz")
    arrays = {name: np.asarray(values)[is_other_theme] for name, values in table.arrays().items()}
    statistics = ReferenceScoresComputation(DATASET).statistics(Computed(SMALLEST, arrays))
    assert [name for name in statistics if "blitz" in name] == []
    assert statistics["test_all_positions"] == ROWS / 2 - 1


def test_verify_finds_changed_chances(small_root: Path) -> None:
    """`verify` finds changed chances even if the equity is the same."""
    warehouse = bgdata.open_warehouse(small_root)
    table = smallest_version(warehouse.root, DATASET)
    inputs = {"reference": references(warehouse)}
    values = np.array(table.array("chances"))
    values[9, [1, 3]] = values[9, [3, 1]] = 0.0
    values[9, 0] = np.float32(0.5) + np.float32(np.asarray(table.array("equity_errors"))[9] / 2)
    corrupted = Corrupted(table, "chances", values)
    errors = reference_scores.derived_arrays(inputs["reference"], values)["equity_errors"]
    corrupted._arrays["equity_errors"] = errors
    with pytest.raises(CheckFailedError, match=r"expected chances of .* in row 9 of reference_scores/"):
        check_sample(DATASET, corrupted, inputs, ROWS, np.random.default_rng(0))


def test_verify_skips_a_changed_player(warehouse: Warehouse) -> None:
    """`verify` evaluates nothing if the player has changed, such as a network with other bearoff tables."""
    table = warehouse.build(DATASET.name, recipe_of(warehouse))
    inputs = {"reference": references(warehouse)}
    assert check_sample(DATASET, table, inputs, ROWS, np.random.default_rng(0)) == f"all {ROWS} rows"
    (warehouse.root / "bearoff_two_sided").rename(warehouse.root / "away")
    with pytest.raises(CheckSkippedError, match=r"the player cannot be asked: expected version .* of network/tiny, as"):
        check_sample(DATASET, table, inputs, ROWS, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        (
            {"version": "0123abcd"},
            InvalidParameterError,
            "expected version b49ded87 of network/tiny, as it plays here, got 0123abcd",
        ),
        ({"version": ""}, InvalidParameterError, "expected version .*, got none"),
        ({"tables": True}, InvalidParameterError, "expected version .* of network/tiny, .*, got b49ded87"),
        (
            {"player": "pubeval", "version": "2", "tables": True},
            UsageError,
            "expected a player that evaluates positions, got pubeval, which only chooses plays",
        ),
        ({"player": "network/none"}, MissingTableError, "no network/none in "),
        ({"player": "a b"}, InvalidParameterError, "expected the name of a player, got 'a b'"),
        (
            {"reference": VersionRef("positions", "x", "r1-01234567")},
            InvalidParameterError,
            "expected a version of reference_positions, got positions/x/r1-01234567",
        ),
        (
            {"reference": VersionRef(REFERENCE.name, "x")},
            InvalidParameterError,
            "expected a version, such as reference_positions/x/r1-0123abcd, got reference_positions/x",
        ),
        (
            {"reference": VersionRef(REFERENCE.name, "x", "r1-01234567")},
            MissingTableError,
            "no reference_positions/x/r1-01234567 in ",
        ),
    ],
)
def test_invalid_parameters_are_refused(
    warehouse: Warehouse, changes: dict[str, Any], error: type[Exception], message: str
) -> None:
    before = sorted(table.name for table in warehouse.versions())
    with pytest.raises(error, match=f"^{message}"):
        warehouse.build(DATASET.name, replace(SMALLEST, **changes))
    assert sorted(table.name for table in warehouse.versions()) == before
