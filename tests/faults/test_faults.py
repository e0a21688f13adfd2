"""Tests of every campaign at a small size; `python -m tests.faults --all` has the full size."""

import pytest

from tests.faults.__main__ import CAMPAIGNS
from tests.faults.resuming import KEEPERS, modules_that_keep

pytestmark = [pytest.mark.faults, pytest.mark.catalog]
SEED = 1


@pytest.mark.parametrize("name", CAMPAIGNS)
def test_campaign_passes(name: str) -> None:
    with CAMPAIGNS[name](SEED) as campaign:
        for number in range(campaign.small):
            assert campaign.run(number), "expected words for what happened in the case"


def test_all_resumable_work_is_in_the_campaign() -> None:
    """Kinds are found automatically; other work is listed in a table."""
    assert modules_that_keep() == set(KEEPERS)
