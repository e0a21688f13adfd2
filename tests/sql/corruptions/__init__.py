"""For each SQL check, corruptions of tables that it must find: a module for each topic, found by discovery."""

import functools
import pkgutil
from importlib import import_module

from tests.sql.corruptions.corruption import Corruption


@functools.cache
def corruptions() -> dict[str, list[Corruption]]:
    """The corruptions of all modules by the name of the check."""
    return {
        check: found
        for module in pkgutil.iter_modules(__path__)
        for check, found in getattr(import_module(f"{__name__}.{module.name}"), "CORRUPTIONS", {}).items()
    }
