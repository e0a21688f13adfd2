"""The tasks of a build, and their order."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

import bgdata
from bgdata.bearoff.kinds.bearoff_one_sided import RaceParameters
from tests.subtests import each


@each("is_all", [False, True])
def test_every_variant_is_built_once_after_its_inputs(tmp_path: Path, is_all: bool) -> None:
    """Every wanted variant is in exactly one job, and the jobs that it needs come before that one."""
    from pipelines.build import Variant, default_jobs  # imports Prefect

    warehouse = bgdata.open_warehouse(tmp_path)
    jobs = default_jobs(warehouse, list(warehouse.kinds), is_all=is_all)
    built = [variant for job in jobs for variant in job.variants]
    wanted = [
        Variant(kind.name, each)
        for kind in warehouse.kinds.values()
        for each in (kind.defaults if is_all else kind.basic)
    ]
    assert sorted(built, key=repr) == sorted(wanted, key=repr)
    before = set[Variant]()
    for job in jobs:
        assert job.needs <= before
        before.update(job.variants)


def test_shipped_kinds_are_one_task_and_slow_jobs_begin_first(tmp_path: Path) -> None:
    """A kind's shipped variants are one job, nothing waits for them, and the longest jobs begin first."""
    from pipelines.build import LONGEST, default_jobs, is_shipped

    warehouse = bgdata.open_warehouse(tmp_path)
    jobs = default_jobs(warehouse, list(warehouse.kinds))
    for job in jobs:
        shipped = [is_shipped(warehouse, variant) for variant in job.variants]
        assert len({kind for kind, _ in job.variants}) == 1
        assert all(shipped) or len(shipped) == 1
        assert not any(is_shipped(warehouse, variant) for variant in job.needs)
    (openings,) = (job for job in jobs if job.variants[0].kind == "openings")
    assert len(openings.variants) == len(warehouse.kind("openings").defaults) > 1
    assert len(jobs) < 30
    begun = [next(place for place, job in enumerate(jobs) if job.variants[0].kind == kind) for kind in LONGEST]
    first = {variant for job in jobs[: max(begun)] for variant in job.variants}
    for place in begun:
        assert jobs[place].needs <= first
    others = [kind for kind, _ in first - jobs[begun[0]].needs - jobs[begun[1]].needs]
    assert sorted({*others} - {*LONGEST}) == ["supervised_network"]
    jobs = default_jobs(warehouse, ["selfplay_labels"])  # needs no other kind
    assert [len(job.variants) for job in jobs] == [1, 1]
    assert not any(job.needs for job in jobs)


class Task:
    """A task that finishes as soon as its result is requested."""

    def __init__(self, job: Any) -> None:
        self.job = job

    def result(self) -> list[Any]:
        return list(self.job.variants)


def test_running_tasks_are_limited_by_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only as many tasks run at a time as there are processes, and a job begins only after its inputs are built."""
    from pipelines import build

    a, b, c, d = (build.Variant("bearoff_gammon", RaceParameters(points)) for points in range(1, 5))
    jobs = [build.Job([a], set()), build.Job([b], {a}), build.Job([c], set()), build.Job([d], set())]
    running: list[Task] = []
    most = 0
    order = []

    def begin(job: Any) -> Any:
        nonlocal most
        running.append(Task(job))
        order.append(job.variants[0])
        most = max(most, len(running))
        return running[-1]

    def last(tasks: Iterable[Any]) -> Iterator[Any]:
        assert list(tasks) == running
        yield running.pop()

    monkeypatch.setattr(build, "PROCESSES", 2)
    monkeypatch.setattr(build, "as_completed", last)
    found: list[Any] = list(build.in_order(jobs, begin))
    assert (found, order, most) == ([c, d, a, b], [a, c, d, b], 2)
