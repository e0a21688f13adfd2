"""The plan of one version: its recipe, where it is built, and whether it fits into memory and onto the disk."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from bgdata.errors import TooLargeError
from bgdata.process import free_memory
from bgdata.store.arrays import Array, map_array
from bgdata.store.dataset import Dataset, Estimate
from bgdata.store.job import PART, kernel_fingerprint
from bgdata.store.linked import folder_of_versions, link
from bgdata.store.manifest import RawFile, Source, part_file, recipe_key
from bgdata.store.parameters import Parameters
from bgdata.store.progress import Progress
from bgdata.store.shards import ranges
from bgdata.store.storage import readable_bytes as readable_bytes  # other modules import it from here
from bgdata.store.table import Table
from bgdata.store.versions import Versions, input_digests
from bgdata.system import used_bytes


@dataclass(frozen=True)
class Plan:
    """A version to build: everything that its recipe contains, and the settings of the build."""

    warehouse: Versions
    kind: Dataset[Any]
    parameters: Parameters
    inputs: Mapping[str, Table]
    files: tuple[Source, ...] = ()
    executor: Executor | None = None  # computes shards; it is not part of the recipe
    elsewhere: Path | None = None  # the folder of the variant's versions if it is outside the warehouse
    progress: Progress = field(default_factory=Progress)
    strict: bool = False
    force: bool = False
    part: range | None = None  # the items of the part to compute

    @property
    def raw_files(self) -> tuple[RawFile, ...]:
        """The descriptions of the files to import."""
        return tuple(source.file for source in self.files)

    @property
    def key(self) -> str:
        """The recipe key of the version: see `manifest.recipe_key`."""
        recipe = (self.kind.name, self.kind.revision, self.parameters.to_json(), input_digests(self.inputs))
        return recipe_key(*recipe, self.raw_files)

    @property
    def seal(self) -> str:
        """The key under which checkpoints and finished arrays are saved: the recipe key, followed by the items of the
        part if the plan is for a part."""
        return self.key if self.part is None else f"{self.key} {self.part.start}-{self.part.stop}"

    @property
    def title(self) -> str:
        """KIND/VARIANT, for messages."""
        return f"{self.kind.name}/{self.kind.slug(self.parameters)}"

    @property
    def lock(self) -> Path:
        """The path of the lock file that is locked while a version of this variant is built."""
        return self.warehouse.staging / f"{self.title.replace('/', '-')}.lock"

    @property
    def staging_link(self) -> Path:
        """The entry of the warehouse's staging folder for this build: the folder of unfinished files, or a link to it
        on another disk. Its name contains the recipe key and the fingerprint of the kernels, so that only builds with
        equal ones resume from it."""
        return self.lock.with_name(f"{self.lock.stem}-{self.key[:12]}-{kernel_fingerprint()}")

    @property
    def place(self) -> Path:
        """The folder of the variant, which contains its versions."""
        return self.elsewhere or self.warehouse.root / self.title

    @property
    def staging(self) -> Path:
        """The folder of unfinished files. It is on the same disk as the versions, so that it can be renamed to its
        final path. If the plan is for a part, this is the folder of the part, inside that folder."""
        folder = self.beside(self.staging_link)
        return folder if self.part is None else folder / PART

    def beside(self, staged: Path) -> Path:
        """Return the path, on the disk of the versions, for an entry of the warehouse's staging folder."""
        return self.elsewhere / f".{staged.name}" if self.elsewhere else staged

    @property
    def parts(self) -> list[range]:
        """The items of each part, if the version is built in several parts; else empty."""
        of_files = sum(source.items for source in self.files)
        found = ranges(of_files or self.kind.item_count(self.parameters, self.inputs), self.kind.part_items or 1)
        return found if self.kind.part_items and len(found) > 1 else []

    def staged_builds(self) -> list[Path]:
        """Return the entries of the staging folder that killed builds of this variant have left, whatever their recipe.
        They are folders, and links to other disks."""
        return sorted(self.warehouse.staging.glob(f"{self.lock.stem}-{'?' * 12}-{'?' * 12}"))

    def in_variant_folder(self) -> Plan:
        """Return a copy of the plan that builds in the folder of the variant's versions, unless the user chose another
        folder. Raises StorageError if they are on a disk that is missing."""
        if self.elsewhere:
            return self
        place = folder_of_versions(self.warehouse, self.title, self.staged_builds())
        return replace(self, elsewhere=place if place != self.place else None)

    def find(self) -> Table | None:
        """Return the existing version with this recipe, None if there is none, or if `force` says to build it again."""
        return None if self.force else self.warehouse.find(self.kind, self.parameters, self.raw_files, self.inputs)

    def open_published(self, version: str) -> Table:
        """Open a version that this build has just renamed to its final path."""
        if self.elsewhere:
            link(self.warehouse, self.title, self.elsewhere)
        return Table(self.warehouse.root / self.title / version)

    def part_arrays(self, number: int) -> dict[str, Array]:
        """The saved arrays of part `number`, memory-mapped, by the names that they have in the whole version."""
        arrays = self.kind.arrays_of(self.parameters)
        names = {array.name: f"{array.name}.npy" for array in arrays}
        own = {array.name: part_file(names[array.name], number) for array in arrays if not array.is_shared}
        return {name: map_array(self.staging / file) for name, file in (names | own).items()}

    def arrays(self) -> dict[str, Array]:
        """The saved arrays in the staging folder, memory-mapped, by name."""
        names = [entry.name for entry in self.kind.arrays_of(self.parameters)]
        return {name: map_array(self.staging / f"{name}.npy") for name in names}


def check_estimate(plan: Plan) -> None:
    """Raise TooLargeError if the build needs more memory or disk space than there is. Files of an earlier build with
    the same recipe count as free space, because they are used again or replaced."""
    estimate = plan.kind.estimate(plan.parameters)
    folder = next(path for path in (plan.place, *plan.place.absolute().parents) if path.exists())
    disk = shutil.disk_usage(folder).free + folder_bytes(plan.staging)
    space = f"disk space in {plan.elsewhere}" if plan.elsewhere else "disk space"
    fewer = f"build fewer {' or '.join(plan.parameters.size_names)}" if plan.parameters.size_names else "ask for less"
    for need, have, what, step in (
        (estimate.memory_bytes, free_memory(), "memory", fewer),
        (estimate.building_bytes, disk, space, f"{fewer}, or on another disk: bgdata build --directory DIR"),
    ):
        if need > have:
            raise TooLargeError(
                f"expected {readable_bytes(need)} of free {what} for {plan.title} ({estimate_text(estimate)}), "
                f"found {readable_bytes(have)}; {step}"
            )


def estimate_text(estimate: Estimate) -> str:
    """An estimate in words, for the user: `25,050,025 rows, about 426 MB on disk, 828 MB while it is built, and 600 MB
    of memory`."""
    disk, memory = readable_bytes(estimate.disk_bytes), readable_bytes(estimate.memory_bytes)
    if not estimate.checkpoint_bytes:
        return f"{estimate.rows:,} rows, about {disk} on disk and {memory} of memory"
    building = readable_bytes(estimate.building_bytes)
    return f"{estimate.rows:,} rows, about {disk} on disk, {building} while it is built, and {memory} of memory"


def folder_bytes(folder: Path) -> int:
    """Return the disk space, in bytes, that all files below a folder occupy, 0 if the folder does not exist. Holes in
    sparse files do not count."""
    found = (path.stat() for path in folder.rglob("*") if path.is_file())
    return sum(map(used_bytes, found))
