"""Tests of the kind `cube_benchmark_scores`, its summary, and `bgdata benchmark --on cube`."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bgdata
from bgdata.errors import InvalidParameterError
from bgdata.kinds.column_values import text_column
from bgdata.measures.kinds.cube_benchmark import DATASET as BENCHMARK
from bgdata.measures.kinds.cube_benchmark_compute import question_of
from bgdata.measures.kinds.cube_benchmark_scores import DATASET, MODELS, CubeScoreParameters
from bgdata.measures.kinds.cube_benchmark_scores_compute import action_losses, player_actions
from bgdata.store.parameters import VersionRef
from bgdata.warehouse import Warehouse
from tests.command_line import error_of, output_of, run
from tests.contract.kinds import smallest_version
from tests.oracles import needs_gnubg_tool
from tests.rechecking import check_sample, inputs_of

SMALLEST = DATASET.smallest
SET = BENCHMARK.slug(BENCHMARK.smallest)


@pytest.mark.parametrize(
    ("equities", "is_doubled", "is_taken", "losses"),
    [
        # no double; double and take; a pass is worth 1
        ((0.5, 0.7), True, True, (0, 0)),
        ((0.5, 0.7), True, False, (0, 0.3)),
        ((0.5, 0.7), False, True, (0.2, 0)),
        ((0.5, 0.7), False, False, (0.2, 0.3)),
        ((0.9, 1.3), True, True, (0, 0.3)),
        ((0.9, 1.3), True, False, (0, 0)),
        ((0.9, 1.3), False, True, (0.1, 0.3)),
        ((0.9, 1.3), False, False, (0.1, 0)),
        ((1.1, 1.3), True, True, (0.1, 0.3)),
        ((1.1, 1.3), False, False, (0, 0)),
    ],
)
def test_losses_are_against_the_better_action(
    equities: tuple[float, float], is_doubled: bool, is_taken: bool, losses: tuple[float, float]
) -> None:
    """The loss of a double is against its best answer; that of an answer does not depend on whether the double is
    right."""
    found = action_losses(np.array([equities]), np.array([is_doubled]), np.array([is_taken]))
    assert found == pytest.approx(np.array([losses]))


@pytest.mark.parametrize(
    ("equities", "is_doubled", "is_taken"),
    [
        ((0.5, 0.4), False, True),
        ((0.5, 0.6), True, True),
        ((0.8, 1.2), True, False),
        ((1.1, 1.2), False, False),
        ((0.4, 0.4), True, True),
        ((1.0, 1.0), True, False),
    ],
)
def test_players_take_the_action_with_the_better_value(
    equities: tuple[float, float], is_doubled: bool, is_taken: bool
) -> None:
    """If both are equal, a player doubles, and passes."""
    doubled, taken = player_actions(np.array([equities]))
    assert doubled.tolist() == [is_doubled]
    assert taken.tolist() == [is_taken]


def test_scores_are_those_of_the_rows(small_root: Path) -> None:
    """The statistics are means of the losses in the rows."""
    warehouse = bgdata.open_warehouse(small_root)
    table = warehouse.open(DATASET.name, DATASET.slug(SMALLEST))
    benchmark = warehouse.open(BENCHMARK.name, SET)
    rows = warehouse.rows(f"from cube_benchmark_scores where variant = '{table.manifest.variant}' order by decision")
    assert [row["xgid"] for row in rows] == text_column(benchmark.arrays(), "xgids").to_pylist()
    losses = np.array([[row["double_loss"], row["answer_loss"]] for row in rows])
    actions = (np.array([row[name] for row in rows]) for name in ("is_doubled", "is_taken"))
    assert losses == pytest.approx(action_losses(np.asarray(benchmark.array("values")), *actions))
    statistics = table.manifest.statistics
    assert statistics["error_rate"] == pytest.approx(1000 * losses.mean())
    assert statistics["double_error_rate"] == pytest.approx(1000 * losses[:, 0].mean())
    root_of_decisions = 2  # of 4 decisions
    standard_error = 1000 * losses.mean(axis=1).std(ddof=1) / root_of_decisions
    assert statistics["standard_error"] == pytest.approx(standard_error)


def test_summary_has_the_scores_by_theme_and_score(small_root: Path) -> None:
    warehouse = bgdata.open_warehouse(small_root)
    statistics = warehouse.open(DATASET.name, DATASET.slug(SMALLEST)).manifest.statistics
    summary = warehouse.rows(f"from cube_benchmark_summary where benchmark = 'cube_benchmark/{SET}'")
    (total,) = [row for row in summary if row["part"] == "all"]
    for name in ("error_rate", "standard_error", "double_error_rate", "answer_error_rate", "answer_standard_error"):
        assert total[name] == pytest.approx(statistics[name])
    for part in ("theme", "score"):
        rows = [row for row in summary if row["part"] == part]
        assert len({row["part_name"] for row in rows}) == len(rows) > 1
        assert sum(row["decisions"] * row["error_rate"] for row in rows) == pytest.approx(4 * total["error_rate"])


def test_verify_says_that_all_decisions_were_recomputed(small_root: Path) -> None:
    table = smallest_version(small_root, DATASET)
    inputs = inputs_of(bgdata.open_warehouse(small_root), DATASET, SMALLEST)
    assert check_sample(DATASET, table, inputs, 10, np.random.default_rng(0)) == "all 4 decisions"


def test_command_scores_each_cube_model(warehouse: Warehouse) -> None:
    """The command prints one row for each cube model; at 0-ply it leaves out the one that looks ahead with the cube."""
    for ply, models in ((0, MODELS[:-1]), (1, MODELS)):
        options = ("network/tiny", "--on", "cube", "--ply", str(ply), "--format", "json")
        rows = json.loads(output_of(warehouse.root, "benchmark", *options))
        assert [row["cube_model"] for row in rows] == list(models)
        for row in rows:
            assert (row["player"], row["ply"], row["decisions"]) == ("network/tiny", ply, 4)
            assert row["judge"].startswith("network/contact-160/")
            assert row["low"] <= row["error_rate"] <= row["high"]
    lines = output_of(warehouse.root, "benchmark", "network/tiny", "--on", "cube").splitlines()
    assert lines[0].split()[:3] == ["judge", "cube", "model"]
    assert len(lines) == len(MODELS)
    summary = warehouse.rows("select distinct cube_model from cube_benchmark_summary")
    assert {row["cube_model"] for row in summary} == set(MODELS)


@needs_gnubg_tool("gnubg")
def test_gnubg_is_scored_by_its_own_model(warehouse: Warehouse) -> None:
    (row,) = json.loads(output_of(warehouse.root, "benchmark", "gnubg", "--on", "cube", "--format", "json"))
    assert (row["player"], row["cube_model"], row["decisions"]) == ("gnubg", "", 4)
    table = warehouse.open(DATASET.name, f"gnubg-0ply-on-{SET}")
    questions = [question_of(text) for text in text_column(table.arrays(), "xgids").to_pylist()]
    assert len(questions) == len(table.array("values"))
    assert check_sample(DATASET, table, {"benchmark": warehouse.open(BENCHMARK.name, SET)}, 4, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"cube": ""}, "expected cube models such as"),
        ({"cube": "x"}, "expected cube models such as"),
        (
            {"cube": "cubeful:0.7"},
            "expected a cube model such as default, 0.7, jump:0.113, local:0.113, ahead:default, got cubeful",
        ),
        ({"cube": "money:0.7"}, "expected a cube model such as default, .* got money:0.7"),
        ({"cube": "first:0.7"}, "expected a cube model such as default, .* got first:0.7"),
        ({"cube": "ahead:local:0.1"}, "expected a cube model such as default, .* got ahead:local:0.1"),
        ({"player": "gnubg"}, "expected no cube model with gnubg, which has its own, got default"),
        ({"player": "?"}, "expected the name of a player"),
        ({"met": "mine"}, "expected own or published as met, got 'mine'"),
        ({"benchmark": VersionRef("rollout_decisions", "x")}, "expected a version of cube_benchmark, got"),
        ({"benchmark": VersionRef("cube_benchmark", "x")}, "expected a version, such as cube_benchmark/x/r1-0123abcd"),
    ],
)
def test_wrong_parameters_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        DATASET.check_parameters(replace(SMALLEST, **change))


def test_parameters_of_a_version_name_its_table(small_root: Path) -> None:
    table = bgdata.open_warehouse(small_root).open(BENCHMARK.name, SET)
    parameters = CubeScoreParameters.on(table, "network", 1, "0.7", "v")
    assert str(parameters.benchmark) == table.name
    assert parameters.met == "published"


def test_command_refuses_other_sets_and_players(warehouse: Warehouse) -> None:
    error = error_of(run(warehouse.root, "benchmark", "pubeval", "--on", "cube"), 2)
    assert error == "expected a player that evaluates positions, got pubeval, which only chooses plays"
    error = error_of(run(warehouse.root, "benchmark", "network/tiny", "--on", "contact", "--on", "cube"), 2)
    assert error == "expected --on cube alone, got other benchmarks too"


def test_command_without_a_cube_benchmark_says_how_to_build_one(warehouse: Warehouse) -> None:
    shutil.rmtree(warehouse.root / BENCHMARK.name)
    error = error_of(run(warehouse.root, "benchmark", "network/tiny", "--on", "cube"), 1)
    assert error.startswith("expected a cube benchmark in ")
    assert error.endswith("found none; try: bgdata build cube_benchmark")
