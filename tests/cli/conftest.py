"""Commands on a default build that is small."""

from __future__ import annotations

import pytest

from bgdata.cli.build import COMPUTED
from bgdata.datasets.bearoff_gammon import BearoffGammon
from bgdata.datasets.common.race import RaceParameters


@pytest.fixture
def small_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    """The default build is the smallest variant of every kind that has defaults."""
    for kind in COMPUTED:
        monkeypatch.setattr(type(kind), "defaults", (kind.smallest,))
        monkeypatch.setattr(type(kind), "more", ())


@pytest.fixture
def one_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """The default build is one variant of `bearoff_gammon`, and leaves another one out."""
    for kind in COMPUTED:
        monkeypatch.setattr(type(kind), "defaults", ())
        monkeypatch.setattr(type(kind), "more", ())
    small, large = RaceParameters(1), RaceParameters(2)
    monkeypatch.setattr(BearoffGammon, "defaults", (small, large))
    monkeypatch.setattr(BearoffGammon, "more", (large,))
