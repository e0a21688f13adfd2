"""Run campaigns by name, or all; prints a line of progress and a summary for each."""

import argparse
import sys
import time
import traceback
from collections import Counter

from tests.faults.campaign import Campaign
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


def main() -> int:
    """Return the exit code: 1 if a case failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    names = parser.add_argument("names", nargs="*", metavar="CAMPAIGN", help=f"among {', '.join(CAMPAIGNS)}")
    parser.add_argument("--all", action="store_true", help="every campaign")
    parser.add_argument("--count", type=int, help="cases of each (default: the full size)")
    parser.add_argument("--seed", type=int, default=1, help="what the faults are drawn from (default: 1)")
    parser.add_argument("--case", type=int, help="only this case, as a failed one says")
    options = parser.parse_args()
    chosen = list(CAMPAIGNS) if options.all else options.names
    if not chosen or not set(chosen) <= set(CAMPAIGNS):
        parser.error(f"expected {names.help} or --all, got {' '.join(chosen) or 'none'}")
    failures = 0
    for name in chosen:
        campaign = CAMPAIGNS[name](options.seed)
        count = options.count or campaign.full
        failures += run(campaign, range(count) if options.case is None else [options.case])
    return 1 if failures else 0


def run(campaign: Campaign, numbers: range | list[int]) -> int:
    """Run all of these cases, and return the number of failures."""
    begin = time.monotonic()
    failures = 0
    counts = Counter[str]()
    with campaign:
        for done, number in enumerate(numbers, start=1):
            if sys.stderr.isatty():
                print(f"\r{campaign.name}: {done} of {len(numbers)}", end="\r", file=sys.stderr, flush=True)
            try:
                counts += campaign.run(number)
            except Exception:
                failures += 1
                print(f"{campaign.name}: case {number} failed\n{traceback.format_exc()}", flush=True)
    words = ", ".join(f"{count:,} {word}" for word, count in sorted(counts.items()))
    held = f"{len(numbers) - failures} of {len(numbers)} cases held"
    print(f"{campaign.name}: {held} (seed {campaign.seed}, {time.monotonic() - begin:.0f} s): {words}", flush=True)
    return failures


if __name__ == "__main__":
    sys.exit(main())
