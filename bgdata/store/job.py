"""A running build: where its arrays are saved, its progress, and the checkpoints from which a killed build resumes.

Work may be split into ranges (`compute_shards`). Each range is written as one file by the process that computes it, so
a killed build keeps the finished ones, and any number of processes can share the rest. A shard
`000000000-000002000.<SHA-256>.npz` holds the arrays of the items 0 to 1,999. It is written aside and renamed; its name
holds the hash of the key of what it is a part of, its range, and its bytes: one that was damaged, renamed, or comes
from another recipe is named and computed again. Workers are given the name of a function, settings, a range and a
folder, never arrays.
"""

from __future__ import annotations

import hashlib
import inspect
import io
import json
import os
import re
import shutil
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import DTypeLike

from bgdata.errors import BgdataError, CorruptFileError, DigestMismatchError, WorkerError
from bgdata.store.arrays import Array, ArrayWriter, GrowingWriter, map_array, save_array
from bgdata.store.executors import MOST_PROCESSES, InProcess
from bgdata.store.manifest import canonical_json
from bgdata.store.progress import Progress
from bgdata.store.storage import is_want, remove_folder, sha256_file, storage_errors, sync, write_file

if TYPE_CHECKING:
    from bgdata.store.dataset import Dataset
    from bgdata.store.manifest import Source


Step = TypeVar("Step")

CHECKPOINT_SECONDS = float(os.environ.get("BGDATA_CHECKPOINT_SECONDS", "30"))  # 0: after every step, for tests
CHECKPOINT_SHARE = 0.05  # of the time, at most: a large state is written less often
SHARDS = "shards"  # the folder of shards
PART = "part"  # the folder of the part that is computed, and of the records of finished ones
MOST_ASKED = 2 * MOST_PROCESSES  # parts that wait in an executor: two for each worker, however many it has
CHECKPOINT_ERRORS = (BgdataError, KeyError, ValueError, OSError)  # ours of damage, others of a missing field or file
_STATE = "state.json"
_SEAL = "sha256"  # hash of all other fields of the state


class Job:
    """What `Computation.compute` saves arrays and checkpoints with, in the staging folder."""

    keeps = True  # whether a killed build can go on from what is in the folder

    def __init__(
        self,
        folder: Path,
        progress: Progress,
        files: tuple[Source, ...] = (),
        *,
        title: str = "",
        strict: bool = False,
        recipe: str = "",
        executor: Executor | None = None,
    ) -> None:
        self.folder = folder
        self.progress = progress
        self.files = files  # to import
        self.title = title  # kind/variant, for people
        self.strict = strict  # whether a row that breaks a rule fails the import instead of being set aside
        self.recipe = recipe  # key that checkpoints bear
        self.executor = executor or InProcess()  # who computes shards; values do not depend on it

    def save(self, name: str, values: Array) -> None:
        """Save a finished array under its declared name."""
        save_array(self.folder / f"{name}.npy", values)

    def create(self, name: str, dtype: DTypeLike, shape: tuple[int, ...], *, keep: bool = False) -> ArrayWriter:
        """Start an array that is written row by row, or with `keep` go on with it; use as a context manager."""
        return ArrayWriter(self.folder / f"{name}.npy", dtype, shape, keep=keep)

    def grow(self, name: str, values: Array) -> GrowingWriter:
        """Start an array of rows like these, as many as will be appended; use as a context manager."""
        return GrowingWriter(self.folder / f"{name}.npy", values.dtype, values.shape[1:])

    def saved(self, names: Iterable[str]) -> dict[str, Array]:
        """Arrays that are finished, mapped."""
        return {name: map_array(self.folder / f"{name}.npy") for name in names}

    def steps(
        self, unit: str, steps: Sequence[Step], sizes: Sequence[int], state: Mapping[str, Array]
    ) -> Iterator[Step]:
        """Yield the steps that remain, in order, and report `sizes[n]` units of progress for each.

        The caller changes the arrays of `state` in place while it handles a step. Every CHECKPOINT_SECONDS they are
        saved, or less often where that would take more than CHECKPOINT_SHARE of the time, so that a killed build
        resumes from there; saved arrays are loaded into `state` before the first step.
        """
        self.progress.start(self.title, sum(sizes), unit)
        done = self._restore(state)
        if done:
            self.progress.note(f"going on with {self.title} after step {done} of {len(steps)}")
            self.progress.advance(sum(sizes[:done]))
        saved, pause = time.monotonic(), CHECKPOINT_SECONDS
        for n in range(done, len(steps)):
            yield steps[n]
            self.progress.advance(sizes[n])
            if n + 1 < len(steps) and time.monotonic() - saved >= pause:
                begin = time.monotonic()
                self._checkpoint(n + 1, state)
                saved = time.monotonic()
                if CHECKPOINT_SECONDS:
                    pause = max(CHECKPOINT_SECONDS, (saved - begin) * (1 / CHECKPOINT_SHARE - 1))

    def fill(
        self, unit: str, state: Mapping[str, Array], size: int, found: Callable[[slice], Mapping[str, Array]]
    ) -> None:
        """Fill the arrays of `state`, all of one length, with what `found` returns for `size` rows at a time."""
        count = len(next(iter(state.values())))
        starts = range(0, count, size)
        for start in self.steps(unit, starts, [min(size, count - start) for start in starts], state):
            rows = slice(start, min(start + size, count))
            for name, values in found(rows).items():
                state[name][rows] = values

    def _checkpoint(self, done: int, state: Mapping[str, Array]) -> None:
        """Save the state aside with its hashes, then rename it: there is always one complete checkpoint on disk."""
        partial = self.folder / "checkpoint.partial"
        target = self.folder / f"checkpoint-{done:09d}"
        with storage_errors("write a checkpoint to", partial):
            remove_folder(partial)
            partial.mkdir()
            for name, values in state.items():
                save_array(partial / f"{name}.npy", values)
                sync(partial / f"{name}.npy")
            hashes = {name: sha256_file(partial / f"{name}.npy") for name in state}
            write_file(
                partial / _STATE,
                seal_record({"label": self.title, "done": done, "recipe": self.recipe, "arrays": hashes}),
            )
            partial.rename(target)
            sync(self.folder)  # before the older one goes
            for old in self.folder.glob("checkpoint-*"):
                if old != target:
                    remove_folder(old)

    def _restore(self, state: Mapping[str, Array]) -> int:
        """Load the newest usable checkpoint into `state`; returns the number of steps it has done. A damaged one is
        named and deleted, one of another recipe, put here by hand, is named and skipped."""
        for folder in sorted(self.folder.glob("checkpoint-*"), reverse=True):
            try:
                record = read_sealed(folder / _STATE)
                is_other = record["recipe"] != self.recipe
                arrays = {} if is_other or record["label"] != self.title else intact_arrays(folder, record["arrays"])
            except CHECKPOINT_ERRORS as error:
                if is_want(error):
                    with storage_errors("read", folder):
                        raise
                self.progress.note(f"{error}; the checkpoint is damaged and deleted")
                with storage_errors("delete", folder):
                    remove_folder(folder)
                continue
            if is_other:
                self.progress.note(f"expected a checkpoint of recipe {self.recipe[:12]}, got one of another: {folder}")
            elif {name: (values.shape, values.dtype) for name, values in arrays.items()} == {
                name: (values.shape, values.dtype) for name, values in state.items()
            }:
                for name, values in arrays.items():
                    state[name][...] = values
                return int(record["done"])
        return 0

    def clear_checkpoints(self) -> None:
        """Delete checkpoints and shards once the arrays are saved."""
        for folder in (*self.folder.glob("checkpoint*"), self.folder / SHARDS):
            remove_folder(folder)


def tidy(folder: Path) -> None:
    """Delete what no build leaves in its staging folder, put there by hand or by whom the warehouse comes from: links,
    which would be written through, pipes, which nobody would write to, folders in place of files and the reverse."""
    for path in folder.iterdir():
        is_folder = path.is_dir() and not path.is_symlink()
        if path.name == PART and is_folder:
            tidy(path)
            continue
        has_files = path.name == SHARDS or path.name.startswith("checkpoint")
        if has_files and not is_folder:
            path.unlink()
        for part in path.iterdir() if has_files and is_folder else [path] if not has_files else ():
            if part.is_dir() and not part.is_symlink():
                shutil.rmtree(part)
            elif part.is_symlink() or not part.is_file():
                part.unlink()


def seal_record(record: Mapping[str, object]) -> bytes:
    """A record as JSON with a hash of its fields."""
    return canonical_json({**record, _SEAL: hashlib.sha256(canonical_json(record)).hexdigest()})


def read_sealed(path: Path) -> dict[str, Any]:
    """A record as it was written. Raises CorruptFileError for any other bytes, OSError where there are none."""
    data = path.read_bytes()
    try:
        record = json.loads(data)
        del record[_SEAL]
    except (ValueError, TypeError, KeyError) as error:
        raise CorruptFileError(f"expected a sealed record in {path}, found: {error!r}") from error
    if seal_record(record) != data:
        raise CorruptFileError(f"expected {path} as it was written, found it changed")
    return dict(record)


def intact_arrays(folder: Path, hashes: Mapping[str, str]) -> dict[str, Array]:
    """The arrays `<name>.npy` of a folder, mapped. Raises DigestMismatchError for one with another SHA-256."""
    for name, expected in hashes.items():
        found = sha256_file(folder / f"{name}.npy")
        if found != expected:
            path = folder / f"{name}.npy"
            raise DigestMismatchError(f"expected SHA-256 {expected[:16]}... of {path}, found {found[:16]}...")
    return {name: map_array(folder / f"{name}.npy") for name in hashes}


def finished_part(folder: Path) -> str:
    """How far a killed build got, from its folder: `up to step 12`, `in 7 parts`, or empty."""
    if parts := len(list((folder / PART).glob("part_*.json"))):
        return f"in {parts} part{'s' * (parts > 1)}"
    for checkpoint in sorted(folder.glob("checkpoint-*"), reverse=True):
        return f"up to step {int(checkpoint.name.removeprefix('checkpoint-'))}"
    count = len(list((folder / SHARDS).glob("*.npz")))
    return f"in {count} part{'s' * (count > 1)}" if count else ""


_NAME = re.compile(r"(\d{9,})-(\d{9,})\.([0-9a-f]{64})\.npz")
_ONE_AT_A_TIME = threading.Lock()  # a worker of a cluster may have several threads; kernels bring their own

Settings = Mapping[str, str | int]


def kernels_here() -> str:
    """Fingerprint of the kernels of this process."""
    from bgdata.kernel_cache import kernel_fingerprint  # imports Numba: commands that compute nothing need none of it

    return kernel_fingerprint()


def sources_here(kind: Dataset[Any]) -> str:
    """Twelve hex digits of the sources that compute a kind: the module of its computation and all of the package that
    it imports at its top, directly or not. Manifests record it as `sources` among the software."""
    from bgdata.kernel_cache import closure_fingerprint

    return closure_fingerprint(Path(inspect.getfile(type(kind.computation))))


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


def ranges(items: range | int, size: int) -> list[range]:
    """Some items, or 0 to count - 1, in ranges of `size`; the last one may be shorter."""
    whole = range(items) if isinstance(items, int) else items
    return [range(begin, min(whole.stop, begin + size)) for begin in range(whole.start, whole.stop, size)]


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
        job.progress.advance(sum(map(len, parts)) - sum(map(len, missing)))
    for part, path in _written_shards(job.executor, work, missing, folder, job.recipe):
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
        if match and path.is_file() and _seal(key, match[1], match[2], _read_bytes(path)) == match[3]:
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


def _written_shards(
    executor: Executor, work: Work, parts: Iterable[range], folder: Path, key: str
) -> Iterator[tuple[range, Path]]:
    """Have shards written, and yield each with its path when it is finished; at most MOST_ASKED are asked for and not
    yet yielded. Raises WorkerError."""
    asked: dict[Future[str], range] = {}
    done: SimpleQueue[Future[str]] = (
        SimpleQueue()
    )  # to wait for all that are asked, again and again, would be quadratic

    def finished(future: Future[str]) -> tuple[range, Path]:
        return asked.pop(future), folder / future.result()

    try:
        for part in parts:
            future = executor.submit(write_shard, work, part.start, part.stop, str(folder), key)
            asked[future] = part
            future.add_done_callback(done.put)
            while len(asked) >= MOST_ASKED or not done.empty():
                yield finished(done.get())
        while asked:
            yield finished(done.get())
    except Exception as error:
        is_loss = isinstance(error, BrokenExecutor | CancelledError) or type(error).__module__.startswith("distributed")
        if not is_loss:  # it comes from the work
            raise
        reason = " ".join(str(error).split()) or type(error).__name__
        raise WorkerError(
            f"expected workers to finish, lost one; finished parts are kept, and the same command resumes: {reason}"
        ) from error
    finally:
        for future in asked:
            future.cancel()


def write_shard(work: Work, begin: int, end: int, folder: str, key: str) -> str:
    """Compute and write one shard; returns the name of its file. Raises StorageError, and what the work raises."""
    with _ONE_AT_A_TIME:
        arrays = work.compute(begin, end)
    return save_shard(arrays, begin, end, Path(folder), key)


def _read_bytes(path: Path) -> bytes:
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
    # the seal in the name proves that a part is whole, without a second file, and without waiting for the disk: to wait
    # would take longer than all else that is done for a part
    name = f"{first}-{last}.{_seal(key, first, last, data)}.npz"
    write_file(folder / name, data, is_durable=False)
    return name


def read_shard(path: Path, key: str) -> dict[str, Array]:
    """The arrays of a shard. Raises StorageError, or CorruptFileError for one that changed since it was written."""
    data = _read_bytes(path)
    match = _NAME.fullmatch(path.name)
    if not match or _seal(key, match[1], match[2], data) != match[3]:
        raise CorruptFileError(f"expected {path} as it was written, found it changed; try the same command again")
    with np.load(io.BytesIO(data), allow_pickle=False) as packed:
        return dict(packed)
