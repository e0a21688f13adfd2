"""What a build is going to make, and where: the recipe of one version, its staging folder, and its place."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bgdata.store.dataset import Dataset
from bgdata.store.linked import place_of
from bgdata.store.manifest import RawFile, Source, recipe_key
from bgdata.store.parameters import Parameters
from bgdata.store.table import Table
from bgdata.store.versions import Versions, input_digests


@dataclass(frozen=True)
class Plan:
    """One version to build: everything that its recipe names."""

    warehouse: Versions
    kind: Dataset[Any]
    parameters: Parameters
    inputs: Mapping[str, Table]
    files: tuple[Source, ...] = ()
    executor: Executor | None = None  # who computes shards; no part of the recipe
    elsewhere: Path | None = None  # the folder of the variant's versions, where that is not in the warehouse

    @property
    def raw_files(self) -> tuple[RawFile, ...]:
        """What the files to import are."""
        return tuple(source.file for source in self.files)

    @property
    def key(self) -> str:
        """The recipe key."""
        recipe = (self.kind.name, self.kind.revision, self.parameters.to_json(), input_digests(self.inputs))
        return recipe_key(*recipe, self.raw_files)

    @property
    def title(self) -> str:
        """`dataset/variant`, for messages."""
        return f"{self.kind.name}/{self.kind.slug(self.parameters)}"

    @property
    def staged(self) -> Path:
        """The folder of the unfinished build, or the link to it: another recipe or another kernel does not go on from
        it."""
        from bgdata.kernel_cache import kernel_fingerprint

        return self.warehouse.staging / f"{self.title.replace('/', '-')}-{self.key[:12]}-{kernel_fingerprint()}"

    @property
    def place(self) -> Path:
        """The folder of the variant's versions."""
        return self.elsewhere or self.warehouse.root / self.title

    @property
    def staging(self) -> Path:
        """The folder of the unfinished build, on the disk of the versions so that it can be renamed into place."""
        return self.beside(self.staged)

    def beside(self, staged: Path) -> Path:
        """What something in the staging folder is called on the disk of the versions."""
        return self.elsewhere / f".{staged.name}" if self.elsewhere else staged

    @property
    def lock(self) -> Path:
        """Held while a version of this variant is built."""
        return self.warehouse.staging / f"{self.title.replace('/', '-')}.lock"


def placed(plan: Plan) -> Plan:
    """The plan of a version that goes where the others of its variant are, unless a folder was chosen for it. Raises
    StorageError where these are on a disk that is not there."""
    if plan.elsewhere:
        return plan
    place = place_of(plan.warehouse, plan.title, staged_builds(plan))
    return replace(plan, elsewhere=place if place != plan.place else None)


def staged_builds(plan: Plan) -> list[Path]:
    """What killed builds of this variant left in the staging folder: folders, and links to other disks."""
    return sorted(plan.warehouse.staging.glob(f"{plan.lock.stem}-{'?' * 12}-{'?' * 12}"))
