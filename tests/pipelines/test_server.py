"""The deployments on a real Prefect server: they run, go on when processes are killed, and publish what they found."""

from __future__ import annotations

import base64
import json
import os
import shutil
from collections.abc import Iterator
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path

import pytest

import bgdata
from bgdata.datasets.selfplay import SelfPlayParameters
from bgdata.evaluation.player import open_named_player
from bgdata.store.dataset import ImportedDataset
from tests.formats.samples import shared_file
from tests.pipelines.server import PrefectServer

pytestmark = pytest.mark.prefect
PNG = b"\x89PNG\r\n\x1a\n"
GAMES = 12_000  # in twelve parts
PLAN = {"player": "network/tiny", "games": 40, "seed": 3, "cubeful_games": 4, "most": 2, "trials": 72}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PrefectServer]:
    """A server with all deployments, and a worker."""
    found = PrefectServer(tmp_path_factory.mktemp("server"))
    yield found
    found.close()


@pytest.fixture
def root(small_root: Path, tmp_path: Path) -> Path:
    """A warehouse with the smallest tables and networks, to which flows add."""
    return Path(shutil.copytree(small_root, tmp_path / "warehouse"))


def test_every_flow_is_deployed_with_its_schedule(server: PrefectServer) -> None:
    flows = {"build-warehouse": True, "import-files": False, "make-corpora": False, "match-equity": False}
    for flow, is_active in flows.items():
        deployed = server.deployment(flow)
        assert deployed["work_pool_name"] == "bgdata-processes"
        (schedule,) = deployed["schedules"]
        assert schedule["active"] is is_active
        assert schedule["schedule"]["cron"]
    assert server.deployment("train-network")["schedules"] == []


def test_schedules_make_runs(server: PrefectServer) -> None:
    if int(version("sqlalchemy").split(".")[1]) > 0:
        pytest.skip("this environment is older than the lock: the scheduler of Prefect 3.8 needs SQLAlchemy 2.0")

    def scheduled() -> list[str]:
        wanted = {"flows": {"name": {"any_": ["build-warehouse"]}}}
        runs = server.asked("POST", "flow_runs/filter", wanted) or []
        return [run["expected_start_time"] for run in runs if run["state_type"] == "SCHEDULED"]

    server.wait_for(scheduled, "the scheduler to make runs of the nightly build")
    assert all("T03:00:00" in start for start in scheduled())


def test_match_equity_tables_side_by_side_with_figures_and_a_picture(server: PrefectServer, root: Path) -> None:
    plan = {"player": "network/tiny", "plies": [0, 1], "length": 5}
    run = server.begin("match-equity", root=str(root), plan=plan)
    assert server.ended(run)["state_type"] == "COMPLETED", server.log("worker")
    found = server.artifacts(run)
    rows = json.loads(found["match-equity"]["data"])
    assert [(row["met"], row["beside"]) for row in rows] == [(f"tiny-{ply}ply-5", "published-12") for ply in (0, 1)]
    assert all(0 < row["mean"] < row["largest"] < 100 for row in rows)
    kind, _, picture = found["match-equity-picture"]["data"].partition(",")
    assert kind == "data:image/png;base64"
    assert base64.b64decode(picture).startswith(PNG)
    times = sorted((task["start_time"], task["end_time"]) for task in server.tasks(run) if task["end_time"])
    if (os.cpu_count() or 1) > 1 and len(times) == 3:  # which of them Prefect has recorded
        assert any(start < end for (_, end), (start, _) in pairwise(times))


def test_a_killed_task_process_costs_its_present_part_alone(server: PrefectServer, root: Path) -> None:
    plan = PLAN | {"games": GAMES, "cubeful_games": 0, "most": 0}
    run = server.begin("make-corpora", root=str(root), plan=plan)
    server.wait_for(lambda: any(root.glob(".staging/**/*.npz")), "the first part of the games")
    for process in server.task_processes():
        process.kill()
    ended = server.ended(run)
    assert ended["state_type"] == "COMPLETED", server.log("worker")
    assert ended["run_count"] == 2, "the flow was tried again"
    assert f"going on with selfplay/network-tiny-{GAMES}-seed-3: " in server.log("worker")
    check_games(root)
    figures = json.loads(server.artifacts(run)["corpora"]["data"])
    assert {"version", "figure", "value"} == set(figures[0])


def test_a_killed_flow_goes_on_where_it_stopped_when_it_is_run_again(server: PrefectServer, root: Path) -> None:
    plan = PLAN | {"games": GAMES, "seed": 4, "cubeful_games": 0, "most": 0}
    run = server.begin("make-corpora", root=str(root), plan=plan)
    server.wait_for(lambda: any(root.glob(".staging/**/*.npz")), "the first part of the games")
    for process in server.processes():
        process.kill()
    assert server.ended(run)["state_type"] == "CRASHED"
    again = server.begin("make-corpora", root=str(root), plan=plan)
    assert server.ended(again)["state_type"] == "COMPLETED", server.log("worker")
    assert f"going on with selfplay/network-tiny-{GAMES}-seed-4: " in server.log("worker")
    check_games(root, 4)


def check_games(root: Path, seed: int = 3) -> None:
    """The games that a flow made are those that the library makes."""
    warehouse = bgdata.open_warehouse(root)
    player = open_named_player("network/tiny", 0, warehouse)
    parameters = SelfPlayParameters("network/tiny", player.version, GAMES, seed)
    found = warehouse.find(warehouse.kind("selfplay"), parameters)
    assert found is not None
    assert warehouse.build("selfplay", parameters, force=True).manifest.digest == found.manifest.digest


def test_corpora_from_games_to_rollouts(server: PrefectServer, root: Path) -> None:
    run = server.begin("make-corpora", root=str(root), plan=PLAN, executor="processes:2")
    assert server.ended(run)["state_type"] == "COMPLETED", server.log("worker")
    figures = json.loads(server.artifacts(run)["corpora"]["data"])
    versions = {row["version"] for row in figures}
    assert {name.partition("/")[0] for name in versions} == {
        *("selfplay", "selfplay_labels", "position_sample", "rollout_labels", "cubeful_selfplay")
    }
    warehouse = bgdata.open_warehouse(root)
    for name in versions:
        warehouse.open_reference(name).check_sizes()


def test_files_are_imported_checked_and_looked_at_for_leaks(server: PrefectServer, root: Path, tmp_path: Path) -> None:
    words, kinds = [], ("positions", "gnubg_benchmark", "matches")
    for kind in kinds:
        declared = bgdata.all_kinds()[kind]
        assert isinstance(declared, ImportedDataset)
        (tmp_path / kind).mkdir()
        words += [f"{kind}:{path}" for path in declared.computation.write_sample(tmp_path / kind)]
    run = server.begin("import-files", root=str(root), files=words)
    assert server.ended(run)["state_type"] == "COMPLETED", server.log("worker")
    found = server.artifacts(run)
    rows = json.loads(found["imports"]["data"])
    assert sorted(row["version"].partition("/")[0] for row in rows) == sorted(word.partition(":")[0] for word in words)
    assert all(row["lines_with_rows"] > 0 for row in rows)
    assert found["leakage"]["data"].startswith("| labels | rows left out of training | benchmarks |")
    assert "gnubg_benchmark/" in found["leakage"]["data"]


def test_real_files(server: PrefectServer, root: Path, tmp_path: Path) -> None:
    """Positions of wildbg, and decisions of gnubg, whose lines begin with the name and line of their file."""
    positions, samples = shared_file("wildbg", "contact.csv"), shared_file("gnubg", "benchmark_samples.bm")
    decisions = tmp_path / "contact-samples.bm"
    lines = [line.split(maxsplit=2) for line in samples.read_text().splitlines() if line.startswith("contact ")]
    decisions.write_text("".join(f"{line}\n" for _, _, line in lines))
    run = server.begin("import-files", root=str(root), files=[f"positions:{positions}", f"gnubg_benchmark:{decisions}"])
    assert server.ended(run)["state_type"] == "COMPLETED", server.log("worker")
    rows = json.loads(server.artifacts(run)["imports"]["data"])
    assert [row["version"].rpartition("/")[0] for row in rows] == [
        "gnubg_benchmark/contact-samples",
        "positions/contact",
    ]
    assert [row["lines_with_rows"] for row in rows] == [len(lines), 1000]


def test_a_flow_that_cannot_go_on_says_why(server: PrefectServer, root: Path) -> None:
    run = server.begin("import-files", root=str(root), files=["nothing.bm"])
    ended = server.ended(run)
    assert ended["state_type"] == "FAILED"
    assert "expected KIND:FILE or one of " in ended["state"]["message"]
