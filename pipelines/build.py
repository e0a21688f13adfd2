"""The flow of `make build`: every default variant, then a comparison with warehouse.lock and a report.

A task computes one variant, or copies all variants of a kind from the package. Independent tasks run side by side, each
in one of a few processes: compiling kernels and writing Parquet use one core each, and running kernels use all free
cores.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from graphlib import TopologicalSorter
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from bgdata.process import run

from . import begin_flow

if __name__ == "__main__":
    begin_flow()

from prefect import flow, get_run_logger, task
from prefect.artifacts import create_markdown_artifact
from prefect.cache_policies import NO_CACHE
from prefect.futures import PrefectFuture, as_completed

from bgdata import open_warehouse
from bgdata.kernel_cache import kernel_cache
from bgdata.store.build import mend_catalog
from bgdata.store.lockfile import advice, lock_verdicts, missing_extra_variants
from bgdata.store.parameters import Parameters
from bgdata.store.storage import storage_errors
from bgdata.warehouse import Warehouse

from .tasks import PROCESSES, RETRIED, Built, Notes, processes, publish_charts, run_flow, tell_built

NEXT = """
look:  bgdata list                                     every version that is there
       bgdata explain bearoff_two_sided                what a table holds, column by column
try:   bgdata eval start                               the chances and equity of a position
       bgdata hint 4HPwATDgc/ABMA 31                   the best plays of a roll
       bgdata query "from bearoff_two_sided limit 5"   anything else, in SQL"""


# kinds whose first variants compile longest: they and their inputs begin first
LONGEST = ("selfplay", "match_equity")


class Variant(NamedTuple):
    """A variant to build: its kind and its parameters."""

    kind: str
    parameters: Parameters


class Job(NamedTuple):
    """The variants that a task builds, and the variants that must be built before them."""

    variants: list[Variant]
    needs: set[Variant]


@task(**RETRIED, cache_policy=NO_CACHE)
def build_variants(root: str, variants: list[Variant]) -> list[Built]:
    """Build these variants in the warehouse at `root`, or find their versions if they exist."""
    warehouse, found = open_warehouse(root), []
    for kind, parameters in variants:
        notes = Notes()
        table = warehouse.build(kind, parameters, progress=notes, with_catalog=False)
        found.append(Built(table.name, notes.lines))
    return found


def default_jobs(warehouse: Warehouse, kinds: Sequence[str], *, is_all: bool = False) -> list[Job]:
    """Return the jobs that build the default variants of these kinds, in the order in which to begin them: each comes
    after its inputs. If `is_all` is true, variants that only `bgdata build --all` builds are included."""
    chosen = [
        Variant(kind, parameters)
        for kind in kinds
        for declared in [warehouse.kind(kind)]
        for parameters in (declared.of_all if is_all else declared.basic)
    ]
    needed = {variant: [each for each in inputs(warehouse, variant) if each in chosen] for variant in chosen}
    longest = {next((each for each in chosen if each.kind == kind), None) for kind in LONGEST}
    first = longest.union(*(needed[variant] for variant in longest if variant))
    found: dict[object, Job] = {}
    for variant in sorted(TopologicalSorter(needed).static_order(), key=lambda variant: variant not in first):
        computed = {each for each in needed[variant] if not is_shipped(warehouse, each)}
        title = (variant.kind, frozenset(computed)) if is_shipped(warehouse, variant) else variant
        found.setdefault(title, Job([], computed)).variants.append(variant)
    return list(found.values())


def is_shipped(warehouse: Warehouse, variant: Variant) -> bool:
    """Whether a version of the variant comes with the package. A build that needs it copies it, which takes almost no
    time."""
    return warehouse.kind(variant.kind).published_folder(variant.parameters) is not None


def inputs(warehouse: Warehouse, variant: Variant) -> Iterator[Variant]:
    """Yield all direct and indirect inputs of a variant."""
    for wanted in warehouse.kind(variant.kind).inputs(variant.parameters).values():
        if isinstance(wanted, tuple):
            yield Variant(*wanted)
            yield from inputs(warehouse, Variant(*wanted))


@flow(name="build-warehouse", task_runner=processes(), **RETRIED)
def build_warehouse(root: str = "warehouse", kinds: list[str] | None = None, is_all: bool = False) -> list[str]:
    """Build the default variants of all kinds, or of those in `kinds`, each after its inputs. Returns the names of
    their versions. If `is_all` is true, variants that take longer are built too."""
    warehouse = open_warehouse(root)
    with storage_errors("write", warehouse.staging):  # raises here, before each task fails twice
        warehouse.staging.mkdir(parents=True, exist_ok=True)
    jobs = default_jobs(warehouse, kinds or list(warehouse.kinds), is_all=is_all)

    def begin(job: Job) -> PrefectFuture[list[Built]]:
        (kind, parameters), *others = job.variants
        what = f", {len(job.variants)} variants" if others else f" {warehouse.kind(kind).slug(parameters)}"
        named = build_variants.with_options(task_run_name=f"{kind}{what}")
        return named.submit(root, job.variants, return_state=False)

    built = sorted(tell_built(in_order(jobs, begin), sum(len(job.variants) for job in jobs)))
    mend_catalog(warehouse)
    create_markdown_artifact(report(root, built), key="warehouse", description="What the warehouse holds")
    publish_charts(warehouse, built, "warehouse-picture", "Networks as they learned, and positions by pips")
    get_run_logger().info("built %d versions", len(built))
    return built


def in_order(jobs: Sequence[Job], begin: Callable[[Job], PrefectFuture[list[Built]]]) -> Iterator[Built]:
    """Begin jobs whose inputs are built, in order, as many at once as there are processes, and yield each version when
    it is built."""
    waiting, running, done = list(jobs), dict[PrefectFuture[list[Built]], Job](), set[Variant]()
    while waiting or running:
        ready = [job for job in waiting if job.needs <= done]
        for job in ready[: PROCESSES - len(running)]:
            waiting.remove(job)
            running[begin(job)] = job
        future = next(iter(as_completed(list(running))))
        yield from future.result()
        done.update(running.pop(future).variants)


def report(root: str, versions: Sequence[str]) -> str:
    """Return a Markdown table of the versions with these names."""
    lines = ["| version | rows | digest |", "| - | -: | - |"]
    warehouse = open_warehouse(root)
    for name in versions:
        manifest = warehouse.open_reference(name).manifest
        lines.append(f"| {name} | {manifest.rows:,} | {manifest.digest[:16]} |")
    return "\n".join(lines)


def summary(warehouse: Warehouse) -> str:
    """Return lines for the user: a line for each kind with what the warehouse contains of it, and commands to try
    next."""
    lines = []
    manifests = sorted((table.manifest for table in warehouse.current()), key=attrgetter("dataset"))
    for kind, group in groupby(manifests, attrgetter("dataset")):
        found = list(group)
        rows, size = sum(each.rows for each in found), sum(entry.bytes for each in found for entry in each.files)
        lines.append(f"{kind:<20} {len(found):>3} {rows:>14,} {size / 1e6:>10,.1f}")
    return "\n".join([f"{'kind':<20} {'':>3} {'rows':>14} {'MB':>10}", *lines, NEXT])


def main(root: str = "warehouse", *, is_all: bool = False) -> int:
    """Run the flow, compare the versions with warehouse.lock, and print a summary; returns the exit code."""
    if not any(kernel_cache().glob("*/*.nbc")):
        print("compiling kernels, which takes a minute or two the first time", file=sys.stderr)

    def build_and_compare() -> int:
        build_warehouse(root, is_all=is_all)
        warehouse = open_warehouse(root)
        verdicts = lock_verdicts(warehouse) if warehouse.lock.exists() else []
        is_right = all(verdict.is_right for verdict in verdicts)
        for verdict in verdicts:
            if verdict.is_same or not verdict.is_right:
                print(verdict)
        print(summary(warehouse))
        if missing := missing_extra_variants(warehouse):
            print(f"\n{advice(missing)}")
        print(f"\n{Path(root)}: built" + (" and equal to its lock" if verdicts and is_right else ""))
        return 0 if is_right else 1

    return run_flow(build_and_compare)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog=f"python -m {__package__}.build", description=__doc__.partition(":")[0] + ".")
    parser.add_argument("warehouse", nargs="?", default="warehouse", metavar="DIR", help="folder of the tables")
    parser.add_argument(
        "--all", action="store_true", dest="is_all", help="also what takes longer, but for kinds that are built by name"
    )
    asked = parser.parse_args()
    run(lambda: main(asked.warehouse, is_all=asked.is_all))
