"""The deployments on a real Prefect server: they run, publish artifacts, and go on from finished steps, with digests of
the library, after the server, the worker or tasks are killed."""

import base64
import bz2
import json
import pkgutil
import random
import shutil
from contextlib import ExitStack
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import bgdata
from bgdata.evaluation.player import open_named_player
from bgdata.selfplay.kinds.selfplay import SelfPlayParameters
from bgdata.store.dataset import ImportedDataset
from bgdata.store.storage import hold_lock
from bgdata.store.verify import check_hashes
from tests.formats.samples import BENCHMARK_ROWS, SHARED, TRAINING_ROW
from tests.pipelines.cases import cases
from tests.pipelines.mirror import Mirror
from tests.pipelines.server import ROOT, PrefectServer, kill

pytestmark = pytest.mark.prefect
PNG = ("image/png", b"\x89PNG\r\n\x1a\n")
SVG = ("image/svg+xml", b"<svg ")
GAMES = 10_000  # in ten parts: a fast machine does not finish before both kills
PLAN = {"player": "network/tiny", "games": 40, "seed": 3, "cubeful_games": 4, "most": 2, "trials": 72}
FETCHED = "crashed-train-data"
SAMPLES = ("positions", "gnubg_benchmark", "matches")


@pytest.fixture
def root(small_root: Path, tmp_path: Path) -> Path:
    """A warehouse with the smallest tables and networks, to which flows add."""
    return Path(shutil.copytree(small_root, tmp_path / "warehouse"))


def picture(artifact: Any, kind: tuple[str, bytes]) -> bytes:
    """The content of a picture artifact of this format."""
    head, _, data = artifact["data"].partition(",")
    content = base64.b64decode(data)
    assert head == f"data:{kind[0]};base64"
    assert content[: len(kind[1])] == kind[1]
    return content


def test_every_flow_is_deployed_with_its_schedule(server: PrefectServer) -> None:
    flows = {"build-warehouse": True, "import-files": False, "make-corpora": False, "match-equity": False}
    for flow, is_active in flows.items():
        deployed = server.deployment(flow)
        assert deployed["work_pool_name"] == "bgdata-processes"
        (schedule,) = deployed["schedules"]
        assert schedule["active"] is is_active
        assert schedule["schedule"]["cron"]
    assert server.deployment("train-network")["schedules"] == []


def test_schedules_start_runs(server: PrefectServer) -> None:
    if int(version("sqlalchemy").split(".")[1]) > 0:
        pytest.skip("this environment is older than the lock: the scheduler of Prefect 3.8 needs SQLAlchemy 2.0")

    def scheduled() -> list[str]:
        wanted = {"flows": {"name": {"any_": ["build-warehouse"]}}}
        runs = server.request("POST", "flow_runs/filter", wanted) or []
        return [run["expected_start_time"] for run in runs if run["state_type"] == "SCHEDULED"]

    server.wait_for(scheduled, "the scheduler to make runs of the nightly build")
    assert all("T03:00:00" in start for start in scheduled())


def test_every_flow_has_a_case(tmp_path: Path) -> None:
    names = [f"pipelines.{each.name}" for each in pkgutil.iter_modules([str(ROOT / "pipelines")])]
    modules = [import_module(name) for name in names]  # before Prefect, which they set quiet

    from prefect import Flow

    flows = {value.name for module in modules for value in vars(module).values() if isinstance(value, Flow)}
    assert flows == {*cases(tmp_path), "make-corpora-on-a-cluster"}  # test_cluster kills its workers


class Resumed(NamedTuple):
    """All flows on one warehouse, after the server, the worker and tasks were killed."""

    folder: Path  # of the warehouse and of imported files
    before: dict[Path, int]  # the time of each manifest before the first kill
    without_worker: str  # state of a run that lost its worker
    retried: set[str]  # flows that did not try again by themselves
    runs: dict[str, Any]  # the last run of each flow
    log: str


@pytest.fixture(scope="module")
def resumed(server: PrefectServer, small_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Resumed:
    """Each flow has finished a step and waits for another one, which another process builds, when the server is killed;
    then the worker of new runs; then the tasks of newer runs, which are processes, or else the process of the flow."""
    folder = tmp_path_factory.mktemp("resumed")
    root = Path(shutil.copytree(small_root, folder / "warehouse"))
    flow_cases = cases(folder)
    locks = {name: root / ".staging" / f"{case.held.replace('/', '-')}.lock" for name, case in flow_cases.items()}

    def begin() -> dict[str, str]:
        runs = {name: server.start_run(name, root=str(root), **case.parameters) for name, case in flow_cases.items()}
        for name, run in runs.items():
            finished = f"{flow_cases[name].finished}/r*"
            server.wait_for(lambda finished=finished: any(root.glob(finished)), f"the first step of {name}")
            server.wait_for(lambda run=run, lock=locks[name]: server.is_waiting_for(run, lock), f"{name} to wait")
        return runs

    with ExitStack() as stack:
        for lock in locks.values():
            stack.enter_context(hold_lock(lock))
        runs = begin()
        before = {path: path.stat().st_mtime_ns for path in root.glob("*/*/*/manifest.json")}
        orphans = server.processes(*runs.values())
        server.kill_server()
        server.start_server()  # with its database
        server.kill_worker()  # it would exit by itself if the server is away for long
        server.start_worker()
        runs = begin()
        kill(orphans)  # processes of flows that are no longer needed
        orphans = server.processes(*runs.values())
        lost = runs["match-equity"]
        server.kill_worker()  # its flows cannot report any more
        server.start_worker()
        runs = begin()
        for run in runs.values():
            kill(server.task_processes(run) or [server.process(run)])
    retried = {name for name, run in runs.items() if server.finished_run(run)["state_type"] != "COMPLETED"}
    for name in retried:
        server.run("flow-run", "retry", runs[name])
    finished_runs = {name: server.finished_run(run) for name, run in runs.items()}
    without_worker = server.finished_run(lost)["state_type"]
    kill(orphans)
    return Resumed(folder, before, without_worker, retried, finished_runs, server.log("worker"))


@pytest.mark.kills
def test_every_flow_resumes_after_kills(resumed: Resumed) -> None:
    """After the server, the worker and the tasks were killed, every flow completes, and no finished step is done
    again."""
    states = {name: (run["state_type"], run["run_count"]) for name, run in resumed.runs.items()}
    assert states == dict.fromkeys(cases(resumed.folder), ("COMPLETED", 2)), resumed.log
    assert resumed.retried == {"rebuild-from-nothing", "train-network"}
    assert resumed.without_worker in {"CRASHED", "FAILED"}
    assert "match_equity/tiny-1ply-5: already built" in resumed.log
    assert {path: path.stat().st_mtime_ns for path in resumed.before} == resumed.before


@pytest.mark.kills
def test_resumed_flows_build_what_the_library_builds(resumed: Resumed, small_root: Path) -> None:
    """What flows build after they were killed has the same digests as when the library builds it."""
    warehouse = bgdata.open_warehouse(resumed.folder / "warehouse")
    small_tables = {table.name for table in bgdata.open_warehouse(small_root).current()}
    new_tables = [table for table in warehouse.current() if table.name not in small_tables]
    expected = {name for case in cases(resumed.folder).values() for name in (case.finished, case.held)}
    assert {table.name.rpartition("/")[0] for table in new_tables} >= expected
    for table in new_tables:
        kind = warehouse.kind(table.manifest.dataset)
        parameters = kind.parameters.from_manifest(table.manifest.parameters)
        if kind.published_folder(parameters) is not None:
            check_hashes(table)
            continue
        files = [resumed.folder / f"{table.manifest.variant}.bm"] if kind.takes_files else []
        rebuilt = warehouse.build(kind.name, parameters, files=files, force=True)
        assert rebuilt.manifest.digest == table.manifest.digest, f"expected {table.name} as it is built alone"


def test_reports_and_pictures_are_published(server: PrefectServer, resumed: Resumed) -> None:
    """The pipelines publish their tables, scores and pictures as artifacts on the Prefect server."""
    artifacts = {name: server.artifacts(run["id"]) for name, run in resumed.runs.items()}
    build_artifacts, training_artifacts, met_artifacts = (
        artifacts[name] for name in ("build-warehouse", "train-network", "match-equity")
    )
    kinds = map(bgdata.all_kinds().__getitem__, ("network", "supervised_network"))
    expected = {f"{kind.name}/{kind.slug(each)}" for kind in kinds for each in kind.defaults}
    head, _, *rows = build_artifacts["warehouse"]["data"].splitlines()
    assert head == "| version | rows | digest |"
    assert {row.split()[1].rpartition("/")[0] for row in rows} == expected
    assert b"points per game against PubEval" in picture(build_artifacts["warehouse-picture"], SVG)
    assert "network/mine (0-ply), version " in training_artifacts["scores"]["data"]
    assert "points_per_game" in training_artifacts["scores"]["data"]
    picture(training_artifacts["learning-curve"], PNG)
    figures = json.loads(met_artifacts["match-equity"]["data"])
    assert [(row["met"], row["beside"]) for row in figures] == [(f"tiny-{ply}ply-5", "published-12") for ply in (0, 1)]
    assert all(0 < row["mean"] < row["largest"] < 100 for row in figures)
    picture(met_artifacts["match-equity-picture"], PNG)


def parts_of_games(root: Path) -> dict[Path, int]:
    """The time of each saved part of the cubeless games; games with the cube are played at the same time."""
    return {path: path.stat().st_mtime_ns for path in root.glob(".staging/selfplay-*/**/*.npz")}


@pytest.mark.kills
def test_corpora_go_on_from_parts(server: PrefectServer, root: Path) -> None:
    """When its tasks are killed, the flow of corpora is tried again, and when all processes are killed, another run
    with another executor goes on. Finished parts of the games are kept each time."""
    plan = PLAN | {"games": GAMES}
    killed_run = server.start_run("make-corpora", root=str(root), plan=plan)
    server.wait_for(lambda: parts_of_games(root), "the first part of the games")
    first_parts = parts_of_games(root)
    kill(server.task_processes(killed_run))
    server.wait_for(lambda: server.response("GET", f"flow_runs/{killed_run}")["run_count"] == 2, "another try")
    parts_after_kill = parts_of_games(root)
    server.wait_for(lambda: len(parts_of_games(root)) > len(parts_after_kill), "another part")
    assert first_parts.items() <= parts_of_games(root).items(), "what was finished is not played again"
    processes = server.processes(killed_run)  # the tasks would continue by themselves
    server.kill_worker()
    kill(reversed(processes))
    run = server.start_run("make-corpora", root=str(root), plan=plan, executor="processes:2")
    server.start_worker()
    assert server.finished_run(run)["state_type"] == "COMPLETED", server.log("worker")
    assert f"going on with selfplay/network-tiny-{GAMES}-seed-3: " in (log := server.log("worker")), log
    assert server.state(killed_run) == "RUNNING", "nobody told the server"
    warehouse = bgdata.open_warehouse(root)
    parameters = SelfPlayParameters("network/tiny", open_named_player("network/tiny", 0, warehouse).version, GAMES, 3)
    corpus = warehouse.find(warehouse.kind("selfplay"), parameters)
    assert corpus is not None
    assert warehouse.build("selfplay", parameters, force=True).manifest.digest == corpus.manifest.digest
    artifacts = server.artifacts(run)
    figures = json.loads(artifacts["corpora"]["data"])
    assert {"version", "figure", "value"} == set(figures[0])
    versions = {row["version"] for row in figures}
    kinds = {"selfplay", "selfplay_labels", "position_sample", "rollout_labels", "cubeful_selfplay"}
    assert {name.partition("/")[0] for name in versions} == kinds
    drawing = picture(artifacts["corpora-picture"], SVG).decode()
    for name in versions:
        warehouse.open_reference(name).check_sizes()
        assert f">{name.split('/')[1]}<" in drawing


class Imported(NamedTuple):
    """A run of the import flow that was killed during a download, and run again."""

    killed: str  # state of the first run
    ranges: list[str]  # the header Range of each request to the mirror
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
    sources = [mirror.name, *written_files(folder)]
    parameters: dict[str, Any] = {"root": str(root), "files": sources, "address": mirror.address}
    run = server.start_run("import-files", **parameters)
    server.wait_for(lambda: any(root.glob("gnubg_benchmark/mine/r*")), "one file, while another one is fetched")
    server.wait_for(lambda: partial.exists() and partial.stat().st_size, "the first half of the other one")
    server.process(run).kill()
    killed = server.finished_run(run)["state_type"]
    mirror.may_finish.set()
    second_run = server.start_run("import-files", **parameters)
    assert server.finished_run(second_run)["state_type"] == "COMPLETED", server.log("worker")
    mirror.close()
    artifacts = server.artifacts(second_run)
    rows = {row["version"].rpartition("/")[0]: row for row in json.loads(artifacts["imports"]["data"])}
    return Imported(killed, mirror.ranges, server.log("worker"), artifacts, rows)


def written_files(folder: Path) -> list[str]:
    """KIND:FILE of rows of each format, and of real files if present: positions of wildbg, and decisions of gnubg,
    whose lines begin with their file and line."""
    (folder / "mine.bm").write_bytes(BENCHMARK_ROWS)
    sources = [f"gnubg_benchmark:{folder / 'mine.bm'}"]
    for kind in SAMPLES:
        imported_kind = bgdata.all_kinds()[kind]
        assert isinstance(imported_kind, ImportedDataset)
        (folder / kind).mkdir()
        sources += [f"{kind}:{path}" for path in imported_kind.computation.write_sample(folder / kind)]
    positions = SHARED / "wildbg" / "contact.csv"
    samples = SHARED / "gnubg" / "benchmark_samples.bm"
    if positions.exists() and samples.exists():
        lines = [line.split(maxsplit=2) for line in samples.read_text().splitlines() if line.startswith("contact ")]
        (folder / "contact-samples.bm").write_text("".join(f"{line}\n" for _, _, line in lines))
        sources += [f"positions:{positions}", f"gnubg_benchmark:{folder / 'contact-samples.bm'}"]
    return sources


def test_killed_import_resumes_its_download(imported: Imported) -> None:
    """A flow that was killed during a download resumes it, and then imports and checks all files, and reports leaked
    positions."""
    assert imported.killed == "CRASHED"
    first_range, second_range = imported.ranges
    assert first_range == ""
    assert int(second_range.removeprefix("bytes=").removesuffix("-")) > 0
    assert "gnubg_benchmark/mine: already built" in imported.log
    row = imported.rows[f"gnubg_training/{FETCHED}"]
    assert (row["lines_with_rows"], row["lines_of_comment"], row["lines_quarantined"]) == (3, 2000, 0)
    kinds = {name.partition("/")[0] for name in imported.rows}
    assert kinds == {"gnubg_training", *SAMPLES}
    assert all(row["lines_with_rows"] > 0 for row in imported.rows.values())
    leakage = imported.artifacts["leakage"]["data"]
    assert leakage.startswith("| labels | rows left out of training | benchmarks |")
    assert "gnubg_benchmark/" in leakage
    drawing = picture(imported.artifacts["imports-picture"], SVG).decode()
    assert all(f">{name.partition('/')[2]}<" in drawing for name in imported.rows)


def test_real_files_are_imported(imported: Imported) -> None:
    if "positions/contact" not in imported.rows:
        pytest.skip(f"no wildbg/contact.csv and gnubg/benchmark_samples.bm in {SHARED}")
    assert imported.rows["positions/contact"]["lines_with_rows"] == 1000
    samples = (SHARED / "gnubg" / "benchmark_samples.bm").read_text().splitlines()
    contact = sum(line.startswith("contact ") for line in samples)
    assert imported.rows["gnubg_benchmark/contact-samples"]["lines_with_rows"] == contact


def test_failed_flow_reports_the_error(server: PrefectServer, root: Path) -> None:
    run = server.start_run("import-files", root=str(root), files=["nothing.bm"])
    ended = server.finished_run(run)
    assert ended["state_type"] == "FAILED"
    assert "expected KIND:FILE or one of " in ended["state"]["message"]
