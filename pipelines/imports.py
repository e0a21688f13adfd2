"""The flow of other people's files: `python -m pipelines.imports KIND:FILE ...`, each file a task.

    fetch     download a published file, and compare its hash
    import    make it a version; lines that break a rule are set aside
    check     files, values, SQL checks and rows, as `bgdata verify` does
    leakage   which labels share positions with a benchmark, and are left out of training

A word that has no colon is the name of a file that gnubg publishes, such as contact.bm.bz2; no word means all of them.
Files run side by side. A flow that is run again keeps files that are fetched or imported.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from bgdata.process import run

from . import begin_flow

if __name__ == "__main__":
    begin_flow()

from prefect import flow, task
from prefect.artifacts import create_markdown_artifact, create_table_artifact
from prefect.cache_policies import NO_CACHE

from bgdata import open_warehouse
from bgdata.errors import MissingFileError, cite
from bgdata.imports import steps
from bgdata.imports.sources import at_mirror
from bgdata.warehouse import Warehouse

from .tasks import RETRIED, Built, Notes, flow_parser, processes, publish_charts, run_flow, tell_finished

PUBLISHER = "gnubg"  # the publisher whose files have a name here


@task(retries=2, retry_delay_seconds=2, cache_policy=NO_CACHE)
def fetch(root: str, name: str, address: str | None) -> Built:
    """Download a published file, unless it was downloaded before. The result contains its path in place of a
    version."""
    notes = Notes()
    source = at_mirror(steps.find_source(PUBLISHER), address)
    (file,) = steps.select_files(source, [name])
    return Built(str(steps.fetch_file(source, file, open_warehouse(root).root / steps.RAW, notes)), notes.lines)


@task(**RETRIED, cache_policy=NO_CACHE)
def import_file(root: str, kind: str, file: Built) -> Built:
    """Import a file, or find the version that it was imported as before."""
    notes = Notes()
    table = steps.import_files(open_warehouse(root), kind, [Path(file.name)], notes)
    return Built(table.name, notes.lines)


@task(**RETRIED, cache_policy=NO_CACHE)
def check(root: str, imported: Built) -> Built:
    """Check an imported version."""
    lines = steps.check_version(open_warehouse(root), imported.name, Notes())
    return Built(imported.name, [f"{imported.name}: {len(lines)} checks: {', '.join(lines)}"])


@flow(name="import-files", task_runner=processes(), **RETRIED)
def import_files(root: str = "warehouse", files: list[str] | None = None, address: str | None = None) -> list[str]:
    """Download, import and check files, and return the names of their versions. A report about their lines and about
    leaked positions is published to Prefect."""
    warehouse = open_warehouse(root)
    futures = []  # includes fetching and importing, whose futures have the errors
    wanted = sources(warehouse, files or [])
    for kind, name, is_published in wanted:
        path = fetch.submit(root, name, address) if is_published else Built(name, [])
        named = import_file.with_options(task_run_name=Path(name).name)
        imported = named.submit(root, kind, path, return_state=False)
        futures += [each for each in (path, imported) if not isinstance(each, Built)]
        futures.append(check.submit(root, imported, return_state=False))
    fetched = {str(warehouse.root / steps.RAW / name) for _, name, _ in wanted}
    versions = sorted({*tell_finished(futures, "steps")} - fetched)
    names = ("lines_read", "lines_with_rows", "lines_of_comment", "lines_quarantined")
    found = {version: warehouse.open_reference(version).manifest.statistics for version in versions}
    accounts = [
        {"version": version, **{name: int(figures.get(name, 0)) for name in names}}
        for version, figures in found.items()
    ]
    create_table_artifact(accounts, key="imports", description="Lines of files")
    create_markdown_artifact(leakage(warehouse), key="leakage", description="Labels that benchmarks hold too")
    publish_charts(warehouse, versions, "imports-picture", "Positions of each file by pips")
    return versions


def sources(warehouse: Warehouse, files: Sequence[str]) -> list[tuple[str, str, bool]]:
    """Return, for each file that the user named, its kind, its path or published name, and whether it is published.
    Raises MissingFileError for a name that is not published, and the errors of `steps.import_parameters` if a file is
    missing or has no kind."""
    published = {file.name: file.kind for file in steps.find_source(PUBLISHER).files if file.kind}
    found = []
    for word in files or list(published):
        kind, colon, path = word.partition(":")
        if colon:
            steps.import_parameters(warehouse, kind, [Path(path)])
            found.append((kind, path, False))
        elif word in published:
            found.append((published[word], word, True))
        else:
            raise MissingFileError(f"expected KIND:FILE or one of {', '.join(published)}, got {cite(word)}")
    return found


def leakage(warehouse: Warehouse) -> str:
    """A Markdown table of the labelled datasets that share positions with benchmarks."""
    found = steps.leakage_counts(warehouse)
    lines = ["| labels | rows left out of training | benchmarks |", "| - | -: | - |"]
    lines += [f"| {leak.labels} | {leak.rows:,} | {leak.benchmarks} |" for leak in found]
    return "\n".join(lines) if found else "no labelled position is in a benchmark"


def main(arguments: Sequence[str]) -> int:
    """Run the flow, print the names of the versions and the leaked positions, and return the exit code."""
    parser = flow_parser("imports", __doc__)
    parser.add_argument("files", nargs="*", metavar="KIND:FILE", help="a file, or the name of one that gnubg publishes")
    parser.add_argument("--address", metavar="URL", help="a mirror with all published files in one folder")
    found = parser.parse_args(arguments)

    def import_and_tell() -> None:
        print("\n".join(import_files(found.warehouse, found.files, found.address)))
        print(leakage(open_warehouse(found.warehouse)))

    return run_flow(import_and_tell)


if __name__ == "__main__":
    run(lambda: main(sys.argv[1:]))
