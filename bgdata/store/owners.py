"""Whose a folder is to which a link in a warehouse leads: that warehouse's own, or another's, which is only read.

What a warehouse puts on another disk has a file beside it, `.warehouse`, which names the warehouse. All other links
were made by hand, or came with a warehouse from somebody else: nothing is written or deleted where they lead.
"""

from __future__ import annotations

from pathlib import Path

from bgdata.errors import StorageError
from bgdata.store.storage import open_regular

OWNER = ".warehouse"
MOST_PATH_BYTES = 1 << 16


def owner_of(place: Path) -> Path | None:
    """The warehouse that put what is in a folder on another disk there, or None where no file says so."""
    try:
        with open_regular(place / OWNER) as file:
            found = Path(file.read(MOST_PATH_BYTES).decode())
    except (OSError, ValueError):
        return None
    return found if found.is_absolute() else None


def is_owned(root: Path, place: Path) -> bool:
    """Whether the warehouse in the folder `root` put what is in a folder on another disk there."""
    owner = owner_of(place)
    try:
        return owner is not None and owner.samefile(root)
    except (OSError, ValueError):
        return False


def is_left(place: Path) -> bool:
    """Whether the warehouse that put what is in a folder there is not where it was: it was moved, or deleted."""
    owner = owner_of(place)
    try:
        return owner is not None and not owner.stat()
    except FileNotFoundError:
        return True
    except (OSError, ValueError):
        return False


def leads_to(link: Path) -> Path:
    """Where a link leads, whether or not something is there."""
    return link.parent / link.readlink()


def check_link(path: Path) -> None:
    """Raise StorageError for a link to a folder that is not there."""
    if path.is_symlink() and not path.is_dir():
        raise StorageError(gone(path, leads_to(path)))


def gone(link: Path, place: Path) -> str:
    """The message for a link to a folder that is not there."""
    return (
        f"expected the folder {place}, to which the link {link} leads, found none; is its disk there? "
        "if it is gone for good, delete the link"
    )


def require_own(root: Path, kind: str, variant: str) -> None:
    """Raise StorageError where what is written into the folder of a variant would go to another warehouse, by a link to
    it or to the folder of its kind, or where the disk is not there to which the link leads."""
    for path in (root / kind, root / kind / variant):
        check_link(path)
        if path.is_symlink():
            place = leads_to(path)
            if path.name == kind or not (is_owned(root, place) or is_left(place)):
                raise StorageError(
                    f"expected to write {kind}/{variant} into this warehouse, found the link {path} to {place}, "
                    "which is not its own; delete the link, or do it in the warehouse that is there"
                )
