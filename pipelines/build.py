"""The flow of `make build`: every default variant, each a task, then the proof against warehouse.lock and a report."""

from __future__ import annotations

import sys
from pathlib import Path

from bgdata.process import begin, is_stopping, run, shielding

if __name__ == "__main__":
    begin()  # importing Prefect takes seconds

from prefect import flow, get_run_logger, task
from prefect.artifacts import create_markdown_artifact
from prefect.settings import PREFECT_FLOWS_HEARTBEAT_FREQUENCY, temporary_settings

import pipelines  # noqa: F401 - its settings must be there before Prefect is imported
from bgdata import open_warehouse
from bgdata.errors import BgdataError
from bgdata.store.lock_verdicts import lock_verdicts
from bgdata.store.progress_bars import progress_bars


@task(retries=1, retry_delay_seconds=1, task_run_name="{kind} {number}")
def build_variant(root: str, kind: str, number: int) -> str:
    """Build default variant `number` of a kind, unless it is there; returns dataset/variant/version."""
    warehouse = open_warehouse(root)
    with progress_bars() as progress:
        table = warehouse.build(kind, warehouse.kind(kind).defaults[number], progress=progress)
    return table.name


@flow(name="build-warehouse")
def build_warehouse(root: str = "warehouse", kinds: list[str] | None = None) -> list[str]:
    """Build the default variants of every kind (or of some), in order of their inputs; returns their versions."""
    warehouse = open_warehouse(root)
    built = [
        build_variant(root, kind, number)
        for kind in (kinds or warehouse.kinds)
        for number in range(len(warehouse.kind(kind).defaults))
    ]
    create_markdown_artifact(report(root, built), key="warehouse", description="What the warehouse holds")
    get_run_logger().info("built %d versions", len(built))
    return built


def report(root: str, versions: list[str]) -> str:
    """A Markdown table of versions."""
    lines = ["| version | rows | digest |", "| - | -: | - |"]
    warehouse = open_warehouse(root)
    for name in versions:
        manifest = warehouse.open_reference(name).manifest
        lines.append(f"| {name} | {manifest.rows:,} | {manifest.digest[:16]} |")
    return "\n".join(lines)


def main(root: str = "warehouse") -> int:
    """Run the flow and compare with the lock; returns the exit code."""
    try:
        # the heartbeat thread would hold every flow for a second
        with temporary_settings({PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None}), shielding():
            build_warehouse(root)
        is_locked = open_warehouse(root).lock.exists()
        verdicts = lock_verdicts(open_warehouse(root)) if is_locked else []
    except BgdataError as error:
        if is_stopping(error):
            raise
        print(f"error: {error}", file=sys.stderr)
        return 1
    is_same = all(verdict.is_same for verdict in verdicts)
    for verdict in verdicts:
        print(verdict)
    print(f"{Path(root)}: built" + (" and equal to its lock" if is_locked and is_same else ""))
    return 0 if is_same else 1


if __name__ == "__main__":
    run(lambda: main(*sys.argv[1:]))
