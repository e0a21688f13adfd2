"""All campaigns by name."""

from __future__ import annotations

from tests.faults.crowds import Crowds
from tests.faults.damage import Damage
from tests.faults.floods import Floods
from tests.faults.hostile import Hostile
from tests.faults.kills import Kills
from tests.faults.lines import CorruptedLines
from tests.faults.places import Places
from tests.faults.resuming import Resuming
from tests.faults.same_bytes import SameBytes
from tests.faults.xml_attacks import XmlAttacks

CAMPAIGNS = {
    campaign.name: campaign
    for campaign in (Kills, Crowds, CorruptedLines, XmlAttacks, SameBytes, Damage, Hostile, Places, Floods, Resuming)
}
