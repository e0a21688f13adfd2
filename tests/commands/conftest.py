"""Commands on a default build that is small."""

from __future__ import annotations

import pytest

import bgdata


@pytest.fixture
def small_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    """The default build is the smallest variant of every kind."""
    for kind in bgdata.all_kinds().values():
        monkeypatch.setattr(type(kind), "defaults", (kind.smallest,))
