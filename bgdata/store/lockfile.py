"""warehouse.lock: the digests that the default build must come out with, everywhere."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from bgdata.errors import ManifestFormatError, MissingTableError
from bgdata.store.manifest import Manifest, canonical_json
from bgdata.store.storage import storage_errors, write_file

FILE_NAME = "warehouse.lock"
FORMAT = 1


@dataclass(frozen=True)
class LockEntry:
    """A variant and the digest of its values under this recipe."""

    dataset: str
    variant: str
    recipe_key: str
    digest: str


def load_lock(path: Path) -> list[LockEntry]:
    """Read a lock file. Raises MissingTableError when there is none, ManifestFormatError when it is damaged."""
    with storage_errors("read", path):
        try:
            written = path.read_bytes()
        except FileNotFoundError as error:
            raise MissingTableError(f"expected {path}, found no such file; try: bgdata lock") from error
    try:
        data = json.loads(written)
        if data["format"] > FORMAT:
            raise ManifestFormatError(
                f"expected a lock of format {FORMAT} in {path}, found {data['format']}; upgrade bgdata"
            )
        return [LockEntry(**entry) for entry in data["entries"]]
    except (ValueError, KeyError, TypeError) as error:
        raise ManifestFormatError(
            f"expected a lock file in {path}, found: {error!r}; restore it from version control"
        ) from error


def save_lock(path: Path, manifests: list[Manifest]) -> None:
    """Write the lock of these versions, sorted, so that changes make small diffs."""
    entries = [LockEntry(m.dataset, m.variant, m.recipe_key, m.digest) for m in manifests]
    entries.sort(key=lambda entry: (entry.dataset, entry.variant))
    write_file(path, canonical_json({"format": FORMAT, "entries": [asdict(entry) for entry in entries]}, indent=2))
