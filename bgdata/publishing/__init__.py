"""Publishes tables as one folder of files: a dataset of Hugging Face with a card, Parquet in shards by split, and the
files that prove it. Also verifies such a folder, and makes a warehouse from it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bgdata.store.progress import Progress, Silence

if TYPE_CHECKING:
    from bgdata.publishing.contents import Contents
    from bgdata.warehouse import Warehouse

TITLE = "Backgammon tables"


def publish(
    warehouse: Warehouse,
    folder: Path,
    scopes: Sequence[str] = (),
    *,
    title: str = TITLE,
    about: str = "",
    scripts: Sequence[Path] = (),
    explorer: Callable[[Warehouse, Path], object] | None = None,
    progress: Progress | None = None,
) -> Contents:
    """Publish tables of a warehouse as a folder of files; returns the contents of the folder.

    `scopes` are KIND, KIND/VARIANT or KIND/VARIANT/VERSION; by default the current version of every variant is
    published. `title` is the name of the dataset, and `about` is Markdown with which its README begins. `scripts` are
    programs that read the tables; they are copied to the folder `scripts/`. `explorer` writes pages about the tables:
    it is called with a warehouse that contains only these tables, and the folder `explorer/`. After an interruption,
    the same call continues and writes again only what has changed since. The same versions give the same bytes.

    The list of all files is written last, so an unfinished folder has no list. Raises UsageError if the folder contains
    other files or the title has several lines, MissingTableError if a scope has no versions, the errors of damaged
    versions, and StorageError if a file cannot be written."""
    from bgdata.publishing.folder import publish_folder  # loads PyArrow

    return publish_folder(warehouse, folder, scopes, title, about, progress or Silence(), explorer, scripts)
