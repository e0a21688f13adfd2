"""All campaigns by name."""

from __future__ import annotations

from tests.faults.crowds import Crowds
from tests.faults.kills import Kills
from tests.faults.lines import SpoiledLines

CAMPAIGNS = {campaign.name: campaign for campaign in (Kills, Crowds, SpoiledLines)}
