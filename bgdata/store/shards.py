"""Work split into ranges. Each range is written as one file by the process that computes it, so a killed build keeps
the finished ones, and any number of processes can share the rest.

A shard `000000000-000002000.<SHA-256>.npz` holds the arrays of the items 0 to 1,999. It is written aside and renamed;
its name holds the hash of the key of what it is a part of, its range, and its bytes: one that was damaged, renamed, or
comes from another recipe is noticed, named and computed again. Workers are given the name of a
function, settings, a range and a folder, never arrays.
"""

from __future__ import annotations

import hashlib
import io
import re
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, as_completed, wait
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

import numpy as np

from bgdata.errors import CorruptFileError, WorkerError
from bgdata.store.arrays import Array
from bgdata.store.job import SHARDS, Job
from bgdata.store.progress import Progress
from bgdata.store.storage import remove_folder, storage_errors, write_file

_NAME = re.compile(r"(\d{9,})-(\d{9,})\.([0-9a-f]{64})\.npz")
_ONE_AT_A_TIME = threading.Lock()  # a worker of a cluster may have several threads; kernels bring their own

Settings = Mapping[str, str | int]


def kernels_here() -> str:
    """Fingerprint of the kernels of this process."""
    from bgdata.kernel_cache import kernel_fingerprint  # imports Numba: commands that compute nothing need none of it

    return kernel_fingerprint()


@dataclass(frozen=True)
class Work:
    """What is computed for each range: `module:function`, called with (settings, begin, end), returns named arrays that
    depend on nothing else but the kernels."""

    function: str
    settings: Settings
    kernels: str = field(default_factory=kernels_here)  # of whoever asks for it

    def compute(self, begin: int, end: int) -> Mapping[str, Array]:
        """The arrays of one range. Raises WorkerError if the kernels here are others."""
        if kernels_here() != self.kernels:
            raise WorkerError(
                f"expected a worker with the kernels {self.kernels}, found {kernels_here()}; "
                "install the same bgdata everywhere"
            )
        module, _, name = self.function.partition(":")
        found: Mapping[str, Array] = getattr(import_module(module), name)(self.settings, begin, end)
        return found


def ranges(count: int, size: int) -> list[range]:
    """0 to count - 1 in ranges of `size`; the last one may be shorter."""
    return [range(begin, min(count, begin + size)) for begin in range(0, count, size)]


def compute_shards(job: Job, unit: str, work: Work, parts: Sequence[range]) -> Iterator[dict[str, Array]]:
    """The arrays of each range, in order. Ranges that a killed build finished are read; the others are computed by
    `job.executor`.

    Raises WorkerError when workers are lost, and whatever the function raises; finished shards are kept.
    """
    folder = job.folder / SHARDS
    with storage_errors("create", folder):
        folder.mkdir(exist_ok=True)
    job.progress.start(job.title, sum(map(len, parts)), unit)
    found = intact_shards(job.progress, folder, job.recipe)
    missing = [part for part in parts if (part.start, part.stop) not in found]
    if len(missing) < len(parts):
        job.progress.note(f"going on with {job.title}: {len(parts) - len(missing)} of {len(parts)} parts are there")
        job.progress.advance(sum(len(part) for part in parts if part not in missing))
    for part, path in written_shards(job.executor, work, missing, folder, job.recipe):
        found[part.start, part.stop] = path
        job.progress.advance(len(part))
    for part in parts:
        yield read_shard(found[part.start, part.stop], job.recipe)


def intact_shards(progress: Progress, folder: Path, key: str) -> dict[tuple[int, int], Path]:
    """The undamaged shards of a folder by (begin, end); damaged ones, and those of other keys, are named and
    deleted."""
    found = {}
    for path in sorted(folder.iterdir()):
        match = _NAME.fullmatch(path.name)
        if match and path.is_file() and _seal(key, match[1], match[2], _bytes_of(path)) == match[3]:
            found[int(match[1]), int(match[2])] = path
            continue
        if match:
            progress.note(f"expected SHA-256 {match[3][:16]}... of {path}, found another; computing it anew")
        with storage_errors("delete", path):
            if path.is_dir() and not path.is_symlink():
                remove_folder(path)
            else:
                path.unlink()
    return found


def written_shards(
    executor: Executor, work: Work, parts: Iterable[range], folder: Path, key: str
) -> Iterator[tuple[range, Path]]:
    """Have shards written, and yield each with its path when it is finished. Raises WorkerError."""
    asked: dict[Future[str], range] = {}
    try:
        for part in parts:
            asked[executor.submit(write_shard, work, part.start, part.stop, str(folder), key)] = part
            for future in wait(asked, timeout=0).done:
                yield asked.pop(future), folder / future.result()
        for future in as_completed(asked):
            yield asked[future], folder / future.result()
    except Exception as error:
        if not is_loss(error):
            raise
        reason = " ".join(str(error).split()) or type(error).__name__
        raise WorkerError(
            f"expected workers to finish, lost one; finished parts are kept, and the same command resumes: {reason}"
        ) from error
    finally:
        for future in asked:
            future.cancel()


def is_loss(error: Exception) -> bool:
    """Whether an error comes from the executor rather than from the work."""
    return isinstance(error, BrokenExecutor | CancelledError) or type(error).__module__.startswith("distributed")


def write_shard(work: Work, begin: int, end: int, folder: str, key: str) -> str:
    """Compute and write one shard; returns the name of its file. Raises StorageError, and what the work raises."""
    with _ONE_AT_A_TIME:
        arrays = work.compute(begin, end)
    return save_shard(arrays, begin, end, Path(folder), key)


def _bytes_of(path: Path) -> bytes:
    with storage_errors("read", path):
        return path.read_bytes()


def _seal(key: str, begin: str, end: str, data: bytes) -> str:
    """What the name of a shard says of its bytes, and of what it is a part of."""
    return hashlib.sha256(f"{key} {begin} {end}\n".encode() + data).hexdigest()


def save_shard(arrays: Mapping[str, Array], begin: int, end: int, folder: Path, key: str) -> str:
    """Write one shard; returns the name of its file. Raises StorageError."""
    packed = io.BytesIO()
    np.savez(packed, **{name: np.ascontiguousarray(values) for name, values in arrays.items()})  # type: ignore[arg-type]
    data = packed.getvalue()
    first, last = f"{begin:09d}", f"{end:09d}"
    # the seal in the name proves that a part is whole, without a second file
    name = f"{first}-{last}.{_seal(key, first, last, data)}.npz"
    write_file(folder / name, data)
    return name


def read_shard(path: Path, key: str) -> dict[str, Array]:
    """The arrays of a shard. Raises StorageError, or CorruptFileError for one that changed since it was written."""
    data = _bytes_of(path)
    match = _NAME.fullmatch(path.name)
    if not match or _seal(key, match[1], match[2], data) != match[3]:
        raise CorruptFileError(f"expected {path} as it was written, found it changed; try the same command again")
    with np.load(io.BytesIO(data), allow_pickle=False) as packed:
        return dict(packed)
