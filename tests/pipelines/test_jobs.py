"""The tasks of a build, and their order."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

import bgdata
from bgdata.bearoff.kinds.bearoff_one_sided import RaceParameters


@pytest.mark.parametrize("is_all", [False, True], ids=["basic", "all"])
def test_every_variant_is_built_once_after_its_inputs(tmp_path: Path, is_all: bool) -> None:
    from pipelines.build import Variant, default_jobs  # imports Prefect

    warehouse = bgdata.open_warehouse(tmp_path)
    jobs = default_jobs(warehouse, list(warehouse.kinds), is_all=is_all)
    expected = [
        Variant(kind.name, parameters)
        for kind in warehouse.kinds.values()
        for parameters in (kind.of_all if is_all else kind.basic)
    ]
    variants = [variant for job in jobs for variant in job.variants]
    assert sorted(variants, key=repr) == sorted(expected, key=repr)
    finished = set[Variant]()
    for job in jobs:
        assert job.needs <= finished
        finished.update(job.variants)


def test_shipped_variants_of_a_kind_are_one_job(tmp_path: Path) -> None:
    """No other job waits for them."""
    from pipelines.build import default_jobs, is_shipped

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


def test_longest_jobs_begin_first(tmp_path: Path) -> None:
    """Before them are only their inputs, and the network that all wait for."""
    from pipelines.build import LONGEST, default_jobs

    warehouse = bgdata.open_warehouse(tmp_path)
    jobs = default_jobs(warehouse, list(warehouse.kinds))
    numbers = [next(number for number, job in enumerate(jobs) if job.variants[0].kind == kind) for kind in LONGEST]
    before_last = {variant for job in jobs[: max(numbers)] for variant in job.variants}
    for number in numbers:
        assert jobs[number].needs <= before_last
    not_needed = before_last - jobs[numbers[0]].needs - jobs[numbers[1]].needs
    assert {kind for kind, _ in not_needed} - {*LONGEST} == {"supervised_network"}


def test_jobs_of_one_kind_need_no_other_kind(tmp_path: Path) -> None:
    from pipelines.build import default_jobs

    jobs = default_jobs(bgdata.open_warehouse(tmp_path), ["selfplay_labels"])
    assert [len(job.variants) for job in jobs] == [1, 1]
    for job in jobs:
        assert not job.needs


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
    finished: list[Any] = list(build.in_order(jobs, begin))
    assert order == [a, c, d, b]
    assert finished == [c, d, a, b]
    assert most == 2
