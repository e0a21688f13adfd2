"""One version of a dataset, opened: its manifest and its arrays, mapped when first asked for. Needs NumPy alone."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

from bgdata.errors import CorruptFileError, MissingTableError
from bgdata.store.arrays import Array, map_array
from bgdata.store.dataset import PARQUET
from bgdata.store.manifest import Manifest, load_manifest


class Table:
    """A published version. Opening reads nothing; the manifest and each array are read when they are used."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._arrays: dict[str, Array] = {}

    def __repr__(self) -> str:
        return f"Table({self.folder})"

    @cached_property
    def manifest(self) -> Manifest:
        """The manifest. Raises ManifestFormatError when it cannot be read."""
        return load_manifest(self.folder)

    @property
    def name(self) -> str:
        """`dataset/variant/version`, for messages."""
        return "/".join(self.folder.parts[-3:])

    @property
    def parquet(self) -> Path:
        """The Parquet file."""
        return self.folder / PARQUET

    def array(self, name: str) -> Array:
        """A flat array, mapped read-only. Raises MissingTableError or CorruptFileError."""
        if name not in self._arrays:
            self._arrays[name] = map_array(self.folder / f"{name}.npy")
        return self._arrays[name]

    def arrays(self) -> dict[str, Array]:
        """Every flat array by name."""
        names = [entry.name for entry in self.manifest.files if entry.name.endswith(".npy")]
        return {name.removesuffix(".npy"): self.array(name.removesuffix(".npy")) for name in names}

    def check_sizes(self) -> None:
        """Compare every file's size with the manifest: raises MissingTableError or CorruptFileError for the first."""
        for entry in self.manifest.files:
            path = self.folder / entry.name
            if not path.is_file():
                raise MissingTableError(f"expected {path}, found no such file; try: bgdata verify --repair")
            if path.stat().st_size != entry.bytes:
                raise CorruptFileError(
                    f"expected {entry.bytes} bytes in {path}, found {path.stat().st_size}; try: bgdata verify --repair"
                )
