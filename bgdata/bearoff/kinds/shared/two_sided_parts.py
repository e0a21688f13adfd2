"""Files of a two-sided table that is being solved, from which a build resumes after it was killed.

They are in the folder of the job:

    checkpoint-000000012/       values of a batch as solved (float32) and a seal; kept while later batches need them
    checkpoint.layers/          values to store for each group of columns and layer on roll, until its rows are written

Every block of a layer follows its SHA-256, so damage is found before a block becomes part of a row.
"""

from __future__ import annotations

import hashlib
import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from bgdata.bearoff import two_sided
from bgdata.bearoff.two_sided import Block, Scale, SolvedBlocks, Window
from bgdata.errors import CorruptFileError, DigestMismatchError, StorageError
from bgdata.store.job import CHECKPOINT_ERRORS, Job, read_sealed, seal_record
from bgdata.store.storage import is_shortage, remove_folder, storage_errors, write_file
from bgdata.system import write_at

NEEDED = -(-two_sided.REACH // two_sided.BATCH)  # number of batches on which the next batch depends
STATE, VALUES = "state.json", "values"
WAITING = 3  # greatest number of pending writes
SEAL_BYTES = 32


class Parts:
    """The files of a two-sided table that is being solved. One thread writes them while others solve: pass the methods
    marked "for the writing thread" to `write`, and call `close` at the end."""

    def __init__(self, job: Job, scale: Scale, groups: Sequence[tuple[int, ...]]) -> None:
        self._job, self._scale, self._groups = job, scale, groups
        self._layers = job.folder / "checkpoint.layers"
        self._partial = job.folder / "checkpoint.partial"
        self._file: IO[bytes] | None = None
        self._digest = hashlib.sha256()
        self._pool = ThreadPoolExecutor(1)
        self._waiting: deque[Future[None]] = deque()
        self._has_failed = False

    def close(self) -> None:
        """Wait for the current write, and cancel the pending ones."""
        self._pool.shutdown(cancel_futures=True)
        if self._file:
            self._file.close()

    def write(self, action: Callable[..., None], *arguments: Any) -> None:
        """Queue a call of `action` with these arguments for the writing thread. Raises the error of an earlier action
        that failed."""
        while len(self._waiting) >= WAITING or (self._waiting and self._waiting[0].done()):
            self._waiting.popleft().result()
        self._waiting.append(self._pool.submit(self._run, action, *arguments))

    def _run(self, action: Callable[..., None], *arguments: Any) -> None:
        if self._has_failed:  # after a failed write no batch may be sealed
            return
        try:
            action(*arguments)
        except BaseException:
            self._has_failed = True
            raise

    def finish(self) -> None:
        """Wait until the queue is empty. Raises the error of an action that failed."""
        while self._waiting:
            self._waiting.popleft().result()

    def count_done(self) -> int:
        """Return how many batches, over all groups of columns, an earlier build has finished: 0 if there are none, or
        if their files are damaged."""
        for folder in sorted(self._job.folder.glob("checkpoint-*"), reverse=True):
            try:
                record = read_sealed(folder / STATE)
                if record["recipe"] == self._job.recipe:
                    return int(record["done"])
            except CHECKPOINT_ERRORS as error:
                if is_shortage(error):
                    with storage_errors("read", folder):
                        raise
                self._job.progress.note(f"{error}; the checkpoint is damaged, and the build starts over")
            break
        return 0

    def restore(self, window: Window, done: int, first: int) -> None:
        """Fill the cells of a window on which later batches depend, from the files of the batches up to `done`. `first`
        is the number of the window's first batch. Raises CorruptFileError or DigestMismatchError if a file is
        damaged."""
        batches = window.batches()
        for n in range(max(first, done - NEEDED), done):
            folder = self._folder(n + 1)
            path = folder / VALUES
            with _reading(folder / STATE):
                expected, found = read_sealed(folder / STATE)["values"], hashlib.sha256()
            with _reading(path), path.open("rb") as file:
                for solved in two_sided.calls_of(window, batches[n - first]):
                    data = solved.values.data.cast("B")
                    if file.readinto(data) != len(data):
                        raise CorruptFileError(f"expected more values in {path}, found the end of the file")
                    found.update(data)
                    two_sided.restore(window, solved)
            if found.hexdigest() != expected:
                raise DigestMismatchError(f"expected SHA-256 {expected[:16]}... of {path}, found another")

    def put(self, window: Window, group: int, solved: SolvedBlocks) -> None:
        """Store solved values twice: as solved, for later batches, and encoded, for rows. For the writing thread."""
        with storage_errors("write", self._partial):
            if self._file is None:
                remove_folder(self._partial)
                self._partial.mkdir()
                self._layers.mkdir(exist_ok=True)
                self._file, self._digest = (self._partial / VALUES).open("wb", buffering=0), hashlib.sha256()
            data = solved.values.data.cast("B")
            _write_all(self._file.fileno(), data, None)
            self._digest.update(data)
        stored = self._scale.encode(solved.values)
        columns = len(window.columns)
        for block in solved.blocks:
            begin, end = two_sided.block_place(window.slots, block.on_roll, block.opponent, columns)
            values = stored[block.place : block.place + end - begin].data.cast("B")
            path = self._layer(group, block.on_roll)
            with storage_errors("write", path):
                handle = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
                try:
                    seal = hashlib.sha256(values).digest()
                    _write_all(handle, memoryview(seal), self._offset(begin, block))
                    _write_all(handle, values, self._offset(begin, block) + SEAL_BYTES)
                finally:
                    os.close(handle)

    def seal(self, done: int) -> None:
        """Mark batch number `done` as complete, after its values and rows were written. For the writing thread."""
        with storage_errors("write a checkpoint to", self._partial):
            if self._file:
                self._file.close()
                self._file = None
            record = {"done": done, "recipe": self._job.recipe, "values": self._digest.hexdigest()}
            write_file(self._partial / STATE, seal_record(record))
            remove_folder(self._folder(done))
            self._partial.rename(self._folder(done))
            remove_folder(self._folder(done - NEEDED))

    def take(self, window: Window, group: int, layer: int) -> NDArray[Any]:
        """Read the encoded values of a layer, a pip count of the player on roll. Raises DigestMismatchError for a
        changed file, CorruptFileError for a missing one."""
        slots, columns = window.slots, len(self._groups[group])
        _, end = two_sided.block_place(slots, layer, slots.most_pips, columns)
        values = np.empty(end, self._scale.dtype)
        path = self._layer(group, layer)
        with _reading(path), path.open("rb", buffering=0) as file:
            for opponent in range(1, slots.most_pips + 1):
                begin, end = two_sided.block_place(slots, layer, opponent, columns)
                seal, data = bytearray(SEAL_BYTES), values[begin:end].data.cast("B")
                file.seek(self._offset(begin, Block(layer, opponent, 0)))
                file.readinto(seal)
                file.readinto(data)
                if hashlib.sha256(data).digest() != seal:
                    raise DigestMismatchError(f"expected {path} as it was written, found it changed")
        return values

    def rows(self, window: Window, layer: int) -> Iterator[tuple[int, NDArray[Any]]]:
        """Yield the rows of a layer (a pip count of the player on roll) whose pairs are all solved, as
        `two_sided.layer_rows` does. Raises DigestMismatchError for a changed file, and CorruptFileError for a missing
        one."""
        found = [(columns[0], self.take(window, group, layer)) for group, columns in enumerate(self._groups)]
        yield from two_sided.layer_rows(window, layer, found, self._scale)

    def drop(self, layers: range) -> None:
        """Delete the values of these layers, after their rows were written and their batch was sealed. For the writing
        thread."""
        for layer in layers:
            for group in range(len(self._groups)):
                self._layer(group, layer).unlink(missing_ok=True)

    def _folder(self, done: int) -> Path:
        return self._job.folder / f"checkpoint-{done:09d}"

    def _layer(self, group: int, layer: int) -> Path:
        return self._layers / f"{group}-{layer}"

    def _offset(self, begin: int, block: Block) -> int:
        return begin * self._scale.dtype.itemsize + (block.opponent - 1) * SEAL_BYTES


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Inside the `with` block, convert errors of reading a stored file. Raises CorruptFileError if the file has
    changed, and StorageError if it cannot be read now."""
    try:
        with storage_errors("read", path):
            yield
    except StorageError as error:
        if is_shortage(error):
            raise
        raise CorruptFileError(f"expected {path} as it was written: {error}") from error


def clear_parts(job: Job) -> None:
    """Delete all files that a killed build left in the folder of its job."""
    for folder in job.folder.glob("checkpoint*"):
        remove_folder(folder)


def _write_all(handle: int, data: memoryview, offset: int | None) -> None:
    """Write all bytes to a file descriptor, at `offset` or at its current position."""
    while data:
        count = os.write(handle, data) if offset is None else write_at(handle, data, offset)
        data = data[count:]
        offset = None if offset is None else offset + count
