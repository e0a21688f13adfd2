"""Independent programs for comparisons; tests are skipped where these are not installed."""

from collections.abc import Callable
from typing import Any

import pytest

from bgdata.evaluation.gnubg import ask_gnubg, find_gnubg_tool

__all__ = ["ask_gnubg", "find_gnubg_tool", "needs_gnubg_tool"]


def needs_gnubg_tool(*names: str) -> Callable[[Any], Any]:
    """Decorator that marks a test or class `gnubg`, and skips it if a tool is missing."""
    missing = [name for name in names if find_gnubg_tool(name) is None]
    skip = pytest.mark.skipif(bool(missing), reason=f"{', '.join(missing)} not installed (Debian package gnubg)")
    return lambda test: pytest.mark.gnubg(skip(test))
