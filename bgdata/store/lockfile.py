"""Reads and writes warehouse.lock, the digests that the default build must reproduce on every machine, and compares
them with a warehouse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bgdata.errors import InvalidNameError, ManifestFormatError, MissingTableError, cite
from bgdata.store.manifest import Manifest, canonical_json, parse_json, read_whole
from bgdata.store.names import check_name
from bgdata.store.storage import hold_lock, write_file

if TYPE_CHECKING:
    from bgdata.store.versions import Versions

FILE_NAME = "warehouse.lock"
FORMAT = 1


@dataclass(frozen=True)
class LockEntry:
    """A line of warehouse.lock: a variant, its recipe, and the digest that its values must have."""

    dataset: str
    variant: str
    recipe_key: str
    digest: str


def load_lock(path: Path) -> list[LockEntry]:
    """The entries of the lock file at `path`. Raises MissingTableError if the file does not exist or has no entries,
    and ManifestFormatError if it is damaged."""
    entries = read_lock(path)
    if not entries:
        raise MissingTableError(f"expected locked variants in {path}, found none; try: bgdata lock")
    return entries


def read_lock(path: Path) -> list[LockEntry]:
    """The entries of the lock file at `path`, which may have none. Raises MissingTableError if the file does not exist,
    and ManifestFormatError if it is damaged."""
    try:
        written = read_whole(path)
    except FileNotFoundError as error:
        raise MissingTableError(f"expected {path}, found no such file; try: bgdata lock") from error
    try:
        data = parse_json(written)
        if data["format"] > FORMAT:
            raise ManifestFormatError(
                f"expected a lock of format {FORMAT} in {path}, found {cite(data['format'])}; upgrade bgdata"
            )
        entries = [LockEntry(**fields) for fields in data["entries"]]
        for entry in entries:
            for what, name in zip(("kind", "variant", "digest", "digest"), vars(entry).values(), strict=True):
                check_name(what, name)
        return entries
    except (InvalidNameError, ValueError, LookupError, TypeError, AttributeError) as error:  # the others are of JSON
        raise ManifestFormatError(
            f"expected a lock file in {path}, found: {cite(error)}; restore it from version control"
        ) from error


def save_lock(path: Path, manifests: list[Manifest]) -> None:
    """Write a lock file that lists the versions with these manifests."""
    write_lock(path, [LockEntry(m.dataset, m.variant, m.recipe_key, m.digest) for m in manifests])


def write_lock(path: Path, entries: list[LockEntry]) -> None:
    """Write a lock file with these entries, sorted so that changes give small diffs."""
    entries = sorted(entries, key=lambda entry: (entry.dataset, entry.variant))
    with hold_lock(path.with_name(f".{path.name}.lock")):
        write_file(path, canonical_json({"format": FORMAT, "entries": [asdict(each) for each in entries]}, indent=2))


SAME = "same"


class Verdict(NamedTuple):
    """An entry of the lock, and a sentence that says how the current version of its variant compares with it."""

    entry: LockEntry
    text: str
    is_right: bool  # whether the digests are equal, or an optional variant is not built

    @property
    def is_same(self) -> bool:
        """Whether the variant's current version has the digest in the lock."""
        return self.text == SAME

    def __str__(self) -> str:
        return f"{self.entry.dataset}/{self.entry.variant}: locked {self.entry.digest[:16]}, {self.text}"


def lock_verdicts(versions: Versions) -> list[Verdict]:
    """Compare the current version of every variant in the lock with its entry, in the order of the lock. Raises
    MissingWarehouseError if the folder does not exist, ManifestFormatError if a manifest or the lock is damaged, and
    MissingTableError if the lock does not exist or is empty."""
    versions.require()
    return [_verdict_on(versions, entry) for entry in load_lock(versions.lock)]


def _verdict_on(versions: Versions, entry: LockEntry) -> Verdict:
    built = list(versions.versions(entry.dataset, entry.variant))
    if not built:
        is_optional = is_more(versions, entry)
        step = f"; try: bgdata build {entry.dataset}" if is_optional else ""
        return Verdict(entry, f"not built{step}", is_right=is_optional)
    current = versions.open(entry.dataset, entry.variant).manifest.digest
    if current == entry.digest:
        return Verdict(entry, SAME, is_right=True)
    locked = [table for table in built if table.folder.name.endswith(entry.digest[:8])]
    step = f"; try: bgdata use {locked[0].name}" if locked else ""
    return Verdict(entry, f"DIFFERS: current is {current[:16]}{step}", is_right=False)


def is_more(versions: Versions, entry: LockEntry) -> bool:
    """Whether the variant of a lock entry is built only by `bgdata build --all`."""
    kind = versions.kind(entry.dataset)
    return entry.variant in map(kind.slug, kind.more)


def missing_extra_variants(versions: Versions, kind: str | None = None) -> list[str]:
    """Return KIND/VARIANT of each missing variant that only `bgdata build --all` builds. If `kind` is given, only
    variants of this kind are returned."""
    kinds = versions.kinds.values() if kind is None else [versions.kind(kind)]
    extra = [(each, parameters) for each in kinds for parameters in each.of_all if parameters in each.more]
    slugs = [(each.name, each.slug(parameters)) for each, parameters in extra]
    return ["/".join(title) for title in slugs if next(versions.versions(*title), None) is None]


def advice(missing: Sequence[str]) -> str:
    """A line for the user that names the `missing` variants and the command that builds them."""
    return f"not built: {', '.join(missing)}; try: bgdata build --all"
