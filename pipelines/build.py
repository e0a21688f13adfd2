"""The flow of `make build`: every default variant, each a task, then a comparison with warehouse.lock and a report.

Tasks that do not depend on one another run side by side, each in one of a few processes: compiling kernels and writing
Parquet use one core each, and running kernels use all cores that are free.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from graphlib import TopologicalSorter
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from bgdata.process import is_stopping, run, shielding

from . import begin_flow

if __name__ == "__main__":
    begin_flow()

from prefect import flow, get_run_logger, task
from prefect.artifacts import create_markdown_artifact
from prefect.cache_policies import NO_CACHE
from prefect.futures import PrefectFuture
from prefect.settings import PREFECT_FLOWS_HEARTBEAT_FREQUENCY, temporary_settings

from bgdata import open_warehouse
from bgdata.errors import BgdataError
from bgdata.kernel_cache import kernel_cache
from bgdata.store.lock_verdicts import lock_verdicts
from bgdata.store.parameters import Parameters
from bgdata.warehouse import Warehouse

from .pictures import publish_charts
from .tasks import Built, Notes, finished, processes

NEXT = """
look:  bgdata list                                     every version that is there
       bgdata explain bearoff_two_sided                what a table holds, column by column
try:   bgdata eval start                               the chances and equity of a position
       bgdata hint 4HPwATDgc/ABMA 31                   the best plays of a roll
       bgdata query "from bearoff_two_sided limit 5"   anything else, in SQL"""


class Variant(NamedTuple):
    """One variant of a kind."""

    kind: str
    parameters: Parameters


@task(retries=1, retry_delay_seconds=1, cache_policy=NO_CACHE)
def build_variant(root: str, kind: str, parameters: Parameters) -> Built:
    """Build a variant, or find it already built."""
    notes = Notes()
    table = open_warehouse(root).build(kind, parameters, progress=notes)
    return Built(table.name, notes.lines)


def default_variants(warehouse: Warehouse, kinds: Sequence[str]) -> dict[Variant, list[Variant]]:
    """The default variants of these kinds (or of all), each with the list of those that it is computed from, which come
    before it."""
    chosen = [Variant(kind, parameters) for kind in kinds for parameters in warehouse.kind(kind).defaults]
    needed = {variant: [other for other in inputs(warehouse, variant) if other in chosen] for variant in chosen}
    return {variant: needed[variant] for variant in TopologicalSorter(needed).static_order()}


def inputs(warehouse: Warehouse, variant: Variant) -> Iterator[Variant]:
    """All that a variant is computed from, directly or indirectly."""
    for wanted in warehouse.kind(variant.kind).inputs(variant.parameters).values():
        if isinstance(wanted, tuple):
            yield Variant(*wanted)
            yield from inputs(warehouse, Variant(*wanted))


@flow(name="build-warehouse", task_runner=processes(), retries=1, retry_delay_seconds=1)
def build_warehouse(root: str = "warehouse", kinds: list[str] | None = None) -> list[str]:
    """Build the default variants of every kind (or of some), each once its inputs are there; returns their versions."""
    warehouse = open_warehouse(root)
    futures: dict[Variant, PrefectFuture[Built]] = {}
    for variant, needed in default_variants(warehouse, kinds or list(warehouse.kinds)).items():
        before = [futures[other] for other in needed]
        named = build_variant.with_options(
            task_run_name=f"{variant.kind} {warehouse.kind(variant.kind).slug(variant.parameters)}"
        )
        futures[variant] = named.submit(root, variant.kind, variant.parameters, wait_for=before, return_state=False)
    built = sorted(finished(list(futures.values())))
    create_markdown_artifact(report(root, built), key="warehouse", description="What the warehouse holds")
    publish_charts(warehouse, built, "warehouse-picture", "Networks as they learned, and positions by pips")
    get_run_logger().info("built %d versions", len(built))
    return built


def report(root: str, versions: Sequence[str]) -> str:
    """A Markdown table of versions."""
    lines = ["| version | rows | digest |", "| - | -: | - |"]
    warehouse = open_warehouse(root)
    for name in versions:
        manifest = warehouse.open_reference(name).manifest
        lines.append(f"| {name} | {manifest.rows:,} | {manifest.digest[:16]} |")
    return "\n".join(lines)


def summary(warehouse: Warehouse) -> str:
    """What is in the warehouse, one line for each kind, and the next commands to try."""
    lines = []
    manifests = sorted((table.manifest for table in warehouse.current()), key=attrgetter("dataset"))
    for kind, group in groupby(manifests, attrgetter("dataset")):
        found = list(group)
        rows, size = sum(each.rows for each in found), sum(entry.bytes for each in found for entry in each.files)
        lines.append(f"{kind:<20} {len(found):>3} {rows:>14,} {size / 1e6:>10,.1f}")
    return "\n".join([f"{'kind':<20} {'':>3} {'rows':>14} {'MB':>10}", *lines, NEXT])


def main(root: str = "warehouse") -> int:
    """Run the flow, compare with the lock and print the summary; returns the exit code."""
    try:
        if not any(kernel_cache().glob("*/*.nbc")):
            print("compiling kernels, which takes a minute or two the first time", file=sys.stderr)
        # the heartbeat thread would hold every flow for a second
        with temporary_settings({PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None}), shielding():
            build_warehouse(root)
        warehouse = open_warehouse(root)
        has_lock = warehouse.lock.exists()
        verdicts = lock_verdicts(warehouse) if has_lock else []
    except BgdataError as error:
        if is_stopping(error):
            raise
        print(f"error: {error}", file=sys.stderr)
        return 1
    is_same = all(verdict.is_same for verdict in verdicts)
    for verdict in verdicts:
        print(verdict)
    print(summary(warehouse))
    print(f"\n{Path(root)}: built" + (" and equal to its lock" if has_lock and is_same else ""))
    return 0 if is_same else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog=f"python -m {__package__}.build", description=__doc__.partition(":")[0] + ".")
    parser.add_argument("warehouse", nargs="?", default="warehouse", metavar="DIR", help="folder of the tables")
    asked = parser.parse_args()
    run(lambda: main(asked.warehouse))
