"""The dataset kinds. Each module of this package declares one as `DATASET`; adding a kind is adding a module."""

from __future__ import annotations

import functools
import pkgutil
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from bgdata.store.dataset import Dataset


@functools.cache
def all_kinds() -> Mapping[str, Dataset[Any]]:
    """Every declared kind by name, in order of name."""
    modules = [import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__)]
    kinds = {module.DATASET.name: module.DATASET for module in modules if hasattr(module, "DATASET")}
    return dict(sorted(kinds.items()))
