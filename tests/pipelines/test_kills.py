"""Every flow while the server, the worker or its tasks are killed: it resumes from finished steps, with the digests of
the library."""

from __future__ import annotations

import pkgutil
import shutil
from collections.abc import Callable
from contextlib import ExitStack, suppress
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import psutil
import pytest

import bgdata
from bgdata.store.storage import hold_lock
from bgdata.store.verify import check_hashes
from tests.formats.samples import BENCHMARK_ROWS
from tests.pipelines.server import ROOT, PrefectServer

pytestmark = [pytest.mark.prefect, pytest.mark.kills]
TINY = "network/tiny"
PLAN = """
[[part]]
name = "one-sided"
makes = "bearoff_one_sided/2x15"
minutes = 1
command = "build bearoff_one_sided --points 2"

[[part]]
name = "two-sided"
makes = "bearoff_two_sided/2x2"
minutes = 1
needs = ["one-sided"]
command = "build bearoff_two_sided --points 2 --checkers 2"
"""


class Case(NamedTuple):
    """How a flow begins, the step that it finishes before the kill, and the step that it waits for."""

    parameters: dict[str, Any]
    finished: str  # kind/variant
    held: str


def cases(folder: Path) -> dict[str, Case]:
    """The smallest work of two steps for each flow, by name. A test below checks that every flow is here."""
    files = [folder / f"{name}.bm" for name in ("mine", "yours")]
    for path in files:
        path.write_bytes(BENCHMARK_ROWS)
    shipped = [
        f"{name}/{kind.slug(kind.basic[0])}"
        for name in ("network", "supervised_network")
        for kind in [bgdata.all_kinds()[name]]
    ]
    corpus = {"player": TINY, "games": 40, "seed": 3, "cubeful_games": 0, "most": 2, "trials": 72}
    training = {"name": "mine", "start": TINY, "games": 20, "epochs": 1, "score_games": 4, "luck_adjusted_games": 0}
    mets = {"player": TINY, "plies": [0, 1], "length": 5}
    plan = folder / "plan.toml"
    plan.write_text(PLAN)
    imported = {"files": [f"gnubg_benchmark:{path}" for path in files]}
    return {
        "build-warehouse": Case({"kinds": ["network", "supervised_network"]}, *shipped),
        "import-files": Case(imported, "gnubg_benchmark/mine", "gnubg_benchmark/yours"),
        "make-corpora": Case(
            {"plan": corpus}, "selfplay/network-tiny-40-seed-3", "position_sample/network-tiny-40-seed-3-most-2"
        ),
        "match-equity": Case({"plan": mets}, "match_equity/tiny-1ply-5", "match_equity/tiny-0ply-5"),
        "rebuild-from-nothing": Case({"plan": str(plan)}, "bearoff_one_sided/2x15", "bearoff_two_sided/2x2"),
        "train-network": Case(
            {"plan": training | {"decisions": 20}}, "selfplay/network-tiny-20-seed-1", "supervised_network/mine"
        ),
    }


def test_every_flow_has_a_case(tmp_path: Path) -> None:
    names = [f"pipelines.{each.name}" for each in pkgutil.iter_modules([str(ROOT / "pipelines")])]
    modules = [import_module(name) for name in names]  # before Prefect, which they set quiet

    from prefect import Flow

    flows = {value.name for module in modules for value in vars(module).values() if isinstance(value, Flow)}
    assert flows == {*cases(tmp_path), "make-corpora-on-a-cluster"}  # test_cluster kills its workers


def kill_server(server: PrefectServer, _: list[str]) -> None:
    """Kill the server while flows run, and start it again with its database."""
    server.kill_server()
    server.start_server()
    server.kill_worker()  # it would exit by itself if the server is away for long
    server.start_worker()


def kill_worker(server: PrefectServer, _: list[str]) -> None:
    """Kill the worker; its flows cannot report any more."""
    server.kill_worker()
    server.start_worker()


def kill_tasks(server: PrefectServer, runs: list[str]) -> None:
    """Kill the processes of the tasks, or of a flow that runs them itself."""
    for run in runs:
        for process in server.task_processes(run) or [server.process(run)]:
            with suppress(psutil.NoSuchProcess):
                process.kill()


VICTIMS: dict[str, Callable[[PrefectServer, list[str]], None]] = {
    "server": kill_server,
    "worker": kill_worker,
    "task": kill_tasks,
}


@pytest.mark.parametrize("victim", VICTIMS)
def test_every_flow_resumes_after_a_kill(server: PrefectServer, small_root: Path, tmp_path: Path, victim: str) -> None:
    """When it is killed, each flow has finished a step and waits for another one, which another process builds."""
    root, wanted = Path(shutil.copytree(small_root, tmp_path / "warehouse")), cases(tmp_path)
    with ExitStack() as held:
        for case in wanted.values():
            held.enter_context(hold_lock(root / ".staging" / f"{case.held.replace('/', '-')}.lock"))
        runs = {}
        for name, case in wanted.items():
            runs[name] = server.begin(name, root=str(root), **case.parameters)
            server.wait_for(lambda case=case: any(root.glob(f"{case.finished}/r*")), f"the first step of {name}")
        before = {path: path.stat().st_mtime_ns for path in root.glob("*/*/*/manifest.json")}
        running = [process for run in runs.values() for process in server.processes(run)]
        VICTIMS[victim](server, list(runs.values()))
    for name, case in wanted.items():
        is_over = victim == "task" and server.ended(runs[name])["state_type"] == "COMPLETED"
        again = runs[name] if is_over else server.begin(name, root=str(root), **case.parameters)
        assert server.ended(again)["state_type"] == "COMPLETED", server.log("worker")
        assert any(root.glob(f"{case.held}/r*")), f"expected {case.held} to be built"
    for process in running:  # processes of flows that are no longer needed
        with suppress(psutil.NoSuchProcess):
            process.kill()
    assert {path: path.stat().st_mtime_ns for path in before} == before, "what was finished is not built again"
    check_digests(root, {path.parent.parent.relative_to(root) for path in before}, tmp_path)


def check_digests(root: Path, there: set[Path], folder: Path) -> None:
    """Check that flows built what the library builds, and copied what is part of the package."""
    warehouse = bgdata.open_warehouse(root)
    steps = {case.finished for case in cases(folder).values()}
    old = {variant.as_posix() for variant in there} - steps
    made = [table for table in warehouse.current() if table.folder.parent.relative_to(root).as_posix() not in old]
    assert {table.manifest.dataset for table in made} >= {name.partition("/")[0] for name in steps}
    for table in made:
        digest, kind = table.manifest.digest, warehouse.kind(table.manifest.dataset)
        parameters = kind.parameters.from_manifest(table.manifest.parameters)
        if kind.published_folder(parameters) is not None:
            check_hashes(table)
            continue
        files = [folder / f"{table.manifest.variant}.bm"] if kind.takes_files else []
        again = warehouse.build(kind.name, parameters, files=files, force=True)
        assert again.manifest.digest == digest, f"expected {table.name} as it is built alone"
