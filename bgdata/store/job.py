"""One running build: where its arrays go, who is told of progress, and what a killed build goes on from."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from numpy.typing import DTypeLike

from bgdata.errors import CorruptFileError, MissingTableError
from bgdata.store.arrays import Array, ArrayWriter, map_array, save_array
from bgdata.store.executors import InProcess
from bgdata.store.progress import Progress
from bgdata.store.storage import remove_folder, storage_errors, sync

if TYPE_CHECKING:
    from bgdata.store.dataset import Source
    from bgdata.store.warehouse import Warehouse

Step = TypeVar("Step")

CHECKPOINT_SECONDS = float(os.environ.get("BGDATA_CHECKPOINT_SECONDS", "30"))
SHARDS = "shards"  # folder of `store.shards`
_STATE = "state.json"


class Job:
    """Handed to `Dataset.compute`: saves arrays into the staging folder and keeps checkpoints beside them."""

    def __init__(
        self,
        folder: Path,
        progress: Progress,
        files: tuple[Source, ...] = (),
        *,
        strict: bool = False,
        recipe: str = "",
        warehouse: Warehouse | None = None,
        executor: Executor | None = None,
    ) -> None:
        self.folder = folder
        self.progress = progress
        self.files = files  # to import
        self.strict = strict  # whether a row that breaks a rule fails the import instead of being set aside
        self.recipe = recipe  # key that checkpoints bear
        self.executor = executor or InProcess()  # who computes shards; values do not depend on it
        self.warehouse = warehouse  # where players are found by name; what values depend on is in inputs or parameters

    def save(self, name: str, values: Array) -> None:
        """Save a finished array."""
        save_array(self.folder / f"{name}.npy", values)

    def create(self, name: str, dtype: DTypeLike, shape: tuple[int, ...]) -> ArrayWriter:
        """Start an array that is written row by row; use as a context manager."""
        return ArrayWriter(self.folder / f"{name}.npy", dtype, shape)

    def steps(
        self, label: str, unit: str, steps: Sequence[Step], sizes: Sequence[int], state: Mapping[str, Array]
    ) -> Iterator[Step]:
        """Yield the steps that are still to do, in order, reporting `sizes[n]` units of progress for each.

        The caller changes the arrays of `state` in place while it handles a step. Every CHECKPOINT_SECONDS they are
        saved, so that a killed build goes on from there; saved arrays are loaded into `state` before the first step.
        """
        self.progress.start(label, sum(sizes), unit)
        done = self._restore(label, state)
        if done:
            self.progress.note(f"going on with {label} after step {done} of {len(steps)}")
            self.progress.advance(sum(sizes[:done]))
        saved = time.monotonic()
        for n in range(done, len(steps)):
            yield steps[n]
            self.progress.advance(sizes[n])
            if n + 1 < len(steps) and time.monotonic() - saved >= CHECKPOINT_SECONDS:
                self._checkpoint(label, n + 1, state)
                saved = time.monotonic()

    def _checkpoint(self, label: str, done: int, state: Mapping[str, Array]) -> None:
        """Save the state aside, then rename it: there is always one whole checkpoint."""
        partial = self.folder / "checkpoint.partial"
        target = self.folder / f"checkpoint-{done:09d}"
        with storage_errors("write a checkpoint to", partial):
            remove_folder(partial)
            partial.mkdir()
            for name, values in state.items():
                save_array(partial / f"{name}.npy", values)
                sync(partial / f"{name}.npy")
            (partial / _STATE).write_text(json.dumps({"label": label, "done": done, "recipe": self.recipe}))
            partial.rename(target)
            for old in self.folder.glob("checkpoint-*"):
                if old != target:
                    remove_folder(old)

    def _restore(self, label: str, state: Mapping[str, Array]) -> int:
        """Load the newest usable checkpoint of this stage into `state`; returns the number of steps it has done.

        One of another recipe, which only somebody's hands can have put here, is passed over and named.
        """
        for folder in sorted(self.folder.glob("checkpoint-*"), reverse=True):
            try:
                record = json.loads((folder / _STATE).read_text())
                arrays = {name: map_array(folder / f"{name}.npy") for name in state}
            except (ValueError, OSError, MissingTableError, CorruptFileError):
                continue
            fits = all(
                (arrays[name].shape, arrays[name].dtype) == (state[name].shape, state[name].dtype) for name in state
            )
            if record.get("recipe") != self.recipe:
                self.progress.note(f"expected a checkpoint of recipe {self.recipe[:12]}, got one of another: {folder}")
            elif record.get("label") == label and fits:
                for name, values in arrays.items():
                    state[name][...] = values
                return int(record["done"])
        return 0

    def clear_checkpoints(self) -> None:
        """Delete checkpoints and shards once the arrays are saved."""
        for folder in (*self.folder.glob("checkpoint*"), self.folder / SHARDS):
            remove_folder(folder)


def finished_part(folder: Path) -> str:
    """How far what a killed build left in its folder reaches: `up to step 12`, `in 7 parts`, or nothing."""
    for checkpoint in sorted(folder.glob("checkpoint-*"), reverse=True):
        return f"up to step {int(checkpoint.name.removeprefix('checkpoint-'))}"
    count = len(list((folder / SHARDS).glob("*.npz")))
    return f"in {count} part{'s' * (count > 1)}" if count else ""
