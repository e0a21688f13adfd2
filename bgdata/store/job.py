"""A running build: its arrays, its progress, and the checkpoints from which it resumes after it was killed. `shards` is
for work in independent ranges."""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from numpy.typing import DTypeLike

from bgdata.errors import BgdataError, CorruptFileError, DigestMismatchError
from bgdata.store.arrays import Array, ArrayWriter, GrowingWriter, map_array, save_array
from bgdata.store.executors import current_executor
from bgdata.store.manifest import canonical_json
from bgdata.store.progress import Progress
from bgdata.store.storage import is_shortage, remove_folder, sha256_file, storage_errors, sync, write_file

if TYPE_CHECKING:
    from bgdata.store.dataset import Dataset
    from bgdata.store.manifest import Source


Step = TypeVar("Step")

CHECKPOINT_SECONDS = float(os.environ.get("BGDATA_CHECKPOINT_SECONDS", "30"))  # 0: after every step, for tests
CHECKPOINT_SHARE = 0.05  # greatest share of the time for checkpoints: a large state is saved less often
SHARDS = "shards"  # the folder of shards
PART = "part"  # the folder of the part that is being built, and of the records of finished parts
CHECKPOINT_ERRORS = (BgdataError, KeyError, ValueError, OSError)  # raised for damaged or missing files and fields
_STATE = "state.json"
_SEAL = "sha256"  # hash of all other fields of the state


class Job:
    """Saves the arrays and checkpoints of a running build in its staging folder, and reports its progress.
    `Computation.compute` works with it."""

    keeps = True  # whether a build can resume from the folder after it was killed

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
        self.files = files  # files to import
        self.title = title  # kind/variant, for messages
        self.strict = strict  # whether the import fails for a row that breaks a rule, instead of setting it aside
        self.recipe = recipe  # key of checkpoints
        self.executor = executor or current_executor()  # computes shards; the values do not depend on it

    def save(self, name: str, values: Array) -> None:
        """Save a finished array, whose `name` the kind declares."""
        save_array(self.folder / f"{name}.npy", values)

    def create(self, name: str, dtype: DTypeLike, shape: tuple[int, ...], *, keep: bool = False) -> ArrayWriter:
        """Open a declared array for writing it row by row, inside a `with` block. If `keep` is true, the rows that an
        earlier, killed build has written are kept."""
        return ArrayWriter(self.folder / f"{name}.npy", dtype, shape, keep=keep)

    def grow(self, name: str, values: Array) -> GrowingWriter:
        """Open a declared array for appending rows, inside a `with` block. Its dtype and the shape of its rows are
        those of `values`."""
        return GrowingWriter(self.folder / f"{name}.npy", values.dtype, values.shape[1:])

    def map_saved(self, names: Iterable[str]) -> dict[str, Array]:
        """Return the saved arrays with these names, memory-mapped."""
        return {name: map_array(self.folder / f"{name}.npy") for name in names}

    def steps(
        self, unit: str, steps: Sequence[Step], sizes: Sequence[int], state: Mapping[str, Array]
    ) -> Iterator[Step]:
        """Yield the steps that are not done yet, in order. Step n counts as `sizes[n]` units of progress, which are
        called `unit`.

        While the caller works on a step, it changes the arrays of `state` in place. They are saved every
        CHECKPOINT_SECONDS, or less often if saving would take more than CHECKPOINT_SHARE of the time, so that a build
        resumes from them after it was killed. Before the first step, the arrays that were last saved are loaded into
        `state`."""
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

    def _checkpoint(self, done: int, state: Mapping[str, Array]) -> None:
        """Save `state`, as it is after `done` steps, as the newest checkpoint. The checkpoint is renamed when it is
        complete, and only then is the older one deleted, so that a complete checkpoint is always on disk."""
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
            sync(self.folder)  # before the older checkpoint is deleted
            for old in self.folder.glob("checkpoint-*"):
                if old != target:
                    remove_folder(old)

    def _restore(self, state: Mapping[str, Array]) -> int:
        """Load the newest usable checkpoint into `state`, and return the number of steps that it covers, 0 if there is
        none. A damaged checkpoint is reported and deleted; a checkpoint of another recipe is reported and skipped."""
        for folder in sorted(self.folder.glob("checkpoint-*"), reverse=True):
            try:
                record = read_sealed(folder / _STATE)
                is_other = record["recipe"] != self.recipe
                arrays = {} if is_other or record["label"] != self.title else intact_arrays(folder, record["arrays"])
            except CHECKPOINT_ERRORS as error:
                if is_shortage(error):
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
        """Delete all checkpoints and shards, which are not needed once the arrays are saved."""
        for folder in (*self.folder.glob("checkpoint*"), self.folder / SHARDS):
            remove_folder(folder)


def tidy(folder: Path) -> None:
    """Delete everything from a staging folder that no build writes there: links, which a build would follow when it
    writes; pipes, which would block; folders in place of files, and files in place of folders."""
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
    """Return the bytes of a JSON object with the fields of `record` and their hash."""
    return canonical_json({**record, _SEAL: hashlib.sha256(canonical_json(record)).hexdigest()})


def read_sealed(path: Path) -> dict[str, Any]:
    """Read the record from a file that was made by `seal_record`. Raises CorruptFileError if the bytes have changed,
    and OSError if the file cannot be read."""
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
    """Return the arrays `<name>.npy` in a folder, memory-mapped, for each name in `hashes`. Raises DigestMismatchError
    if a file's SHA-256 differs from the one in `hashes`."""
    for name, expected in hashes.items():
        found = sha256_file(folder / f"{name}.npy")
        if found != expected:
            path = folder / f"{name}.npy"
            raise DigestMismatchError(f"expected SHA-256 {expected[:16]}... of {path}, found {found[:16]}...")
    return {name: map_array(folder / f"{name}.npy") for name in hashes}


def killed_build_progress(folder: Path) -> str:
    """Say how much of a killed build is finished, from its staging folder: `up to step 12` or `in 7 parts`. The string
    is empty if nothing is finished."""
    if parts := len(list((folder / PART).glob("part_*.json"))):
        return f"in {parts} part{'s' * (parts > 1)}"
    for checkpoint in sorted(folder.glob("checkpoint-*"), reverse=True):
        return f"up to step {int(checkpoint.name.removeprefix('checkpoint-'))}"
    count = len(list(folder.glob(f"{SHARDS}/*.npz"))) or len(list(folder.glob(f"{PART}/{SHARDS}/*.npz")))
    return f"in {count} part{'s' * (count > 1)}" if count else ""


def kernel_fingerprint() -> str:
    """The fingerprint of the source of all kernels in this process."""
    from bgdata.kernel_cache import kernel_fingerprint  # here: it imports Numba, which most commands do not need

    return kernel_fingerprint()


def source_fingerprint(kind: Dataset[Any]) -> str:
    """Return twelve hex digits that identify the source code that computes a kind: the module of its computation, and
    every module of the package that this module imports at its top, directly or indirectly. Manifests contain them as
    `sources` among the software."""
    from bgdata.kernel_cache import closure_fingerprint

    return closure_fingerprint(Path(inspect.getfile(type(kind.computation))))
