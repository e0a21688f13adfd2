"""The training feed at 100 million rows: `python -m tests.benchmarks.large_feed [ROWS] [FOLDER]`.

Four versions of 60, 30, 8 and 2 % of the rows are made of the labels of the warehouse, over and over, in a folder that
is deleted afterwards, at 48 bytes a row. A process opens them, for the first time (which counts the rows) and again,
and reads batches of 4,096 for as many rows as there are in ten pools.
"""

import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

import numpy as np

import bgdata
from bgdata.store.arrays import ArrayWriter
from bgdata.store.manifest import FileEntry, Manifest
from tests.benchmarks.measure import WAREHOUSE

SHARES = {"most": 60, "many": 30, "some": 8, "few": 2}  # percent
SOURCE = "selfplay_labels/network-10000-seed-1-6x9"
ARRAYS = ("boards", "chances", "classes", "splits")
READ_ROWS = 10_000_000


def write_labels(root: Path, rows: int) -> None:
    """Publish the versions in a warehouse."""
    table = bgdata.open_warehouse(WAREHOUSE).open(*SOURCE.split("/"))
    for number, (variant, share) in enumerate(SHARES.items()):
        folder = root / "selfplay_labels" / variant / f"r1-{number:08}"
        folder.mkdir(parents=True)
        count = rows * share // 100
        for name in ARRAYS:
            values = table.array(name)
            with ArrayWriter(folder / f"{name}.npy", values.dtype, (count, *values.shape[1:])) as writer:
                for begin in range(0, count, len(values)):
                    writer.write(begin, values[: count - begin])
        files = [FileEntry(path.name, path.stat().st_size, "0" * 64) for path in folder.iterdir()]
        Manifest(
            dataset="selfplay_labels", variant=variant, revision=1, parameters={"seed": number}, recipe_key="0" * 64,
            digest=f"{number:08}{rows:056}", inputs={}, raw_files=[], warnings=[], rows=count, files=files,
            statistics={}, licence="", source="", kernel_fingerprint="", software={}, source_commit="", created="",
            seconds=0, peak_memory_bytes=0, machine="",
        ).save(folder)  # fmt: skip


def measure(root: str) -> None:
    """Open and read, and print how fast."""
    warehouse = bgdata.open_warehouse(root)
    warm = bgdata.open_warehouse(WAREHOUSE).batches(SOURCE, seed=1)  # compiles
    warm.batch(0, 0)
    begin = perf_counter()
    feed = warehouse.batches("selfplay_labels", seed=1, epochs=None)
    opened = perf_counter() - begin
    print(f"open: {opened:.2f} s, {feed.row_count:,} rows of train, {len(feed):,} batches", flush=True)
    begin, rows, counts = perf_counter(), 0, []
    for batch in feed:
        rows += len(batch.rows)
        counts.append(np.bincount(batch.versions, minlength=len(SHARES)))
        if rows >= READ_ROWS:
            break
    seconds = perf_counter() - begin
    found = np.array(counts)
    expected = found.sum(axis=0) / len(found)
    freedom = (len(SHARES) - 1) * (len(found) - 1)
    chi = float(((found - expected) ** 2 / expected).sum())
    print(f"read: {rows / seconds:,.0f} rows/s; shares {(100 * found.sum(axis=0) / rows).round(2).tolist()} %, "
          f"chi-squared {chi:,.0f} at {freedom:,} degrees of freedom")  # fmt: skip
    print(f"memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10:,.0f} MiB at most")


def main(rows: int, folder: str | None) -> None:
    """Write the versions, and measure twice."""
    with tempfile.TemporaryDirectory(dir=folder) as root:
        write_labels(Path(root), rows)
        for _ in range(2):
            subprocess.run([sys.executable, "-m", __spec__.name, "--measure", root], check=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        measure(sys.argv[2])
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000_000, sys.argv[2] if len(sys.argv) > 2 else None)
