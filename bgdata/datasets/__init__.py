"""The dataset kinds. Each module of this package declares the one of its name as `DATASET`; adding a kind is adding a
module."""

from __future__ import annotations

import functools
from pathlib import Path

from bgdata.store.kinds import Kinds


@functools.cache
def all_kinds() -> Kinds:
    """Every declared kind by name, in order of name."""
    names = {path.stem for folder in __path__ for path in Path(folder).glob("*.py")} - {"__init__"}
    return Kinds({name: f"{__name__}.{name}" for name in names})
