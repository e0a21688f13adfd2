"""Rollouts of the command line: shown while they run, and kept, so that a stopped one resumes from its finished games.

A trial depends on its number alone, so blocks of trials from several runs add up to one run. They are kept in the
user's cache folder, because a rollout only reads the warehouse, which may belong to another user.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bgdata.errors import CorruptFileError, StorageError
from bgdata.process import keeping
from bgdata.store import job
from bgdata.store.job import intact_shards, read_shard, save_shard
from bgdata.store.progress import Progress, Silence
from bgdata.store.storage import remove_folder, storage_errors

if TYPE_CHECKING:
    from bgdata.selfplay.rollout import Rolled, Rows, Values

FORMAT = 1
SLICE_SECONDS = 1.0  # between looks at the estimate
LEAST_BLOCKS = 4  # that each thread has in a slice, so that none waits long for the others
FORGET_SECONDS = 30 * 24 * 3600  # after which a stopped rollout is not expected back


class KeptRollout:
    """The finished blocks of trials of one rollout; each block has all boards together."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.progress: Progress = Silence()
        self.blocks: list[Values] = []  # [n, some, 2, 5] each, in their order
        self.saved = 0  # of these arrays, in files
        self.can_save = True

    @property
    def count(self) -> int:
        """The number of finished blocks."""
        return sum(part.shape[1] for part in self.blocks)

    def load(self) -> None:
        """Take over the blocks of an earlier run, up to the first that is missing."""
        if self.folder.is_dir():
            for (begin, _), path in sorted(intact_shards(self.progress, self.folder, self.folder.name).items()):
                with suppress(CorruptFileError, StorageError):  # gone since: somebody else has finished this rollout
                    if begin == self.count:
                        self.blocks.append(read_shard(path, self.folder.name)["blocks"])
        self.saved = len(self.blocks)

    def save(self) -> None:
        """Write the blocks finished since the last time. Raises StorageError."""
        if self.saved < len(parts := list(self.blocks)):
            begin = sum(part.shape[1] for part in parts[: self.saved])
            values = np.concatenate(parts[self.saved :], axis=1)
            with storage_errors("create", self.folder):
                self.folder.mkdir(parents=True, exist_ok=True)
            save_shard({"blocks": values}, begin, begin + values.shape[1], self.folder, self.folder.name)
            self.saved = len(parts)

    def statement(self) -> str:
        """Save all blocks, and say what is kept: see `process.keeping`."""
        from bgdata.selfplay.rollout_kernels import BLOCK

        with suppress(StorageError):
            self.save()
        count = sum(part.shape[1] for part in self.blocks[: self.saved])
        return f"{count * BLOCK:,} trials of this rollout are kept" if count else ""

    def watched(
        self, progress: Progress, most_trials: int, estimate: Callable[[Values], str]
    ) -> Callable[[Rolled], Rolled]:
        """The callback for `roll_out`: it moves a bar of at most so many trials, and shows the `estimate` of the blocks
        so far."""
        from bgdata.kernel import thread_count
        from bgdata.selfplay.rollout_kernels import BLOCK

        self.progress = progress
        self.load()

        def through(rolled: Rolled) -> Rolled:
            progress.start("rollout", most_trials, "trials")
            if self.count:
                progress.note(f"going on with this rollout after {self.count * BLOCK:,} trials")
                progress.advance(min(self.count * BLOCK, most_trials))
            saved_at, size = time.monotonic(), 1

            def roll(rows: Rows, begins: Rows, count: int) -> Values:
                nonlocal saved_at, size
                begin, end = int(begins[0]), int(begins[0]) + count
                while self.count < end:
                    started = time.monotonic()
                    least = -(-LEAST_BLOCKS * thread_count() // len(rows))
                    first, size = self.count, max(size, least)
                    self.blocks.append(rolled(rows, np.full(len(rows), first), min(end - first, size)))
                    now = time.monotonic()
                    size = int(size * min(4.0, SLICE_SECONDS / max(now - started, 1e-6)))
                    progress.advance((self.count - first) * BLOCK)
                    progress.tell(estimate(np.concatenate(self.blocks, axis=1)))
                    if now - saved_at >= job.CHECKPOINT_SECONDS and self.can_save:
                        self.save_or_say()
                        saved_at = now
                return np.concatenate(self.blocks, axis=1)[:, begin:end]

            return roll

        return through

    def save_or_say(self) -> None:
        """Save; if that fails, say so once and go on, since only stopping would lose anything."""
        try:
            self.save()
        except StorageError as error:
            self.can_save = False
            self.progress.note(f"this rollout is not kept: {error}")


@contextmanager
def kept_rollout(*parts: object) -> Iterator[KeptRollout]:
    """The rollout identified by all that its games depend on. What was kept of it is removed when the block ends
    without an error."""
    from bgdata.kernel_cache import kernel_cache, kernel_fingerprint

    named = repr((FORMAT, kernel_fingerprint(), *parts))
    root = kernel_cache().parent / "rollouts"
    forget_old(root)
    kept = KeptRollout(root / hashlib.sha256(named.encode()).hexdigest()[:32])
    with keeping(kept.statement):
        yield kept
    with storage_errors("delete", kept.folder):
        remove_folder(kept.folder)


def forget_old(root: Path) -> None:
    """Delete rollouts that have not been resumed for a month."""
    with suppress(OSError):
        for folder in root.iterdir():
            if time.time() - folder.stat().st_mtime > FORGET_SECONDS:
                remove_folder(folder)
