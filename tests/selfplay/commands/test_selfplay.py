"""`bgdata selfplay`: a corpus, a summary, and one line for whatever cannot be."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

import bgdata
from bgdata.selfplay.commands.selfplay import summary
from bgdata.selfplay.kinds.selfplay import DATASET
from tests.command_line import error_of, lacking, run, succeeds

PUBEVAL = ("selfplay", "--player", "pubeval", "--games", "20", "--seed", "3")


def test_a_corpus_and_its_summary(small_root: Path, memory_path: Path) -> None:
    expected = bgdata.open_warehouse(small_root).open(DATASET.name, DATASET.slug(DATASET.smallest)).manifest
    result = run(memory_path, *PUBEVAL, "--threads", "1")
    assert result.exit_code == 0, result.output
    table = bgdata.open_warehouse(memory_path).open("selfplay", "pubeval-20-seed-3")
    assert table.manifest.digest == expected.digest
    assert result.stdout == f"{table.folder}\n{summary(20, expected.statistics)}\n"
    assert re.fullmatch(rf"selfplay/pubeval-20-seed-3: built {table.folder.name}, 20 rows in .* s\n", result.stderr)
    again = run(memory_path, *PUBEVAL)
    assert again.stdout == result.stdout
    assert again.stderr == f"selfplay/pubeval-20-seed-3: already built ({table.folder.name})\n"
    assert ": built " in run(memory_path, *PUBEVAL, "--force").stderr


def test_summary() -> None:
    found = {
        "single_share": 0.7, "gammon_share": 0.28, "backgammon_share": 0.02, "turns_per_game": 54.32,
        "points_per_game": -0.0123, "standard_error": 0.02,
    }  # fmt: skip
    lines = "1,000 games of 54.3 turns: 70.0 % singles, 28.0 % gammons, 2.0 % backgammons\n"
    points = "player 0: -0.0123 +/- 0.0200 points per game"
    assert summary(1000, found) == lines + points
    found |= {"hedged_points_per_game": 0.001, "hedged_standard_error": 0.005}
    assert summary(1000, found) == f"{lines}{points}; luck-adjusted +0.0010 +/- 0.0050, 4.0 times less noise"
    assert summary(1000, {**found, "hedged_standard_error": 0}).endswith("luck-adjusted +0.0010 +/- 0.0000")


def test_luck_of_the_network(network_root: Path) -> None:
    out = succeeds(network_root, "selfplay", "--games", "6", "--seed", "4", "--luck")
    folder, _, points = out.splitlines()
    assert Path(folder).parent.name == "network-6-seed-4-luck"
    assert "; luck-adjusted " in points
    query = "select count(*) from luck_by_game where variant = 'network-6-seed-4-luck'"
    assert succeeds(network_root, "query", query, "--format", "csv").split()[1] == "6"


def test_in_processes(memory_path: Path) -> None:
    alone = succeeds(memory_path / "alone", *PUBEVAL)
    shared = succeeds(memory_path / "shared", *PUBEVAL, "--executor", "processes:2")
    assert [line.rpartition("/")[2] for line in alone.splitlines()] == [
        line.rpartition("/")[2] for line in shared.splitlines()
    ]


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (("--player", "gnubg"), 2, "expected the player network, network/NAME, pubeval or random, got 'gnubg'"),
        (("--player", "network/x"), 1, r"no network/x in .* \(have: none\); try: bgdata train td x"),
        (
            ("--player", "pubeval", "--executor", "x"),
            2,
            "expected the executor local, processes:N or dask://HOST:PORT, got x",
        ),
    ],
)
def test_invalid_arguments_are_refused(memory_path: Path, options: tuple[str, ...], code: int, message: str) -> None:
    assert re.fullmatch(message, error_of(run(memory_path, "selfplay", *options), code))
    assert not list(memory_path.glob("selfplay/*"))


def test_without_dask(memory_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    message = error_of(run(memory_path, *PUBEVAL, "--executor", "dask://localhost:8786"), 1)
    assert message == f"expected distributed for an executor dask://..., {lacking('dask')}"
