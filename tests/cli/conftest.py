"""Commands on a default build that is small."""

from __future__ import annotations

import pytest

from bgdata.cli.build import COMPUTED


@pytest.fixture
def small_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    """The default build is the smallest variant of every kind that has defaults."""
    for kind in COMPUTED:
        monkeypatch.setattr(type(kind), "defaults", (kind.smallest,))
