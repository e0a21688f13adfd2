"""Ranges as tasks of a flow on workers of Dask, which see nothing of the folder of the flow."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bgdata.errors import MissingExtraError, UsageError

ROOT = Path(__file__).parents[2]
FLOW = """
import sys
from pathlib import Path

import pipelines  # which sets Prefect quiet and patient before it is imported
import numpy as np
from distributed import LocalCluster
from prefect import flow

from bgdata.store.worker_inputs import worker_inputs
from bgdata.store.job import Job
from bgdata.store.shards import ShardReturn, Work, compute_shards, ranges
from pipelines.ranges import RangeTasks, workers_at
from pipelines.tasks import run_flow
from tests.store.toy import Count, Notes, toy_warehouse

@flow
def double(folder, through):
    folder.mkdir()
    table = toy_warehouse(folder / "warehouse").build("squares", Count(10))
    work = Work("tests.store.sharing:doubles", {"log": str(folder / "log")}, inputs=worker_inputs({"squares": table}))
    job = Job(folder, Notes(), title="doubles", executor=RangeTasks(through))
    shards = compute_shards(job, "numbers", work, ranges(10, 3))
    print(np.concatenate([shard["double"] for shard in shards]).tolist(), flush=True)

if __name__ == "__main__":
    folder = Path(sys.argv[1])
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        runner = workers_at(cluster.scheduler_address.replace("tcp://", "dask://"))
        on_cluster = double.with_options(task_runner=runner)

        def double_twice():
            on_cluster(folder / "own", "")
            on_cluster(folder / "other", str(folder / "store"))

        sys.exit(run_flow(double_twice))
"""


@pytest.mark.prefect
def test_each_range_is_a_task(tmp_path: Path) -> None:
    pytest.importorskip("prefect_dask")
    (tmp_path / "flow.py").write_text(FLOW)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "PREFECT_HOME": str(tmp_path / "prefect")}
    command = [sys.executable, "flow.py", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, check=False)
    assert done.stdout == f"{[2 * n * n for n in range(10)]}\n" * 2, done.stderr
    for name in ("own", "other"):
        assert len((tmp_path / name / "log").read_text().splitlines()) == 4


@pytest.mark.parametrize("name", ["local", "dask://", "dask://here"])
def test_workers_that_are_not_a_cluster_are_refused(name: str) -> None:
    from pipelines.ranges import workers_at  # which imports Prefect

    with pytest.raises(UsageError, match=f"^expected dask://HOST:PORT, got {name}$"):
        workers_at(name)


def test_missing_prefect_dask_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from pipelines.ranges import workers_at

    monkeypatch.setitem(sys.modules, "prefect_dask", None)
    with pytest.raises(
        MissingExtraError, match=r"^expected prefect_dask for a flow on a cluster, .*bgdata-backgammon\[dask-flows\]"
    ):
        workers_at("dask://here:8786")
