"""The deployments on a real Prefect server: they run, resume when processes are killed, and publish artifacts."""

from __future__ import annotations

import base64
import bz2
import json
import random
import shutil
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import psutil
import pytest

import bgdata
from bgdata.evaluation.player import open_named_player
from bgdata.selfplay.kinds.selfplay import SelfPlayParameters
from bgdata.store.dataset import ImportedDataset
from bgdata.store.storage import hold_lock
from tests.formats.samples import BENCHMARK_ROWS, SHARED, TRAINING_ROW
from tests.pipelines.mirror import Mirror
from tests.pipelines.server import PrefectServer

pytestmark = pytest.mark.prefect
PNG, SVG = ("image/png", b"\x89PNG\r\n\x1a\n"), ("image/svg+xml", b"<svg ")
GAMES = 12_000  # in twelve parts: a fast machine does not finish between the first part and a kill
PLAN = {"player": "network/tiny", "games": 40, "seed": 3, "cubeful_games": 4, "most": 2, "trials": 72}
SMALLEST = {"name": "mine", "start": "network/tiny", "games": 20, "epochs": 1, "score_games": 4, "decisions": 20}
FETCHED = "crashed-train-data"
SAMPLES = ("positions", "gnubg_benchmark", "matches")


@pytest.fixture
def root(small_root: Path, tmp_path: Path) -> Path:
    """A warehouse with the smallest tables and networks, to which flows add."""
    return Path(shutil.copytree(small_root, tmp_path / "warehouse"))


def picture(artifact: Any, kind: tuple[str, bytes]) -> bytes:
    """The content of a picture artifact of this format."""
    head, _, data = artifact["data"].partition(",")
    found = base64.b64decode(data)
    assert head == f"data:{kind[0]};base64"
    assert found[: len(kind[1])] == kind[1]
    return found


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


def test_build_and_train_publish_reports_and_pictures(server: PrefectServer, root: Path) -> None:
    """The two flows run on one warehouse at the same time."""
    trained = server.begin("train-network", root=str(root), plan=SMALLEST | {"luck_adjusted_games": 0})
    kinds = ["network", "supervised_network"]  # part of the package
    built = server.begin("build-warehouse", root=str(root), kinds=kinds)
    assert server.ended(built)["state_type"] == "COMPLETED", server.log("worker")
    found = server.artifacts(built)
    warehouse = bgdata.open_warehouse(root)
    expected = {
        f"{name}/{kind.slug(each)}" for name in kinds for kind in [warehouse.kind(name)] for each in kind.defaults
    }
    head, _, *rows = found["warehouse"]["data"].splitlines()
    assert head == "| version | rows | digest |"
    assert {row.split()[1].rpartition("/")[0] for row in rows} == expected
    assert b"points per game against PubEval" in picture(found["warehouse-picture"], SVG)
    assert server.ended(trained)["state_type"] == "COMPLETED", server.log("worker")
    found = server.artifacts(trained)
    assert "network/mine (0-ply), version " in found["scores"]["data"]
    assert "points_per_game" in found["scores"]["data"]
    picture(found["learning-curve"], PNG)


def test_match_equity_tables_finish_after_the_worker_is_killed(server: PrefectServer, root: Path) -> None:
    """One table is built while another waits. The flow of the killed worker cannot report and ends; a retry finds the
    table."""
    plan = {"player": "network/tiny", "plies": [0, 1], "length": 5}
    tables = root / "match_equity"
    with hold_lock(root / ".staging" / "match_equity-tiny-0ply-5.lock"):
        run = server.begin("match-equity", root=str(root), plan=plan)
        server.wait_for(lambda: any(tables.glob("tiny-1ply-5/r*")), "one table, while another one has to wait")
        server.kill_worker()
    assert server.ended(run)["state_type"] in {"CRASHED", "FAILED"}
    server.start_worker()
    server.run("flow-run", "retry", run)
    assert server.ended(run)["state_type"] == "COMPLETED", server.log("worker")
    assert "match_equity/tiny-1ply-5: already built" in server.log("worker")
    found = server.artifacts(run)
    rows = json.loads(found["match-equity"]["data"])
    assert [(row["met"], row["beside"]) for row in rows] == [(f"tiny-{ply}ply-5", "published-12") for ply in (0, 1)]
    assert all(0 < row["mean"] < row["largest"] < 100 for row in rows)
    picture(found["match-equity-picture"], PNG)


def test_killed_task_loses_only_its_present_part(server: PrefectServer, root: Path) -> None:
    plan = PLAN | {"games": GAMES, "cubeful_games": 0, "most": 0}
    run = server.begin("make-corpora", root=str(root), plan=plan)
    server.wait_for(lambda: has_part_of_games(root), "the first part of the games")
    for process in server.task_processes(run):
        process.kill()
    ended = server.ended(run)
    assert (ended["state_type"], ended["run_count"]) == ("COMPLETED", 2), server.log("worker")  # it was tried again
    assert f"going on with selfplay/network-tiny-{GAMES}-seed-3: " in (log := server.log("worker")), log
    check_games(root)


def test_corpora_resume_after_all_processes_are_killed(server: PrefectServer, root: Path) -> None:
    """A run requested before another worker starts resumes, on another executor."""
    plan = PLAN | {"games": GAMES, "seed": 4}
    lost = server.begin("make-corpora", root=str(root), plan=plan)
    server.wait_for(lambda: has_part_of_games(root), "the first part of the games")
    processes = [server.process(lost), *server.task_processes(lost)]  # the tasks would continue by themselves
    server.kill_worker()
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    run = server.begin("make-corpora", root=str(root), plan=plan, executor="processes:2")
    server.start_worker()
    assert server.ended(run)["state_type"] == "COMPLETED", server.log("worker")
    assert f"going on with selfplay/network-tiny-{GAMES}-seed-4: " in (log := server.log("worker")), log
    assert server.state(lost) == "RUNNING", "nobody told the server"
    check_games(root, 4)
    found = server.artifacts(run)
    figures = json.loads(found["corpora"]["data"])
    assert {"version", "figure", "value"} == set(figures[0])
    versions = {row["version"] for row in figures}
    kinds = {"selfplay", "selfplay_labels", "position_sample", "rollout_labels", "cubeful_selfplay"}
    assert {name.partition("/")[0] for name in versions} == kinds
    drawn = picture(found["corpora-picture"], SVG).decode()
    warehouse = bgdata.open_warehouse(root)
    for name in versions:
        warehouse.open_reference(name).check_sizes()
        assert f">{name.split('/')[1]}<" in drawn


def has_part_of_games(root: Path) -> bool:
    """Whether a part of the cubeless games is saved; games with the cube are played at the same time."""
    return any(root.glob(".staging/selfplay-*/**/*.npz"))


def check_games(root: Path, seed: int = 3) -> None:
    """Check that a flow plays the games of the library."""
    warehouse = bgdata.open_warehouse(root)
    player = open_named_player("network/tiny", 0, warehouse)
    parameters = SelfPlayParameters("network/tiny", player.version, GAMES, seed)
    found = warehouse.find(warehouse.kind("selfplay"), parameters)
    assert found is not None
    assert warehouse.build("selfplay", parameters, force=True).manifest.digest == found.manifest.digest


class Imported(NamedTuple):
    """A run of the import flow that was killed during a download, and run again."""

    killed: str  # state of the first run
    asked: list[str]  # the header Range of each request to the mirror
    log: str
    artifacts: dict[str, Any]
    rows: dict[str, Any]  # figures of each variant


@pytest.fixture(scope="module")
def imported(server: PrefectServer, small_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Imported:
    """One file is fetched while others, also real ones if present, are imported."""
    folder = tmp_path_factory.mktemp("imports")
    root = Path(shutil.copytree(small_root, folder / "warehouse"))
    source = random.Random(1)  # many random comments, so that the file has several pieces
    comments = [f"# {source.randbytes(500).hex()}\n".encode() for _ in range(2000)]
    mirror = Mirror(f"{FETCHED}.bz2", bz2.compress(b"".join([*comments, *[TRAINING_ROW] * 3])))
    partial = root / "raw" / f"{mirror.name}.partial"
    words = [mirror.name, *written_files(folder)]
    given: dict[str, Any] = {"root": str(root), "files": words, "address": mirror.address}
    run = server.begin("import-files", **given)
    server.wait_for(lambda: any(root.glob("gnubg_benchmark/mine/r*")), "one file, while another one is fetched")
    server.wait_for(lambda: partial.exists() and partial.stat().st_size, "the first half of the other one")
    server.process(run).kill()
    killed = server.ended(run)["state_type"]
    mirror.rest.set()
    again = server.begin("import-files", **given)
    assert server.ended(again)["state_type"] == "COMPLETED", server.log("worker")
    mirror.close()
    found = server.artifacts(again)
    rows = {row["version"].rpartition("/")[0]: row for row in json.loads(found["imports"]["data"])}
    return Imported(killed, mirror.asked, server.log("worker"), found, rows)


def written_files(folder: Path) -> list[str]:
    """KIND:FILE of rows of each format, and of real files if present: positions of wildbg, and decisions of gnubg,
    whose lines begin with their file and line."""
    (folder / "mine.bm").write_bytes(BENCHMARK_ROWS)
    found = [f"gnubg_benchmark:{folder / 'mine.bm'}"]
    for kind in SAMPLES:
        declared = bgdata.all_kinds()[kind]
        assert isinstance(declared, ImportedDataset)
        (folder / kind).mkdir()
        found += [f"{kind}:{path}" for path in declared.computation.write_sample(folder / kind)]
    positions, samples = SHARED / "wildbg" / "contact.csv", SHARED / "gnubg" / "benchmark_samples.bm"
    if positions.exists() and samples.exists():
        lines = [line.split(maxsplit=2) for line in samples.read_text().splitlines() if line.startswith("contact ")]
        (folder / "contact-samples.bm").write_text("".join(f"{line}\n" for _, _, line in lines))
        found += [f"positions:{positions}", f"gnubg_benchmark:{folder / 'contact-samples.bm'}"]
    return found


def test_killed_import_resumes_its_download(imported: Imported) -> None:
    """All files are imported, checked and searched for leaks."""
    assert imported.killed == "CRASHED"
    whole, rest = imported.asked
    assert whole == ""
    assert int(rest.removeprefix("bytes=").removesuffix("-")) > 0
    assert "gnubg_benchmark/mine: already built" in imported.log
    row = imported.rows[f"gnubg_training/{FETCHED}"]
    assert (row["lines_with_rows"], row["lines_of_comment"], row["lines_quarantined"]) == (3, 2000, 0)
    kinds = {name.partition("/")[0] for name in imported.rows}
    assert kinds == {"gnubg_training", *SAMPLES}
    assert all(row["lines_with_rows"] > 0 for row in imported.rows.values())
    leakage = imported.artifacts["leakage"]["data"]
    assert leakage.startswith("| labels | rows left out of training | benchmarks |")
    assert "gnubg_benchmark/" in leakage
    drawn = picture(imported.artifacts["imports-picture"], SVG).decode()
    assert all(f">{name.partition('/')[2]}<" in drawn for name in imported.rows)


def test_real_files_are_imported(imported: Imported) -> None:
    if "positions/contact" not in imported.rows:
        pytest.skip(f"no wildbg/contact.csv and gnubg/benchmark_samples.bm in {SHARED}")
    assert imported.rows["positions/contact"]["lines_with_rows"] == 1000
    samples = (SHARED / "gnubg" / "benchmark_samples.bm").read_text().splitlines()
    contact = sum(line.startswith("contact ") for line in samples)
    assert imported.rows["gnubg_benchmark/contact-samples"]["lines_with_rows"] == contact


def test_failed_flow_reports_the_error(server: PrefectServer, root: Path) -> None:
    run = server.begin("import-files", root=str(root), files=["nothing.bm"])
    ended = server.ended(run)
    assert ended["state_type"] == "FAILED"
    assert "expected KIND:FILE or one of " in ended["state"]["message"]
