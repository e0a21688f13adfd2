"""The dataset kinds. Each module of this package declares the one of its name as `DATASET`; adding a kind is adding a
module."""

from __future__ import annotations

import functools
import pkgutil

from bgdata.store.kinds import Kinds


@functools.cache
def all_kinds() -> Kinds:
    """Every declared kind by name, in order of name."""
    return Kinds({each.name: f"{__name__}.{each.name}" for each in pkgutil.iter_modules(__path__) if not each.ispkg})
