"""Every campaign at a small size; the full size is `python -m tests.faults --all`."""

from __future__ import annotations

import pytest

from tests.faults.__main__ import CAMPAIGNS
from tests.faults.resuming import KEEPERS, modules_that_keep

pytestmark = [pytest.mark.faults, pytest.mark.catalog]
SEED = 1


@pytest.mark.parametrize("name", CAMPAIGNS)
def test_campaign(name: str) -> None:
    with CAMPAIGNS[name](SEED) as campaign:
        for number in range(campaign.small):
            assert campaign.run(number), "expected words for what happened in the case"


def test_whatever_keeps_parts_has_them_damaged() -> None:
    """All kinds are in the campaign by themselves; other work that can be stopped is in its table."""
    assert modules_that_keep() == set(KEEPERS)
