"""Tests of `bgdata decisions`: making a benchmark, scoring on it, and errors."""

import json
import shutil
from pathlib import Path

import pytest

import bgdata
from bgdata.warehouse import Warehouse
from tests.command_line import error_of, output_of, run

CORPUS = "selfplay/pubeval-20-seed-3"
ROLLER = ("--network", "tiny", "--trials", "72", "--truncate", "1")


@pytest.fixture
def unscored(warehouse: Warehouse) -> Warehouse:
    """A warehouse without imports and scores."""
    for kind in ("gnubg_benchmark", "benchmark_scores", "rollout_decisions", "judged_decisions"):
        shutil.rmtree(warehouse.root / kind)
    return bgdata.open_warehouse(warehouse.root)


def test_decisions_are_made_and_scored_on(unscored: Warehouse) -> None:
    settings = ("--decisions", "2", "--plays", "3", "--until", "0.5", "--most-trials", "72")
    folder, summary = output_of(unscored.root, "decisions", CORPUS, *ROLLER, *settings).splitlines()
    table = unscored.open("rollout_decisions", "contact-2-of-pubeval-20-seed-3")
    assert folder == str(table.folder)
    assert summary.startswith("2 decisions, 6 plays, 432 games: standard errors of 0.0")
    parameters = table.manifest.parameters
    assert parameters["until"] == 0.5
    assert parameters["most_plays"] == 3
    assert parameters["turns"] == 1
    assert parameters["network_version"] == unscored.open("network", "tiny").folder.name
    (row,) = json.loads(output_of(unscored.root, "benchmark", "pubeval", "--format", "json"))
    assert row["player"] == "pubeval"
    assert row["benchmark"] == "rollout_decisions/contact-2-of-pubeval-20-seed-3"
    assert row["decisions"] == 2


def test_exported_decisions_give_the_same_error_rate(warehouse: Warehouse, tmp_path: Path) -> None:
    (table,) = warehouse.current("rollout_decisions")
    name = f"rollout_decisions/{table.manifest.variant}"
    file = tmp_path / "mine.bm"
    output_of(warehouse.root, "export", "text", name, "--format", "gnubg-benchmark", "-o", file)
    sets = ("--bm", file, "--on", name)
    rows = json.loads(output_of(warehouse.root, "benchmark", "pubeval", *sets, "--format", "json"))
    assert [row["benchmark"] for row in rows] == ["gnubg_benchmark/mine", name]
    assert rows[0]["error_rate"] == rows[1]["error_rate"]


def test_unreached_standard_errors_are_reported(unscored: Warehouse) -> None:
    settings = ("--decisions", "1", "--until", "1e-30", "--most-trials", "144", "--seed", "1")
    lines = output_of(unscored.root, "decisions", CORPUS, *ROLLER[:4], "--truncate", "3", *settings).splitlines()
    assert lines[2] == (
        "expected standard errors of at most 1e-30, got larger ones for 5 plays after 144 trials; "
        "try: --most-trials 576"
    )
    assert unscored.variants("rollout_decisions") == ["contact-1-of-pubeval-20-seed-3-sample-1"]


def test_one_per_game_and_settled_at_are_applied(unscored: Warehouse) -> None:
    settings = ("--decisions", "2", "--most-trials", "72", "--one-per-game", "--settled-at", "4")
    output_of(unscored.root, "decisions", CORPUS, *ROLLER, *settings)
    table = unscored.open("rollout_decisions", "contact-2-of-pubeval-20-seed-3")
    parameters = table.manifest.parameters
    assert parameters["one_per_game"]
    assert parameters["settled_at"] == 4.0
    assert parameters["until"] == 0.005
    first_game, second_game = table.array("decisions_games").tolist()
    assert first_game != second_game


@pytest.mark.parametrize(
    ("code", "arguments", "message"),
    [
        (1, ("selfplay/none",), "no selfplay/none in "),
        (2, ("positions/sample",), "expected a corpus such as selfplay/network-10000-seed-1, got 'positions/sample'"),
        (2, ("selfplay/",), "expected a corpus such as selfplay/network-10000-seed-1, got 'selfplay/'"),
        (1, (CORPUS, "--network", "none"), "no network/none in"),
        (2, (CORPUS, *ROLLER, "--trials", "100"), "expected a multiple of 36 trials"),
        (2, (CORPUS, *ROLLER, "--settled-at", "0"), "expected plays settled at more than 0 standard errors, got 0"),
        (2, (CORPUS, *ROLLER, "--within", "-1"), "expected a window of 0 points or more"),
        (2, (CORPUS, "--class", "bearoff"), "invalid value for '--class': 'bearoff' is not one of 'contact', 'cra"),
    ],
)
def test_invalid_arguments_are_refused(small_root: Path, code: int, arguments: tuple[str, ...], message: str) -> None:
    assert error_of(run(small_root, "decisions", *arguments), code).startswith(message)


def test_corpus_with_too_few_decisions_is_refused(unscored: Warehouse) -> None:
    result = run(unscored.root, "decisions", CORPUS, *ROLLER, "--most-trials", "72", "--class", "crashed")
    assert result.exit_code == 2
    name = unscored.open(*CORPUS.split("/")).name
    assert result.stderr.splitlines()[-1] == (
        "error: expected 40 decisions of the class crashed with a play that loses up to 0.16 in the test games of "
        f"{name}, found 0; try more games"
    )
    assert unscored.variants("rollout_decisions") == []
