"""Every campaign at a small size; the full size is `python -m tests.faults --all`."""

from __future__ import annotations

import pytest

from tests.faults.campaigns import CAMPAIGNS

pytestmark = [pytest.mark.faults, pytest.mark.catalog]
SEED = 1


@pytest.mark.parametrize("name", CAMPAIGNS)
def test_campaign(name: str) -> None:
    with CAMPAIGNS[name](SEED) as campaign:
        for number in range(campaign.small):
            assert campaign.run(number), "expected words for what happened in the case"
