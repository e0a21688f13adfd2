"""Publishes tables as one folder of files: a dataset of Hugging Face with a card, Parquet in shards by split, and what
proves it; verifies such a folder, and makes a warehouse of it."""

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
    """Publish tables of a warehouse into a folder, and return its contents.

    `scopes` are KIND, KIND/VARIANT or KIND/VARIANT/VERSION; the default is the current version of every variant.
    `title` is the name of the dataset, and `about` is Markdown for the beginning of its card. `scripts` are programs
    that read the tables, which are copied into the folder `scripts/`. `explorer` is called with a warehouse of these
    tables alone and the folder `explorer/`, to write pages about them. Finished tables of an interrupted call, and
    those that have not changed, are kept. The same versions give the same bytes.

    The list of the folder is written last, so an incomplete folder is never listed. Raises UsageError if the folder
    contains other files or the title is not one line, MissingTableError if a scope has no versions, the errors of
    damaged versions, and StorageError if a file cannot be written.
    """
    from bgdata.publishing.folder import publish_folder  # loads PyArrow

    return publish_folder(warehouse, folder, scopes, title, about, progress or Silence(), explorer, scripts)
