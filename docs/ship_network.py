"""Takes a trained network into the package as its default: `python -m docs.ship_network NAME [WAREHOUSE]`.

It replaces the one that was there, in bgdata/evaluation/networks and in warehouse/warehouse.lock; commit both, and
the lock again after `make build` and `bgdata lock`: what the network plays (selfplay) follows it. The
version is verified first: hashes, values, SQL checks, its games against PubEval, and that this code would train it.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import bgdata
from bgdata.datasets.network import DATASET, PUBLISHED, NetworkParameters
from bgdata.errors import BgdataError, CheckFailedError
from bgdata.store.lockfile import LockEntry, read_lock, write_lock
from bgdata.store.manifest import FILE_NAME, Manifest
from bgdata.store.progress import Silence
from bgdata.store.table import Table
from bgdata.store.verify import verify

LOCK = Path(__file__).parents[1] / "warehouse" / "warehouse.lock"
MOST_BYTES = 2_000_000  # of all files


def ship(name: str, root: str = "warehouse", folder: Path = PUBLISHED, lock: Path = LOCK) -> Path:
    """Copy the newest version of network/NAME into the package; returns its folder there.

    Raises CheckFailedError for a version that is too large, damaged, or of another recipe than this code's.
    """
    warehouse = bgdata.open_warehouse(root)
    table = warehouse.open(DATASET.name, name)
    manifest = table.manifest
    found = warehouse.find(DATASET, NetworkParameters.from_manifest(manifest.parameters))
    if found is None or found.folder != table.folder:
        raise CheckFailedError(f"expected {table.name} to have the recipe of this code, found another; train it anew")
    size = sum(entry.bytes for entry in manifest.files)
    if size > MOST_BYTES:
        raise CheckFailedError(f"expected at most {MOST_BYTES:,} bytes, found {size:,} in {table.name}")
    for finding in verify(warehouse, [table], sample_rows=1, seed=0, progress=Silence()):
        if finding.problem:
            raise CheckFailedError(finding.problem)
    copy_version(table, folder)
    change_lock(lock, manifest)
    return folder / name / manifest.version


def copy_version(table: Table, folder: Path) -> None:
    """Put a version, with files that git can replace, where others were."""
    target = folder / table.folder.parent.name / table.folder.name
    partial = folder.with_name(".networks.partial")
    shutil.rmtree(partial, ignore_errors=True)
    (partial / target.relative_to(folder)).mkdir(parents=True)
    for name in (*(entry.name for entry in table.manifest.files), FILE_NAME):
        shutil.copyfile(table.folder / name, partial / target.relative_to(folder) / name)
    shutil.rmtree(folder, ignore_errors=True)
    partial.rename(folder)


def change_lock(path: Path, manifest: Manifest) -> None:
    """Lock this network in place of any other."""
    entries, pins = read_lock(path)
    others = [entry for entry in entries if entry.dataset != DATASET.name]
    shipped = LockEntry(manifest.dataset, manifest.variant, manifest.recipe_key, manifest.digest)
    write_lock(path, [*others, shipped], pins)


if __name__ == "__main__":
    try:
        print(f"wrote {ship(*sys.argv[1:])} and {LOCK}; commit both")
    except (BgdataError, TypeError) as error:
        sys.exit(f"error: {error}")
