"""Variants on another disk. Their versions are in a folder there, and the warehouse contains a link to it.

    warehouse/<dataset>/<variant> -> DIR/<dataset>/<variant>
    DIR/<dataset>/<variant>/r<revision>-<digest8>/    a version, as in the warehouse; `current` is there too
    DIR/<dataset>/<variant>/.<name>/                  what is not finished, or about to be deleted
    DIR/<dataset>/<variant>/.warehouse                names the warehouse that put it there, which alone deletes it

Unfinished files there have a link in the staging folder of the warehouse, by which a build resumes and `gc` finds them.
All other links were made by hand, or came with a warehouse from somebody else. They lead to the versions of another
warehouse, which are only read: nothing is written or deleted there.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from bgdata.errors import CorruptFileError, StorageError, UsageError
from bgdata.store.names import CURRENT, is_name
from bgdata.store.storage import make_folder, open_regular, remove_folder, storage_errors, sync, write_file

if TYPE_CHECKING:
    from bgdata.store.table import Table
    from bgdata.store.versions import Versions

OWNER = ".warehouse"
MAX_PATH_BYTES = 1 << 16


def _visible(folder: Path) -> list[str]:
    names = (path.name for path in folder.iterdir()) if folder.is_dir() else ()
    return sorted(name for name in names if name != CURRENT and not name.startswith("."))


def folder_of_versions(warehouse: Versions, title: str, staged: Iterable[Path]) -> Path:
    """Return the folder that contains the versions of the variant `title`. It is on another disk if the variant's
    folder in the warehouse, or an unfinished build in `staged`, is a link there; otherwise it is in the warehouse.
    Raises StorageError if the link leads to a missing folder."""
    folder = warehouse.root / title
    for path in (folder, *staged):
        if path.is_symlink():
            place = _target(path) if path == folder else _target(path).parent
            if not place.is_dir():
                raise StorageError(_gone(path, place))
            if path == folder or _is_own(warehouse.root, place) or _is_abandoned(place):
                return place.resolve()
    inside = warehouse.root.resolve() / title
    return folder if folder.resolve() == inside else folder.resolve()


def variant_folder_below(warehouse: Versions, title: str, directory: Path) -> Path:
    """Return the folder below `directory` in which to store the versions of the variant `title`. Raises UsageError if
    `directory` is not an existing folder outside the warehouse, if the variant already has versions in another folder,
    or if another warehouse has versions there."""
    with storage_errors("read", directory):
        if not directory.is_dir():
            found = "a file" if directory.exists() else "no such folder"
            raise UsageError(f"expected a folder that is there, to put {title} into, found {found}: {directory}")
    if directory.resolve().is_relative_to(warehouse.root.resolve()):
        raise UsageError(f"expected a folder outside the warehouse {warehouse.root}, got {directory}")
    folder, place = warehouse.root / title, (directory / title).resolve()
    is_linked = folder.is_dir() and place.is_dir() and folder.samefile(place)
    if not is_linked and (others := _visible(folder)):
        step = f"try: bgdata rm {title}/{others[0]}" if is_name("version", others[0]) else "move it away"
        raise UsageError(
            f"expected {title} nowhere but in {directory}, found {others[0]} in {folder.resolve()}; {step}"
        )
    if (there := _versions_in(place)) and not (_is_own(warehouse.root, place) or _is_abandoned(place)):
        raise UsageError(
            f"expected no version of {title} in {directory}, found {there[0]} of another warehouse; "
            "choose another folder"
        )
    return place


def _versions_in(place: Path) -> list[str]:
    return [name for name in _visible(place) if is_name("version", name)]


def link_again(warehouse: Versions, title: str, place: Path) -> None:
    """Link the warehouse to the versions of the variant `title` in the folder `place` on another disk, if there are
    any. The link may be missing because a build was killed before it made the link, or because the disk or the
    warehouse was moved. This warehouse then owns the versions. Raises StorageError if the link cannot be written."""
    if _versions_in(place):
        link(warehouse, title, place)
        if _is_abandoned(place):
            _own(warehouse, place)


def prepare(warehouse: Versions, title: str, place: Path) -> None:
    """Create the folder `place` on another disk, for versions of the variant `title`, and record that this warehouse
    owns it. The caller holds the lock of the variant. Raises StorageError if the folder cannot be written."""
    with storage_errors("create", place):
        make_folder(place)
    link_again(warehouse, title, place)
    if not _visible(place) and not _is_own(warehouse.root, place):
        _own(warehouse, place)


def _own(warehouse: Versions, place: Path) -> None:
    """Record in a folder on another disk that this warehouse owns it."""
    write_file(place / OWNER, str(warehouse.root.resolve()).encode())


def stage(warehouse: Versions, staged: Path, hidden: Path) -> bool:
    """Make the entry `staged` of the staging folder a link to the folder `hidden` on another disk. Returns whether
    another entry of that name had to be deleted. Raises StorageError if the link cannot be made."""
    with storage_errors("create", staged):
        if staged.is_symlink() and _target(staged) == hidden:
            return False
        is_there = staged.is_symlink() or staged.exists()
        discard(warehouse, staged)
        staged.symlink_to(hidden)
    return is_there


def link(warehouse: Versions, title: str, place: Path) -> None:
    """Make the folder of the variant `title` in the warehouse a link to the folder `place`, on another disk, that
    contains its versions. Raises StorageError if the link cannot be made."""
    folder = warehouse.root / title
    if folder.is_dir() and folder.samefile(place):
        return
    with storage_errors("link", folder):
        if folder.is_symlink():
            folder.unlink()
        elif not _visible(folder):
            remove_folder(folder)
        make_folder(folder.parent)
        folder.symlink_to(place)
        sync(folder.parent)


def is_removable(warehouse: Versions, table: Table) -> bool:
    """Whether this warehouse may delete a version: it is inside the warehouse, or in a folder on another disk that this
    warehouse owns."""
    variant = table.folder.parent
    if variant.parent.is_symlink():
        return False
    return not variant.is_symlink() or _is_own(warehouse.root, _target(variant))


def move_aside(warehouse: Versions, folder: Path, name: str) -> Path:
    """Rename the folder of a version, as a whole, so that no reader finds it. Returns its new path in the staging
    folder, called `name`: the folder itself, or a link to it if the versions are on another disk. Raises OSError if it
    cannot be moved."""
    aside, variant = warehouse.staging / name, folder.parent
    warehouse.staging.mkdir(exist_ok=True)
    discard(warehouse, aside)
    if variant.is_symlink() and _is_own(warehouse.root, _target(variant)):
        hidden = _target(variant) / f".{name}"
        remove_folder(hidden)
        aside.symlink_to(hidden)
        folder.rename(hidden)
    else:
        folder.rename(aside)
    return aside


def put_back(warehouse: Versions, aside: Path, folder: Path) -> None:
    """Move what `move_aside` moved to `aside` back to `folder`, unless another version is there now. A link that this
    warehouse did not make is moved itself, not its target. Raises StorageError if it cannot be moved."""
    if os.path.lexists(folder):
        return
    with storage_errors("move", aside):
        make_folder(folder.parent)
        hidden = _target(aside) if aside.is_symlink() else None
        if hidden and hidden.name == f".{aside.name}" and _is_own(warehouse.root, hidden.parent):
            hidden.rename(folder)
            aside.unlink()
        else:
            aside.rename(folder)


def discard(warehouse: Versions, path: Path) -> None:
    """Delete an entry of the staging folder if it exists: a file, a folder, or a link. If this warehouse made the link,
    its target is deleted too. Raises OSError if it cannot be deleted."""
    if path.is_symlink():
        hidden = _target(path)
        if hidden.name == f".{path.name}" and _is_own(warehouse.root, hidden.parent):
            remove_folder(hidden)
            _drop_empty(warehouse, hidden.parent)
        path.unlink()
    elif path.is_dir():
        remove_folder(path)
    else:
        path.unlink(missing_ok=True)


def drop_variant(warehouse: Versions, variant: Path) -> None:
    """Delete the folder of a variant that has no versions left, unless it contains other files. Raises OSError if it
    cannot be deleted."""
    (variant / CURRENT).unlink(missing_ok=True)
    if variant.is_symlink():
        place = _target(variant)
        variant.unlink()
        _drop_empty(warehouse, place)
    elif not any(variant.iterdir()):
        variant.rmdir()


def _drop_empty(warehouse: Versions, place: Path) -> None:
    """Delete a folder on another disk if this warehouse owns it and it contains nothing but the record of the owner and
    unfinished writes."""
    if _is_own(warehouse.root, place) and all(
        path.name == OWNER or path.suffix == ".partial" for path in place.iterdir()
    ):
        remove_folder(place)
        with suppress(OSError):  # if there are other variants
            place.parent.rmdir()


def _owner_of(place: Path) -> Path | None:
    """The folder of the warehouse that is recorded as the owner of a folder on another disk; None if no owner is
    recorded."""
    try:
        with open_regular(place / OWNER) as file:
            found = Path(file.read(MAX_PATH_BYTES).decode())
    except (CorruptFileError, OSError, UnicodeDecodeError):
        return None
    return found if found.is_absolute() else None


def _is_own(root: Path, place: Path) -> bool:
    """Whether the warehouse at `root` is recorded as the owner of the folder `place` on another disk."""
    owner = _owner_of(place)
    try:
        return owner is not None and owner.samefile(root)
    except (OSError, ValueError):  # ValueError: a null byte in a path
        return False


def _is_abandoned(place: Path) -> bool:
    """Whether the warehouse that is recorded as the owner of the folder `place` no longer exists at its path, because
    it was moved or deleted."""
    owner = _owner_of(place)
    try:
        return owner is not None and not owner.stat()
    except FileNotFoundError:
        return True
    except (OSError, ValueError):  # ValueError: a null byte in a path
        return False


def _target(link: Path) -> Path:
    return link.parent / link.readlink()


def check_link(path: Path) -> None:
    """Raise StorageError if `path` is a link to a folder that does not exist."""
    if path.is_symlink() and not path.is_dir():
        raise StorageError(_gone(path, _target(path)))


def _gone(link: Path, place: Path) -> str:
    return (
        f"expected the folder {place}, to which the link {link} leads, found none; is its disk mounted? "
        "if it is gone for good, delete the link"
    )


def require_own(root: Path, kind: str, variant: str) -> None:
    """Raise StorageError if the folder of a variant, or of its kind, is a link into another warehouse, because writing
    would change that warehouse; or if the target of the link is missing."""
    for path in (root / kind, root / kind / variant):
        check_link(path)
        if path.is_symlink():
            place = _target(path)
            if path.name == kind or not (_is_own(root, place) or _is_abandoned(place)):
                raise StorageError(
                    f"expected to write {kind}/{variant} into this warehouse, found the link {path} to {place}, "
                    "which is not its own; delete the link, or do it in the warehouse that is there"
                )
