"""The kinds of dataset. Each module of this package declares the one of its name as `DATASET`; other packages add more
by the entry points `bgdata.kinds`."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bgdata.store.kinds import Kinds

if TYPE_CHECKING:
    from bgdata.store.dataset import Dataset

_PACKAGE = Path(__file__).parents[1]
# plain SQL stands beside the package in a checkout, and in it once installed from a wheel (see pyproject.toml)
SQL = next(folder for folder in (_PACKAGE / "sql", _PACKAGE.parent / "sql") if folder.is_dir())
GROUP = "bgdata.kinds"


def generated_views(kinds: Iterable[Dataset[Any]]) -> Iterator[str]:
    """SQL of the views that are made from the declarations of all kinds."""
    from bgdata.datasets.common.leakage import leakage_views

    return leakage_views(kinds)


@functools.cache
def all_kinds() -> Kinds:
    """Every kind by name, in order of name: those of bgdata, and those of other packages."""
    names = {path.stem for folder in __path__ for path in Path(folder).glob("*.py")} - {"__init__"}
    own = {name: f"{__name__}.{name}" for name in names}
    return Kinds(own, sql=(SQL,), views=generated_views, group=GROUP)
