"""Every kind of dataset by name. A kind is declared in the folder `kinds` of its subject, in a module of its name, as
`DATASET`; the module `<name>_compute` beside it says how it is computed. Adding a kind is adding these two. Other
packages add more by the entry points `bgdata.kinds`."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bgdata.store.registry import Kinds

if TYPE_CHECKING:
    from bgdata.store.dataset import Dataset

_PACKAGE = Path(__file__).parents[1]
# plain SQL stands beside the package in a checkout, and in it once installed from a wheel (see pyproject.toml)
SQL = next(folder for folder in (_PACKAGE / "sql", _PACKAGE.parent / "sql") if folder.is_dir())
GROUP = "bgdata.kinds"


def generated_views(kinds: Iterable[Dataset[Any]]) -> Iterator[str]:
    """SQL of the views that are made from the declarations of all kinds."""
    from bgdata.kinds.leakage import leakage_views

    return leakage_views(kinds)


@functools.cache
def all_kinds() -> Kinds:
    """Every kind by name, in order of name: those of bgdata, and those of other packages. None is imported for it."""
    declared = [path for path in _PACKAGE.glob("*/kinds/*.py") if not path.stem.endswith(("_compute", "__init__"))]
    own = {path.stem: f"bgdata.{path.parts[-3]}.kinds.{path.stem}" for path in declared}
    return Kinds(own, sql=sql_folders(), views=generated_views, group=GROUP)


def sql_folders() -> list[Path]:
    """The folders of SQL of all subjects, in order of name: views of later ones may use those of earlier ones."""
    return sorted(folder for folder in SQL.iterdir() if folder.is_dir())
