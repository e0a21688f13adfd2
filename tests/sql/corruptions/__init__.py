"""For each SQL check, corruptions of tables that it must find: a module for each topic, found by discovery."""

from __future__ import annotations

import pkgutil
from importlib import import_module

from tests.sql.corruptions.corruption import Corruption

CORRUPTIONS: dict[str, list[Corruption]] = {
    check: corruptions
    for module in pkgutil.iter_modules(__path__)
    for check, corruptions in getattr(import_module(f"{__name__}.{module.name}"), "CORRUPTIONS", {}).items()
}
